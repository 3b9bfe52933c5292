"""An experiment: the paper's grid of cells with room for a fixed number of spheres, filled by atomic operations.

The library has no such grid: how many points a cell holds is the data's affair, and a cell that is full would lose
neighbors. The paper's program loses them silently; this one raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn.models import Spheres
from clfrnn.models.spheres.contacts import MOVE

__all__ = ["NUMBERINGS", "FixedCells"]

#: How cells are numbered: row by row, or along the Z-order curve, which the paper proposes.
NUMBERINGS = ("linear", "z_order")

#: Spheres that a cell has room for. The paper's 4 hold where none overlap; soft ones do.
CAPACITY = 8

GROUP = 64

#: The names of what the function of a step takes, in order.
_ARGUMENTS = re.findall(r"(\w+)\s*(?:,|$)", MOVE[3].arguments)

_NUMBER = {
    "linear": "#define CELL(x, y, z) (((z) * ACROSS + (y)) * ACROSS + (x))",
    "z_order": """
int spread(int bits) {  // two zeros between one bit and the next, for up to ten of them
    bits = (bits | bits << 16) & 0x030000ff;
    bits = (bits | bits << 8) & 0x0300f00f;
    bits = (bits | bits << 4) & 0x030c30c3;
    return (bits | bits << 2) & 0x09249249;
}
#define CELL(x, y, z) (spread(z) << 2 | spread(y) << 1 | spread(x))
""",
}

#: The forces and the step are those of the model; only the way to the neighbors is another.
_SOURCE = f"""
typedef float real;
typedef float3 real_vec;
{MOVE[3].preamble}
int3 cell_of(float3 place) {{
    return clamp(convert_int3_rtn((place + 1.0f) * (0.5f * ACROSS)), 0, ACROSS - 1);
}}

kernel void fill(const int n, global const float *positions, global int *counts, global int *members,
                  global int *most) {{
    const int i = get_global_id(0);
    if (i >= n) return;
    const int3 at = cell_of(vload3(i, positions));
    const int cell = CELL(at.x, at.y, at.z), place = atomic_inc(&counts[cell]);
    if (place < CAPACITY) members[cell * CAPACITY + place] = i;
    else atomic_max(most, place + 1);
}}

kernel void collide(const int n, global const int *counts, global const int *members, {MOVE[3].arguments}) {{
    const int i = get_global_id(0);
    if (i >= n) return;
    const float3 frnn_own = vload3(i, positions);
    const int3 at = cell_of(frnn_own), low = max(at - 1, 0), high = min(at + 1, ACROSS - 1);
    {MOVE[3].state}
    for (int z = low.z; z <= high.z; ++z)
        for (int y = low.y; y <= high.y; ++y)
            for (int x = low.x; x <= high.x; ++x) {{
                const int cell = CELL(x, y, z), filled = min(counts[cell], CAPACITY);
                for (int k = 0; k < filled; ++k) {{
                    const int j = members[cell * CAPACITY + k];
                    const float3 dx = vload3(j, positions) - frnn_own;
                    const float d2 = dot(dx, dx);
                    if (j != i && d2 <= diameter * diameter) {{
                        {MOVE[3].per_neighbor}
                    }}
                }}
            }}
    {MOVE[3].finish}
}}
"""


class FixedCells(Spheres):
    """The Spheres model in 3D and float32, whose collisions are found in cells of fixed capacity.

    Parameters
    ----------
    n, session, **given : see :class:`clfrnn.models.Spheres`; without walls spheres would leave the cells
    numbering : one of `NUMBERINGS`
    capacity : the most spheres that a cell holds

    Notes
    -----
    Cells have side ``2 * radius``, and a sphere searches 27 of them, as in the paper. All cells of the box take memory.
    :meth:`step` waits, and raises an error where a cell was fuller than its capacity in one of the steps.
    """

    def __init__(
        self,
        n: int,
        *,
        numbering: str = "linear",
        capacity: int = CAPACITY,
        session: clfrnn.Session | None = None,
        **given: Any,
    ) -> None:
        super().__init__(n, session=session, **given)
        self.capacity = capacity
        across = int(1 / self.radius)
        size = across if numbering == "linear" else 1 << (across - 1).bit_length()
        queue = self.session.queue
        text = f"#define ACROSS {across}\n#define CAPACITY {capacity}\n{_NUMBER[numbering]}{_SOURCE}"
        program = cl.Program(queue.context, text).build()
        self._fill, self._collide = program.fill, program.collide
        self._counts = cla.zeros(queue, size**3, np.int32)
        self._members = cla.empty(queue, size**3 * capacity, np.int32)
        self._most = cla.zeros(queue, 1, np.int32)
        self.build()

    def build(self) -> list[cl.Event]:
        """Fill the cells with the spheres where they are now; not waited for."""
        queue, arrays = self.session.queue, (self._positions, self._counts, self._members, self._most)
        cleared: cl.Event = cl.enqueue_fill_buffer(queue, self._counts.data, np.int32(0), 0, self._counts.nbytes)
        filled: cl.Event = self._fill(queue, *self._range(), np.int32(self.n), *(each.data for each in arrays))
        return [cleared, filled]

    def visit(self) -> cl.Event:
        """Compute the next positions and velocities; not waited for."""
        given = [_argument(self._step_arguments()[name]) for name in _ARGUMENTS]
        cells = (np.int32(self.n), self._counts.data, self._members.data)
        event: cl.Event = self._collide(self.session.queue, *self._range(), *cells, *given)
        return event

    def move(self) -> list[cl.Event]:
        """Move the spheres to the computed positions, and fill the cells anew; not waited for."""
        self._positions, self._moved = self._moved, self._positions
        self.velocities, self._changed = self._changed, self.velocities
        self.steps_done += 1
        return self.build()

    def stages(self) -> list[Callable[[], Any]]:
        """What a step consists of, in turn."""
        return [self.visit, self.move]

    def step(self, n: int = 1) -> None:
        """Take `n` steps, wait for them, and raise where a cell was too full."""
        for _ in range(n):
            self.visit()
            self.move()
        self.check()

    def place(self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None) -> None:
        """Put the spheres elsewhere."""
        super().place(positions, velocities)
        self.build()

    def energy(self) -> float:
        """See the model; its index, which is not used otherwise, is updated first."""
        self.index.update(self._positions)
        return super().energy()

    def check(self) -> None:
        """Wait, and raise where a cell was fuller than its capacity since the start."""
        most = int(self._most.get()[0])
        if most > self.capacity:
            raise clfrnn.ClfrnnError(
                f"capacity: expected as many spheres as a cell held at most, {most} or more, got {self.capacity}; "
                "take a larger one, or the model itself, whose cells hold any number"
            )

    def _range(self) -> tuple[tuple[int], tuple[int]]:
        return (-(-self.n // GROUP) * GROUP,), (GROUP,)


def _argument(value: Any) -> Any:
    """A value as plain pyopencl takes it: three numbers of a vector take the place of four."""
    if isinstance(value, tuple):
        return np.array([*value, 0], np.float32)
    return value.data if isinstance(value, cla.Array) else np.float32(value)
