"""The layers of the house: each module imports only what stands below it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import clfrnn

PACKAGE = Path(clfrnn.__file__).parent

#: From top to bottom; a module may import modules of lower rows, and of its own row where that is said.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"commands", "doctor", "verify", "models"},
    {"api"},
    {"methods"},
    {"primitives"},
    {"session"},
    {"launcher", "memory"},
    {"program", "rendering", "device", "pinned", "runs", "scratch"},
    {"filling", "packs"},
    {"blocks", "buckets", "limits", "trees"},
    {"coarse"},
    {"plan", "quirks"},
    {"primitive_configs"},
    {"configs", "functions", "results", "arrays", "domain", "survey", "profile", "files", "pictures"},
    {"scanner", "errors", "period"},
]
BESIDE = {"reference", "clouds"}
NEEDS_NO_DEVICE = {
    "plan",
    "configs",
    "primitive_configs",
    "limits",
    "coarse",
    "blocks",
    "buckets",
    "filling",
    "trees",
    "packs",
    "domain",
    "period",
    "survey",
    "profile",
    "quirks",
    "reference",
    "clouds",
    "errors",
}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path):
    """The rooms of clfrnn that a module imports when it is loaded."""
    tree = ast.parse(path.read_text())
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            if node.level < depth:
                yield room(path)
            elif node.module:
                yield node.module.split(".")[0]
            else:
                yield from (alias.name for alias in node.names if alias.name != "__version__")


def outside(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def level(name):
    return next(k for k, layer in enumerate(LAYERS) if name in layer)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    own = room(path)
    if own in BESIDE:
        assert not set(imported_rooms(path))
        return
    for name in set(imported_rooms(path)) - {own}:
        if name in BESIDE:
            assert own in ("cli", "verify")
        else:
            assert level(name) >= level(own), f"{own} imports {name}"


@pytest.mark.parametrize("name", sorted(NEEDS_NO_DEVICE))
def test_planning_needs_neither_opencl_nor_mako(name):
    assert not {"pyopencl", "mako"} & set(outside(PACKAGE / f"{name}.py"))


def test_importing_touches_no_opencl():
    code = "import sys, clfrnn; print(sorted({'pyopencl', 'mako', 'numpy'} & set(sys.modules)), clfrnn.__version__)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["[]", clfrnn.__version__]


def test_vendors_are_named_in_one_place():
    """Rules by vendor are quirks; `device` knows the names that users type, and `doctor` tells them what to install."""
    words = ("nvidia", "intel", "pocl", "rusticl", "radeon", "apple", "oclgrind")
    for path in modules():
        if room(path) not in ("quirks", "device", "cli", "doctor"):
            text = path.read_text().lower()
            assert not [word for word in words if word in text], path


def test_modules_stay_short():
    for path in modules():
        assert len(path.read_text().splitlines()) <= 420, path


def test_the_public_names():
    assert sorted(clfrnn.__all__) == clfrnn.__all__ or set(clfrnn.__all__) == set(dir(clfrnn))
    for name in clfrnn.__all__:
        assert getattr(clfrnn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = clfrnn.nothing
