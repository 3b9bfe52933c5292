"""The face of ASE: neighbor lists of atoms, with the arguments and results of ase.neighborlist."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..conditions import Condition
from ..errors import ArgumentError, ClfrnnError, InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import real_array, real_number, shown
from ..index import Index
from ..points.on_device import as_points
from ..points.sessions import choose_session
from ..runtime.session import Session
from .kinds_of_errors import kind_of_error

__all__ = ["neighbor_list", "primitive_neighbor_list"]

#: What can be asked for: the dtype of its numbers in results, and how many each pair has.
_QUANTITIES = {"i": (np.int64, 1), "j": (np.int64, 1), "d": (np.float64, 1), "D": (np.float64, 3), "S": (np.int64, 3)}

#: How a pair is written, by quantity.
_WRITES = {
    "j": "j_of[at] = j;",
    "d": "d_of[at] = sqrt(d2);",
    "D": "D_of[3 * at] = dx.s0; D_of[3 * at + 1] = dx.s1; D_of[3 * at + 2] = dx.s2;",
    "S": "S_of[3 * at] = shift.s0; S_of[3 * at + 1] = shift.s1; S_of[3 * at + 2] = shift.s2;",
}

#: The largest shift that is written as a byte; shifts of most lists are -1, 0 and 1.
_LARGEST_BYTE = 127


def neighbor_list(
    quantities: str,
    atoms: Any,
    cutoff: Any,
    self_interaction: bool = False,
    max_nbins: float = 1e6,
    *,
    session: Session | None = None,
) -> Any:
    """List the neighbors of atoms: ``ase.neighborlist.neighbor_list``, searched exactly on an OpenCL device.

    Parameters
    ----------
    quantities : any of "i", "j", "d", "D" and "S", in the order of the result: the first and the second atom of each
        pair, their distance, the vector from the first to the second, and the cells that it crosses; "" for none
    atoms : an ``ase.Atoms``, in any cell, with any periodic axes; atoms may lie outside the cell
    cutoff : a number; or one for each atom, where atoms are neighbors within the sum of theirs; or a dict of numbers by
        pairs of elements, as symbols or atomic numbers, where other pairs are no neighbors
    self_interaction : whether an atom is its own neighbor
    max_nbins : a number above 0, without effect
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`

    Returns
    -------
    An array for each quantity, in a tuple unless there is one: (pairs,) int64 for i and j, (pairs,) float64 for d,
    (pairs, 3) for D and, in int64, S. Pairs come by i; each pair comes twice, from either atom

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The list does not fit the device.

    Notes
    -----
    Pairs are closer than the cutoff, as in ASE: the ball is open. Distances are computed in float64, or in float32 on a
    device without it. Cost: an index, two counts, and a visit that writes what is asked for.

    Examples
    --------
    >>> from ase import Atoms
    >>> from clfrnn.interop.ase import neighbor_list
    >>> ring = Atoms("H3", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], cell=[3, 3, 3], pbc=[True, False, False])
    >>> i, j, S = neighbor_list("ijS", ring, 1.5)
    >>> sorted(zip(i.tolist(), j.tolist(), S[:, 0].tolist()))
    [(0, 1, 0), (0, 2, -1), (1, 0, 0), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    """
    return primitive_neighbor_list(
        quantities,
        atoms.pbc,
        atoms.cell.complete(),
        atoms.positions,
        cutoff,
        atoms.numbers,
        self_interaction,
        max_nbins=max_nbins,
        session=session,
    )


def primitive_neighbor_list(
    quantities: str,
    pbc: Any,
    cell: Any,
    positions: Any,
    cutoff: Any,
    numbers: Any = None,
    self_interaction: bool = False,
    use_scaled_positions: bool = False,
    max_nbins: float = 1e6,
    *,
    session: Session | None = None,
) -> Any:
    """List the neighbors of positions in a cell: ``ase.neighborlist.primitive_neighbor_list``, without objects of ASE.

    Parameters
    ----------
    quantities, cutoff, self_interaction, max_nbins, session : as for :func:`neighbor_list`
    pbc : three flags, or one: which lattice vectors repeat
    cell : (3, 3) lattice vectors as rows; those that do not repeat have no effect
    positions : (n, 3)
    numbers : (n,) atomic numbers, needed with a dict of cutoffs
    use_scaled_positions : whether positions are multiples of the lattice vectors

    Returns
    -------
    As of :func:`neighbor_list`

    Raises
    ------
    InvalidInputError, DeviceMemoryError
        As for :func:`neighbor_list`.
    """
    quantities = _names(quantities)
    if not real_number(max_nbins) > 0:
        raise kind_of_error(max_nbins)(
            f"expected a number above 0, got {shown(max_nbins)}; leave it out", argument="max_nbins"
        )
    flags = _flags(pbc)
    session = choose_session(session, positions)
    lattice = _lattice(cell)
    given = _positions(positions) @ lattice if use_scaled_positions else _positions(positions)
    if not len(given):
        return _in_order(quantities, {name: _empty(name) for name in quantities})
    reach = _Reach.of(cutoff, numbers, len(given))
    dtype = np.float64 if session.profile.fp64 else np.float32
    domain: dict[str, Any] = {"cell": _with_other_rows(lattice, flags), "periodic": flags} if flags.any() else {}
    with session.lock:
        points = as_points(given.astype(dtype, copy=False), name="positions", session=session)
        try:
            index = build_index(points, reach.largest, session=session, **domain)
        except InvalidInputError as error:
            if error.argument != "radius":
                raise
            raise InvalidInputError(error.problem, argument="cutoff") from None
        asked: dict[str, Any] = {"include_self": bool(self_interaction), "where": reach.condition(index)}
        counts = index.count(**asked).get()
        if not reach.expression and _reaches_edge(index, counts, asked):
            asked["where"] = Condition("sqrt(d2) < cutoff", cutoff=float(index.radius))
            counts = index.count(**asked).get()
        found = _write_pairs(index, quantities, counts, asked, _most_cells(given, domain, reach.largest))
    return _in_order(quantities, found)


class _Reach(NamedTuple):
    """Up to where atoms are neighbors: the largest distance, and the condition that says more."""

    largest: float
    #: an expression of pairs and its values; none for one cutoff of all
    expression: str
    values: dict[str, Any]

    @classmethod
    def of(cls, cutoff: Any, numbers: Any, n: int) -> _Reach:
        """The reach that callers mean by `cutoff`."""
        if isinstance(cutoff, Mapping):
            return cls._of_pairs(cutoff, numbers, n)
        array = real_array(cutoff)
        if array is None or array.shape not in ((), (n,)) or not (array >= 0).all():
            raise kind_of_error(cutoff)(
                f"expected a number of at least 0, one for each of {n:,} atoms, or a dict by pairs of elements, got "
                f"{shown(cutoff)}; pass a distance in the unit of the positions",
                argument="cutoff",
            )
        if not array.ndim:
            return cls(float(array), "", {})
        return cls(2 * float(array.max()), "sqrt(d2) < reach[i] + reach[j]", {"reach": array})

    @classmethod
    def _of_pairs(cls, cutoff: Mapping[Any, Any], numbers: Any, n: int) -> _Reach:
        elements = None if numbers is None else real_array(numbers)
        if elements is None or elements.shape != (n,):
            raise kind_of_error(numbers)(
                f"expected the atomic number of each of {n:,} atoms with cutoffs by pairs of elements, got "
                f"{shown(numbers)}; pass numbers",
                argument="numbers",
            )
        if not cutoff:
            raise InvalidInputError(
                "expected distances by pairs of elements, got none; write {('C', 'H'): 1.3}", argument="cutoff"
            )
        species, rank = np.unique(elements, return_inverse=True)
        table = np.zeros((len(species), len(species)))
        for pair, value in cutoff.items():
            if not isinstance(pair, tuple) or len(pair) != 2 or not real_number(value) >= 0:
                raise kind_of_error(value)(
                    f"expected distances by pairs of elements, got {shown(pair)}: {shown(value)}; write "
                    "{('C', 'H'): 1.3}",
                    argument="cutoff",
                )
            one, other = (species == _number(element) for element in pair)
            table[np.ix_(one, other)] = table[np.ix_(other, one)] = value
        values = {"rank": rank.astype(np.int32), "reach": table, "species": len(species)}
        return cls(float(table.max()), "sqrt(d2) < reach[rank[i] * species + rank[j]]", values)

    def condition(self, index: Index) -> Condition | None:
        """The condition that a pair is closer than its own cutoff; None where there is one for all."""
        if not self.expression:
            return None
        reach = self.values["reach"].astype(index.dtype)
        return Condition(self.expression, **{**self.values, "reach": reach})


def _reaches_edge(index: Index, counts: npt.NDArray[np.int32], asked: Mapping[str, Any]) -> bool:
    """Whether a pair may lie at exactly the radius: there are fewer pairs within the number below it."""
    shorter = float(np.nextafter(index.dtype.type(index.radius), index.dtype.type(0)))
    return not shorter or bool((counts != index.count(**asked, radius=shorter).get()).any())


@functools.cache
def _writer(quantities: frozenset[str], shift: str) -> NeighborFunction:
    """The function that writes the pairs of an atom from its place on; shifts in numbers of that type."""
    types = {"j": "int", "d": "real", "D": "real", "S": shift}
    arrays = [f"global {types[name]} *{name}_of" for name in sorted(quantities)]
    return NeighborFunction(
        arguments=", ".join(["global const long *begin", *arrays]),
        state="long at = begin[i];",
        per_neighbor=" ".join([*(_WRITES[name] for name in sorted(quantities)), "++at;"]),
    )


def _write_pairs(
    index: Index, quantities: str, counts: npt.NDArray[np.int32], asked: Mapping[str, Any], most_cells: float
) -> dict[str, npt.NDArray[Any]]:
    """The quantities by name of all pairs, of which each atom has that number."""
    offsets = np.zeros(index.num_points + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    pairs = int(offsets[-1])
    wanted = frozenset(quantities) - {"i"}
    narrow = most_cells <= _LARGEST_BYTE
    on_device: dict[str, Any] = {
        "j": np.int32,
        "d": index.dtype,
        "D": index.dtype,
        "S": np.int8 if narrow else np.int32,
    }
    arrays = {name: index.empty((pairs, *_empty(name).shape[1:]), on_device[name]) for name in wanted}
    if wanted and pairs:
        given = {f"{name}_of": array for name, array in arrays.items()}
        function = _writer(wanted, "char" if narrow else "int")
        index.visit(function, begin=offsets[:-1], checked=False, **asked, **given)
    found = {name: array.get().astype(_QUANTITIES[name][0], copy=False) for name, array in arrays.items()}
    if "i" in quantities:
        found["i"] = np.repeat(np.arange(index.num_points), counts)
    return found


def _in_order(quantities: str, found: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The quantities as callers get them."""
    return found[quantities] if len(quantities) == 1 else tuple(found[name] for name in quantities)


def _empty(quantity: str) -> npt.NDArray[Any]:
    """A quantity of no pairs."""
    dtype, width = _QUANTITIES[quantity]
    return np.empty((0, 3) if width == 3 else 0, dtype)


def _names(quantities: Any) -> str:
    """Return the names of quantities, or raise."""
    if not isinstance(quantities, (str, list, tuple)):
        raise ArgumentError(f"expected a text, got {shown(quantities)}; write 'ijS'", argument="quantities")
    if not all(isinstance(name, str) and name in _QUANTITIES for name in quantities):
        raise InvalidInputError(
            f"Unsupported quantity specified: expected some of {''.join(_QUANTITIES)}, got {shown(quantities)}; write "
            "'ijS'",
            argument="quantities",
        )
    return "".join(quantities)


def _flags(pbc: Any) -> npt.NDArray[np.bool_]:
    """Return whether each lattice vector repeats, (3,), or raise."""
    given = np.array(None) if pbc is None else np.asarray(pbc)
    if given.shape not in ((), (3,)) or given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
        raise InvalidInputError(
            f"expected a flag for each of three lattice vectors, or one, got {shown(pbc)}; write [True, True, False]",
            argument="pbc",
        )
    return np.broadcast_to(given.astype(bool), (3,))


def _positions(positions: Any) -> npt.NDArray[np.float64]:
    """Return positions, (n, 3), or raise."""
    found = real_array(positions)
    if found is not None and not found.size:
        return found.reshape(0, 3)
    if found is None or found.ndim != 2 or found.shape[1] != 3:
        raise InvalidInputError(
            f"expected three coordinates for each atom, got {shown(positions)}; pass shape (n, 3)",
            argument="positions",
        )
    return found


def _lattice(cell: Any) -> npt.NDArray[np.float64]:
    """Return lattice vectors as rows, (3, 3), or raise."""
    found = real_array(cell)
    if found is None or found.shape not in ((3,), (3, 3)):
        raise InvalidInputError(
            f"expected lattice vectors as rows, got {shown(cell)}; pass shape (3, 3)", argument="cell"
        )
    return found if found.ndim == 2 else np.diag(found)


def _with_other_rows(lattice: npt.NDArray[np.float64], flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Lattice vectors with those replaced that do not repeat, which may be zero: by unit vectors across the others."""
    repeating = lattice[flags]
    across = np.linalg.svd(repeating)[2][len(repeating) :]
    found = lattice.copy()
    found[~flags] = across
    return found


def _most_cells(positions: npt.NDArray[np.float64], domain: Mapping[str, Any], reach: float) -> float:
    """A bound of the cells that vectors of pairs cross, along any lattice vector."""
    if not domain or not np.isfinite(positions).all():
        return 0
    across = np.linalg.pinv(domain["cell"])
    extent = np.ptp(positions @ across, axis=0) + reach * np.linalg.norm(across, axis=0)
    return float(np.ceil(extent[domain["periodic"]].max())) + 1


def _number(element: Any) -> Any:
    """The atomic number of an element that is given by its symbol or number."""
    if not isinstance(element, str):
        return element
    try:
        from ase.data import atomic_numbers
    except ImportError:
        raise ClfrnnError("symbols of elements need ASE: pip install ase; or pass atomic numbers") from None
    if element not in atomic_numbers:
        raise InvalidInputError(
            f"expected symbols of elements or atomic numbers, got {shown(element)}; write {{('C', 'H'): 1.3}}",
            argument="cutoff",
        )
    return atomic_numbers[element]
