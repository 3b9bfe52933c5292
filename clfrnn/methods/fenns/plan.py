"""The plan of FENNS: the number and shape of the coarse cells, and the fine grid over each of them."""

from __future__ import annotations

import dataclasses
import math

from ...domain.cells import CellGrid, padded_radius
from ...errors import InvalidInputError
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from ..grid.coarse_plan import fit_coarse, most_coarse_cells
from .block_plan import BlockConfig, covers_many_images, fit_fine, plan_block, useful_cells

__all__ = ["FennsPlan", "plan_fenns", "refit_fenns"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FennsPlan:
    """The config, the coarse grid, and the fine grid that covers a coarse cell and the radius around it."""

    config: BlockConfig
    grid: CellGrid
    #: the largest number of cells that one work-group of this device can count
    most: int
    fine_shape: tuple[int, ...]
    fine_inverses: tuple[float, ...]
    #: the value of the option ``coarse_shape``, or None
    requested: tuple[int, ...] | None


def _check_cells(shape: tuple[int, ...] | None, dim: int, profile: DeviceProfile) -> tuple[int, ...] | None:
    """The option ``coarse_shape`` with a number for each axis; raises where local memory cannot count the cells."""
    if shape is None:
        return None
    if len(shape) not in (1, dim):
        raise InvalidInputError(
            f"expected a number of cells, or {dim} for the axes of the points, got {len(shape)} numbers, "
            f"{shape}; pass one for each axis",
            argument="coarse_shape",
        )
    full = shape * dim if len(shape) == 1 else shape
    most = most_coarse_cells(profile)
    if math.prod(full) > most:
        raise InvalidInputError(
            f"expected at most {most:,} cells in all, as many as a work-group of {profile} can count in "
            f"its local memory, got {' x '.join(map(str, full))} = {math.prod(full):,}; take fewer",
            argument="coarse_shape",
        )
    return full


def plan_fenns(
    problem: Problem,
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    low: tuple[float, ...],
    high: tuple[float, ...],
    tile: int | None = None,
) -> FennsPlan:
    """The plan for points between the corners `low` and `high`.

    An update gives the `tile` of the kernels that are compiled already, and the plan has blocks that fit it.
    """
    requested = _check_cells(problem.options["coarse_shape"], problem.dim, profile)
    most = most_coarse_cells(profile)
    grid = fit_coarse(
        low=low,
        high=high,
        radius=problem.radius,
        real=problem.real,
        most=most
        if requested
        else min(most, useful_cells(profile, tuning, problem=problem, low=low, high=high, tile=tile)),
        shape=requested,
        box=problem.space,
    )
    config = plan_block(profile, tuning, problem=problem, grid=grid)
    fine_shape, fine_inverses = fit_fine(grid, tuning, problem=problem, most=config.fine)
    return FennsPlan(
        config=config, grid=grid, most=most, fine_shape=fine_shape, fine_inverses=fine_inverses, requested=requested
    )


def refit_fenns(plan: FennsPlan, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> FennsPlan | None:
    """The plan for other points or another box, with the kernels of `plan`; None where its tiles do not serve."""
    tile, moved = plan.config.tile, _moved(problem)
    low, high = problem.without_strays
    fitted = plan_fenns(moved, profile, tuning, low=low, high=high, tile=tile or None)
    if tile and covers_many_images(problem, fitted.grid):
        return None
    # The config stays as it is, so that no step after the first one compiles anything.
    shape, inverses = fit_fine(fitted.grid, tuning, problem=problem, most=plan.config.fine)
    return dataclasses.replace(fitted, config=plan.config, fine_shape=shape, fine_inverses=inverses)


def _moved(problem: Problem) -> Problem:
    """The problem with a survey of its points, whose density changed with their number and the space they fill."""
    survey, floor = problem.survey, max(padded_radius(problem.radius, problem.real), 1e-300)
    corners = problem.without_strays
    before, now = (
        math.fsum(math.log(max(high / 2 - low / 2, floor)) for low, high in zip(*ends, strict=True))
        for ends in (survey.without_strays, corners)
    )
    times = math.exp(min(700.0, max(-700.0, before - now))) * problem.n / max(1, survey.n)
    return dataclasses.replace(
        problem,
        survey=dataclasses.replace(
            survey,
            n=problem.n,
            low=problem.low,
            high=problem.high,
            bulk=corners,
            others=min(float(problem.n), survey.others * times),
            counted=min(survey.counted * times, 1e300),
        ),
    )
