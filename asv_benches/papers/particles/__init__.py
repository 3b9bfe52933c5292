"""Green (2010): colliding spheres in a box, a grid built by counting, by sorting, or by atomic operations."""

from __future__ import annotations

from ..paper import Paper
from .configurations import plan
from .experiments import sections
from .frames import measure

__all__ = ["PAPER"]

PAPER = Paper(
    name="particles",
    title="Colliding particles: a grid by counting, by sorting, or by atomics",
    source=(
        "S. Green: *Particle simulation using CUDA*. NVIDIA whitepaper (May 2010). Its figures are frames per second "
        "with 65,536 particles in the steady state, on a GeForce GTX 280 and a GeForce GTX 480."
    ),
    timed=(
        "The model Spheres (`clfrnn.models`) falls in its box, and lies in a heap when timing begins. A frame is "
        "*collide* (one visit of all touching spheres, which computes the next velocities and positions, with gravity "
        "and walls), *build* (the positions into the index) and, between them where it is due, *reorder* (both arrays "
        "into the order of cells). These are device times, from the start of the first launch to the end of "
        "the last, gaps between launches included, and *frame* is the whole. *build, kernels* is the sum of the times "
        "of its launches alone: what the device does, however quick the host is to launch it. Each number is the "
        "median over the timed frames; where only some frames reorder, those that do and those that do not have a "
        'median each, weighted by their number. *By counting* is `construction="counting"`: on a GPU groups select the '
        "points of their cells out of all, or sort them into buckets, which they fill in local memory; on a CPU "
        "counters in global memory are counted up. *By sorting* is a radix sort by cells. Frames per second are of the "
        "wall clock: the timed number of frames "
        "is run from Python five times more, waited for once at the end of each lap, and the best lap counts. Nothing "
        "is drawn on a screen."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
)
