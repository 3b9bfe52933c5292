"""Every test that asks for `session` runs on every OpenCL device that is visible.

``CLFRNN_TEST_DEVICES`` selects ('pocl;intel:0', the grammar of PYOPENCL_TEST, which is honoured too),
``CLFRNN_TEST_SKIP`` leaves out devices whose 'platform|device|version' contains one of its ;-separated parts,
``CLFRNN_TEST_POINTS`` sets the size of random clouds. By default, a test runs each value of each of its parameters, and
one of the core each two of its method, dimension and dtype; ``--all`` runs every combination, and the long tests, and
``--rest`` what that adds, of which PoCL optimizes nothing; of tests marked ``threes``, each three values of parameters
together. Of large products, one case of ``CLFRNN_TEST_SHARE`` is drawn, 40 where it is not set, and other cases on
other devices; a third of them by default. A test fails by a word on standard error that it has not read itself, as
Oclgrind's reports are.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import re
import signal
import threading
import types
import weakref
import zlib
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest
from pocl_declarations import HEADER_IS_READ, with_declarations

import clfrnn
from clfrnn import reference
from clfrnn.arrays import REAL_OF
from clfrnn.methods import METHODS
from clfrnn.methods.grid.structure import GridStructure
from clfrnn.profile import DeviceProfile
from clfrnn.runtime import program
from clfrnn.runtime.program import ProgramCache
from clfrnn.runtime.runs import Runs
from clfrnn.tuning import default_tuning

#: What somebody has stored for a device of this machine does not decide what tests see, unless they ask for it.
os.environ.setdefault("CLFRNN_TUNING", "off")

#: joblib, which scikit-learn uses, asks the system for its cores otherwise, and prints what a small one cannot answer.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

ROOT = Path(__file__).parents[1]
PROFILES = Path(__file__).parent / "profiles"

POINTS = int(os.environ.get("CLFRNN_TEST_POINTS", "1200"))

#: One case of this number is drawn of a large product.
SHARE = int(os.environ.get("CLFRNN_TEST_SHARE", "40"))

#: Marks of tests/suites that scipy, scikit-learn and ASE give to their tests; strict markers refuse what is not known.
MARKS_OF_LIBRARIES = ("fail_asan", "fail_slow", "parallel_threads", "slow", "thread_unsafe", "xslow")
#: So many times fewer are drawn without --all.
FEWER = 3

#: Parameters of which every two values are run together.
COMBINED = ("way", "method", "dim", "dtype")

#: Parameters that programs depend on: tests with the same ones run the same cases, as compiling takes longest.
COMPILED = sorted({*COMBINED, "scene", "periodic", "domain"})

# JAX takes three quarters of a GPU's memory at its first array, and leaves none to other tests.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

#: Points of random clouds from which on long tests are run: those of simulators have fewer.
FEW = 300

#: PoCL compiles in less than half the time what it does not optimize, and in a tenth what is made for GPUs.
POCL, POCL_FLAGS, NO_OPTIMIZING = "Portable Computing Language", "POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable"

#: Lists with all that they can carry: asked for alike, tests share the kernels that are compiled for them.
FULL = {"sort": "index", "distances": True, "vectors": True}

#: id -> (method, options): every arrangement in which a method can be asked to search.
WAYS = {
    "_".join([name, *(str(value) for value in options.values())]): (name, options)
    for name, method in METHODS.items()
    for options in method.variations
}


#: Profiles of devices that tests once met, and one of a device that reports the least it may.
RECORDED = {
    path.stem: DeviceProfile.from_dict(json.loads(path.read_text())) for path in sorted(PROFILES.glob("*.json"))
}


#: A mark for tests on the default device of what other libraries compute in float64.
needs_fp64 = pytest.mark.skipif(
    "not __import__('clfrnn').default_session().profile.fp64", reason="the default device has no float64"
)


@functools.cache
def devices():
    from pyopencl.tools import get_test_platforms_and_devices

    selection = os.environ.get("CLFRNN_TEST_DEVICES") or os.environ.get("PYOPENCL_TEST")
    skipped = [part.lower() for part in os.environ.get("CLFRNN_TEST_SKIP", "").split(";") if part]
    found = []
    try:
        platforms = get_test_platforms_and_devices(selection)
    except Exception as error:  # noqa: BLE001 — whatever a driver makes of it
        raise pytest.UsageError(f"no OpenCL device to test on: {error}") from None
    for platform, members in platforms:
        for device in members:
            tag = f"{platform.name}|{device.name}|{platform.version}|{device.driver_version}".lower()
            if not any(part in tag for part in skipped):
                found.append(device)
    return found


def device_id(device):
    short = {POCL: "pocl", "Intel(R) OpenCL": "intel", "NVIDIA CUDA": "nvidia"}
    platform = short.get(device.platform.name, device.platform.name)
    version = device.driver_version.split("+")[0].split("_")[0]
    return re.sub(r"[^A-Za-z0-9.]+", "_", f"{platform}-{version}").strip("_")[:30]


def device_ids():
    ids = [device_id(device) for device in devices()]
    return [f"{name}.{k}" if ids.count(name) > 1 else name for k, name in enumerate(ids)]


def pytest_generate_tests(metafunc):
    if "session" in metafunc.fixturenames:
        given = devices_to_open(optimized=is_optimized(metafunc.definition))
        metafunc.parametrize("session", given, ids=device_ids(), indirect=True, scope="session")


def is_optimized(test):
    """Whether PoCL optimizes the kernels of a test. With --rest, of none: a usual run has each two of COMBINED so."""
    return test.get_closest_marker("optimized") is not None and not test.config.option.rest


@functools.cache
def devices_to_open(*, optimized):
    """What the fixture `session` takes: the same objects each time, by which pytest knows what it has made."""
    return [(device, optimized) for device in devices()]


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="every combination of parameters, and the tests that take long")
    parser.addoption("--rest", action="store_true", help="what --all adds to a usual run")


def pytest_ignore_collect(collection_path, config):
    """A usual run loads no tests of other libraries: what a release of theirs changes must not fail a newcomer."""
    theirs = collection_path.parent.name == "suites" and not _whole(config)
    return True if theirs else None


def _whole(config):
    """Whether all is asked for, or a test by its id."""
    return config.option.all or config.option.rest or any("::" in argument for argument in config.args)


def pytest_collection_modifyitems(config, items):
    """Leave out most cases of large products, and without --all what others repeat; what is named by its id is run."""
    left = left_out(items, whole=_whole(config))
    if config.option.rest:
        usual = set(items) - left_out(items, whole=False)
        left |= usual | repeated_threes(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def left_out(items, *, whole):
    """The tests that a run leaves out, a whole one or a usual one.

    Which cases are drawn follows from their names, and differs between tests that have the same parameters. Of a test
    in several kinds of spaces, as many are drawn as if it were one for each kind.
    """
    cases, left = {}, set()
    for item in sorted(items, key=lambda item: zlib.crc32(item.nodeid.encode())):
        space = getattr(getattr(item, "callspec", None), "params", {}).get("space", "")
        cases.setdefault((item.nodeid.partition("[")[0], str(space).partition(".")[0]), []).append(item)
    for found in cases.values():
        if found[0].get_closest_marker("product"):
            left.update(found[-(-len(found) // (SHARE if whole else FEWER * SHARE)) :])
        elif not whole:
            paired = COMBINED if found[0].get_closest_marker("core") else ()
            left.update(repeated(sorted(found, key=program_of), together=2, of=paired))
        if not (whole and POINTS >= FEW):
            left.update(item for item in found if item.get_closest_marker("long"))
    return left


def program_of(item):
    """A key that is equal for cases of tests which run the same programs.

    Half of the methods, dimensions and dtypes come first, the same half in all tests, in which each two are together.
    """
    callspec = getattr(item, "callspec", types.SimpleNamespace(indices={}, params={}))
    params = callspec.params
    way = params.get("way", params.get("method"))
    method = WAYS[way][0] if isinstance(way, str) and way in WAYS else ""
    half = sum(name < method for name in METHODS) + (params.get("dim") == 3) + (params.get("dtype") is np.float64)
    indices = {**callspec.indices, "scene": callspec.indices.get("scene", callspec.indices.get("space"))}
    return half % 2, zlib.crc32(repr([indices.get(name) for name in COMPILED]).encode())


def repeated_threes(items):
    """The cases of tests marked ``threes`` that are left out, as others have each three of their values together."""
    tests, left = {}, set()
    for item in items:
        if item.get_closest_marker("threes"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        names = cases[0].callspec.params
        left.update(repeated(sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode())), together=3, of=names))
    return left


def repeated(cases, *, together, of):
    """The cases of a test that are left out: others have all values, and so many `together` `of` some parameters.

    Of those that are not, the next one is the first of the cases with the most that is new.
    """
    new = []
    for item in cases:
        values = {name: repr(value) for name, value in getattr(getattr(item, "callspec", None), "params", {}).items()}
        combined = sorted((name, value) for name, value in values.items() if name in of)
        new.append({*values.items(), *itertools.combinations(combined, together)})
    chosen = {0}
    met = set(new[0])
    while any(each - met for each in new):
        best = max(range(len(new)), key=lambda k: len(new[k] - met))
        chosen.add(best)
        met |= new[best]
    return [item for k, item in enumerate(cases) if k not in chosen]


def pytest_terminal_summary(terminalreporter):
    """Printed also with -q, so that a log says what was tested, and lines that tests record as their "summary"."""
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        for name, line in getattr(report, "user_properties", []):
            if name == "summary" and report.when == "call":
                terminalreporter.write_line(line)
    terminalreporter.write_line(f"OpenCL devices swept ({len(devices())}):")
    for name, device in zip(device_ids(), devices(), strict=True):
        terminalreporter.write_line(f"  {name}: {device.name.strip()}, {device.platform.version}")


def pytest_configure(config):
    config.addinivalue_line("markers", "core: the conformance core, run on every device and driver")
    config.addinivalue_line("markers", "product: one of many cases is drawn, see CLFRNN_TEST_SHARE")
    config.addinivalue_line("markers", "threes: --rest runs each three values of its parameters together, see --all")
    config.addinivalue_line("markers", "long: run by --all alone, and on clouds that are not small")
    config.addinivalue_line(
        "markers", "optimized: kernels are optimized on PoCL, too, as those of users are, but with --rest"
    )
    config.addinivalue_line("markers", "oclgrind_expected: reports of Oclgrind do not fail this test")
    for mark in MARKS_OF_LIBRARIES:
        config.addinivalue_line("markers", f"{mark}: of another library's own tests, and without effect here")
    if not os.environ.get("CLFRNN_DEVICE") and devices():
        # doctests and command-line tests use the default session: let it be the first device under test
        os.environ["CLFRNN_DEVICE"] = str(_position(devices()[0]))
    # What the library compiles has no warnings.
    program._WARNINGS = "-Werror"
    # A shell without a terminal starts what runs in the background such that Ctrl-C is ignored, by its children too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _position(device):
    from clfrnn.runtime.device import list_devices

    return list_devices().index(device)


@pytest.fixture(scope="session")
def session(request):
    device, optimized = request.param
    return open_session(device, optimized=optimized)


@functools.cache
def open_session(device, *, optimized):  # each has programs of its own
    return clfrnn.Session(device)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Kernels of tests that are marked so are optimized."""
    if is_optimized(item):
        os.environ.pop(POCL_FLAGS, None)
    else:
        os.environ[POCL_FLAGS] = NO_OPTIMIZING
    yield


