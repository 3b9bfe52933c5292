"""Batches: checks `batch` and `query_batch`, and the domains of many systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..arrays import REAL_OF, is_device_array
from ..domain.box import Domain, PeriodicBox
from ..domain.systems import Systems
from ..errors import InvalidInputError
from ..functions import Argument, ConditionCode
from ..host.numbers import is_masked, real_array, shown
from ..runtime.session import Session
from .adoption import adopt
from .conditions import BoundCondition
from .periodic_box import as_flags, check_domain, check_images
from .transfer import check_context, fetch

__all__ = [
    "QuerySystems",
    "check_number",
    "domain_of_points",
    "in_one_system",
    "other_domain",
    "take_query_systems",
    "take_systems",
]

_OF_POINT, _OF_QUERY = (
    Argument(name, "int", buffer=True, const=True) for name in ("frnn_system_of_point", "frnn_system_of_query")
)


class QuerySystems(NamedTuple):
    """The systems of queries, as places among those of the points; one place behind the last for any other system."""

    ranks: np.ndarray[Any, Any]
    array: cla.Array
    #: the systems by the numbers of queries that conditions know, where these are other numbers
    by_number: cla.Array


def take_systems(session: Session, value: Any, name: str, length: int | None) -> np.ndarray[Any, Any]:
    """Return the system of each row, (length,) integers on the host; any length where it is None."""
    value = adopt(session, value, name)
    if is_device_array(value):
        check_context(session, value, name)
        value = fetch(session, value)
    if is_masked(value):
        raise InvalidInputError(
            "expected an integer for each row, the number of its system, got a masked array; fill it, or drop "
            "the masked rows",
            argument=name,
        )
    try:
        numbers = np.asarray(value)
    except (ValueError, TypeError):
        numbers = np.zeros(0, object)
    if numbers.size == 0 and numbers.ndim == 1:
        numbers = numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise InvalidInputError(
            f"expected an integer for each row, the number of its system, got {shown(value)} of dtype "
            f"{numbers.dtype}; pass integers, for instance with astype(numpy.int64)",
            argument=name,
        )
    if numbers.shape != ((numbers.size,) if length is None else (length,)):
        rows = "n" if length is None else str(length)
        raise InvalidInputError(
            f"expected shape ({rows},), one number for each row, got shape {numbers.shape}; pass the number of "
            "the system of each row",
            argument=name,
        )
    return numbers


def _make_systems(
    session: Session, batch: Any, domain: tuple[Any, Any, Any], *, n: int, dim: int, dtype: np.dtype[Any]
) -> Systems:
    """The systems of `n` points, with the space of each.

    Without points there is a system without points for each entry of the domain, as nobody says which there are.
    """
    numbers, ranks = _ranked(take_systems(session, batch, "batch", n))
    domains, of_system = _domains(domain, numbers, dim, dtype)
    numbers = numbers if n else np.arange(len(of_system))
    return Systems(real=REAL_OF[dtype], numbers=numbers, ranks=ranks, domains=domains, of_system=of_system)


def _other_systems(
    session: Session, before: Systems, batch: Any, domain: tuple[Any, Any], dtype: np.dtype[Any]
) -> Systems:
    """The systems that take the place of `before`, of points with another `batch`, in another box or cell if given.

    Systems have the spaces that those of the same numbers had where no box and no cell is given, and in any case the
    same periodic axes. Where these are the same for all systems, there may be systems of other numbers. Without a
    batch, systems and points are those of before.
    """
    numbers, ranks = before.numbers, before.ranks
    if batch is not None:
        found, ranks = _ranked(take_systems(session, batch, "batch", None))
        numbers = found if len(found) else numbers
    if all(each is None for each in domain):
        domains = before.domains
        of_system = before.of_system[_known(before, numbers, "boxes")] if len(domains) > 1 else 0
        of_system = np.zeros(len(numbers), np.intp) + of_system
    else:
        flags = np.array([each.lengths for each in before.domains]) > 0
        alike = bool((flags == flags[0]).all())
        periodic = flags[0] if alike else flags[before.of_system[_known(before, numbers, "periodic axes")]]
        # Nobody says which systems there are without points, but for the entries of the domain.
        counted = np.zeros(0, np.int64) if alike and not len(ranks) else numbers
        domains, of_system = _domains((*domain, periodic), counted, before.dim, dtype)
        numbers = numbers if len(counted) else np.arange(len(of_system))
    return Systems(real=before.real, numbers=numbers, ranks=ranks, domains=domains, of_system=of_system)


def _known(before: Systems, numbers: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """The places of `numbers` among the systems of before, whose boxes or axes differ; raises for other numbers."""
    places = np.minimum(np.searchsorted(before.numbers, numbers), len(before.numbers) - 1)
    unknown = numbers[before.numbers[places] != numbers]
    if len(unknown):
        hint = "pass box or cell with an entry for each system" if what == "boxes" else "build anew"
        raise InvalidInputError(
            f"expected numbers of systems that there were before, as their {what} differ, got {unknown[0]}; {hint}",
            argument="batch",
        )
    return places


def _ranked(numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The different numbers, ascending, and the place of each row's number among them."""
    if not numbers.size:
        return numbers, np.zeros(0, np.int32)
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 4 * numbers.size + 1024:
        found, ranks = np.unique(numbers, return_inverse=True)
        return found, ranks.astype(np.int32)
    # Faster than a sort; in a type that holds all of these numbers and their differences.
    wide = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64)
    offsets = (wide - wide.dtype.type(low)).astype(np.int64)
    there = np.bincount(offsets, minlength=high - low + 1) > 0
    places = np.cumsum(there) - 1
    return np.flatnonzero(there).astype(object) + low if high > 2**62 else np.flatnonzero(there) + low, places[
        offsets
    ].astype(np.int32)


