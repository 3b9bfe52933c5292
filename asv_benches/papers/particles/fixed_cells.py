"""Experiments: the paper's grids by atomic operations, of cells of fixed capacity, and of two passes.

The library has no cells of fixed capacity: how many points a cell holds is the data's affair, and a cell that is full
would lose neighbors. The paper's program loses them silently; this one raises an error, or counts them.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn.models import Spheres
from clfrnn.models.spheres.contacts import move
from clfrnn.primitives.scan import exclusive_scan

__all__ = ["CAPACITY", "NUMBERINGS", "PAPERS_CAPACITY", "READS", "AtomicCells", "FixedCells", "TwoPassCells"]

#: How cells are numbered: row by row, or along the Z-order curve, which the paper proposes.
NUMBERINGS = ("linear", "z_order")

#: Spheres that a cell holds: the paper's 4 suffice where none overlap; soft ones do.
PAPERS_CAPACITY, CAPACITY = 4, 8

#: Where neighbors are read from: the caller's arrays of three numbers; arrays of four, as the paper has them; images,
#: which are the paper's textures.
READS = ("arrays", "packed", "image")

GROUP = 64

_MOVE = move(3, ordered=False)

#: The names of what the function of a step takes, in order.
_ARGUMENTS = re.findall(r"(\w+)\s*(?:,|$)", _MOVE.arguments)

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


#: What neighbors are read by: of the position and the velocity of `j`, and what a kernel takes for it.
_READ = {
    "arrays": """
#define PLACE(j) vload3(j, positions)
#define SPEED(j) vload3(j, velocities)
#define TAKEN
""",
    "packed": """
#define PLACE(j) packed_places[j].xyz
#define SPEED(j) packed_speeds[j].xyz
#define TAKEN , global const float4 *packed_places, global const float4 *packed_speeds
""",
    "image": """
#define PLACE(j) read_imagef(packed_places, j).xyz
#define SPEED(j) read_imagef(packed_speeds, j).xyz
#define TAKEN , read_only image1d_buffer_t packed_places, read_only image1d_buffer_t packed_speeds
""",
}

#: Where the members of a cell begin and end.
_CELL = {
    True: "#define FIRST(cell) ((cell) * CAPACITY)\n#define END(cell) (FIRST(cell) + min(table[cell], CAPACITY))\n",
    False: "#define FIRST(cell) table[cell]\n#define END(cell) table[(cell) + 1]\n",
}

#: The forces and the step are those of the model; only the way to the neighbors is another.
_SOURCE = f"""
typedef float real;
typedef float3 real_vec;
{_MOVE.preamble}
int3 cell_of(float3 place) {{
    return clamp(convert_int3_rtn((place + 1.0f) * (0.5f * ACROSS)), 0, ACROSS - 1);
}}
int cell_at(int3 at) {{ return CELL(at.x, at.y, at.z); }}

kernel void fill(const int n, global const float *positions, global int *counts, global int *members,
                 global int *most) {{
    const int i = get_global_id(0);
    if (i >= n) return;
    const int cell = cell_at(cell_of(vload3(i, positions))), place = atomic_inc(&counts[cell]);
    if (place < CAPACITY) members[cell * CAPACITY + place] = i;
    else atomic_max(most, place + 1);
}}

kernel void count(const int n, global const float *positions, global int *counts) {{
    const int i = get_global_id(0);
    if (i < n) atomic_inc(&counts[cell_at(cell_of(vload3(i, positions)))]);
}}

// The second pass counts down to zero, which is where the next frame begins.
kernel void write(const int n, global const float *positions, global int *counts, global const int *table,
                  global int *members) {{
    const int i = get_global_id(0);
    if (i >= n) return;
    const int cell = cell_at(cell_of(vload3(i, positions)));
    members[table[cell] + atomic_dec(&counts[cell]) - 1] = i;
}}

kernel void pack(const int n, global const float *positions, global const float *velocities, global float4 *places,
                 global float4 *speeds) {{
    const int i = get_global_id(0);
    if (i < n) places[i] = (float4)(vload3(i, positions), 0), speeds[i] = (float4)(vload3(i, velocities), 0);
}}