@pytest.fixture(params=sorted(WAYS))
def way(request):
    """A method and its options."""
    return WAYS[request.param]


@pytest.fixture(params=sorted(METHODS))
def method(request):
    """Each method once, where its options make no difference."""
    return request.param


@pytest.fixture(params=sorted(RECORDED))
def profile(request):
    return RECORDED[request.param]


@pytest.fixture(params=[2, 3], ids=["2d", "3d"])
def dim(request):
    return request.param


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request, session):
    if request.param is np.float64 and not session.profile.fp64:
        pytest.skip("the device has no fp64")
    return np.dtype(request.param)


def structure_of(index):
    """The search structure of an index, for tests of how a method keeps points."""
    return index._traversal.structure


def with_slots(index, slots):
    """The same index, whose cells ask for a neighbor buffer of so many slots, 0 for none."""
    structure = structure_of(index)
    if isinstance(structure, GridStructure):
        structure._slots = slots
        structure._facts = structure._facts_of(structure.cell_grid)
    return index


COLUMNS = ("offsets", "indices", "distances", "vectors", "shifts")


def host(found):
    """A list, a reference or joined parts, with numpy arrays."""
    return found.to_host() if hasattr(found, "to_host") else found


def counts_of(expected):
    """The number of neighbors of each query."""
    return np.diff(expected.offsets)


