"""The periodic box or cell of ``clfrnn search``: its options, and the cell in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .arguments import Numbers, printable

__all__ = ["CellNumbers", "read_domain"]

#: Axes as the command line names them by number.
_DIGITS = frozenset(map(str, range(12)))


class CellNumbers(Numbers):
    """Numbers of a cell, or "none"."""

    name = "cell"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """The numbers of `value`; none of them for "none"."""
        return [] if value == "none" else super().convert(value, param, ctx)


def read_domain(path: Path, dim: int, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments ``box`` or ``cell`` and ``periodic`` of a search, from options or from the file of the points.

    Without the options, a cell that the file names is that of the points.
    """
    box, cell, periodic = given["box"], given["cell"], given["periodic"]
    if box is not None and cell:
        raise click.UsageError("--box, --cell: expected one of the two, got both; leave one of them out")
    flags = None if periodic is None else _axes(periodic, dim)
    if box is not None:
        return {"box": _corners(box, dim), "periodic": flags}
    if cell:
        return {"cell": _vectors(cell, dim), "periodic": flags}
    found = None if cell is not None else _cell_of(path, periodic)
    if found is not None and dim != 3:
        raise click.UsageError(
            f"--cell: {printable(path.name)} has a cell of three dimensions, and the points have {dim}; leave the cell "
            "out by --cell none"
        )
    if found is not None:
        click.echo(f"cell     {' '.join(f'{each:g}' for row in found[0] for each in row)}, of {printable(path.name)}")
        return {"cell": found[0], "periodic": found[1] if flags is None else flags}
    if periodic is not None:
        raise click.UsageError("--periodic: say how long the box is, as in --box 10,10,10, or name its --cell")
    return {}


def _cell_of(path: Path, periodic: str | None) -> tuple[Any, list[bool]] | None:
    """The lattice vectors that a file of atoms has, and which of them repeat; None where it has none.

    The cell of an extended .xyz file counts unasked, that of other files where `periodic` says so.
    """
    from .readers.atoms import read_lattice
    from .readers.crystals import is_crystal, read_cell

    if not is_crystal(path):
        return read_lattice(path)
    return None if periodic is None else (read_cell(path), [True] * 3)


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
