"""Tissue: keratinocytes in a dish, which grow into a few layers and come to rest (Chisholm 2020)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import clfrnn

from ...host.numbers import shown
from ..arguments import positive, real, repeatable_options, rounded, whole
from ..model import Model
from .births import Births
from .philox import key_of
from .rules import COMMITTED, CONTACTS, ENERGY, SIGNALS, STEM, TRANSIT, Rules

__all__ = ["Counts", "Keratinocytes"]

#: The arrays with a row for each cell: the shape of a row, and whether its numbers are whole.
_STORED: dict[str, tuple[tuple[int, ...], bool]] = {
    **dict.fromkeys(("positions", "moved"), ((3,), False)),
    **dict.fromkeys(("noise", "motility", "headings"), ((), False)),
    **dict.fromkeys(("kinds", "kinds_next", "ages", "resting", "stem_contacts", "dividing"), ((), True)),
}


class Counts(NamedTuple):
    """The numbers of cells by kind."""

    stem: int
    transit: int
    committed: int


class Keratinocytes(Model):
    """Cells of skin in a dish: they divide, differentiate, walk and adhere until there is no place left to grow.

    Parameters
    ----------
    n : number of cells at the start, at least 1
    side : length of the edge of the square dish; by default twice the root of `n`. Lengths are in diameters of a cell
    stem_share : share of the start's cells that are stem cells, 0 to 1; the others are transit-amplifying
    rules : :class:`~clfrnn.models.keratinocytes.Rules`, the numbers by which cells behave
    seed : whole number of at least 0; equal seeds give equal starts, and equal decisions later
    repeatable : whether every run gives the same bytes, by ``construction="sort"``; the default method is then `strips`
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`, for both indexes: `method`, and the options of the method

    Attributes
    ----------
    n : int
        The present number of cells, which grows.
    positions : (n, 3) device array
        The centers of the cells, from 0 to `side` on the first two axes and of at least 0 on the third.
    kinds : (n,) int32 device array
        0 for stem, 1 for transit-amplifying, 2 for committed cells. A cell has the same row all its life, and daughters
        get the rows behind those that are there.
    index, signals : clfrnn.Index
        The index of the contacts and that of the signals: of the same positions, for a short and a long radius.
    side, stem_share, rules
        As given, `side` and `stem_share` rounded to `dtype`.
    session, dim, dtype, steps_done
        See :class:`~clfrnn.models.model.Model`; the unit of time is a step.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or `repeatable` is given with a method or construction that is not.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    In each step a cell senses stem cells around it, and may become another kind; then its contacts push and pull it,
    it walks, grows, and may divide. :class:`~clfrnn.models.keratinocytes.Rules` has all numbers, and the page of the
    model the formulas and what was simplified.

    Stem cells become transit-amplifying where their colony is large or when they leave the basement, and
    transit-amplifying cells become committed far from stem cells or after a long rest. No cell dies, and none goes
    back. A cell with many contacts does not grow, so the dish fills up and its population comes to rest.

    Random numbers are Philox's, of the seed, the step and the cell: they depend on no order of execution.

    Cost of a step: a visit and an update of each of two indexes, and one number that the host waits for, of the cells
    that were born. Where they exceed the memory for cells, it is doubled and copied. A step that fails for want of
    memory is finished by the next call.

    Source: Chisholm, Maddock and Richmond (2020), section 5, after Sun and others (2007).

    Examples
    --------
    >>> from clfrnn.models import Keratinocytes
    >>> skin = Keratinocytes(20, seed=1)
    >>> skin.step(100)
    >>> skin.n > 20, sum(skin.counts()) == skin.n
    (True, True)
    """

    _color_ends = (STEM, COMMITTED)

    def __init__(
        self,
        n: int,
        *,
        side: float | None = None,
        stem_share: float = 0.1,
        rules: Rules | None = None,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n = whole(n, "n", least=1, advice="pass the number of cells at the start")
        self.dim, self.dtype = 3, real(dtype)
        side = 2 * self.n**0.5 if side is None else side
        self.side = positive(side, "side", self.dtype, "pass the edge of the dish in diameters of a cell")
        self.stem_share = rounded(stem_share, self.dtype)
        if not 0 <= self.stem_share <= 1:
            raise clfrnn.InvalidInputError(
                f"expected a number from 0 to 1, got {shown(stem_share)}; pass the share of stem cells",
                argument="stem_share",
            )
        if not isinstance(rules := Rules() if rules is None else rules, Rules):
            raise clfrnn.InvalidInputError(
                f"expected clfrnn.models.keratinocytes.Rules, got {type(rules).__name__}; pass Rules(...)",
                argument="rules",
            )
        self.rules = rules
        seed = whole(seed, "seed", least=0, advice="pass what tells one start from another")
        if repeatable:
            options = repeatable_options(options)
        rng = np.random.default_rng(seed)
        start = self._start(rng)
        self.index = clfrnn.build_index(start["positions"], rules.contact_reach, session=session, **options)
        self.session = self.index.session
        given = {"session": self.session, **options}
        self.signals: clfrnn.Index = clfrnn.build_index(start["positions"], rules.signal_reach, **given)
        self._key = key_of(seed)
        self._births = Births(self.index, self._key)
        self._cells: dict[str, Any] = {}
        self._reserve(self.n)
        for name, values in start.items():
            self._cells[name][: self.n].set(values)
        self._senses, self._touches = self._numbers()
        self._halfway = False

    def __repr__(self) -> str:
        return f"<Keratinocytes: {self.n:,} cells, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, 3) device array: the centers of the cells. A later step overwrites it."""
        return self._cells["positions"][: self.n]

    @property
    def kinds(self) -> clfrnn.DeviceArray[np.int32]:
        """(n,) int32 device array: 0 for stem, 1 for transit-amplifying, 2 for committed cells."""
        return self._cells["kinds"][: self.n]

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner, (3,), of what a picture shows: the dish, and a tissue at rest in it."""
        return np.zeros(3, self.dtype), np.array([self.side, self.side, 4], self.dtype)

    def _colors(self) -> clfrnn.DeviceArray[np.int32]:
        return self.kinds

    def _drawn_radius(self) -> float:
        return 0.5

    def counts(self) -> Counts:
        """Count the cells of each kind.

        Notes
        -----
        Cost: a copy of `kinds` to the host, and a wait for it.
        """
        with self.session.lock:
            return Counts(*np.bincount(self.kinds.get(), minlength=3).tolist())

    def energy(self) -> float:
        """Compute the energy of all contacts and of the pull to the basement, which :meth:`relax` lowers.

        Notes
        -----
        In units of the forces times a diameter. Two cells that just part have none, and those that adhere or overlap
        little have less. Cost: a visit, a copy of n numbers to the host, and a wait for it.
        """
        with self.session.lock:
            energies = self.index.empty(self.n)
            names = ("repulsion", "adhesion", "weak_adhesion", "pull_height")
            given = {name: self._touches[name] for name in (*names, "pull")} | self._arrays("positions", "kinds")
            self.index.visit(ENERGY, contact_reach=self.rules.contact_reach, energies=energies, **given)
            return float(energies.get().sum(dtype=np.float64))

    def relax(self, n: int = 1) -> None:
        """Move all cells `n` times by the forces of their contacts alone: none walks, grows or differentiates.

        Parameters
        ----------
        n : whole number of at least 0

        Raises
        ------
        InvalidInputError
            `n` is not such a number.

        Notes
        -----
        These are not counted as steps. Positions that were written into `positions` take effect, also with `n` of 0.
        Cost: `n` visits, and one update more of the index of contacts; one update of the other.
        """
        n = whole(n, "n", least=0, advice="pass how often to move")
        with self.session.lock:
            self.index.update(self.positions)
            for _ in range(n):
                self._move(decides=False)
                self.index.update(self.positions)
            self.signals.update(self.positions)

    # --- a step -------------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Take a step, or its second half where there was no memory for that: births and updates can be repeated."""
        if not self._halfway:
            self._differentiate()
            self._move(decides=True)
            self._halfway = True
        born = self._divide()
        grown = self._cells["positions"][: self.n + born]
        self.index.update(grown)
        self.signals.update(grown)
        self.n += born
        self._halfway = False

    def _differentiate(self) -> None:
        names = ("positions", "noise", "kinds", "stem_contacts", "resting", "kinds_next")
        self.signals.visit(SIGNALS, **self._senses, **self._arrays(*names))
        self._swap("kinds", "kinds_next")

    def _move(self, *, decides: bool) -> None:
        names = ("positions", "motility", "kinds", "headings", "ages", "resting", "stem_contacts", "dividing", "moved")
        given = {"decides": int(decides), "now": self.steps_done % 2**32, **self._touches, **self._arrays(*names)}
        self.index.visit(CONTACTS, **given)
        self._swap("positions", "moved")

    def _divide(self) -> int:
        """Write the daughters behind the rows of the cells, and return their number; waited for."""
        # The host needs this number now: memory, both updates and `n` depend on it. Read a step later, it would not be
        # waited for, but daughters would be missing from the indexes for a step, unseen by the mothers they overlap.
        born = self._births.count(self.n, self._cells["dividing"])
        if born:
            self._reserve(self.n + born)
            cycles = self.rules.stem_cycle, self.rules.transit_cycle
            self._births.append(self.n, self.steps_done % 2**32, self.side, cycles, self._cells)
        return born

    # --- memory -------------------------------------------------------------------------------------------------------

    def _arrays(self, *names: str) -> dict[str, Any]:
        return {name: self._cells[name] for name in names}

    def _swap(self, one: str, other: str) -> None:
        self._cells[one], self._cells[other] = self._cells[other], self._cells[one]

    def _reserve(self, n: int) -> None:
        """Make memory for at least `n` cells, and copy those that are there: twice as much as before where it grows."""
        before = self._cells
        size = len(before["kinds"]) if before else 0
        if n <= size:
            return
        size = max(n, 2 * size)
        larger: dict[str, Any] = {}
        for name, (row, of_ints) in _STORED.items():
            larger[name] = self.index.zeros((size, *row), np.int32 if of_ints else self.dtype)
            if before:
                filled = before[name].strides[0] * self.n
                cl.enqueue_copy(self.session.queue, larger[name].data, before[name].data, byte_count=filled)
        self._cells = larger

    # --- the start ----------------------------------------------------------------------------------------------------

    def _start(self, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        """Cells anywhere on the basement, not in one plane as they could not leave it, and anywhere in their cycles."""
        n, rules = self.n, self.rules

        def between(low: float, high: float, *shape: int) -> npt.NDArray[Any]:
            return (low + (high - low) * rng.random((n, *shape))).astype(self.dtype)

        positions = np.concatenate([between(0, self.side, 2), between(0, rules.basement / 2, 1)], axis=1)
        kinds = np.where(rng.permutation(n) < round(self.stem_share * n), STEM, TRANSIT).astype(np.int32)
        cycles = np.where(kinds == STEM, rules.stem_cycle, rules.transit_cycle)
        ages = (rng.random(n) * (cycles + 1)).astype(np.int32)
        noise, motility, headings = between(0.9, 1.1), between(0.5, 1), between(-1, 1)
        traits = {"noise": noise, "motility": motility, "headings": headings}
        return {"positions": positions, "kinds": kinds, "ages": ages, **traits}

    def _numbers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the two visits of a step are passed in every step."""
        rules = self.rules
        senses = {"across": rules.niche_across, "up": rules.niche_up}
        senses |= {name: getattr(rules, name) for name in ("basement", "most_stem", "edge_contacts", "patience")}
        forces = ("repulsion", "adhesion", "weak_adhesion", "grip", "pull", "pull_height", "basement")
        lives = ("speed", "most_contacts", "most_lateral", "stem_cycle", "transit_cycle")
        touches = {name: getattr(rules, name) for name in (*forces, *lives)}
        return senses, {**touches, "side": self.side, "key": self._key}