def rows_of(expected):
    """The query of each pair."""
    return np.repeat(np.arange(len(expected.offsets) - 1), np.diff(expected.offsets))


def by_distance(expected):
    """The order of the pairs of a reference by (d2, id, shift) inside each row."""
    return np.lexsort((*expected.shifts.T[::-1], expected.indices, expected.squares, rows_of(expected)))


def assert_same(found, expected, *, order=slice(None)):
    """A list equals the reference, whose pairs are taken in an order: all columns that both have, to the last bit."""
    found, expected = host(found), host(expected)
    assert np.array_equal(found.offsets, expected.offsets), "offsets"
    for name in COLUMNS[1:]:
        mine, theirs = getattr(found, name), getattr(expected, name)
        if mine is not None and theirs is not None:
            assert np.array_equal(mine, theirs[order]), name


def same_rows(found, expected, *, by_distance=False):
    """The rows of a list are those of the reference, in any order, with all columns that both have."""
    found = host(found)
    assert np.array_equal(found.offsets, expected.offsets)
    rows = rows_of(expected)
    if by_distance:
        assert not ((np.diff(rows) == 0) & (np.diff(found.distances) < 0)).any()
    names = [name for name in COLUMNS[1:] if getattr(found, name) is not None and getattr(expected, name) is not None]
    in_order = []
    for each in (found, expected):
        columns = [getattr(each, name) for name in names]
        keys = [lane for column in columns for lane in np.atleast_2d(column.T)]
        in_order.append(np.lexsort((*keys[::-1], rows)))
    for name in names:
        mine, theirs = (getattr(each, name)[order] for each, order in zip((found, expected), in_order, strict=True))
        assert np.array_equal(mine, theirs), name


