"""The numbers of launches: how long one may take, and when a copy goes beside kernels."""

import dataclasses

from .section import Section, number

__all__ = ["RuntimeTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeTuning(Section):
    """Slices of launches, and copies beside them."""

    #: seconds that a slice of a long launch should take: Ctrl-C and watchdogs are served between slices
    slice_seconds: float = number(0.5, least=1e-9)
    #: pairs that any device tests in that time
    least_budget: int = number(1 << 20, least=1)
    #: clocks of a lane in that time for each pair that the device is trusted with: a cautious guess
    clocks_of_pair: int = number(32, least=1)
    #: times that a launch has to be surely below its budget, or runs of its kernel are timed
    surely_short: float = number(64.0, least=0)
    #: share of two slices after which a run is looked at: to look costs a third of a launch
    look_share: float = number(1 / 64, most=1)
    #: items of kernels from which on a copy to the host goes on a queue of its own, beside them: between two kernels on
    #: theirs a GPU stands still for some eight microseconds (H200)
    copy_beside_items: int = number(1 << 18, least=0)
