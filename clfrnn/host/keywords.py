"""Keywords of public calls: one that a call does not have is answered with the nearest one that it has."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

__all__ = ["checks_keywords", "hint", "keywords_of", "unexpected"]

Class = TypeVar("Class", bound=type)

#: How alike two names are, from 0 to 1, for one to be taken for the other.
_ALIKE = 0.6

#: What other libraries call the same thing.
_ELSEWHERE = {
    "points": ("x", "data", "positions", "coords", "xyz"),
    "queries": ("y", "q", "targets", "query_points"),
    "radius": ("r", "eps", "cutoff", "r_max", "distance_upper_bound", "max_distance"),
    "k": ("n_neighbors", "num_neighbors"),
    "method": ("algorithm", "backend"),
    "box": ("boxsize", "lengths", "dimensions"),
    "cell": ("lattice", "unitcell"),
    "periodic": ("pbc", "wrap"),
    "include_self": ("loop", "self_interaction"),
    "distances": ("return_distance", "return_distances"),
    "vectors": ("return_vectors", "displacements"),
    "sort": ("sorted", "return_sorted", "sort_results", "order"),
    "half": ("unique", "unique_pairs", "undirected"),
    "max_bytes": ("max_memory", "memory_limit"),
    "where": ("mask", "filter", "condition", "exclusions"),
    "to_host": ("numpy", "as_numpy", "host"),
    "bin_width": ("cell_size", "width"),
    "fill": ("fill_value", "pad"),
    "width": ("max_neighbors",),
}

#: What to do instead of a keyword that has no counterpart.
_ADVICE = {
    **dict.fromkeys(
        ("device", "queue", "context"), "did you mean session=clfrnn.Session(device), of search, nearest, build_index?"
    ),
    **dict.fromkeys(("k", "n_neighbors"), "clfrnn.nearest(points, k) and index.nearest(k=k) find the k nearest"),
    **dict.fromkeys(("workers", "n_jobs"), "the device takes all that it has"),
    **dict.fromkeys(("p", "metric"), "distances are Euclidean"),
    "dtype": "distances are computed in the points' own dtype, so pass points.astype(dtype)",
}


def hint(name: str, valid: Collection[str]) -> str:
    """Return which of `valid` an unexpected name may mean, or what to do instead, or ""."""
    plain = name.lower()
    same = (each for each in valid if plain in _ELSEWHERE.get(each, ()))
    close = difflib.get_close_matches(plain, sorted(valid), 1, _ALIKE)
    meant = next(same, None) or (close[0] if close and plain not in _ADVICE else None)
    return f"did you mean {meant!r}?" if meant else _ADVICE.get(plain, "")


def unexpected(call: str, names: Iterable[str], valid: Collection[str], likely: Collection[str] = ()) -> str:
    """Return the message for keywords of a call that are none of `valid`; `likely` are those that may be meant."""
    names = sorted(names)
    advice = hint(names[0], likely or valid)
    end = "" if not advice else " " if advice.endswith("?") else "; "
    return f"unexpected option {', '.join(map(repr, names))}: {advice}{end}{call} takes {', '.join(sorted(valid))}"


def keywords_of(function: Callable[..., Any]) -> frozenset[str]:
    """The names by which the arguments of a function are passed."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    return frozenset(each.name for each in parameters if each.kind in named and each.name != "self")


def checks_keywords(owner: Class) -> Class:
    """Make a class answer a mistyped keyword of its construction with the nearest one that it has."""
    construct = owner.__init__  # type: ignore[misc]  # it is called with what it was called with
    known = keywords_of(construct)

    @functools.wraps(construct)
    def checked(self: Any, /, *given: Any, **named: Any) -> None:
        if not known.issuperset(named):
            raise TypeError(unexpected(owner.__name__, named.keys() - known, known))
        construct(self, *given, **named)

    owner.__init__ = checked  # type: ignore[misc]
    return owner