def _domains(
    domain: tuple[Any, Any, Any], numbers: np.ndarray[Any, Any], dim: int, dtype: np.dtype[Any]
) -> tuple[tuple[PeriodicBox, ...], np.ndarray[Any, Any]]:
    """The different spaces, and which of them each system has."""
    box, cell, periodic = domain
    given: dict[str, np.ndarray[Any, Any]] = {}
    flags = None if periodic is None else as_flags(periodic)
    if box is not None:
        array = _boxes(box, dim)
        if array.ndim == 3 or (array.ndim == 2 and not _are_corners(array, flags, numbers, dim)):
            given["box"] = array
    if cell is not None and (array := _numbers("cell", cell)).ndim == 3:
        given["cell"] = array
    if periodic is not None and flags is None:
        raise InvalidInputError(
            f"expected True, False or {dim} of them, for all systems or for each, got "
            f"{shown(periodic)}; pass True for the axes that repeat",
            argument="periodic",
        )
    if flags is not None and flags.ndim and flags.shape != (dim,):
        given["periodic"] = flags
    if not len(numbers):
        # No entry may be that of no system; without any, an entry says whether axes are periodic by default.
        entries = {"box": np.ones(dim), "cell": np.eye(dim), "periodic": np.ones(dim, bool)}
        given = {name: array if len(array) else entries[name][None] for name, array in given.items()}
        numbers = np.arange(max(map(len, given.values()), default=1))
    many = len(numbers)
    if not given:
        return (check_domain(box, cell, periodic, dim, dtype),), np.zeros(many, np.intp)
    each = [(name, _of_systems(name, array, numbers)) for name, array in given.items()]
    rows = np.concatenate([array.reshape(many, -1).astype(np.float64) for _, array in each], axis=1)
    _, first, of_system = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    found = []
    for system in first.tolist():
        own = {"box": box, "cell": cell, "periodic": periodic}
        own |= {name: array[system] for name, array in each}
        try:
            found.append(check_domain(own["box"], own["cell"], own["periodic"], dim, dtype))
        except InvalidInputError as error:
            raise InvalidInputError(f"of system {numbers[system]}: {error.problem}", argument=error.argument) from None
    return tuple(found), of_system.reshape(-1)


def _numbers(name: str, value: Any) -> np.ndarray[Any, Any]:
    array = real_array(value)
    if array is None:
        raise InvalidInputError(
            f"expected numbers, in an array with one entry for each system or of one entry for all, got "
            f"{shown(value)}; pass a rectangular array",
            argument=name,
        )
    return array


def _boxes(value: Any, dim: int) -> np.ndarray[Any, Any]:
    """The numbers of `box`; those of a list with both lengths and corners as corners."""
    try:
        shapes = {np.shape(each) for each in value} if isinstance(value, list | tuple) else set()
    except ValueError:  # neither lengths nor corners
        shapes = set()
    if shapes == {(dim,), (2, dim)}:
        value = [each if np.ndim(each) == 2 else [np.zeros(dim), each] for each in value]
    return _numbers("box", value)


def _are_corners(
    array: np.ndarray[Any, Any], flags: np.ndarray[Any, Any] | None, numbers: np.ndarray[Any, Any], dim: int
) -> bool:
    """Whether two rows are the corners of one box, and not the lengths of the boxes of two systems.

    They are lengths where points have two different numbers, whatever the numbers, so that the same box means the same
    for each part of a batch.
    """
    if array.shape != (2, dim):
        return False
    # A low corner may be anything; lengths of periodic axes are positive, and those of other axes are not read.
    counts = np.ones(dim, bool)
    if flags is not None and flags.shape in ((dim,), (2, dim)):
        counts = flags
    elif flags is not None and flags.shape == (2,):  # one for each system
        counts = flags[:, None]
    return len(numbers) != 2 or not (array[np.broadcast_to(counts, (2, dim))] > 0).all()


