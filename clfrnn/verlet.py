"""VerletList: a list of neighbors that lives until a point has moved by half of its skin."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from .answers.explain import explain, sizes_of
from .answers.lists.query import ListArguments, query_list
from .answers.lists.state import ListState
from .answers.lists.visit import ListedPairs, visit_pairs
from .arrays import REAL_OF, is_device_array, one_radius
from .conditions import Condition
from .domain.box import EPSILON, Domain
from .errors import InvalidInputError
from .functions import NeighborFunction
from .host.locks import locked
from .host.numbers import real_number, shown
from .methods.named import check_method
from .methods.traversal import Traversal
from .points.argument_types import Flags, MethodName, MethodOptions, Numbers, Rows
from .points.conditions import bind_condition
from .points.sessions import choose_session
from .points.transfer import Taken, take_points
from .prepare import build
from .primitives.fill import clear
from .primitives.moved import Period, find_moved
from .results import NeighborList
from .runtime.session import Session
from .updates import PointUpdates

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["VerletList"]

#: What :meth:`VerletList.explain` counts.
_COUNT = NeighborFunction(
    arguments="global int *counts", state="int count = 0;", per_neighbor="++count;", finish="counts[i] = count;"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Allowance:
    """How far points may move before a list is made again: `most`, less `share` of their coordinates."""

    most: float
    share: float


def allowance(domain: Domain, n: int, dim: int, *, radius: float, reach: float, real: str) -> Allowance:
    """How far each point of a list within `reach` may move before a pair within `radius` may be missing.

    Half of the difference, less what rounding can hide: see "Lists that live longer" in
    ``docs/reference/exactness.md``.
    """
    weight = max((float(np.sum(space.frame.weights)) for space, _ in domain.parts(n)), default=0.0)
    share = 16 * (dim + 2) * EPSILON[real] * (1 + weight)
    least = {"float": 2.0**-59, "double": 2.0**-507}[real]
    dtype: Any = {"float": np.float32, "double": np.float64}[real]
    with np.errstate(over="ignore"):
        most = np.nextafter(dtype((reach - radius) / 2 - share * reach - least), dtype(-np.inf))
        return Allowance(most=float(most), share=float(np.nextafter(dtype(share), dtype(np.inf))))


@final
@locked
class VerletList:
    """All pairs within a radius of points that move little from step to step, from one list for many steps.

    The list holds the pairs within ``radius + skin``. While no point has moved by more than half of the skin, no two
    points can have come within the radius that are not in it, as each of the two comes closer by at most that much.
    :meth:`update` makes a new list when a point has moved farther. :meth:`visit` leaves out pairs beyond the radius.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; copied, never changed
    radius : scalar, the distance up to which :meth:`visit` runs code, in the points' unit
    skin : scalar above 0, by how much the radius of the list exceeds `radius`, in the points' unit. A larger one makes
        new lists rarer, and each visit longer
    half : whether each pair is visited once, with ``i < j``; a point and its own image once, by the sign of the shift
    where : a :class:`Condition`, evaluated at each visit; a pair counts only where it holds
    box, cell, periodic, batch, method, session, **options : as for :func:`build_index`

    Raises
    ------
    InvalidInputError
        The points, the radius or the skin cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The list does not fit the device; nothing is cut off.
    NoDeviceError
        As for :func:`search`.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    Cost: that of an index and of its list within ``radius + skin``. Memory: the index, the list and two copies of the
    points; where some query may see two images of a point, and in cells and batches that repeat, the list also has
    vectors and shifts. See :doc:`/guides/verlet`.

    Source: Verlet (1967), Computer "experiments" on classical fluids, section II.

    Examples
    --------
    >>> import clfrnn
    >>> pairs = clfrnn.VerletList([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], 1.5, skin=0.5)
    >>> pairs.update([[0.0, 0.0], [1.1, 0.0], [3.0, 0.0]]), pairs.num_builds
    (False, 1)
    >>> pairs.update([[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]]), pairs.num_builds
    (True, 2)
    """

    #: the list, and where its points lie now; where they lay when it was made; and how far they may move
    _pairs: ListedPairs
    _made_at: cla.Array
    _allowance: Allowance

    def __init__(
        self,
        points: Rows,
        radius: float,
        *,
        skin: float,
        half: bool = False,
        where: Condition | None = None,
        box: Numbers | None = None,
        cell: Numbers | None = None,
        periodic: Flags | None = None,
        batch: Any = None,
        method: MethodName = "auto",
        session: Session | None = None,
        **options: Unpack[MethodOptions],
    ) -> None:
        named = check_method(method, options, VerletList)
        self._session = session = choose_session(session, points, batch, where)
        self._half, self._where = bool(half), where
        #: what was last given for the domain, by name
        self._given: dict[str, Any] = {"box": _copy(box), "cell": _copy(cell), "batch": _copy(batch)}
        with session.lock:
            taken = take_points(session, points, "points", bounded=False)
            dtype, n = taken.array.dtype, taken.array.shape[0]
            self._radius, self._skin = one_radius(radius, dtype), _check_skin(skin)
            self._reach = one_radius(self._radius + self._skin, dtype, "radius + skin")
            if where is not None:
                bind_condition(session, where, dtype, m=n, n=n)
            given: dict[str, Any] = {"named": named, "options": options, "domain": (box, cell, periodic)}
            structure, chosen = build(session, taken.array, self._reach, **given, batch=batch)
            has_box = box is not None or cell is not None
            self._updates = PointUpdates(chosen, structure, has_box=has_box, chosen=method == "auto")
            self._lists, self._num_builds, self._num_updates = ListState(session), 0, 0
            #: whether the search structure has the points of a list that could not be made
            self._failed = False
            self._list(self._own(taken))

    def __repr__(self) -> str:
        return (
            f"<VerletList: {self.num_points:,} points in {self.dim}D, {self.dtype}, radius {self.radius:g}, "
            f"skin {self.skin:g}, made {self.num_builds:,} times, on {self.session.profile.name}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a VerletList lies on a device and cannot be pickled; pickle the points and make it again")

    @property
    def session(self) -> Session:
        """The session of the device that holds the list."""
        return self._session

    @property
    def radius(self) -> float:
        """The largest distance of a neighbor, rounded to the points' dtype."""
        return self._radius

    @property
    def skin(self) -> float:
        """By how much the radius of the list exceeds :attr:`radius`, in the points' dtype."""
        return self._skin

    @property
    def num_points(self) -> int:
        """The number of points."""
        return int(self._pairs.points.shape[0])

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return int(self._pairs.points.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the points, in which distances are computed."""
        return self._pairs.points.dtype

    @property
    def num_builds(self) -> int:
        """How often the list was made."""
        return self._num_builds

    @property
    def neighbors(self) -> NeighborList:
        """The list of all pairs within ``radius + skin`` of the points as they were when it was made.

        It is not changed when another list takes its place. Where some query may see two images of a point, and in
        cells and batches that repeat, it has vectors and shifts, also of that time.
        """
        return self._pairs.neighbors

    def update(
        self, points: Rows, *, box: Numbers | None = None, cell: Numbers | None = None, batch: Any = None
    ) -> bool:
        """Move the points, and make the list again where it may miss a pair.

        Parameters
        ----------
        points : (n, dim), of the dtype of the list; as many as before or not
        box, cell, batch : as for :meth:`Index.update`; numbers that differ from those given last make the list again

        Returns
        -------
        bool, whether the list was made again. It is where a point has moved by more than half of the skin since then,
        or by a little less where coordinates are rounded. It also is where the number of points, the box, the cell or
        the batch has changed. A point that was shifted by whole lengths of the box has not moved

        Raises
        ------
        InvalidInputError
            Another dim or dtype, points that are not finite, or a `batch`, `box` or `cell` that does not fit.
        DeviceMemoryError
            There is no memory for the new points or the list. After any error the list has its old points and box.

        Notes
        -----
        Cost: one pass over the points and one wait for a number; that of :meth:`Index.update` and :meth:`Index.query`
        where the list is made again.
        """
        session, before = self._session, self._pairs
        given = {"box": box, "cell": cell, "batch": batch}
        changed = any(value is not None and not _equal(value, self._given[name]) for name, value in given.items())
        taken = take_points(session, points, "points", real=self.dtype, exact=True, bounded=False)
        if changed or taken.array.shape != before.points.shape:
            self._list(self._own(taken), given)
        else:
            moved = find_moved(
                session,
                self._made_at,
                taken.array,
                before.period,
                most=self._allowance.most,
                share=self._allowance.share,
                wraps=before.wraps is not None,
            )
            if moved.too_far:
                self._list(moved.points)
            else:
                self._pairs = dataclasses.replace(before, points=moved.points, wraps=moved.wraps)
        self._num_updates += 1
        return self._pairs.neighbors is not before.neighbors

    def visit(self, function: NeighborFunction, *, checked: bool = True, **arguments: Any) -> cl.Event:
        """Run your own code on the device for every pair that is now within the radius.

        Parameters
        ----------
        function, checked, **arguments : as for :meth:`Index.visit`, which also says what raises

        Returns
        -------
        A ``pyopencl.Event``, as of :meth:`Index.visit`

        Notes
        -----
        The neighbors, and their ``d2``, ``dx`` and ``shift``, are those of :meth:`Index.visit` at the same positions.
        Their order within a row is that of the list. Cost: one pass over the list; a compilation for each function.
        """
        return visit_pairs(
            self._session,
            self._pairs,
            function,
            radius=self._radius,
            where=self._where,
            checked=checked,
            arguments=arguments,
        )

    def explain(self) -> str:
        """Describe in a few lines how often the list was made, what it holds, and how its pairs are searched.

        Notes
        -----
        Cost: one pass over the list, a wait, and that of :meth:`Index.explain`.
        """
        n, found, traversal = self.num_points, self.neighbors, self._traversal
        counts = self._session.allocate(n, np.int32, purpose="the counts of a list")
        visit_pairs(
            self._session,
            self._pairs,
            _COUNT,
            radius=self._radius,
            where=None,
            checked=True,
            arguments={"counts": counts},
        )
        near, listed = int(counts.get().sum(dtype=np.int64)), found.num_pairs
        arrays = found.offsets, found.indices, found.vectors, found.shifts, self._pairs.points, self._pairs.wraps
        size = sum(array.nbytes for array in arrays if array is not None)
        each = f"{listed / near:.2f} pairs are tested for each" if near else "no pair"
        kind = "half pairs" if self._half else "pairs"
        lines = [
            f"list: {listed:,} {kind} within {self._reach:g}, which is radius {self.radius:g} and skin {self.skin:g}",
            f"made again when a point has moved by {max(0.0, self._allowance.most):g}",
            f"made {self.num_builds:,} times in {self._num_updates:,} updates",
            f"visits: {each} now within the radius ({near:,})",
            f"list and positions: {size:,} bytes on the device",
        ]
        method, last = self._updates.method.name, self._updates.last
        return "\n".join([*lines, explain(traversal, method, sizes_of(traversal), last, long=False)])

    @property
    def _traversal(self) -> Traversal:
        return self._updates.traversal

    def _own(self, taken: Taken) -> cla.Array:
        """The points that were taken, or a copy of them where they belong to the caller."""
        if taken.host is not None:
            return taken.array
        own = self._session.allocate(taken.array.shape, taken.array.dtype, purpose="the positions of points")
        self._session.copy(taken.array, own)
        return own

    def _list(self, points: cla.Array, given: dict[str, Any] | None = None) -> None:
        """Make the list of `points`, in the domain that is `given` or the one before; all stays where that fails."""
        given = {name: value for name, value in (given or {}).items() if value is not None}
        domain = {**self._given, **given}
        if given.keys() & {"box", "cell"}:
            domain = {**domain, "box": given.get("box"), "cell": given.get("cell")}
        if self._num_builds:
            asked = domain if self._failed else given
            self._failed = True
            self._updates.apply(points, **asked)
        traversal = self._traversal
        problem, images = traversal.problem, traversal.structure.images
        repeats = problem.domain.has_images
        stored = repeats and (problem.domain.kind != "box" or problem.repeats)
        asked_for = ListArguments(
            radius=None,
            include_self=False,
            distances=False,
            vectors=stored,
            sort=None,
            half=self._half,
            max_bytes=None,
        )
        found = query_list(traversal, self._lists, None, asked_for)
        n, dim = points.shape
        period = Period(
            kind=problem.domain.kind if repeats else "",
            numbers=images.tables.period_at(images.starts) if repeats else None,
            systems=images.tables.ranks if repeats else None,
        )
        wraps = self._session.allocate((n, dim), np.int32, purpose="the shifts of points") if stored else None
        if wraps is not None:
            clear(self._session, wraps)
        self._allowance = allowance(
            problem.domain, n, dim, radius=self._radius, reach=self._reach, real=REAL_OF[points.dtype]
        )
        self._made_at = points
        self._pairs = ListedPairs(neighbors=found, points=points, period=period, wraps=wraps)
        self._given = {name: _copy(value) for name, value in domain.items()}
        self._failed = False
        self._num_builds += 1


def _check_skin(skin: object) -> float:
    """Return the skin, or raise."""
    number = real_number(skin)
    if not (math.isfinite(number) and number > 0):
        raise InvalidInputError(
            f"expected a finite number above 0, got {shown(skin)}; pass a tenth to a fifth of the radius, say",
            argument="skin",
        )
    return number


def _copy(value: Any) -> Any:
    """Numbers that are given for a domain, which the caller may change later."""
    return value.get() if is_device_array(value) else copy.deepcopy(value)


def _equal(value: Any, before: Any) -> bool:
    """Whether the same numbers are given for a domain as before."""
    try:
        return before is not None and np.array_equal(np.asarray(_copy(value)), np.asarray(before))
    except (ValueError, TypeError):  # boxes of systems, some by lengths and some by corners
        return False
