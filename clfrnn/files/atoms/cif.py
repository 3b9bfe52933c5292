"""Atoms of crystals in .cif files, mmCIF included, whose text is read by the package gemmi."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...domain.lattice import cell_from_parameters
from ...errors import InvalidInputError
from ...host.foreign_warnings import ignored_warnings
from ..cloud import Cloud
from ..contents import label, left_out, quoted, read_lines, reading, shown
from ..names import is_number
from .symmetry import find_operations, images, order_of

if TYPE_CHECKING:
    import gemmi

__all__ = ["read_cif"]

Array = np.ndarray[Any, Any]

_LENGTHS = tuple(f"_cell{{0}}length_{axis}" for axis in "abc")
_ANGLES = tuple(f"_cell{{0}}angle_{angle}" for angle in ("alpha", "beta", "gamma"))

#: The tags of symmetry, as dictionaries of several times have them.
_OPERATIONS = (
    "_space_group_symop_operation_xyz",
    "_space_group_symop.operation_xyz",
    "_symmetry_equiv_pos_as_xyz",
    "_symmetry_equiv.pos_as_xyz",
)
_HALL = ("_space_group_name_Hall", "_space_group.name_Hall", "_symmetry_space_group_name_Hall",
         "_symmetry.space_group_name_Hall")  # fmt: skip
_NAMES = ("_space_group_name_H-M_alt", "_space_group.name_H-M_alt", "_symmetry_space_group_name_H-M",
          "_symmetry.space_group_name_H-M", "_space_group_name_H-M_ref", "_space_group.name_H-M_full")  # fmt: skip
_NUMBERS = ("_space_group_IT_number", "_space_group.IT_number", "_symmetry_Int_Tables_number",
            "_symmetry.Int_Tables_number")  # fmt: skip

#: The cell of files whose atoms are in none, by a habit of mmCIF.
_NO_CELL = (1.0, 1.0, 1.0, 90.0, 90.0, 90.0)

#: A number with its uncertainty in brackets, and a number that is not known.
_UNCERTAIN = re.compile(r"\([0-9]*\)$", re.ASCII)
_UNKNOWN = ("?", ".")

#: Columns of sites that are read: names, elements, and numbers that are compared with what is found.
_LABELS, _ELEMENTS = ("label", "auth_atom_id", "label_atom_id"), ("type_symbol",)
_MODEL = "_atom_site.pdbx_PDB_model_num"
_MULTIPLICITIES = ("_atom_site_symmetry_multiplicity", "_atom_site_site_symmetry_multiplicity")


def read_cif(path: Path) -> Cloud:
    """Read all atoms of the cell in Å: the sites of the only structure, and their images by its symmetry.

    The operations of symmetry count, where the file lists them; else the symbol of Hall, that of Hermann and Mauguin,
    or the number of its space group. Sites are never merged. Sites without coordinates are left out and counted.
    """
    try:
        with ignored_warnings():
            from gemmi import cif
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: .cif files are read by the package gemmi, which is not installed; pip install 'clfrnn[files]'"
        ) from error
    text = "\n".join(read_lines(path, any_signs=True))
    with reading(path, "atoms as .cif files hold them", "correct it, or save it again"), ignored_warnings():
        blocks = [block for block in cif.read_string(text) if _sites(block) is not None]
        if len(blocks) != 1:
            names = ", ".join(block.name for block in blocks)
            raise InvalidInputError(
                f"{label(path)}: expected one structure with atoms, got {len(blocks) or 'none'}"
                f"{f' ({shown(names, 80)})' if names else ''}; "
                + (
                    "save each as a file"
                    if blocks
                    else "save it again, with _atom_site_fract_x, _y and _z of the atoms"
                )
            )
        return _Structure(path, blocks[0]).cloud()


def _sites(block: gemmi.cif.Block) -> tuple[gemmi.cif.Table, bool] | None:
    """The coordinates of sites, and whether they are fractions; None where a block has none."""
    for kind in ("fract", "Cartn"):
        for between in ("_", "."):
            table = block.find([f"_atom_site{between}{kind}_{axis}" for axis in "xyz"])
            if len(table):
                return table, kind == "fract"
    return None


class _Structure:
    """A block with atoms."""

    def __init__(self, path: Path, block: gemmi.cif.Block) -> None:
        self._path, self._block = path, block

    def cloud(self) -> Cloud:
        """The atoms of the cell."""
        found = _sites(self._block)
        assert found is not None
        table, fractions = found
        rows = [[_UNCERTAIN.sub("", self._plain(word)) for word in row] for row in table]
        known = np.array([not any(word in _UNKNOWN for word in row) for row in rows], bool)
        for k, row in enumerate(rows):
            for word in row if known[k] else ():
                if not is_number(word) or not math.isfinite(float(word)):
                    self._fail(f"finite numbers as the coordinates of site {k + 1}", quoted(word), "correct it")
        sites = np.array([row for k, row in enumerate(rows) if known[k]], dtype=float).reshape(-1, 3)
        self._check_models()
        cell = self._cell()
        notes = []
        if not known.all():
            notes.append(f"{label(self._path)}: {int((~known).sum()):,} sites without coordinates are left out")
        names, species = self._column(_LABELS, known), self._column(_ELEMENTS, known)
        notes += left_out(self._path, self._other_columns(table))
        if cell is None:
            if fractions:
                self._fail("the lengths and angles of the cell", "none", "add _cell_length_a and the others")
            notes.append(f"{label(self._path)}: it has no cell")
            return Cloud(
                points=sites, unit="Å", species=species, names=names, skipped=int((~known).sum()), notes=tuple(notes)
            )
        fractional = sites if fractions else np.linalg.solve(cell.T, sites.T).T
        decimals = np.array([max(_decimals(word) for word in row) for k, row in enumerate(rows) if known[k]], int)
        words = self._operations()
        symbols = [self._first(tags) for tags in (_HALL, _NAMES, _NUMBERS)]
        if not words and not any(symbols):
            notes.append(f"{label(self._path)}: it says nothing of symmetry, so that its atoms are those that it lists")
        try:
            operations = find_operations(words, symbols, cell)
        except (ValueError, RuntimeError) as error:
            self._fail(
                "the operations of symmetry, or a space group with its setting",
                shown(" ".join(str(error).split()), 120),
                "add the operations to the file, as _space_group_symop_operation_xyz",
            )
        if words and (order := order_of(symbols[1])) not in (None, len(operations.rotations)):
            notes.append(
                f"{label(self._path)}: its {len(operations.rotations)} operations of symmetry count, and not its space "
                f"group {shown(symbols[1])}, which has {order}"
            )
        try:
            every, owner = images(fractional, decimals if fractions else decimals + 2, cell, operations)
        except ValueError as error:
            self._fail("sites and their images", str(error), "write coordinates in more decimals")
        self._check_multiplicities(known, owner, len(operations.rotations))
        points = every @ cell
        if not fractions:  # atoms that are listed stay where they are, to the last bit
            first = np.unique(owner, return_index=True)[1]
            points[first] = sites
        return Cloud(
            points=points,
            cell=cell,
            periodic=(True, True, True),
            unit="Å",
            species=None if species is None else species[owner],
            names=None if names is None else names[owner],
            skipped=int((~known).sum()),
            notes=tuple(notes),
        )

    def _cell(self) -> Array | None:
        """The lattice vectors as rows, from lengths and angles, or None."""
        words = [self._first([tag.format("_"), tag.format(".")]) for tag in (*_LENGTHS, *_ANGLES)]
        if not any(words):
            return None
        numbers = [_UNCERTAIN.sub("", word) for word in words]
        if not all(map(is_number, numbers)):
            k = next(k for k, word in enumerate(numbers) if not is_number(word))
            tag = (*_LENGTHS, *_ANGLES)[k].format("_")
            self._fail(f"a number as {tag}", quoted(words[k]) if words[k] else "nothing", "add it to the file")
        parameters = tuple(float(word) for word in numbers)
        if parameters == _NO_CELL:
            return None
        try:
            return np.array(cell_from_parameters(*parameters))
        except InvalidInputError as error:
            self._fail("the lengths and angles of a cell", " ".join(words), f"correct them ({error})")

    def _operations(self) -> list[str]:
        """The operations of symmetry that the block lists."""
        for tag in _OPERATIONS:
            if words := [self._plain(word) for word in self._block.find_values(tag)]:
                return [word for word in words if word not in _UNKNOWN]
        return []

    def _check_models(self) -> None:
        """Refuse several models of the same atoms, which are frames."""
        models = {self._plain(word) for word in self._block.find_values(_MODEL)}
        if len(models) > 1:
            self._fail("one model", f"{len(models):,}", "save each as a file")

    def _check_multiplicities(self, known: Array, owner: Array, order: int) -> None:
        """Refuse images whose number is another than the file says, as a multiplicity or as the order of the site."""
        for tag in _MULTIPLICITIES:
            words = [self._plain(word) for word in self._block.find_values(tag)]
            if len(words) != len(known):
                continue
            counts = np.bincount(owner, minlength=int(known.sum()))
            for word, count in zip(
                (word for word, here in zip(words, known, strict=True) if here), counts, strict=True
            ):
                if word.isdecimal() and int(word) not in (count, order // count):
                    self._fail(f"{word} images of a site, as {tag} says", f"{count}", "correct its coordinates")

    def _column(self, names: tuple[str, ...], known: Array) -> Array | None:
        """A column of the sites as texts, of the first name that is there."""
        for name in names:
            for between in ("_", "."):
                words = [self._plain(word) for word in self._block.find_values(f"_atom_site{between}{name}")]
                if len(words) == len(known):
                    return np.array(words, dtype=str)[known]
        return None

    def _other_columns(self, table: gemmi.cif.Table) -> list[str]:
        """The columns of the sites that are not read."""
        loop = table.loop
        read = {*table.tags, _MODEL, *_MULTIPLICITIES}
        for names in (_LABELS, _ELEMENTS):
            tags = [f"_atom_site{between}{name}" for name in names for between in ("_", ".")]
            read |= set(next(([tag] for tag in tags if loop is not None and tag in loop.tags), []))
        return [tag[len("_atom_site_") :] for tag in (loop.tags if loop is not None else ()) if tag not in read]

    def _first(self, tags: Any) -> str:
        """The value of the first tag that has one, without quotes; nothing where none has."""
        for tag in tags:
            word = self._block.find_value(tag)
            if word is not None and (value := self._plain(word).strip()) not in ("", *_UNKNOWN):
                return value
        return ""

    @staticmethod
    def _plain(word: str) -> str:
        """A value without its quotes."""
        from gemmi import cif

        return str(cif.as_string(word)) if word not in _UNKNOWN else word

    def _fail(self, expected: str, got: str, remedy: str) -> NoReturn:
        raise InvalidInputError(f"{label(self._path)}: expected {expected}, got {got}; {remedy}, or save it again")


def _decimals(word: str) -> int:
    """How many decimals a number has, those of its exponent included."""
    mantissa, _, exponent = word.lower().partition("e")
    return min(17, max(0, len(mantissa.partition(".")[2]) - int(exponent or 0)))
