"""Chisholm, Maddock and Richmond (2020): strips and proportional bin widths, measured on Circles and whole models."""

from __future__ import annotations

import clfrnn

from ..paper import Measurement, Paper
from . import circles, models
from .configurations import plan
from .experiments import sections

__all__ = ["PAPER"]


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """A configuration of Circles, or of another model."""
    return (models if "model" in measurement.to_dict() else circles).measure(session, measurement)


PAPER = Paper(
    name="strips",
    title="Strips and proportional bin width: Circles, boids, pedestrians and keratinocytes",
    source=(
        "R. Chisholm, S. Maddock, P. Richmond: *Improved GPU near neighbours performance for multi-agent simulations*. "
        "Journal of Parallel and Distributed Computing 137 (2020), 53-64, "
        "[doi:10.1016/j.jpdc.2019.11.002](https://doi.org/10.1016/j.jpdc.2019.11.002). Experiments 1 to 6, the "
        "counterparts of its tables 2 and 3 and of its figures 7 to 11. The paper's own numbers are of an NVIDIA Titan "
        "X (Pascal), CUDA 9.1; its curves are not tabulated, so that what stands beside ours is what its text says."
    ),
    timed=(
        "Actors start uniformly at random and draw together into circles or hollow spheres. In each step the *query* "
        "is one visit of all neighbors, which computes the next positions, and the *construction* takes them into the "
        "index. Both are device time, from the start of the first launch to the end of the last; what is compiled is "
        "compiled for a model that is thrown away. Each number is the mean over all steps from the uniform start on; "
        "where two more follow in brackets, they are the means of the first and of the last ten steps; by the paper, "
        "200 steps lead to the steady state. *Neighbors* are those of an actor away from the border at the start. The "
        "paper's force of 0.05 is taken as 0.05 *r* divided by these neighbors, as actors with many neighbors swing "
        "for ever under a larger one. The authors' [program](https://github.com/Robadob/sp-2018-08) divides by the "
        "neighbors that an actor has at present, by which crowds form as fast and settle more slowly: in numpy, 2,000 "
        "actors had 3 to 8 % more neighbors in the mean of 200 steps than by ours.\n\n"
        "*Original* is the grid of cells of side *r*, visited cell by cell (`uniform_grid`); *width w* is the same "
        "with cells of side *w r*; *strips w* is `strips` with such cells; *default* is `strips` with the cells "
        "that clfrnn chooses.\n\n"
        "Boids, pedestrians and keratinocytes are the models of `clfrnn.models`. In a first run the device time of all "
        "visits (*query*) and of all updates of indexes (*construction*) is added up; a second run from the same "
        "start, without timers, is timed by the wall clock (*total*). What is left is the "
        "*rest*: other kernels, waits, and what the host takes longer than the device."
    ),
    plan=plan,
    measure=measure,
    sections=sections,
)
