"""Finds the templates and renders them into OpenCL C."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

from mako.lookup import TemplateLookup

from ..errors import ClfrnnError
from ..functions import PIECES, WalkFunction
from ..planning.configs import SECTOR, KernelConfig, VisitVariant, count_bits

__all__ = ["own_function", "render", "render_inline", "template_root"]

#: What compilers are told to call the lines that are not a user's.
PROGRAM = "clfrnn"


def template_root() -> Path:
    """The folder of the templates: inside the installed package, else beside it in a checkout."""
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
    return TemplateLookup(directories=[str(root)], strict_undefined=True, input_encoding="utf-8")


def render(
    stem: str,
    config: KernelConfig,
    function: WalkFunction | None = None,
    variant: VisitVariant | None = None,
) -> str:
    """The OpenCL C of the template `stem` for `config`: its build kernels, or with `function` its walk."""
    names = dataclasses.asdict(variant or VisitVariant()) | config.names()
    names |= {"function": function, "sector": SECTOR, "count_bits": count_bits(names.get("buffer_slots", 0))}
    return _resume_lines(str(_lookup(template_root()).get_template(f"{stem}.cl.mako").render(**names)))


def _resume_lines(source: str) -> str:
    """Where a user's piece ends, say the line of the whole source again."""
    if "//@ RESUME" not in source:
        return source
    lines = source.split("\n")
    return "\n".join(
        f'#line {number + 1} "{PROGRAM}"' if line.strip() == "//@ RESUME" else line
        for number, line in enumerate(lines, 1)
    )


def render_inline(stem: str, config: KernelConfig) -> dict[str, str]:
    """The walk of a method as a piece of another kernel.

    In parts: PRELUDE, what stands before kernels; PARAMETERS; POINT and POINT_ID, expressions of a place; BEGIN and
    END, the code before and behind what runs for each neighbor.
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
    """The library's own function `name` ("count", "write", "nearest") from ``traversal/functions.mako``.

    ``offset`` is the type of list offsets, ``distances`` is "", "root" or "square", ``components`` names coordinates;
    a ``bounded`` list may turn out to be too short, and of one that is ``held`` so many neighbors are written at once.
    Counts that are ``small`` may be written as bytes, and nearest neighbors in ``pairs`` of such a type.
    """
    template = _lookup(template_root()).get_template("traversal/functions.mako")
    flags: dict[str, Any] = {"offset": offset, "distances": distances, "vectors": vectors, "shifts": shifts}
    flags |= {"bounded": bounded, "held": held, "components": components, "small": small, "pairs": pairs}
    pieces = {piece: str(template.get_def(f"{name}_{piece}").render(**flags)).strip() for piece in PIECES[1:]}
    return WalkFunction(**pieces, own=True, light=name == "count", sectors=offset if held else "")
