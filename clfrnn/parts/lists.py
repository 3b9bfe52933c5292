"""Lists of parts: neighbors in the numbering of the whole cloud, joined, and written to a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..files.contents import reading
from ..host.files import replacing
from ..results import NeighborList
from .rows import number_dtype

__all__ = ["PartList", "join", "read_lists", "write_lists"]

#: The arrays with an element for each pair: their number of axes, and the kind of their numbers.
_COLUMNS = {"indices": (1, "i"), "distances": (1, "f"), "vectors": (2, "f"), "shifts": (2, "i")}

#: What the file of a list has beside its columns.
_FACTS = ("num_points", "dtype", "images", "query_ids")

#: The file of each list in a folder, by its number, and that which says that all lists are there.
_FILE, _ALL = "part-{:06}.npz", "parts.json"


class PartList(NeighborList):
    """The neighbors of some queries of a whole cloud, in host memory: row ``i`` is of the query ``query_ids[i]``.

    Attributes
    ----------
    query_ids : (m,) int32, the query of each row, in ascending order; int64 where the whole has 2**31 queries or more
    indices : (pairs,) int32, rows of the whole `points`; int64 where these are 2**31 or more

    The other attributes are those of :class:`NeighborList`, whose conversions number queries and points as the whole
    does. :meth:`to_scipy` and :meth:`to_padded` have a row for each of `query_ids`.
    """

    def __init__(
        self,
        arrays: dict[str, Any],
        *,
        query_ids: npt.NDArray[np.integer[Any]],
        num_points: int,
        dtype: npt.DTypeLike,
        images: bool = False,
    ) -> None:
        super().__init__(arrays, num_queries=len(query_ids), num_points=num_points, dtype=dtype, images=images)
        self.query_ids = query_ids

    def to_coo(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the pairs as (query_ids, point_ids), each (pairs,): rows of the whole cloud."""
        return np.repeat(self.query_ids, self.counts), np.asarray(self.indices)

    def __repr__(self) -> str:
        return f"<PartList: {self.num_pairs:,} pairs of {len(self):,} queries, {self.dtype}, in host memory>"

    def __reduce__(self) -> Any:
        return _restore, (self.columns(), self.query_ids, self.num_points, self.dtype, self._images)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the list has, by name."""
        named = {name: getattr(self, name) for name in ("offsets", *_COLUMNS)}
        return {name: array for name, array in named.items() if array is not None}


def join(results: Iterable[Any]) -> NeighborList:
    """Join the lists of all parts to one list of the whole cloud.

    Parameters
    ----------
    results : the lists of a search by parts, in any order: each query of the whole is in one of them

    Returns
    -------
    NeighborList with numpy arrays: row ``i`` is that of query ``i``, as its part has it. Where parts were sorted, it is
    the list of a search of the whole, to the last bit.

    Raises
    ------
    InvalidInputError
        A query is in several lists, or in none; or some lists have columns that others do not have.

    Notes
    -----
    Cost: one copy of each array; the lists and their copy are in host memory at the same time.

    Examples
    --------
    >>> from clfrnn.parts import join, search
    >>> join(search([[0.0], [1.0], [2.0]], 1.0, parts=2, sort="index"))[1].tolist()
    [0, 2]
    """
    lists = list(results)
    queries = sum(len(each) for each in lists)
    counts = np.full(queries, -1, np.int64)
    for each in lists:
        ids = np.asarray(each.query_ids)
        if len(ids) and not (ids.min() >= 0 and ids.max() < queries and (counts[ids] < 0).all()):
            raise InvalidInputError(
                f"expected each query of one cloud in one list, got {queries:,} rows, of which one is of query "
                f"{int(ids.max()):,} or comes twice; pass every list of one search, once",
                argument="results",
            )
        counts[ids] = np.diff(np.asarray(each.offsets))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    pairs = int(offsets[-1])
    columns = _empty_columns(lists, pairs)
    for each in lists:
        ids, starts = np.asarray(each.query_ids), np.asarray(each.offsets)
        targets = np.repeat(offsets[ids] - starts[:-1], np.diff(starts)) + np.arange(int(starts[-1]))
        for name, column in columns.items():
            column[targets] = np.asarray(getattr(each, name))
    for column in columns.values():
        column.setflags(write=False)
    whole = {"offsets": offsets.astype(np.int32) if pairs < 2**31 else offsets, **columns}
    first = lists[0] if lists else None
    joined = NeighborList(
        whole,
        num_queries=queries,
        num_points=0 if first is None else first.num_points,
        dtype=np.float32 if first is None else first.dtype,
        images=any(each._images for each in lists),  # noqa: SLF001 - of its own class
    )
    return joined.to_host()


def _empty_columns(lists: list[Any], pairs: int) -> dict[str, npt.NDArray[Any]]:
    """An array for each column of the lists, without values."""
    if not lists:
        return {"indices": np.zeros(0, np.int32)}
    names = [name for name in _COLUMNS if getattr(lists[0], name) is not None]
    for each in lists:
        if [name for name in _COLUMNS if getattr(each, name) is not None] != names:
            raise InvalidInputError(
                f"expected lists with the same columns, got one without some of {', '.join(names)} or with others; "
                "pass the lists of one search",
                argument="results",
            )
    first = {name: np.asarray(getattr(lists[0], name)) for name in names}
    return {name: np.empty((pairs, *array.shape[1:]), array.dtype) for name, array in first.items()}


def _restore(
    arrays: dict[str, Any], query_ids: npt.NDArray[Any], num_points: int, dtype: npt.DTypeLike, images: bool
) -> PartList:
    """Restore a pickled list."""
    return PartList(arrays, query_ids=query_ids, num_points=num_points, dtype=dtype, images=images)


def of_rows(found: NeighborList, rows: npt.NDArray[Any], query_ids: npt.NDArray[Any], num_points: int) -> PartList:
    """A list among some rows of a whole as one in the numbering of the whole.

    Parameters
    ----------
    found : the list of these queries among these rows, in host memory
    rows, query_ids : the number in the whole of each point and query
    num_points : how many points the whole has
    """
    arrays = {name: getattr(found, name) for name in ("offsets", *_COLUMNS)}
    arrays["indices"] = rows.astype(number_dtype(num_points), copy=False)[arrays["indices"]]
    images = found._images  # noqa: SLF001 - of the base class of PartList
    return PartList(arrays, query_ids=query_ids, num_points=num_points, dtype=found.dtype, images=images)


def write_lists(lists: Iterable[PartList], folder: str | Path) -> int:
    """Write each list into a file of its own as it comes, so that only some of them are in memory.

    Parameters
    ----------
    lists : what :func:`search` gives
    folder : a new or an empty folder; it then has a file ``part-000000.npz`` and so on for each list, with the arrays
        ``query_ids``, ``offsets``, ``indices`` and what else was wanted, and at last ``parts.json`` with their number

    Returns
    -------
    the number of files

    Raises
    ------
    InvalidInputError
        The folder has files of other lists.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.glob("part-*.npz")):
        raise InvalidInputError(
            f"expected a folder without lists, got {str(path)!r}, which has some; remove them, or name another one",
            argument="folder",
        )
    number = 0
    for each in lists:
        facts: dict[str, Any] = {"num_points": each.num_points, "dtype": str(each.dtype), "images": each._images}  # noqa: SLF001
        with replacing(path / _FILE.format(number)) as part, part.open("wb") as file:
            np.savez(file, **{"query_ids": each.query_ids, **facts, **each.columns()})
        number += 1
    with replacing(path / _ALL) as part:
        part.write_text(json.dumps({"lists": number}), encoding="utf-8")
    return number