kernel void collide(const int n, global const int *table, global const int *members, {_MOVE.arguments} TAKEN) {{
    const int i = get_global_id(0);
    if (i >= n) return;
    const float3 frnn_own = vload3(i, positions);
    const int3 at = cell_of(frnn_own), low = max(at - 1, 0), high = min(at + 1, ACROSS - 1);
    {_MOVE.state}
    for (int z = low.z; z <= high.z; ++z)
        for (int y = low.y; y <= high.y; ++y)
            for (int x = low.x; x <= high.x; ++x) {{
                const int cell = CELL(x, y, z), end = END(cell);
                for (int k = FIRST(cell); k < end; ++k) {{
                    const int j = members[k];
                    const float3 dx = PLACE(j) - frnn_own;
                    const float d2 = dot(dx, dx);
                    if (j != i && d2 <= diameter * diameter) {{
                        {_MOVE.per_neighbor.replace("vload3(other, velocities)", "SPEED(other)")}
                    }}
                }}
            }}
    {_MOVE.finish}
}}
"""


class AtomicCells(Spheres):
    """The Spheres model in 3D and float32, whose collisions are found in cells that atomic operations fill.

    Parameters
    ----------
    n, session, **given : see :class:`clfrnn.models.Spheres`; without walls spheres would leave the cells
    numbering : one of `NUMBERINGS`
    reads : one of `READS`
    capacity : the most spheres that a cell holds, or 0 for any number

    Notes
    -----
    Cells have side ``2 * radius``, and a sphere searches 27 of them, as in the paper. All cells of the box take memory.
    """

    def __init__(
        self,
        n: int,
        *,
        numbering: str = "linear",
        reads: str = "arrays",
        capacity: int,
        session: clfrnn.Session | None = None,
        **given: Any,
    ) -> None:
        super().__init__(n, session=session, **given)
        self.capacity, self.reads = capacity, reads
        across = int(1 / self.radius)
        size = across if numbering == "linear" else 1 << (across - 1).bit_length()
        queue = self.session.queue
        head = f"#define ACROSS {across}\n#define CAPACITY {capacity}\n{_NUMBER[numbering]}"
        program = cl.Program(queue.context, head + _READ[reads] + _CELL[capacity > 0] + _SOURCE).build()
        self._kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}
        self._counts = cla.zeros(queue, size**3, np.int32)
        self._members = cla.empty(queue, size**3 * capacity or n, np.int32)
        self._packed = [cla.empty(queue, (n, 4), np.float32) for _ in range(2)]
        self._images = [self._image(each) for each in self._packed] if reads == "image" else []
        self.build()

    def _image(self, packed: cla.Array) -> cl.Image:
        """The memory of an array of four numbers as an image, which is read through the caches of textures."""
        kind = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
        flags = cl.mem_flags.READ_ONLY
        return cl.create_image(self.session.queue.context, flags, kind, shape=(self.n,), buffer=packed.base_data)

    @abc.abstractmethod
    def bin(self) -> list[cl.Event]:
        """Fill the cells; not waited for."""

    @property
    def table(self) -> cla.Array:
        """What a cell's members are found by."""
        return self._counts

    def build(self) -> list[cl.Event]:
        """Fill the cells with the spheres where they are now; not waited for."""
        events = self.bin()
        if self.reads != "arrays":
            own = (self.positions.data, self.velocities.data, *(each.data for each in self._packed))
            events.append(self.launch("pack", *own))
        return events

    def visit(self) -> cl.Event:
        """Compute the next positions and velocities; not waited for."""
        particles = self._particles
        arrays = {name: getattr(particles, name) for name in ("positions", "velocities", "moved", "changed")}
        numbers = self._step_numbers() | arrays
        taken = {"arrays": (), "packed": [each.data for each in self._packed], "image": self._images}[self.reads]
        given = [_argument(numbers[name]) for name in _ARGUMENTS]
        return self.launch("collide", self.table.data, self._members.data, *given, *taken)

    def move(self) -> list[cl.Event]:
        """Move the spheres to the computed positions, and fill the cells anew; not waited for."""
        self._swap()
        self.steps_done += 1
        return self.build()

    def stages(self) -> list[Callable[[], Any]]:
        """What a step consists of, in turn."""
        return [self.visit, self.move]

    def step(self, n: int = 1) -> None:
        """Take `n` steps and wait for them."""
        for _ in range(n):
            self.visit()
            self.move()
        self.session.queue.finish()

    def place(self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None) -> None:
        """Put the spheres elsewhere."""
        super().place(positions, velocities)
        self.build()

    def energy(self) -> float:
        """See the model; its index, which is not used otherwise, is updated first."""
        self.index.update(self.positions)
        return super().energy()

    def launch(self, name: str, *arguments: Any) -> cl.Event:
        """A kernel over all spheres."""
        groups = (-(-self.n // GROUP) * GROUP,), (GROUP,)
        event: cl.Event = self._kernels[name](self.session.queue, *groups, np.int32(self.n), *arguments)
        return event


class FixedCells(AtomicCells):
    """Cells of fixed capacity, filled in one pass.

    With `lossy`, spheres for which a cell has no place are left out, as by the paper's program; without, :meth:`step`
    raises an error where a cell was fuller than its capacity in one of the steps.
    """

    def __init__(self, n: int, *, capacity: int = CAPACITY, lossy: bool = False, **given: Any) -> None:
        self._most: cla.Array | None = None
        self.lossy = lossy
        super().__init__(n, capacity=capacity, **given)

    def bin(self) -> list[cl.Event]:
        """Clear the counts, then one pass over the spheres."""
        if self._most is None:
            self._most = cla.zeros(self.session.queue, 1, np.int32)
        counts = self._counts
        cleared: cl.Event = cl.enqueue_fill_buffer(self.session.queue, counts.data, np.int32(0), 0, counts.nbytes)
        own = (self.positions.data, counts.data, self._members.data, self._most.data)
        return [cleared, self.launch("fill", *own)]

    def step(self, n: int = 1) -> None:
        """Take `n` steps, wait for them, and raise where a cell was too full and none may be left out."""
        super().step(n)
        if not self.lossy:
            self.check()

    def lost(self) -> int:
        """How many spheres are in no cell now."""
        counts = self._counts.get()
        return int(np.maximum(counts - self.capacity, 0).sum())

    def check(self) -> None:
        """Wait, and raise where a cell was fuller than its capacity since the start."""
        most = int(self._most.get()[0]) if self._most is not None else 0
        if most > self.capacity:
            raise clfrnn.ClfrnnError(
                f"capacity: expected as many spheres as a cell held at most, {most} or more, got {self.capacity}; "
                "take a larger one, or the model itself, whose cells hold any number"
            )


class TwoPassCells(AtomicCells):
    """Cells of any number of spheres: one pass counts them, a scan says where each cell begins, another writes them.

    The paper names this as an extension of its cells of fixed capacity.
    """

    def __init__(self, n: int, **given: Any) -> None:
        self._starts: cla.Array | None = None
        super().__init__(n, capacity=0, **given)

    @property
    def table(self) -> cla.Array:
        """Where each cell begins."""
        if self._starts is None:
            self._starts = cla.empty(self.session.queue, self._counts.size + 1, np.int32)
        return self._starts

    def bin(self) -> list[cl.Event]:
        """Count, scan by the library's own primitive, and write; counts are zero again behind it."""
        counted = self.launch("count", self.positions.data, self._counts.data)
        with self.session.recorded() as launches:
            exclusive_scan(self.session, self._counts, self.table)
        own = (self.positions.data, self._counts.data, self.table.data, self._members.data)
        return [counted, *(event for _, event in launches), self.launch("write", *own)]


def _argument(value: Any) -> Any:
    """A value as plain pyopencl takes it: three numbers of a vector take the place of four."""
    if isinstance(value, tuple):
        return np.array([*value, 0], np.float32)
    return value.data if isinstance(value, cla.Array) else np.float32(value)
