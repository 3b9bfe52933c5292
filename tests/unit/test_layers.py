"""The layers of the house: each module imports only what stands below it, and no imports go round in a circle."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clfrnn

PACKAGE = Path(clfrnn.__file__).parent

#: They stand on the public interface.
APPLICATIONS = {"models", "compilation", "cluster", "dask", "files", "geometry", "interop", "parts"}

#: What applications import besides public names: what they share and users do not see yet, and plain helpers.
SHARED = {
    "answers.each_row",
    "answers.grid_nodes",
    "answers.linking",
    "answers.nearest.distances",
    "answers.voxels",
    "points.argument_types",
    "points.half",
    "clouds",
    "errors",
    "host",
}

#: From top to bottom; a module may import modules of lower rows, and of its own room.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"doctor", "tuner", "verify"},
    {"interop"},
    {"dask"},
    {"parts"},
    APPLICATIONS - {"dask", "interop", "parts"},
    {"verlet", "histograms"},
    {"api"},
    {"index"},
    {"updates"},
    {"answers"},
    {"prepare"},
    {"methods"},
    {"points"},
    {"primitives"},
    {"runtime"},
    {"conditions"},
    {"problem", "groups"},
    {"functions", "results", "arrays", "survey"},
    {"config"},
    {"domain"},
    {"tuning"},
    {"device_array"},
    {"host"},
    {"scanner", "profile", "errors", "version"},
]

#: They stand beside the house: the definition of results, and clouds to try them on.
BESIDE = {"reference", "clouds"}

#: They import neither pyopencl nor Mako, so that plans are made for devices that are not there.
NEEDS_NO_DEVICE = {"tuning", "domain", "config", "groups", "problem", "survey", "profile", "errors", "host", *BESIDE}

#: Words that nobody outside knows: see docs/contribute/terms.md for those that took their place.
RETIRED = [
    "stash(ed|es)?",
    "marks",
    "handover",
    "gifts?",
    "picks",
    "rooms?",
    "kept",
    "seams?",
    "homeless",
    "in_turn",
    "ask",
    "watch",
    "told",
    "put by",
    "so many",
    "carried",
]


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    """The name of a module below `clfrnn`; that of the package's root is empty."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(name):
    return name.split(".")[0]


@functools.cache
def names():
    return {name_of(path) for path in modules()}


