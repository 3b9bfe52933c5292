"""Symmetry of crystals: the operations that a .cif file says, and the sites that they make of those it lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import gemmi

__all__ = ["Operations", "find_operations", "images", "order_of"]

Array = np.ndarray[Any, Any]

#: Two images of one site are the same atom where they lie within this of each other, in Å, and within as many units of
#: the last decimal of the coordinates: positions on an axis or a plane of symmetry are rounded in the file.
_MOST_APART, _UNITS_APART = 0.4, 3.0

#: How ICSD writes settings behind a name: the origin at -1 (Z) or not (S), hexagonal or rhombohedral axes.
_SETTINGS = {"S": ":1", "Z": ":2", "H": ":H", "HR": ":H", "R": ":R", "RS": ":R"}
_SETTING = re.compile(r"^(?P<name>.*\S)\s+(?P<setting>S|Z|H|HR|R|RS)$")

#: How much an operation may change the lengths of a cell and still belong to it, as a part of them.
_STRAIN = 0.02


#: Translations are multiples of a part of a lattice vector.
_PARTS = 24


class Operations(NamedTuple):
    """Rotations and translations, in fractions of the lattice vectors; the first is the identity."""

    #: (k, 3, 3)
    rotations: Array
    #: (k, 3)
    translations: Array


def operations_of(ops: Iterable[gemmi.Op]) -> Operations:
    """The operations of a group as arrays."""
    seitz = np.array([op.float_seitz() for op in sorted(ops, key=lambda op: op != "x,y,z")])
    return Operations(seitz[:, :3, :3], seitz[:, :3, 3])


def find_operations(words: Sequence[str], symbols: Sequence[str], cell: Array) -> Operations:
    """The operations that a file says: by themselves, else by the symbols of its space group, else by its number.

    Parameters
    ----------
    words : operations such as ``-x,y+1/2,-z``, or none
    symbols : of the space group that of Hall, that of Hermann and Mauguin, and the number in the International Tables;
        empty where the file has none
    cell : (3, 3), the lattice vectors as rows; of settings in other axes, those are taken that it fits

    Raises
    ------
    ValueError
        What is said is no group, or leaves open which of several it is.
    """
    import gemmi

    if words:
        ops = list({op.triplet(): op for op in (gemmi.Op(word).wrap() for word in words)}.values())
        found = operations_of(ops)
        _products(found)
        return found
    hall, name, number = symbols
    if hall:
        return operations_of(gemmi.symops_from_hall(hall.replace("_", " ")))
    if name:
        return _by_name(name, cell)
    if number:
        return _by_number(number, cell)
    return operations_of([gemmi.Op("x,y,z")])


def _numbers(rotations: Array, moves: Array) -> Array:
    """A number for each operation, given its rotation and its translation in parts; those modulo whole vectors."""
    digits = np.concatenate([rotations.reshape(*rotations.shape[:-2], 9) % _PARTS, moves % _PARTS], axis=-1)
    return np.asarray(digits @ _PARTS ** np.arange(12, dtype=np.int64))


def _products(ops: Operations) -> Array:
    """(k, k), for each two operations the place of the one by which the second is the first and then that one.

    Raises
    ------
    ValueError
        The operations are no group whose first is the identity.
    """
    rotations = np.rint(ops.rotations).astype(int)
    moves = np.rint(ops.translations * _PARTS).astype(int)
    place = {number: k for k, number in enumerate(_numbers(rotations, moves).tolist())}
    table = np.full((len(rotations), len(rotations)), -1)
    for k, (rotation, move) in enumerate(zip(rotations, moves, strict=True)):
        later = _numbers(rotation @ rotations, moves @ rotation.T + move)
        for number, other in zip(later.tolist(), range(len(rotations)), strict=True):
            if number not in place:
                raise ValueError(f"{len(rotations)} operations of symmetry that are no group")
            table[place[number], k] = other
    if not np.array_equal(rotations[0], np.eye(3)) or (moves[0] % _PARTS).any() or (table < 0).any():
        raise ValueError(f"{len(rotations)} operations of symmetry that are no group")
    return table


def order_of(name: str) -> int | None:
    """How many operations a space group has, by its symbol of Hermann and Mauguin; None where it is not known."""
    import gemmi

    found = gemmi.find_spacegroup_by_name(" ".join(name.replace("_", " ").split())) if name else None
    return None if found is None else len(list(found.operations()))


def _by_name(name: str, cell: Array) -> Operations:
    """The operations of a symbol of Hermann and Mauguin, whose setting the cell may say."""
    import gemmi

    plain = " ".join(name.replace("_", " ").split())
    match = _SETTING.fullmatch(plain)
    found = gemmi.find_spacegroup_by_name(plain)
    if found is None and match is not None:
        found = gemmi.find_spacegroup_by_name(match["name"] + _SETTINGS[match["setting"]])
    if found is None:
        raise ValueError(f"a space group that is not known, {name!r}")
    if ":" in plain or match is not None:
        return operations_of(found.operations())
    same = [each for each in gemmi.spacegroup_table() if each.hm == found.hm]
    return _of_settings(same, f"the space group {name!r}", cell)


def _by_number(number: str, cell: Array) -> Operations:
    """The operations of a number in the International Tables, in the standard setting if the cell fits it."""
    import gemmi

    if not re.fullmatch(r"[0-9]{1,3}", number) or not 1 <= int(number) <= 230:
        raise ValueError(f"a space group that is not known, {number!r}")
    settings = [each for each in gemmi.spacegroup_table() if each.number == int(number)]
    standard = next(each for each in settings if each.is_reference_setting())
    same = [each for each in settings if each.hm == standard.hm]
    fitting = [each for each in same if _fits(each, cell)]
    if not fitting and (others := [each for each in settings if _fits(each, cell)]):
        raise ValueError(
            f"the space group {number} in another setting than the standard one, such as {others[0].xhm()}, whose name "
            "it does not say"
        )
    return _of_settings(same, f"the space group {number}", cell)


def _of_settings(settings: Sequence[gemmi.SpaceGroup], what: str, cell: Array) -> Operations:
    """The operations of the only setting that fits a cell."""
    fitting = [each for each in settings if _fits(each, cell)]
    if not fitting:
        raise ValueError(f"{what}, whose symmetry the cell does not have")
    if len(fitting) > 1:
        names = " or ".join(each.xhm() for each in fitting)
        raise ValueError(f"{what} without its setting, {names}")
    return operations_of(fitting[0].operations())


def _fits(group: gemmi.SpaceGroup, cell: Array) -> bool:
    """Whether the operations of a group leave the lengths and angles of a cell as they are."""
    metric = cell @ cell.T
    scale = np.sqrt(np.outer(np.diag(metric), np.diag(metric)))
    rotations = operations_of(group.operations()).rotations
    return bool((np.abs(rotations.transpose(0, 2, 1) @ metric @ rotations - metric) <= _STRAIN * scale).all())


def images(sites: Array, decimals: Array, cell: Array, ops: Operations) -> tuple[Array, Array]:
    """The positions of all atoms in a cell, in fractions, and the site of each.

    Parameters
    ----------
    sites : (n, 3), the sites of the file in fractions; they stay where they are
    decimals : (n,), the decimals of their coordinates
    cell : (3, 3), the lattice vectors as rows
    ops : the operations; the images that they make lie in the cell

    Raises
    ------
    ValueError
        A site lies so near to an element of symmetry that its atoms cannot be counted.
    """
    apart = np.minimum(1.0, _UNITS_APART * 10.0 ** -decimals.astype(float))
    # Sites that the same operations leave where they are have their images by the same others.
    still = np.array(
        [_same(sites @ rotation.T + move, sites, apart, cell) for rotation, move in zip(*ops, strict=True)]
    ).T.reshape(len(sites), len(ops.rotations))
    kinds, kind = np.unique(still, axis=0, return_inverse=True)
    products = _products(ops)
    found, owners = [sites], [np.arange(len(sites))]
    for k, stays in enumerate(kinds):
        own = np.flatnonzero(kind.reshape(-1) == k)
        first = ~np.tril(stays[products], -1).any(axis=1)
        if first.sum() * stays.sum() != len(stays):
            raise ValueError(f"site {own[0] + 1} so near to an element of symmetry that its atoms cannot be counted")
        for place in np.flatnonzero(first)[1:]:
            moved = sites[own] @ ops.rotations[place].T + ops.translations[place]
            found.append(moved - np.floor(moved))
            owners.append(own)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(found)[order], owner[order]


def _same(first: Array, second: Array, apart: Array, cell: Array) -> Array:
    """Whether positions in fractions are those of one atom, up to whole lattice vectors."""
    difference = first - second
    difference -= np.round(difference)
    near = (np.abs(difference) <= apart[..., None]).all(axis=-1)
    return near & (((difference @ cell) ** 2).sum(axis=-1) <= _MOST_APART**2)
