"""Births: cells that divide get daughters, whose rows follow each other in the order of their mothers."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

from .philox import PHILOX

__all__ = ["Births"]

#: Cells of a block, which one work-item goes through, and work-items of a group, at most.
_BLOCK, _MOST_ITEMS = 64, 64

_TYPES = """
#if WIDE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double2 real2;
#else
typedef float real;
typedef float2 real2;
#endif
#pragma OPENCL FP_CONTRACT OFF
"""

_KERNELS = """
// The number of daughters of each block of cells.
kernel void count_blocks(const int n, global const int *dividing, global int *blocks)
{
    const int block = get_global_id(0);
    int born = 0;
    for (int i = block * BLOCK; i < min(n, (block + 1) * BLOCK); ++i) born += dividing[i] != 0;
    if (block * BLOCK < n) blocks[block] = born;
}

// In one work-group: how many daughters come before each block, and how many there are.
kernel void place_blocks(const int count, global int *blocks, global int *total)
{
    local int before[ITEMS];
    const int item = get_local_id(0), share = (count + ITEMS - 1) / ITEMS;
    const int first = min(count, item * share), last = min(count, first + share);
    int sum = 0;
    for (int block = first; block < last; ++block) sum += blocks[block];
    before[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    int place = 0;
    for (int k = 0; k < item; ++k) place += before[k];
    for (int block = first; block < last; ++block) {
        const int born = blocks[block];
        blocks[block] = place;
        place += born;
    }
    if (item == ITEMS - 1) *total = place;
}

// Daughters beside their mothers, or on top of them, at a tenth of a diameter.
kernel void append(
    const int n, const uint2 key, const uint now, const real side, const int stem_cycle, const int transit_cycle,
    global const int *dividing, global const int *blocks, global real *positions, global int *kinds,
    global int *ages, global int *resting, global int *stem_contacts, global real *noise, global real *motility,
    global real *headings)
{
    const int block = get_global_id(0);
    int daughter = block * BLOCK < n ? n + blocks[block] : 0;
    for (int i = block * BLOCK; i < min(n, (block + 1) * BLOCK); ++i) {
        if (dividing[i] == 0) continue;
        const uint4 a = philox((uint4)(i, now, 1, 0), key), b = philox((uint4)(i, now, 2, 0), key);
        const real tenth = (real)1 / 10, around = 2 * UNIT(a.s0);
        const real2 place = vload2(0, positions + 3 * i) + tenth * (real2)(cospi(around), sinpi(around));
        vstore2(clamp(place, (real)0, side), 0, positions + 3 * daughter);
        positions[3 * daughter + 2] = positions[3 * i + 2] + (dividing[i] == 2 ? tenth * (1 - UNIT(a.s1)) : 0);
        kinds[daughter] = kinds[i];
        ages[daughter] = (int)mul_hi(a.s2, (uint)((kinds[i] == 0 ? stem_cycle : transit_cycle) / 4 + 1));
        resting[daughter] = 0;
        stem_contacts[daughter] = stem_contacts[i];
        noise[daughter] = (9 + 2 * UNIT(a.s3)) / 10;
        motility[daughter] = (1 + UNIT(b.s0)) / 2;
        headings[daughter] = 2 * UNIT(b.s1) - 1;
        ++daughter;
    }
}
"""

#: The programs of each session, by the type of numbers.
_PROGRAMS: weakref.WeakKeyDictionary[clfrnn.Session, dict[np.dtype[Any], cl.Program]] = weakref.WeakKeyDictionary()


def _program(session: clfrnn.Session, dtype: np.dtype[Any], items: int) -> cl.Program:
    programs = _PROGRAMS.setdefault(session, {})
    if dtype not in programs:
        options = ["-w", f"-DWIDE={int(dtype == np.float64)}", f"-DBLOCK={_BLOCK}", f"-DITEMS={items}"]
        with warnings.catch_warnings():
            # Some compilers have remarks on programs that are right.
            warnings.simplefilter("ignore", cl.CompilerWarning)
            programs[dtype] = cl.Program(session.queue.context, _TYPES + PHILOX + _KERNELS).build(options)
    return programs[dtype]


class Births:
    """The kernels that count daughters and append them, for the cells of one model."""

    def __init__(self, index: clfrnn.Index, key: npt.NDArray[np.uint32]) -> None:
        self._index, self._queue, self._key = index, index.session.queue, key
        self._real = index.dtype.type
        self._items = min(_MOST_ITEMS, index.session.device.max_work_group_size)
        program = _program(index.session, index.dtype, self._items)
        self._count, self._place, self._append = (
            cl.Kernel(program, name) for name in ("count_blocks", "place_blocks", "append")
        )
        self._blocks = index.empty(0, np.int32)
        self._total = index.empty(1, np.int32)

    def count(self, n: int, dividing: cla.Array) -> int:
        """The number of daughters in this step; waited for."""
        blocks = -(-n // _BLOCK)
        if self._blocks.size < blocks:
            self._blocks = self._index.empty(2 * blocks, np.int32)
        self._count(self._queue, *self._ranges(blocks), np.int32(n), dividing.data, self._blocks.data)
        self._place(self._queue, (self._items,), (self._items,), np.int32(blocks), self._blocks.data, self._total.data)
        return int(self._total.get()[0])

    def append(self, n: int, now: int, side: float, cycles: tuple[int, int], cells: Mapping[str, Any]) -> None:
        """Write the rows of the daughters that were counted behind the `n` rows of `cells`; not waited for."""
        arrays = ("dividing", "positions", "kinds", "ages", "resting", "stem_contacts", "noise", "motility", "headings")
        dividing, *others = (cells[name].data for name in arrays)
        numbers = (np.int32(n), self._key, np.uint32(now), self._real(side), *map(np.int32, cycles))
        self._append(self._queue, *self._ranges(-(-n // _BLOCK)), *numbers, dividing, self._blocks.data, *others)

    def _ranges(self, blocks: int) -> tuple[tuple[int], tuple[int]]:
        """The global and the local size of a launch; some drivers compile anew for each local size that they choose."""
        return (-(-blocks // self._items) * self._items,), (self._items,)
