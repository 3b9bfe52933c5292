"""Ask: one query of an index after its arguments were checked."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyopencl.array as cla

from ..arrays import is_device_array, is_scalar, one_radius, round_radii
from ..configs import VisitVariant
from ..errors import DeviceMemoryError, InvalidInputError
from ..primitives.pending import PendingBox
from ..primitives.reduce import bounding_box
from ..session import Session
from .intake import take_points, take_radii
from .list_spec import ListSpec
from .periodic import check_host_near
from .watch import check_largest

if TYPE_CHECKING:
    from .index import Index

__all__ = ["Ask", "make_ask", "make_spec", "natural"]


class Ask(NamedTuple):
    """One checked query: where the queries are, how far they look, what they leave out, and what they look into."""

    queries: cla.Array | None
    m: int
    radius: float
    radii: cla.Array | None
    include_self: bool
    half: bool
    #: the walk's own arguments: the points as they were when the query was asked, whatever the index does since
    walk: tuple[Any, ...]
    #: the kernels that serve it between them: see :class:`~clfrnn.configs.VisitVariant`
    images: tuple[str, ...]
    #: what the walk takes of queries in an order of their own
    placed: tuple[Any, ...] = ()
    #: the first of the queries that are served and the one behind the last, or None for all
    part: tuple[int, int] | None = None
    #: arrays are the caller's own, who may write to them after the call
    borrowed: bool = False
    #: what is placed is a copy of the queries, and walks read nothing else of them
    copied: bool = False
    #: its queries and radii are its own, for those who take parts of them
    parted: bool = False
    #: what is being checked of its arrays
    checks: tuple[tuple[str, PendingBox], ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What decides about the number of pairs besides where points and queries lie, and radii of their own."""
        return (
            self.queries is None,
            self.m,
            None if self.radii is not None else self.radius,
            self.include_self,
            self.half,
        )

    def kept(self, session: Session) -> Ask:
        """The same query, of copies where arrays are the caller's own: for those who come back to it later."""
        return self._copied(session, [array for array in self._read() if self.borrowed])

    def kept_for_parts(self, session: Session) -> Ask:
        """The same for those who take parts of it, of queries of its own also where walks read a copy of them."""
        try:
            return self._copied(session, [self.queries, self.radii] if self.borrowed else [])._replace(parted=True)
        except DeviceMemoryError:
            return self.kept(session)

    def apart_from(self, session: Session, written: list[cla.Array]) -> Ask:
        """The same query, of copies of arrays that its function writes to while others still look at them."""
        buffers = [array.base_data for array in written]
        given = (array for array in self._read() if array is not None)
        return self._copied(session, [array for array in given if array.base_data in buffers])

    def _read(self) -> tuple[cla.Array | None, ...]:
        """What a walk reads while it is under way."""
        return (None if self.copied else self.queries, self.radii)

    def _copied(self, session: Session, arrays: list[cla.Array | None]) -> Ask:
        copies = {}
        for name, array in (("queries", self.queries), ("radii", self.radii)):
            if array is not None and any(array is each for each in arrays):
                copies[name] = session.allocate(array.shape, array.dtype, purpose=f"a copy of the {name}")
                session.copy(array, copies[name])
        return self._replace(**copies)

    def variant(self, images: str, *, part: bool) -> VisitVariant:
        """What is compiled in for this query, served in those `images` of a periodic box."""
        return VisitVariant(
            images=images,
            foreign=self.queries is not None,
            radii=self.radii is not None,
            half=self.half,
            part=part,
        )