def read_lists(folder: str | Path) -> Iterator[PartList]:
    """Read the lists of a folder that :func:`write_lists` has written, one after the other.

    Parameters
    ----------
    folder : the folder, as :func:`write_lists` was given it

    Returns
    -------
    An iterator of :class:`PartList`, in the order in which they were written. One list is in memory at a time, unless
    you hold others.

    Raises
    ------
    InvalidInputError
        The folder has no ``parts.json``, as where writing was interrupted; or a file of a list is missing or damaged.
        The message names the file.
    """
    path = Path(folder)
    try:
        number = int(json.loads((path / _ALL).read_text(encoding="utf-8"))["lists"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInputError(
            f"expected a folder of lists, got {str(path)!r}, where {_ALL} is missing or damaged: writing may have "
            "been interrupted; search again, into a new folder",
            argument="folder",
        ) from None
    for k in range(number):
        yield _read_list(path / _FILE.format(k))


def _read_list(path: Path) -> PartList:
    """Read one file; a list that is damaged is refused, and none is left out."""
    expected = "a list as write_lists() writes it"
    with reading(path, expected, "search again, into a new folder"), path.open("rb") as file:
        with np.load(file, allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
        if missing := ", ".join(name for name in (*_FACTS, "offsets", "indices") if name not in columns):
            raise InvalidInputError(
                f"{path}: expected {expected}, got one without {missing}; search again, into a new folder"
            )
        facts = {name: columns.pop(name) for name in _FACTS}
        found = PartList(
            columns,
            query_ids=facts["query_ids"],
            num_points=int(facts["num_points"]),
            dtype=str(facts["dtype"]),
            images=bool(facts["images"]),
        )
        if why := _why_damaged(found):
            raise InvalidInputError(f"{path}: expected {expected}, got {why}; search again, into a new folder")
        return found


def _why_damaged(found: PartList) -> str:
    """What keeps the arrays of a file from being a list; "" where they are one."""
    offsets, indices = np.asarray(found.offsets), np.asarray(found.indices)
    for name, column in found.columns().items():
        axes, kind = _COLUMNS.get(name, (1, "i"))
        if column.ndim != axes or column.dtype.kind != kind:
            return f"{name} of shape {column.shape} and dtype {column.dtype}"
    if found.vectors is not None and found.shifts is not None and found.vectors.shape != found.shifts.shape:
        return f"vectors of shape {found.vectors.shape} and shifts of shape {found.shifts.shape}"
    if found.query_ids.ndim != 1 or found.query_ids.dtype.kind != "i":
        return f"query_ids of shape {found.query_ids.shape} and dtype {found.query_ids.dtype}"
    if offsets.shape != (len(found.query_ids) + 1,) or offsets[0] != 0 or (np.diff(offsets) < 0).any():
        return f"offsets of shape {offsets.shape} that are not those of {len(found.query_ids):,} rows"
    lengths = {name: len(column) for name, column in found.columns().items() if name in _COLUMNS}
    if set(lengths.values()) != {int(offsets[-1])}:
        held = ", ".join(f"{length:,} {name}" for name, length in lengths.items())
        return f"{held} for the {int(offsets[-1]):,} pairs of its offsets"
    if len(indices) and not (indices.min() >= 0 and indices.max() < found.num_points):
        return f"indices {indices.min():,} to {indices.max():,} of {found.num_points:,} points"
    return ""
