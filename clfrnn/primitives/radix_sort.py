"""Radix sort: a stable sort of unsigned keys together with their positions."""

from __future__ import annotations

import numpy as np

from ..config import INT
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .config import plan_sort
from .scan import exclusive_scan

__all__ = ["sort_positions"]

_CTYPE = {np.dtype(np.uint32): "uint", np.dtype(np.uint64): "ulong"}


def sort_positions(session: Session, keys: Scratch, bits: int) -> tuple[Scratch, Scratch]:
    """Return the keys in ascending order, and the position in `keys` of each; equal keys stay in order.

    Parameters
    ----------
    keys : (n,) uint32 or uint64, overwritten
    bits : the number of low bits in which keys may differ; the others must be equal

    Notes
    -----
    For every four bits three launches; on a GPU two for up to 1.5 million keys, and four for very many. Two and a half
    passes over the keys. Nothing is waited for.

    Source: Satish, Harris, Garland (2009), §4.
    """
    n = keys.size
    kernels, config = session.planned("primitives/radix_sort", plan_sort, key=_CTYPE[keys.dtype])
    size = config.work_group_size
    tiles = max(1, -(-n // (size * config.items)))
    table = session.scratch(tiles << config.digit_bits, INT, purpose="the digit counts of a sort")
    few = config.held and tiles <= session.tuning.primitives.sort_few_tiles
    starts = table if few else session.scratch(table.size + 1, INT, purpose="the digit starts of a sort")
    values, moved_values = (session.scratch(n, INT, purpose="the positions of a sort") for _ in range(2))
    moved_keys = session.scratch(n, keys.dtype, purpose="the keys of a sort")
    for shift in range(0, max(1, bits), config.digit_bits):
        session.launch(
            kernels["count_digits"],
            tiles * size,
            size,
            np.int32(n),
            np.int32(shift),
            keys.base_data,
            table.base_data,
        )
        if not few:
            exclusive_scan(session, table, starts)
        session.launch(
            kernels["move_few_pairs" if few else "move_pairs"],
            tiles * size,
            size,
            np.int32(n),
            np.int32(shift),
            np.int32(shift == 0),
            keys.base_data,
            values.base_data,
            starts.base_data,
            moved_keys.base_data,
            moved_values.base_data,
        )
        keys, moved_keys = moved_keys, keys
        values, moved_values = moved_values, values
    return keys, values