def make_ask(index: Index, queries: Any, *, radius: Any, include_self: bool, half: bool = False) -> Ask:
    """Check a query's arguments and bring its arrays to the device."""
    index.session.check_process()
    if queries is None and radius is None:
        return _ask_of_points(index, include_self=bool(include_self), half=bool(half))
    checks: list[tuple[str, PendingBox]] = []
    array = pending = None
    m = index.num_points
    if queries is not None:
        array, pending, host = take_points(
            index.session,
            queries,
            "queries",
            real=index.dtype,
            find_box=lambda taken: index.find_box_of_queries(_as_wide(index, taken)),
        )
        _as_wide(index, array)
        if host is not None and host.size and index.problem.box is not None:
            check_host_near("queries", index.problem.box, host)
        m = array.shape[0]
    scalar, radii = _take_radius(index, radius, m, checks)
    if half and array is not None:
        raise InvalidInputError(
            f"half: expected no queries, got {array.shape[0]:,} of them; pairs between queries and points have no "
            "half: leave one of the two out"
        )
    if half and radii is not None:
        raise InvalidInputError(
            f"half: expected one radius for all, got one per query, of shape ({m},), and the relation is not symmetric "
            "then; pass one radius, or leave half out"
        )
    placed = index.place_queries(array, pending, radii)
    if pending is not None:
        checks.append(("queries", pending))
    for check in checks:
        index.watch.other(*check)
    return Ask(
        queries=array,
        m=m,
        radius=scalar,
        radii=radii,
        include_self=bool(include_self),
        half=bool(half),
        walk=index.walk_arguments(),
        images=index.images_served(foreign=array is not None),
        placed=placed,
        copied=index.copies_queries and array is not None and bool(placed),
        borrowed=is_device_array(queries) or is_device_array(radius),
        checks=tuple(checks),
    )


def _ask_of_points(index: Index, *, include_self: bool, half: bool) -> Ask:
    """What most loops ask, once in each of their steps: by place, as names take the host twice as long."""
    of_points = index.num_points, index.radius, None, include_self, half
    return Ask(None, *of_points, index.walk_arguments(), index.images_served(foreign=False))


def _as_wide(index: Index, queries: cla.Array) -> cla.Array:
    """The queries, when they have as many coordinates as the points."""
    if queries.shape[1] != index.dim:
        raise InvalidInputError(
            f"queries: expected shape (m, {index.dim}), as the points have, got {queries.shape}; "
            f"pass {index.dim} coordinates for each query"
        )
    return queries


def _take_radius(
    index: Index, radius: Any, m: int, checks: list[tuple[str, PendingBox]]
) -> tuple[float, cla.Array | None]:
    """A scalar, or a device array of one radius per query; what is being checked of it joins the `checks`."""
    if radius is None:
        return index.radius, None
    if is_device_array(radius):
        radii = take_radii(index.session, radius, m, index.dtype)
        checks.append(("radius", bounding_box(index.session, radii, index.watch.room_of_radii())))
        return index.radius, radii
    if is_scalar(radius):
        scalar = one_radius(radius, index.dtype)
        check_largest(scalar, index.radius)
        return scalar, None
    values = round_radii(radius, m, index.dtype)
    check_largest(float(values.max(initial=0)), index.radius)
    return index.radius, index.session.upload(values, purpose="the radii")


def make_spec(index: Index, *, distances: bool, vectors: bool, sort: str | None) -> ListSpec:
    """Check what a list shall carry."""
    if sort not in (None, "index", "distance"):
        raise InvalidInputError(
            f"sort: expected None, 'index' or 'distance', got {sort!r}; take None where the order does not matter"
        )
    kind = bool(distances), bool(vectors), sort
    if kind not in index.specs:
        box = index.problem.box
        index.specs[kind] = ListSpec(
            distances=kind[0],
            vectors=kind[1],
            sort=sort,
            periodic=box is not None,
            images=box is not None and box.repeats(index.radius),
            dim=index.dim,
            dtype=index.dtype,
        )
    return index.specs[kind]


def natural(name: str, value: Any) -> int | None:
    """A whole number of at least 0, or None."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InvalidInputError(f"{name}: expected a whole number of at least 0, got {value!r}; pass it as an int")
    return number
