"""Finds the templates and renders them into OpenCL C."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

from mako.lookup import TemplateLookup

from .errors import ClfrnnError
from .functions import NeighborFunction
from .plan import KernelConfig, VisitVariant

__all__ = ["own_function", "render", "template_root"]

_PIECES = ("arguments", "state", "per_neighbor", "finish")


def template_root() -> Path:
    """The folder of the templates: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for root in (package / "templates", package.parent / "templates"):
        if (root / "types.cl.mako").is_file():
            return root
    raise ClfrnnError(
        f"clfrnn's kernel templates are missing: looked for types.cl.mako in {package / 'templates'} and "
        f"{package.parent / 'templates'}; reinstall clfrnn"
    )


@functools.cache
def _lookup(root: Path) -> TemplateLookup:
    return TemplateLookup(directories=[str(root)], strict_undefined=True, input_encoding="utf-8")


def render(
    stem: str,
    config: KernelConfig,
    function: NeighborFunction | None = None,
    variant: VisitVariant | None = None,
) -> str:
    """The OpenCL C of the template `stem` for `config`: its build kernels, or with `function` its walk."""
    names = config.names() | dataclasses.asdict(variant or VisitVariant()) | {"function": function}
    return str(_lookup(template_root()).get_template(f"{stem}.cl.mako").render(**names))


@functools.cache
def own_function(
    name: str,
    *,
    offset: str = "int",
    distances: str = "",
    vectors: bool = False,
    components: tuple[str, ...] = (),
) -> NeighborFunction:
    """The library's own function `name` ("count", "write") from ``functions.cl.mako``.

    ``offset`` is the type of list offsets, ``distances`` is "", "root" or "square", ``components`` names coordinates.
    """
    template = _lookup(template_root()).get_template("functions.cl.mako")
    flags = {"offset": offset, "distances": distances, "vectors": vectors, "components": components}
    pieces = {piece: str(template.get_def(f"{name}_{piece}").render(**flags)).strip() for piece in _PIECES}
    return NeighborFunction(**pieces, light=name == "count")
