"""Finds the templates and renders them into OpenCL C."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mako

from ..config import SECTOR, KernelConfig, VisitVariant, components, count_bits, vector_length
from ..errors import ClfrnnError
from ..functions import PIECES, Census, Waiting, WalkFunction
from ..host.text_cache import cached_text, digest

if TYPE_CHECKING:
    from mako.lookup import TemplateLookup

__all__ = [
    "histogram_function",
    "only_kernels",
    "own_function",
    "render",
    "render_inline",
    "row_function",
    "template_root",
]

#: The name in ``#line`` directives of lines that are not a user's.
PROGRAM = "clfrnn"

#: A kernel of a template with the comment above it. Its first line begins with "kernel", and its last line is a brace.
_KERNEL = re.compile(r"^(?://[^\n]*\n)*kernel\b.*?^void (\w+)\(.*?^\}\n", re.MULTILINE | re.DOTALL)


def template_root() -> Path:
    """The folder of the templates: inside the installed package, else beside the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for root in (package / "templates", package.parent / "templates"):
        if (root / "common/types.mako").is_file():
            return root
    raise ClfrnnError(
        f"clfrnn's kernel templates are missing: looked for common/types.mako in {package / 'templates'} and "
        f"{package.parent / 'templates'}; reinstall clfrnn"
    )


@functools.cache
def _lookup(root: Path) -> TemplateLookup:
    from mako.lookup import TemplateLookup  # noqa: PLC0415 — its import takes longer than reading all cached texts

    return TemplateLookup(directories=[str(root)], strict_undefined=True, input_encoding="utf-8")


@functools.cache
def _edition(root: Path) -> str:
    """The digest of the templates when this process first rendered one."""
    return _current_edition(root)


def _current_edition(root: Path) -> str:
    """A digest of all templates, and of the version of Mako."""
    paths = sorted(root.rglob("*.mako"))
    names = (str(path.relative_to(root)).encode() for path in paths)
    return digest(mako.__version__.encode(), *names, *(path.read_bytes() for path in paths))


def _cached(what: str, names: Mapping[str, Any], fill_in: Callable[[TemplateLookup], str]) -> str:
    """The text that `fill_in` makes of the templates, from the text cache if it is there.

    `fill_in` passes on `names` to the templates, and nothing else. `what` names the text among others of these names.
    """
    root = template_root()
    edition = _edition(root)
    plain = {name: _facts_of(value) if isinstance(value, WalkFunction) else value for name, value in names.items()}
    return cached_text(
        repr((edition, what, sorted(plain.items()))),
        lambda: str(fill_in(_lookup(root))),
        # Mako reads templates that were edited since this process began; their text belongs to another key.
        may_store=lambda: _current_edition(root) == edition,
    )


def _facts_of(function: WalkFunction) -> tuple[Any, ...]:
    """All that templates can read of a function."""
    return dataclasses.astuple(function), function.parsed_arguments, function.lowers, function.skips, function.idles


def render(
    stem: str,
    config: KernelConfig,
    function: WalkFunction | None = None,
    variant: VisitVariant | None = None,
) -> str:
    """The OpenCL C of the template `stem` for `config`: its build kernels, or the walk that runs `function`."""
    names = dataclasses.asdict(variant or VisitVariant()) | config.names()
    names |= {"function": function, "sector": SECTOR, "count_bits": count_bits(names.get("buffer_slots", 0))}
    path = f"{stem}.cl.mako"
    return _resume_lines(_cached(path, names, lambda templates: templates.get_template(path).render(**names)))


def only_kernels(source: str, names: Collection[str]) -> str:
    """The `source` of a template without the kernels that are not in `names`.

    Raises KeyError for a name that the source lacks.
    """
    found = {match[1] for match in _KERNEL.finditer(source)}
    if missing := set(names) - found:
        raise KeyError(f"no kernel {', '.join(sorted(missing))} among {', '.join(sorted(found))}")
    return _KERNEL.sub(lambda match: match[0] if match[1] in names else "", source)


def _resume_lines(source: str) -> str:
    """Insert ``#line`` directives with the lines of the whole source where a user's piece ends."""
    if "//@ RESUME" not in source:
        return source
    lines = source.split("\n")
    return "\n".join(
        f'#line {number + 1} "{PROGRAM}"' if line.strip() == "//@ RESUME" else line
        for number, line in enumerate(lines, 1)
    )