def assert_counts(counts, expected):
    """Counts on the device are the lengths of the rows of the reference."""
    assert np.array_equal(counts.get(), counts_of(expected))


def nearest_in(expected):
    """The first of each row of a reference by distance and number, or none: indices and distances."""
    has = counts_of(expected) > 0
    first = by_distance(expected)[expected.offsets[:-1][has]]
    indices = np.full(len(has), -1, np.int32)
    distances = np.full(len(has), np.inf, expected.distances.dtype)
    indices[has], distances[has] = expected.indices[first], expected.distances[first]
    return indices, distances


def assert_nearest(found, expected):
    """Nearest neighbors on the device are those of the reference."""
    for each, known in zip(found, nearest_in(expected), strict=True):
        assert np.array_equal(each.get(), known)


def assert_rows(found, expected, *, shifts=None):
    """The k nearest on the device are those of the reference, in all that they have, `shifts` or none if it is said."""
    found = found.to_host()
    assert found.shifts is None or found.vectors is not None if shifts is None else (found.shifts is not None) == shifts
    for name in ("indices", "distances", "vectors", "shifts"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        if mine is not None:
            assert mine.dtype == theirs.dtype, name
            assert np.array_equal(mine, theirs), name


def nbytes(found):
    """Bytes of what a caller sees of a list."""
    return sum(array.nbytes for array in (getattr(found, name) for name in COLUMNS) if array is not None)


def joined(parts):
    """The parts of a list as one: offsets count on, the other columns are laid end to end."""
    parts = [part.to_host() for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([part.counts for part in parts]))])
    columns = {name: [getattr(part, name) for part in parts] for name in COLUMNS[1:]}
    whole = {name: None if each[0] is None else np.concatenate(each) for name, each in columns.items()}
    return types.SimpleNamespace(offsets=offsets, **whole)


_TRUTH = {}
_MOST_TRUTHS = 200


def truth(points, radius, *, queries=None, **asked):
    """The reference, computed once for tests that follow each other and need the same."""
    arrays = [np.asarray(array) for array in (points, radius, *([] if queries is None else [queries]))]
    key = (*((array.tobytes(), array.shape, array.dtype) for array in arrays), repr(asked))
    if key not in _TRUTH:
        if len(_TRUTH) == _MOST_TRUTHS:
            _TRUTH.pop(next(iter(_TRUTH)))
        _TRUTH[key] = reference.neighbors(points, radius, queries=queries, **asked)
    return _TRUTH[key]


def nudged(rng, values, dtype=None):
    """Each value in a dtype, or one of its two neighbors in floating point."""
    values = np.asarray(values, dtype)
    towards = rng.choice([-np.inf, 0.0, np.inf], values.shape).astype(values.dtype)
    return np.where(towards == 0, values, np.nextafter(values, towards))


def launched(session, call):
    """The names of the kernels that a call launches, in order, and what it gives."""
    with session.recorded() as launches:
        found = call()
    return [name for name, _ in launches], found


