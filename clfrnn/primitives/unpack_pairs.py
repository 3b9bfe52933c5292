"""Part: pairs of a whole number and a real, which were written together, taken apart."""

from __future__ import annotations

import pyopencl as cl
import pyopencl.array as cla

from ..planning.primitives import plan_part
from ..runtime.scratch import Scratch
from ..runtime.session import Session

__all__ = ["part"]


def part(session: Session, pairs: Scratch, numbers: cla.Array, reals: cla.Array, *, asked: Scratch) -> cl.Event | None:
    """Enqueue int32 `numbers`, (n,), and `reals`, (n,), from `pairs`, (2 n,), unless the int32 that is `asked` is 0.

    A pair is two integers as wide as a real, the second of which has its bits. All begin where their buffers do. One
    launch; nothing is waited for.
    """
    kernels, config = session.planned(
        "primitives/unpack_pairs", plan_part, word="int" if reals.dtype.itemsize == 4 else "long"
    )
    n, size = numbers.size, config.work_group_size
    items = size * -(-n // (config.items * size))
    given = pairs.base_data, numbers.base_data, reals.base_data
    return session.launch(kernels["part"], items, size, n, *asked.arguments, *given)