def _of_systems(name: str, array: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The entry of each system."""
    places = _places(len(array), numbers)
    if places is None:
        raise InvalidInputError(
            f"expected one entry for all systems, or one for each of the {len(numbers):,} systems of batch in "
            f"ascending order of their numbers, got {len(array):,}, of shape {array.shape}; pass shape "
            f"({len(numbers)}, {', '.join(map(str, array.shape[1:]))})",
            argument=name,
        )
    return array[places]


def _places(given: int, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Which of `given` entries each system has: they are those of all systems, or of the numbers from 0 to the last.

    The latter where some of these numbers have no points. None where there are more or fewer entries.
    """
    if given == len(numbers):
        return np.arange(given)
    if len(numbers) and int(numbers[0]) >= 0 and int(numbers[-1]) + 1 == given:
        return numbers.astype(np.intp)
    return None


def take_query_systems(session: Session, domain: Domain, query_batch: Any, m: int | None) -> QuerySystems | None:
    """The systems of `m` queries, where points have systems; without queries, `m` is None and so are these."""
    if m is None:
        if query_batch is not None:
            raise InvalidInputError(
                f"expected none without queries, got {shown(query_batch)}; points have the numbers of batch",
                argument="query_batch",
            )
        return None
    if not isinstance(domain, Systems):
        if query_batch is not None:
            raise InvalidInputError(
                f"expected none, as points have no batch, got {shown(query_batch)}; pass batch= with the points",
                argument="query_batch",
            )
        return None
    return _systems_of_queries(session, domain, query_batch, m)


def _systems_of_queries(session: Session, systems: Systems, query_batch: Any, m: int) -> QuerySystems:
    if query_batch is None:
        raise InvalidInputError(
            f"expected the system of each of the {m:,} queries, as points have a batch, got None; pass shape ({m},)",
            argument="query_batch",
        )
    numbers = take_systems(session, query_batch, "query_batch", m)
    places = np.searchsorted(systems.numbers, numbers)
    known = systems.numbers[np.minimum(places, len(systems.numbers) - 1)] == numbers
    ranks = np.where(known, places, len(systems.numbers)).astype(np.int32)
    array = session.upload(ranks if m else np.zeros(1, np.int32), purpose="the systems of queries")
    return QuerySystems(ranks, array, array)


def in_one_system(
    of_points: cla.Array, of_queries: QuerySystems | None, where: BoundCondition | None
) -> BoundCondition:
    """The condition that query and point are of one system, and the caller's own after it."""
    text, arguments, values = "frnn_system_of_point[i] == frnn_system_of_point[j]", [_OF_POINT], [of_points]
    if of_queries is not None:
        text = "frnn_system_of_query[i] == frnn_system_of_point[j]"
        arguments, values = [_OF_POINT, _OF_QUERY], [of_points, of_queries.by_number]
    if where is None:
        code = ConditionCode(text, "", tuple(arguments))
        return BoundCondition(code, tuple(values), code, (False,) * len(values))
    own = where.code
    # The expression may end in a comment.
    code = ConditionCode(f"{text} ? ({own.expression}\n) : 0", own.preamble, (*arguments, *own.arguments))
    borrowed = (False,) * len(values) + where.borrowed
    return BoundCondition(code, (*values, *where.values), (code, where.kind), borrowed)


def domain_of_points(
    session: Session,
    domain: tuple[Any, Any, Any],
    batch: Any,
    query_batch: Any,
    *,
    n: int,
    dim: int,
    dtype: np.dtype[Any],
    radius: float,
) -> Domain:
    """The domain of points: their systems where they have a batch, or one space for all."""
    found: Domain
    if batch is not None:
        found = _make_systems(session, batch, domain, n=n, dim=dim, dtype=dtype)
    elif query_batch is not None:
        raise InvalidInputError(
            f"expected batch with it, the system of each point, got {shown(query_batch)} alone; pass both",
            argument="query_batch",
        )
    else:
        found = check_domain(*domain, dim, dtype)
    if found.has_images:
        check_images(found, radius, n, REAL_OF[dtype])
    return found


def other_domain(
    session: Session, before: Domain, batch: Any, domain: tuple[Any, Any], *, has_box: bool, dtype: np.dtype[Any]
) -> Domain:
    """The domain that takes the place of `before`, with another `batch`, or another box or cell; the same axes repeat.

    `has_box` says whether the index was built with a box, periodic or not.
    """
    if batch is not None and not isinstance(before, Systems):
        raise InvalidInputError(
            f"expected none, as there was none when it was built, got {shown(batch)}; build anew with batch",
            argument="batch",
        )
    given = {name: value for name, value in zip(("box", "cell"), domain, strict=True) if value is not None}
    if given and not has_box and not before.has_images:
        name, value = given.popitem()
        raise InvalidInputError(
            f"expected none, as there was no box when it was built, got {shown(value)}; leave it out, or build anew "
            f"with {name}",
            argument=name,
        )
    if isinstance(before, Systems):
        return _other_systems(session, before, batch, domain, dtype)
    lengths = before.space.lengths
    return check_domain(*domain, [length > 0 for length in lengths], len(lengths), dtype)


def check_number(domain: Domain, n: int) -> None:
    """Raise where `n` points are not as many as the domain has numbers of systems for."""
    if domain.num_points not in (None, n):
        raise InvalidInputError(
            f"expected {domain.num_points:,} points, as many as batch has numbers, got {n:,}; pass batch with "
            "the number of the system of each point",
            argument="points",
        )
