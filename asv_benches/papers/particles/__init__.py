"""Green (2010): colliding spheres in a box, a grid built by atomics or by sorting."""

from __future__ import annotations

from ..paper import Paper
from .configurations import plan
from .experiments import sections
from .frames import measure

__all__ = ["PAPER"]

PAPER = Paper(
    name="particles",
    title="Colliding particles: a grid by atomics or by sorting",
    source=(
        "S. Green: *Particle simulation using CUDA*. NVIDIA whitepaper (May 2010). Its figures are frames per second "
        "with 65,536 particles in the steady state, on a GeForce GTX 280 and a GeForce GTX 480."
    ),
    timed=(
        "Spheres fall in a box, collide by a spring and a dashpot, and lie in a heap when timing begins. A frame is "
        "*integrate* (gravity, walls, positions), *build* (the positions into the index), *collide* (one visit of all "
        "touching spheres, which computes the next velocities) and, where it is due, *reorder* (positions and "
        "velocities into the order of cells). These are device times, from the start of the first launch to the end of "
        "the last, the mean over all frames, a reordering spread over the frames that it serves; *frame* is the whole, "
        "gaps between launches included. Frames per second are of the wall clock over the same number of frames from "
        "Python, waited for once at the end. Nothing is drawn on a screen."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
)
