"""Methods by the names that users know, and the options that each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..arrays import too_wide
from ..errors import InvalidInputError
from ..host.keywords import hint, keywords_of, unexpected
from ..host.numbers import shown
from ..points.argument_types import MethodOptions
from . import METHODS, Method

__all__ = ["check_keywords", "check_method", "refuse_dim"]


def check_method(method: object, options: Mapping[str, Any], call: Callable[..., Any] | None = None) -> Method | None:
    """The method of that name, or None for "auto"; raises TypeError for an option that the method does not have.

    A keyword that is no option of any method is taken for one of the `call`.
    """
    if options and call is not None:
        check_keywords(call, method, options)
    if not isinstance(method, str) or (method != "auto" and method not in METHODS):
        likely = hint(method, METHODS) if isinstance(method, str) else ""
        raise InvalidInputError(
            f"expected 'auto' or one of {', '.join(METHODS)}, got {shown(method)}; "
            f"{likely or 'leave it out to have one chosen'}",
            argument="method",
        )
    known = METHODS[method].options if method in METHODS else frozenset()
    if unknown := sorted(set(options) - known):
        advice = "; name the method to set its options" if method == "auto" else ""
        raise TypeError(f"unexpected option {', '.join(map(repr, unknown))}: {_taken_by(method)}{advice}")
    return METHODS.get(method)


def check_keywords(call: Callable[..., Any], method: object, options: Mapping[str, Any]) -> None:
    """Raise TypeError for a keyword that is neither one of a call nor an option of any method.

    Parameters
    ----------
    call : a function that takes options of methods beside arguments of its own
    method : what it was given for `method`
    options : the keywords that it has no arguments for

    Raises
    ------
    TypeError
        One of the keywords is mistyped; the message names the nearest one that there is.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.check_keywords(clfrnn.search, "strips", {"bin_width": 0.5})
    """
    if options and (unknown := options.keys() - MethodOptions.__annotations__.keys()):
        own = METHODS[method].options if method in METHODS else MethodOptions.__annotations__.keys()
        message = unexpected(call.__name__, unknown, keywords_of(call), likely=keywords_of(call) | own)
        raise TypeError(f"{message}; {_taken_by(method)}")


def _taken_by(method: object) -> str:
    options = METHODS[str(method)].options if method in METHODS else frozenset[str]()
    return f"method {method!r} takes {', '.join(sorted(options)) or 'no options'}"


def refuse_dim(chosen: Method | None, dim: int, name: str = "points") -> None:
    """Raise where the method, or for "auto" every method, does not serve `dim` coordinates; `name` is the argument."""
    method = chosen or METHODS["brute_force"]
    if dim in method.dims:
        return
    serving = [name for name, other in METHODS.items() if dim in other.dims]
    served = f"{min(method.dims)} to {max(method.dims)}"
    if not serving:
        raise InvalidInputError(too_wide(dim), argument=name)
    raise InvalidInputError(
        f"expected {served} coordinates a point for method {method.name!r}, got {dim}; "
        f"method={' or '.join(map(repr, serving))} serves it",
        argument=name,
    )