@functools.cache
def imported(path):
    """The modules of clfrnn that a module imports, with the name that it takes, or None for the module as a whole.

    Imports inside functions count, and so do those for type checkers alone.
    """
    package = list(path.relative_to(PACKAGE).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            absolute = (alias.name.split(".") for alias in node.names)
            found |= {(".".join(rest), None) for first, *rest in absolute if first == "clfrnn"}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                found.add((whole, None) if whole in names() else (".".join(base), alias.name))
    return frozenset(found)


def imports(path):
    return {module for module, _ in imported(path)}


def outside(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def level(name):
    return next(k for k, layer in enumerate(LAYERS) if name in layer)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_downwards(path):
    own = room(name_of(path))
    if not own:
        return  # the root of the package, whose public names are loaded when they are first used
    rooms = {room(name) for name in imports(path)} - {own, ""}
    if own in BESIDE:
        assert not rooms
        return
    assert rooms & BESIDE == set() or own in ("cli", "verify", "tuner", "compilation")
    for name in rooms - BESIDE:
        assert level(name) > level(own), f"{own} imports {name}"


@pytest.mark.parametrize("path", [path for path in modules() if room(name_of(path)) in APPLICATIONS], ids=name_of)
def test_applications_stand_on_the_public_interface(path):
    """They import what users may import, from where it stands, and what `SHARED` names."""
    for module, name in imported(path):
        if not module or room(module) in APPLICATIONS:
            continue
        shared = any(module == each or module.startswith(f"{each}.") for each in SHARED)
        assert shared or (name and clfrnn._MODULE_OF.get(name) == module), f"{name} of {module} is not public"


@pytest.mark.parametrize("path", [path for path in modules() if room(name_of(path)) in APPLICATIONS], ids=name_of)
def test_applications_use_what_a_session_shows(path):
    """Of an object that is called `session`, they take what users may take."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] in ("session", "_session"):
            assert node.attr in {"queue", "device", "lock", "profile", "trim"}, f"{path}:{node.lineno}"


def test_no_imports_go_round():
    """Neither when modules are loaded, nor for type checkers, nor when functions are called."""
    below = {name_of(path): imports(path) - {name_of(path)} for path in modules()}
    while free := {name for name, targets in below.items() if not targets & below.keys()}:
        below = {name: targets for name, targets in below.items() if name not in free}

    assert not below, f"imports go round among {sorted(below)}"


PATHS = modules()
PLANS = [path for path in PATHS if path.stem == "config" or path.stem.endswith("plan")]


@pytest.mark.parametrize("path", PLANS, ids=name_of)
def test_plans_and_configs_need_no_device(path):
    """Neither does what they import, down to the last module."""
    found, new = set(), {name_of(path)}
    while new:
        found |= new
        new = {other for each in PATHS if name_of(each) in new for other in imports(each)} - found
    for each in PATHS:
        if name_of(each) in found:
            assert not {"pyopencl", "mako"} & set(outside(each)), each


@pytest.mark.parametrize("name", sorted(NEEDS_NO_DEVICE))
def test_planning_needs_neither_opencl_nor_mako(name):
    for path in PATHS:
        if room(name_of(path)) == name:
            assert not {"pyopencl", "mako"} & set(outside(path)), path


def test_importing_touches_no_opencl():
    code = "import sys, clfrnn; print(sorted({'pyopencl', 'mako', 'numpy'} & set(sys.modules)), clfrnn.__version__)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["[]", clfrnn.__version__]


def test_vendors_are_named_in_one_place():
    """Rules by vendor are quirks; `device` knows the names that users type, and `doctor` tells them what to install."""
    words = ("nvidia", "intel", "pocl", "rusticl", "radeon", "apple", "oclgrind")
    for path in modules():
        if room(name_of(path)) not in ("cli", "doctor") and name_of(path) not in ("runtime.quirks", "runtime.device"):
            text = path.read_text().lower()
            assert not [word for word in words if word in text], path


def test_two_modules_tell_kinds_of_domains_apart():
    """What users pass for a domain, and its tables on the device; all others take each kind as it is."""
    kinds = r"isinstance\([^()]*\b(Domain|PeriodicBox|PeriodicCell|Systems)\b"
    found = {name_of(path) for path in modules() if re.search(kinds, path.read_text())}
    assert found == {"points.batches", "methods.domain_tables.kinds"}


@pytest.mark.parametrize("word", RETIRED)
def test_words_that_have_gone(word):
    for path in modules():
        assert not re.search(rf"\b{word}\b", path.read_text(), re.IGNORECASE), path


def test_the_public_names():
    assert sorted(clfrnn.__all__) == clfrnn.__all__ or set(clfrnn.__all__) == set(dir(clfrnn))
    for name in clfrnn.__all__:
        assert getattr(clfrnn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = clfrnn.nothing


def test_no_module_hides_a_public_name():
    """A module that is imported becomes an attribute of the package, in the place of a function of that name."""
    assert not {name for name in clfrnn._MODULE_OF if (PACKAGE / f"{name}.py").exists() or (PACKAGE / name).is_dir()}


def test_objects_show_what_users_may_use(session):
    """And nothing else: what `docs/reference/python.md` names."""
    index = clfrnn.build_index([[0.0, 0.0]], 1.0, session=session)
    function = clfrnn.NeighborFunction(per_neighbor="")

    def shown(value):
        return {name for name in dir(value) if not name.startswith("_")}

    asked = {"query", "query_blocks", "count", "nearest", "visit", "update", "check", "order", "reorder", "nbytes"}
    asked |= {"explain", "kernel_source", "session", "method", "radius", "num_points", "dim", "dtype", "last_update"}
    asked |= {"empty", "zeros"}
    assert shown(index) == asked
    assert shown(session) == {"queue", "device", "lock", "profile", "trim"}
    assert shown(function) == {"arguments", "state", "per_neighbor", "finish", "preamble"}