def render_inline(stem: str, config: KernelConfig) -> dict[str, str]:
    """The walk of a method as a part of another kernel.

    The parts are PRELUDE, which stands before kernels; PARAMETERS; POINT and POINT_ID, expressions of a place; BEGIN
    and END, the code before and after what runs for each neighbor.
    """
    source = render(stem, config, WalkFunction(own=True), VisitVariant(inline=True))
    pieces = re.split(r"^\s*//@ (\w+)\s*$", "//@ PRELUDE\n" + source, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


@functools.cache
def own_function(
    name: str,
    *,
    offset: str = "int",
    distances: str = "",
    vectors: bool = False,
    shifts: bool = False,
    bounded: bool = False,
    held: int = 0,
    components: tuple[str, ...] = (),
    small: bool = False,
    pairs: str = "",
) -> WalkFunction:
    """The library's own function `name` ("count", "write", "nearest") from ``methods/functions.mako``.

    ``offset`` is the type of list offsets, ``distances`` is "", "root" or "square", and ``components`` are the suffixes
    of coordinates. A ``bounded`` function does not write beyond the capacity of a list, and one with ``held`` collects
    that many indices before it writes them. With ``small``, counts may be written as bytes; with ``pairs``, nearest
    neighbors may be written as pairs of integers of that type.
    """
    flags: dict[str, Any] = {"offset": offset, "distances": distances, "vectors": vectors, "shifts": shifts}
    flags |= {"bounded": bounded, "held": held, "components": components, "small": small, "pairs": pairs}

    pieces = _own_pieces("methods/functions.mako", name, PIECES[1:], flags)
    return WalkFunction(**pieces, own=True, light=name == "count", sectors=offset if held else "")


@functools.cache
def row_function(
    *,
    way: str,
    capacity: int,
    vector: int,
    real: str,
    dim: int,
    slots: int = 0,
    waits: int = 0,
    shifts: bool = False,
    again: bool = False,
) -> WalkFunction:
    """The library's own function that finds the k nearest neighbors, from ``answers/nearest/WAY.mako``.

    ``way`` is "registers", for up to ``capacity`` neighbors, ``vector`` in a vector, or "heap". With ``shifts``, a row
    may hold several images of a point, and the function also writes the shift of each. With ``again``, an array says
    which row a query fills. With ``slots``, walks that can do so count neighbors first, and that
    many wait in local memory. With ``waits``, that many wait there in packets of queries, which take them together.
    """
    flags: dict[str, Any] = {"capacity": capacity, "vector": vector, "real": real, "components": components(dim)}
    flags |= {"lanes": vector_length(dim), "shifts": shifts, "again": again, "census": bool(slots)}
    path, census, waiting = f"answers/nearest/{way}.mako", None, None
    pieces = _own_pieces(path, way, PIECES, flags)
    if slots:
        census = Census(**_own_pieces(path, way, ("wanted", "collected"), flags), slots=slots)
    if waits:
        waiting = Waiting(**_own_pieces(path, way, ("taken", "forgotten"), flags), slots=waits)
    kinds: dict[str, Any] = {"costly": way == "registers", "census": census, "waiting": waiting}
    return WalkFunction(**pieces, **kinds, number="rows[i]" if again else "i", own=True)


@functools.cache
def histogram_function(
    *,
    bins: int,
    pi_bins: int = 0,
    axis: int = 0,
    dim: int,
    from_zero: bool,
    weighted: bool,
    most_edges: int,
    ahead: bool,
) -> WalkFunction:
    """The library's own function that counts neighbors by distance, from ``answers/histogram.mako``.

    There are ``bins``, each with ``pi_bins`` along the axis ``axis`` where these are not 0. ``from_zero`` says that no
    distance is below the first bin. ``weighted`` functions also sum weights. A walk counts the neighbors below each
    edge of up to ``most_edges`` bins, and finds the bin of each neighbor otherwise. ``ahead`` asks for one of each pair
    of points where a walk counts.
    """
    counted = not (pi_bins or weighted) and bins <= most_edges
    flags: dict[str, Any] = {"bins": bins, "pi_bins": pi_bins, "axis": axis, "from_zero": from_zero}
    flags |= {"weighted": weighted, "components": components(dim)}
    pieces = _own_pieces("answers/histogram.mako", "edges" if counted else "bins", PIECES[1:], flags)
    return WalkFunction(**pieces, own=True, edges=(bins - from_zero) * counted, ahead=ahead and counted)


def _own_pieces(path: str, name: str, pieces: Sequence[str], flags: dict[str, Any]) -> dict[str, Any]:
    """The pieces of the library's own function `name` in a template, by the names of the pieces."""

    def fill_in(templates: TemplateLookup) -> str:
        template = templates.get_template(path)
        return json.dumps([template.get_def(f"{name}_{piece}").render(**flags).strip() for piece in pieces])

    return dict(zip(pieces, json.loads(_cached(f"{name} {' '.join(pieces)}", flags, fill_in)), strict=True))