def visits(session, call):
    """How often a kernel goes through neighbors during a call, and what that gives."""
    names, found = launched(session, call)
    return names.count("frnn_visit"), found


def takes_long_as_gpu(session, method):
    """Whether kernels that share much, among items that wait for each other, take a minute to compile here."""
    return method == "fenns" and session.profile.platform == POCL


def position(session):
    """The number by which commands are given the device."""
    from clfrnn.runtime.device import list_devices

    return str(list_devices().index(session.device))


@functools.cache
def as_gpu(session):
    """A session whose device counts as a GPU: other layouts and sides of cells, fused tests, windows in step."""
    if session.profile.kind == "gpu":
        return session
    return own_session(session, kind="gpu", fma=True)


def arranged_as_gpu(session, method=None):
    """The device as a GPU, for tests that run on the device as it is, too."""
    if takes_long_as_gpu(session, method):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    if session.profile.kind == "gpu":
        pytest.skip("every other test runs in the arrangement for a GPU")
    return as_gpu(session)


@functools.cache
def as_narrow_gpu(session, **facts):
    """A GPU of many small groups, for tests of cells that these fill: one arrangement, as it takes long to compile."""
    few = {"max_work_group_size": 32, "compute_units": 7, "loop_turns": None}  # few points take few turns
    return own_session(session, kind="gpu", **few, **facts)


def own_session(session, **facts):
    """A new session of the same device, which may have other facts: PoCL never optimizes what is made for others."""
    fresh = clfrnn.Session(session.device)
    facts = {"unit_lanes": 64, **facts} if facts.get("kind") == "gpu" else facts
    options = session.profile.build_options
    if session.profile.platform == POCL and POCL_FLAGS not in os.environ:
        options = (*options, NO_OPTIMIZING)
    fresh.profile = dataclasses.replace(session.profile, build_options=options, **facts)
    fresh.tuning = default_tuning(fresh.profile) if "kind" in facts else session.tuning
    fresh.programs = ProgramCache(fresh.context, fresh.device, fresh.profile)
    return fresh


def with_tuning(profile, **sections):
    """A profile and the tuning of its class with other numbers, as plans take them."""
    return profile, default_tuning(profile).but(**sections)


_TUNED = weakref.WeakKeyDictionary()


def tuned(session, **sections):
    """A session of the same queue, programs and memory with other numbers: ``tuned(session, grid={"long_run": 0})``."""
    tuning = session.tuning.but(**sections)
    known = _TUNED.setdefault(session, {})
    if tuning not in known:
        known[tuning] = session.with_tuning(tuning)
    return known[tuning]


class CountingPool:
    """A memory pool that counts what it had to ask the driver for: what none of its held blocks could serve."""

    def __init__(self, pool):
        self.pool = pool
        self.allocations = 0

    def allocate(self, size):
        held = self.pool.held_blocks
        buffer = self.pool.allocate(size)
        self.allocations += self.pool.held_blocks == held
        return buffer

    def __getattr__(self, name):
        return getattr(self.pool, name)


@pytest.fixture
def calls_of(monkeypatch):
    """``calls_of(owner, name)`` gives the arguments of each call of a function, a list that grows from now on."""

    def calls_of(owner, name):
        made, plain = [], getattr(owner, name)

        def noting(*given, **named):
            made.append(given)
            return plain(*given, **named)

        monkeypatch.setattr(owner, name, noting)
        return made

    return calls_of


@pytest.fixture
def counted(session):
    """A session of its own whose allocations are counted; it ends with its test."""
    fresh = own_session(session)
    fresh._pool = CountingPool(fresh._pool)
    return fresh


@pytest.fixture
def unsliced(monkeypatch):
    """For tests that count launches: none is sliced because the machine was busy with something else."""
    monkeypatch.setattr(Runs, "expected", lambda *_: 0.0)


@pytest.fixture
def real(dtype):
    return REAL_OF[dtype]


def _unwritten(scratch):
    """`Session.scratch` under Oclgrind: a buffer that its check of unset memory takes for one that nothing has written.

    Oclgrind 21.10 makes its record of a buffer as long as the last write by the host was, forgets what kernels write
    beyond that, and keeps the record when the memory is released: a buffer of the pool that a short array was uploaded
    into is reported wherever a longer one lies in it next. An empty write leaves an empty record, which the next
    kernel replaces by one of the full length, nothing set. Buffers from the pool are checked like new ones thereby.
    """

    @functools.wraps(scratch)
    def unwritten(session, size, dtype, *, purpose):
        found = scratch(session, size, dtype, purpose=purpose)
        if session.profile.platform == "Oclgrind":
            cl.enqueue_copy(session.queue, found.base_data, np.empty(0, np.uint8), is_blocking=False)
        return found

    return unwritten


