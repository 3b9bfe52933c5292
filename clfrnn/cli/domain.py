"""The periodic box or cell of ``clfrnn search``: its options, and the cell in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..host.printable import printable
from .arguments import Numbers
from .input import say_cell

if TYPE_CHECKING:
    from ..files import Cloud

__all__ = ["CellNumbers", "read_domain"]

#: Axes as the command line names them by number.
_DIGITS = frozenset(map(str, range(12)))


class CellNumbers(Numbers):
    """Numbers of a cell, or "none"."""

    name = "cell"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """The numbers of `value`; none of them for "none"."""
        return [] if value == "none" else super().convert(value, param, ctx)


def read_domain(path: Path, cloud: Cloud, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments ``box`` or ``cell`` and ``periodic`` of a search, from options or from the file of the points.

    Without the options, the cell of the file is that of the points. What becomes of it is printed.

    Parameters
    ----------
    path, cloud : the file and what was read of it
    given : the options ``box``, ``cell``, ``periodic`` and ``open``
    """
    box, cell, periodic, dim = given["box"], given["cell"], given["periodic"], cloud.points.shape[1]
    if box is not None and cell:
        raise click.UsageError("--box, --cell: expected one of the two, got both; leave one of them out")
    if given["open"] and (box is not None or cell or periodic is not None):
        raise click.UsageError(
            "--open: expected a search without a cell, got --box, --cell or --periodic as well; leave out --open or "
            "these"
        )
    flags = None if periodic is None else _axes(periodic, dim)
    named = (("--open", given["open"]), ("--cell none", cell == []), ("--box", box is not None), ("--cell", cell))
    if without := next((option for option, there in named if there), None):
        if cloud.cell is not None:
            say_cell(path, cloud, f"left out by {without}")
        if box is not None:
            return {"box": _corners(box, dim), "periodic": flags}
        if cell:
            return {"cell": _vectors(cell, dim), "periodic": flags}
        if periodic is not None:
            raise click.UsageError("--periodic: say how long the box is, as in --box 10,10,10, or name its --cell")
        return {}
    if cloud.cell is not None:
        return _of_file(path, cloud, flags)
    if periodic is not None:
        raise click.UsageError("--periodic: say how long the box is, as in --box 10,10,10, or name its --cell")
    if cloud.unit is not None:
        click.echo(f"cell     none, in {printable(path.name)}")
    if any(cloud.periodic):
        raise click.UsageError(
            f"--cell: {printable(path.name)} says that its atoms repeat, and not how far; give the lattice vectors by "
            "--cell, or lengths by --box, or search without a cell, by --open"
        )
    return {}


def _of_file(path: Path, cloud: Cloud, flags: list[bool] | None) -> dict[str, Any]:
    """The cell of a file, and which of its vectors repeat: those of the option, or those that the file says."""
    if cloud.points.shape[1] != 3:
        raise click.UsageError(
            f"--cell: {printable(path.name)} has a cell of three dimensions, and the points have "
            f"{cloud.points.shape[1]}; leave the cell out by --open"
        )
    repeats = list(cloud.periodic) if flags is None else flags
    say_cell(path, cloud, "")
    axes = ", ".join(str(k + 1) for k, each in enumerate(repeats) if each)
    click.echo(f"periodic {'vectors 1, 2, 3' if all(repeats) else f'vectors {axes}' if axes else 'none of them'}")
    return {"cell": cloud.cell, "periodic": repeats}


def _corners(numbers: list[float], dim: int) -> Any:
    """Lengths, or a low and a high corner, as ``box=`` takes them."""
    if len(numbers) not in (dim, 2 * dim):
        raise click.UsageError(
            f"--box: expected {dim} lengths or the {2 * dim} numbers of two corners for points in {dim}D, "
            f"got {len(numbers)}"
        )
    return numbers if len(numbers) == dim else [numbers[:dim], numbers[dim:]]


def _vectors(numbers: list[float], dim: int) -> Any:
    """Lattice vectors as ``cell=`` takes them."""
    from ..domain.lattice import cell_from_parameters

    if dim == 3 and len(numbers) == 6:
        return cell_from_parameters(*numbers)
    if len(numbers) != dim * dim:
        angles = " or three lengths and three angles" if dim == 3 else ""
        raise click.UsageError(
            f"--cell: expected the {dim * dim} numbers of {dim} lattice vectors{angles} for points in {dim}D, "
            f"got {len(numbers)}"
        )
    return [numbers[k : k + dim] for k in range(0, len(numbers), dim)]


def _axes(given: str, dim: int) -> list[bool]:
    """Return which axes repeat."""
    if given == "all":
        return [True] * dim
    words = given.split(",") if "," in given or given.isdecimal() else list(given)
    places = [
        "xyzw".find(word) if word.isalpha() and len(word) == 1 else int(word) if word in _DIGITS else -1
        for word in words
    ]
    if not words or not all(0 <= place < dim for place in places):
        raise click.UsageError(
            f"--periodic: expected axes of points in {dim}D, as in {'xyzw'[: min(dim, 4)]} or "
            f"{','.join(map(str, range(dim)))}, got {given!r}"
        )
    return [axis in places for axis in range(dim)]