clfrnn.Session.scratch = _unwritten(clfrnn.Session.scratch)


def _with_few_declarations(built):
    """`ProgramCache._built` that gives PoCL the declarations that a program needs alone, as reading all takes long."""

    @functools.wraps(built)
    def with_few(programs, source, options):
        on_pocl = programs._profile.platform == POCL
        if on_pocl and (short := with_declarations(source, programs._device.driver_version)):
            source, options = short, [*options, HEADER_IS_READ]
        return built(programs, source, options)

    return with_few


ProgramCache._built = _with_few_declarations(ProgramCache._built)


@contextlib.contextmanager
def before_allocations(called):
    """``called(session, bytes, purpose)`` runs before each buffer of any device is allocated, and may refuse it."""
    plain = clfrnn.Session.scratch

    def scratch(session, size, dtype, *, purpose):
        called(session, size * dtype.itemsize, purpose)
        return plain(session, size, dtype, purpose=purpose)

    clfrnn.Session.scratch = scratch
    try:
        yield
    finally:
        clfrnn.Session.scratch = plain


@contextlib.contextmanager
def refusing(*words, most=math.inf):
    """No memory for purposes that contain one of the words, at most so often; gives the purposes that were refused."""
    refused = []

    def refuse(session, size, purpose):
        if len(refused) < most and any(word in str(purpose) for word in words):
            refused.append(str(purpose))
            session._refuse(size, purpose)

    with before_allocations(refuse):
        yield refused


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Searches that a device refuses, as its driver would end their loops, are none of the test's concern."""
    outcome = yield
    session = pyfuncitem.funcargs.get("session")
    if session is not None and session.profile.loop_turns is not None and outcome.excinfo is not None:
        error = outcome.excinfo[1]
        if isinstance(error, clfrnn.NoDeviceError) and "ends the loops" in str(error):
            outcome.force_exception(pytest.skip.Exception(f"refused: {error}"))


# Oclgrind exits with 0 whatever it finds and tells only standard error: read what was captured of it.
_REPORT = re.compile(
    r"^(?:Read-write|Write-write|Write-read) data race.*$|^Invalid (?:read|write).*$|^Work-group divergence.*$"
    r"|^Uninitialized (?:value|address).*$|^Controlflow depends on uninitialized.*$"
    r"|^Instruction depends on an uninitialized.*$|^OCLGRIND FATAL.*$",
    re.MULTILINE,
)

#: What drivers say whatever is set: llvmpipe once in a process, though arguments of a kernel are equal for all of its
#: work-items; Warp, which stands beside, where no GPU is.
_UNAVOIDABLE = re.compile(
    r"^MESA: warning: Treating load_kernel_arg in control flow as uniform, results may be incorrect\.\n"
    r"|^Warp CUDA warning: Could not find or load the NVIDIA CUDA driver\..*\n",
    re.MULTILINE,
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A test fails by what Oclgrind reports, and by any other word on standard error that it did not read itself."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.passed and not item.get_closest_marker("oclgrind_expected"):
        written = _UNAVOIDABLE.sub("", report.capstderr)
        found = _REPORT.search(written)
        if found or written.strip():
            report.outcome = "failed"
            says = "Oclgrind reported" if found else "standard error has"
            report.longrepr = f"{says}:\n{written[found.start() if found else 0 :][:1200]}"


def needs_pyvista():
    """Skip what draws in 3D where pyvista is not installed, and beside Oclgrind.

    Oclgrind crashes where it compiles in a process in which Mesa, the driver of OpenGL, has compiled.
    """
    pytest.importorskip("pyvista", reason="pictures of 3D need the extra `plot3d`")
    if any("Oclgrind" in device.name for device in devices()):
        pytest.skip("Oclgrind is swept as well, and crashes beside what draws")


@pytest.fixture
def place(session):
    """What --device takes for it."""
    from clfrnn.runtime.device import list_devices

    return str(list_devices().index(session.device))


def run_clfrnn(*arguments):
    """Exit status of a command line, and everything that was printed."""
    from click.testing import CliRunner

    from clfrnn import cli

    done = CliRunner().invoke(cli.main, [str(argument) for argument in arguments], prog_name="clfrnn")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output
