"""Sessions, devices, programs: what is compiled, what is launched, what is refused."""

import dataclasses
import gc
import itertools
import os
import pickle
import re
import subprocess
import sys
import textwrap
import types

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import own_session, truth, tuned

import clfrnn
from clfrnn import clouds
from clfrnn import config as configs
from clfrnn.methods import METHODS
from clfrnn.methods.walk_plan import plan_walk
from clfrnn.runtime import launch_limits as limits
from clfrnn.runtime import program
from clfrnn.runtime.device import find_device, list_devices

POINTS = clouds.uniform(500, 3, seed=1)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_second_search_of_the_same_shape_compiles_nothing(session, method):
    fresh = own_session(session)
    clfrnn.search(POINTS, 0.1, method=method, distances=True, sort="index", session=fresh)
    compiled = fresh.programs.compiled

    clfrnn.search(POINTS[::-1] * 3, 0.25, method=method, distances=True, sort="index", session=fresh)
    clfrnn.search(clouds.uniform(700, 3, seed=2), 0.07, method=method, distances=True, sort="index", session=fresh)

    assert compiled > 0
    assert fresh.programs.compiled == compiled


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_loop_compiles_nothing_and_takes_no_new_memory(session, method):
    index = clfrnn.build_index(POINTS, 0.1, method=method, session=session)
    device = index.query().indices  # warm
    for _ in range(3):
        index.update(POINTS)
        device = index.query().indices
    compiled, held = session.programs.compiled, session._pool.active_bytes
    for _ in range(20):
        index.update(POINTS)
        device = index.query().indices
    assert device.size
    assert session.programs.compiled == compiled
    assert session._pool.active_bytes == held


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
def test_a_cloud_that_spreads_compiles_nothing(session, method):
    """From a grid that holds its domain to one that wraps, and back."""
    index = clfrnn.build_index(POINTS, 0.1, method=method, session=session)
    index.update(POINTS)
    index.query()
    compiled, wrapped = session.programs.compiled, set()
    for spread in (1, 2, 8, 64, 512, 1e5):
        points = POINTS * np.float32(spread)
        index.update(points)
        assert index.query().num_pairs == truth(points, 0.1).offsets[-1]
        wrapped.add(index._traversal.structure.cell_grid.wrapped)

    assert session.programs.compiled == compiled
    assert wrapped == {False, True}


def test_a_session_of_a_queue(session):
    queue = cl.CommandQueue(session.context)
    mine = clfrnn.Session(queue)

    assert mine.queue is queue
    assert clfrnn.search(POINTS, 0.1, session=mine).num_pairs == truth(POINTS, 0.1).offsets[-1]


def test_an_out_of_order_queue_is_refused(session):
    properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    try:
        queue = cl.CommandQueue(session.context, properties=properties)
    except cl.Error:
        pytest.skip("the device has no out-of-order queues")
    with pytest.raises(clfrnn.InvalidInputError, match="device: expected an in-order"):
        clfrnn.Session(queue)


def test_a_queue_whose_context_is_gone_is_refused(session):
    """Intel's queues do not hold their contexts; those of others do."""
    queue = cl.CommandQueue(cl.Context([session.device]))
    try:
        queue.context  # noqa: B018
    except cl.LogicError:
        with pytest.raises(clfrnn.InvalidInputError, match="device: .* whose context is gone .*; keep the context"):
            clfrnn.Session(queue)
    else:
        assert clfrnn.Session(queue).context == queue.context


def test_naming_a_device(session):
    present = list_devices()
    place = present.index(session.device)

    assert find_device(place) == session.device
    assert find_device(str(place)) == session.device
    assert find_device(session.device) == session.device
    assert (
        session.device.platform.name.lower() in find_device(session.device.platform.name.upper()).platform.name.lower()
    )
    assert clfrnn.devices()[place] == session.profile
    with pytest.raises(clfrnn.NoDeviceError, match=r"device='abacus'.*Present: 0: "):
        clfrnn.Session("abacus")
    with pytest.raises(clfrnn.NoDeviceError, match=r"device=99: expected a position below"):
        clfrnn.Session(99)
    with pytest.raises(clfrnn.InvalidInputError, match="device: expected a pyopencl device"):
        clfrnn.Session(1.5)


def test_a_device_that_gives_no_context(session, monkeypatch):
    def full(devices):
        raise cl.RuntimeError("Context failed: OUT_OF_HOST_MEMORY")

    monkeypatch.setattr(cl, "Context", full)
    name = re.escape(session.device.name.strip())
    with pytest.raises(clfrnn.NoDeviceError, match=f"{name} was found .*OUT_OF_HOST_MEMORY.* other programs"):
        clfrnn.Session(session.device)


def test_the_default_device(session, monkeypatch):
    monkeypatch.setenv("CLFRNN_DEVICE", str(list_devices().index(session.device)))
    assert find_device() == session.device
    monkeypatch.setenv("CLFRNN_DEVICE", "abacus")
    with pytest.raises(clfrnn.NoDeviceError, match=r"CLFRNN_DEVICE is set: device='abacus'.* Take one of these"):
        find_device()
    monkeypatch.delenv("CLFRNN_DEVICE")
    monkeypatch.setenv("PYOPENCL_CTX", session.device.platform.name)
    assert find_device().platform == session.device.platform
    monkeypatch.setenv("PYOPENCL_CTX", "abacus")
    with pytest.raises(clfrnn.NoDeviceError, match="PYOPENCL_CTX='abacus' names no device"):
        find_device()
    monkeypatch.delenv("PYOPENCL_CTX")
    assert find_device() in list_devices()


@pytest.mark.parametrize(
    ("named", "advice"),
    [
        ("lost.icd", "Drivers are looked for in"),
        ("missing", "takes one folder, not a list, and there is none of this name. Unset it"),
        ("missing:lost.icd", "takes one folder, not a list, and there is none of this name. Unset it"),
    ],
)
def test_no_driver_at_all(tmp_path, named, advice):
    (tmp_path / "lost.icd").write_text("libthereisnone.so")
    code = "import clfrnn\nassert clfrnn.devices() == []\nclfrnn.search([[0, 0]], 1)"
    vendors = os.pathsep.join(str(tmp_path / name) for name in named.split(":"))
    environment = {**os.environ, "OCL_ICD_VENDORS": vendors}
    environment.pop("CLFRNN_DEVICE", None)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)

    assert done.returncode == 1
    assert "NoDeviceError: no OpenCL device was found." in done.stderr
    assert advice in done.stderr
    assert ("pip install 'clfrnn[pocl]'" in done.stderr) == (named == "lost.icd")
    assert "`clfrnn devices` says" in done.stderr


def test_recording_goes_on_after_an_inner_one(session):
    index = clfrnn.build_index(clouds.uniform(100, 2, seed=1), 0.1, method="strips", session=session)
    with session.recorded() as outer:
        with session.recorded() as inner:
            index.count()
        assert inner
        assert not outer
        index.count()
    assert [name for name, _ in outer] == [name for name, _ in inner]


def test_use_after_a_fork_raises(session, monkeypatch):
    index = clfrnn.build_index(POINTS, 0.1, session=session)
    hinted, blocks = index.query(hint=100_000), index.query_blocks(max_bytes=1_000_000)
    monkeypatch.setattr(os, "getpid", lambda: -1)

    for call in (
        lambda: hinted.num_pairs,
        lambda: next(blocks),
        index.query,
        index.count,
        index.check,
        lambda: index.update(POINTS),
        lambda: clfrnn.search(POINTS, 0.1, session=session),
    ):
        with pytest.raises(clfrnn.ClfrnnError, match="before a fork"):
            call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_forked_child_is_told():
    """In a process of its own, as forking one with the drivers of a whole suite in it is asking for trouble."""
    code = """
        import os, clfrnn
        index = clfrnn.build_index([[0.0, 0.0], [1.0, 0.0]], 2)
        child = os.fork()
        if child == 0:
            try:
                index.count()
            except clfrnn.ClfrnnError as error:
                os._exit(7 if "before a fork" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print(index.count().get().tolist())
    """

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)

    assert done.stdout == "[1, 1]\n", done.stderr


def test_sessions_are_not_pickled(session):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(session)


#: A budget of almost nothing for each launch.
OF_NOTHING = {"slice_seconds": 1e-9, "least_budget": 500, "clocks_of_pair": 1 << 60}


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("foreign", [False, True])
def test_long_launches_are_sliced(session, monkeypatch, method, foreign):
    """With a budget of almost nothing every visit is cut up, and still exact."""
    launches = []
    launch = clfrnn.Session.launch
    session = tuned(session, runtime=OF_NOTHING)
    monkeypatch.setattr(
        clfrnn.Session,
        "launch",
        lambda self, kernel, *rest: (launches.append(kernel.name), launch(self, kernel, *rest))[1],
    )
    queries = clouds.uniform(300, 3, seed=8) if foreign else None
    expected = truth(POINTS, 0.1, queries=queries)

    found = clfrnn.search(POINTS, 0.1, method=method, queries=queries, sort="index", session=session).to_host()

    assert launches.count("frnn_visit") > 2
    assert np.array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_launch_that_took_too_long_is_sliced_the_next_time(session, method):
    """Though nothing was foreseen: a cloud may have drawn together since it was surveyed."""
    fresh = own_session(session)
    index = clfrnn.build_index(POINTS, 0.1, method=method, session=fresh)
    expected = np.diff(truth(POINTS, 0.1).offsets)
    # However few points there are.
    fresh.tuning = fresh.tuning.but(runtime={"slice_seconds": 1e-9, "surely_short": np.inf})
    runs = []
    for _ in range(3):
        with index.session.recorded() as launches:
            assert np.array_equal(index.count().get(), expected)
        runs.append(len(launches))
    fresh.tuning = fresh.tuning.but(runtime={"slice_seconds": np.inf})
    with index.session.recorded() as launches:
        index.count()

    assert runs[0] == 1
    assert min(runs[1:]) > 1
    assert len(launches) == 1


def test_a_session_that_is_gone_leaves_nothing(session):
    """Drivers allow a hundred contexts or so at a time: nobody else holds one when its session is gone."""
    fresh = own_session(session)
    context = fresh.context
    for method in METHODS:
        clfrnn.search(POINTS, 0.1, method=method, session=fresh).to_host()
    held = context.reference_count
    del fresh
    gc.collect()

    assert context.reference_count == 1 < held


def test_launches_that_cannot_be_long_are_not_watched(session):
    """Own counts of few points; a user's function may take any time for each."""
    fresh = own_session(session)
    index = clfrnn.build_index(POINTS, 0.1, method="strips", session=fresh)
    index.count()
    short = limits.launch_budget(fresh.profile, fresh.tuning) / fresh.tuning.runtime.surely_short
    assert not fresh._runs or len(POINTS) ** 2 > short
    index.visit(clfrnn.NeighborFunction(state="int c = 0;", per_neighbor="++c;"))
    assert fresh._runs


def test_groups_shrink_until_the_kernel_agrees(session, monkeypatch):
    """A driver that allows a kernel less than the device: the config follows, the answer stands."""
    fresh = own_session(session)
    monkeypatch.setattr(program.Kernel, "largest_group", lambda kernel, device: 16)
    fresh.programs._profile = dataclasses.replace(fresh.profile, required_groups=False)
    config = plan_walk(fresh.profile, fresh.tuning, dim=3, real="float", periodic=False)

    _, fitted = fresh.kernels("methods/grid/strips", config)

    assert fitted == dataclasses.replace(config, work_group_size=min(16, config.work_group_size))
    found = clfrnn.search(POINTS, 0.1, method="strips", sort="index", session=fresh).to_host()
    assert np.array_equal(found.indices, truth(POINTS, 0.1).indices)


def test_groups_stay_where_kernels_run_in_what_they_require(session, monkeypatch):
    """A driver that says of each kernel what it prefers; but for kernels that require nothing."""
    cache = own_session(session).programs
    monkeypatch.setattr(program.Kernel, "largest_group", lambda kernel, device: 4)
    cache._profile = dataclasses.replace(session.profile, required_groups=True)
    config = configs.KernelConfig(work_group_size=8)

    requiring = "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void f() {}"
    ((_, required),) = cache.build_to_fit(program.Part(config, lambda _: requiring))
    ((_, any_size),) = cache.build_to_fit(program.Part(config, lambda _: "kernel void f() {}"))

    assert (required.work_group_size, any_size.work_group_size) == (8, 4)


def test_a_kernel_that_does_not_compile(session, capfd):
    cache = own_session(session).programs
    config = configs.KernelConfig(work_group_size=1)

    with pytest.raises(clfrnn.KernelBuildError) as caught:
        cache.build_to_fit(program.Part(config, lambda _: "kernel void broken(global int *a)\n{ a[0] = nonsense; }"))

    capfd.readouterr()  # some compilers count errors on standard error, which is kept from users for code of theirs
    assert caught.value.config is config
    assert caught.value.source.splitlines()[1] == "   2 { a[0] = nonsense; }"
    assert "nonsense" in str(caught.value)
    assert str(session.profile) in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is clfrnn.KernelBuildError
    assert again.source == caught.value.source


def test_arrays_are_as_pyopencl_makes_them(session):
    """Also where what pyopencl finds out is remembered, behind one number and behind no rows."""
    own = own_session(session)
    for shape in ((5,), (), (7,), (3, 2), (0,), (4, 2), (), (9,), (0, 2)):
        _assert_like(own.allocate(shape, np.float32, purpose="a test"), cla.empty(own.queue, shape, np.float32))
    for shape, rows in (((7,), 3), ((7,), 7), ((7,), 0), ((4, 2), 1)):
        array = own.allocate(shape, np.int64, purpose="a test")
        own.shorten(array, rows)
        _assert_like(array, cla.empty(own.queue, (rows, *shape[1:]), np.int64))
        array[...] = np.arange(array.size).reshape(array.shape)
        assert np.array_equal(array.get(), np.arange(array.size).reshape(array.shape))


def _assert_like(array, other):
    for name in ("shape", "strides", "size", "nbytes", "dtype", "offset", "ndim"):
        assert getattr(array, name) == getattr(other, name), (name, array.shape)
    assert array.flags.c_contiguous == other.flags.c_contiguous


def test_memory_that_is_not_there(session):
    with pytest.raises(clfrnn.DeviceMemoryError, match=r"a test needs [\d,]+ bytes.*allows .*Nothing was truncated"):
        session.allocate(session.profile.max_allocation + 1, np.uint8, purpose="a test")


def test_nothing_is_printed(session, capfd):
    clfrnn.search(POINTS, 0.1, method="strips", session=own_session(session))

    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("profiling", [False, True])
def test_launches_can_be_recorded(session, unsliced, profiling):
    """By name; and with times on a queue that the user made for them, as a session's own has none."""
    mine = session
    if profiling:
        properties = cl.command_queue_properties.PROFILING_ENABLE
        mine = clfrnn.Session(cl.CommandQueue(session.context, properties=properties))
    index = clfrnn.build_index(POINTS, 0.1, method="strips", session=mine)
    with mine.recorded() as launches:
        index.count()
    index.count()
    mine.queue.finish()

    assert [name for name, _ in launches] == ["frnn_visit"]
    assert bool(mine.queue.properties & cl.command_queue_properties.PROFILING_ENABLE) == profiling
    assert not profiling or launches[0][1].profile.end >= launches[0][1].profile.start


class Watched:
    """A compiled kernel that notes how its arguments are set."""

    def __init__(self, compiled):
        self.compiled = compiled
        self.all, self.single = 0, []
        self.function_name = compiled.function_name
        self.set_scalar_arg_dtypes = compiled.set_scalar_arg_dtypes

    def set_args(self, *arguments):
        self.all += 1
        self.compiled.set_args(*arguments)

    def set_arg(self, place, value):
        if value is None:
            raise TypeError("incompatible function arguments")  # as pyopencl before 2026.1.3
        self.single.append(place)
        self.compiled.set_arg(place, value)


@pytest.fixture
def adder(session, monkeypatch):
    """A kernel that writes n + v.s1 + big to out, and its launch: what was set for it, and what it wrote."""
    text = "kernel void add(global long *out, const int n, const int4 v, const long big) { out[0] = n + v.s1 + big; }"
    watched = Watched(cl.Kernel(cl.Program(session.context, text).build(), "add"))
    plain, wanted = cl.enqueue_nd_range_kernel, []

    def enqueue(queue, kernel, *sizes):
        return plain(queue, kernel.compiled, *sizes) if wanted[-1] else cl.enqueue_marker(queue)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", enqueue)
    kernel = program.Kernel(watched)

    def launch(out, *numbers, launched=True):
        watched.all, watched.single = 0, []
        wanted.append(launched)
        session.launch(kernel, 1, 1, out.base_data, *numbers)
        return watched.all, watched.single, int(out.get()[0])

    return launch


def test_numbers_that_a_kernel_holds_are_not_set_again(session, adder):
    """Buffers always are; numbers where one of them is another object, whatever its value."""
    first, second = (cla.zeros(session.queue, 1, np.int64) for _ in range(2))
    lanes, big, five, many = np.arange(4, dtype=np.int32), np.int64(2**40), np.int64(5), 70_000

    assert adder(first, many, lanes, big) == (1, [], 70_001 + 2**40)
    assert adder(second, many, lanes, big) == (0, [0], 70_001 + 2**40)
    assert adder(first, many, lanes, five) == (1, [], 70_006)
    assert adder(second, many, lanes, five) == (0, [0], 70_006)
    assert adder(first, 8, lanes, five) == (1, [], 14)
    assert adder(first, 8, lanes + 1, five) == (1, [], 15)
    assert adder(second, True, lanes, five)[2] == 7
    assert adder(second, 1, lanes, five)[2] == 7


def test_an_array_without_elements_after_one_with_elements(session, adder):
    """Its memory is None, which older pyopencl takes where all arguments are set."""
    out, none = cla.zeros(session.queue, 1, np.int64), types.SimpleNamespace(base_data=None, get=lambda: [0])
    lanes, big = np.arange(4, dtype=np.int32), np.int64(0)
    adder(out, 1, lanes, big)

    assert adder(none, 1, lanes, big, launched=False) == (1, [], 0)
    assert adder(out, 1, lanes, big) == (0, [0], 2)


def test_numbers_that_were_refused_are_all_set_the_next_time(session, adder):
    out, lanes, big = cla.zeros(session.queue, 1, np.int64), np.arange(4, dtype=np.int32), np.int64(0)
    adder(out, 1, lanes, big)
    with pytest.raises(Exception):  # noqa: B017 — whatever pyopencl makes of it
        adder(out, 2, "no vector", big)

    assert adder(out, 1, lanes, big) == (1, [], 2)


def test_serial_numbers_begin_again_before_they_are_no_int(session):
    fresh = own_session(session)
    first = fresh.draw_serial()
    fresh._serials = itertools.count(2**31 - 1 - first)
    index = clfrnn.build_index(POINTS, 0.1, batch=np.arange(len(POINTS)) % 9, session=fresh)
    counts = index.count().get()
    for _ in range(4):
        index.update(POINTS)
        assert np.array_equal(index.count().get(), counts)
    assert first < fresh.draw_serial() < first + 20


def test_answers_that_are_found_once(session):
    """Until there are too many of them."""
    fresh, asked = own_session(session), []

    def find(given, n):
        assert given is fresh
        asked.append(n)
        return n + 1

    assert [fresh.once(find, n) for n in (1, 2, 1, 2)] == [2, 3, 2, 3]
    assert asked == [1, 2]
    assert [fresh.once(find, n) for n in range(1000)] == list(range(1, 1001))
    assert len(fresh._results) <= 512
    assert fresh.once(find, 1) == 2


def test_kernels_hold_no_memory(session):
    """What the arguments of a launch took comes back to the pool while the kernel is still there."""
    fresh = own_session(session)
    index = clfrnn.build_index(POINTS, 0.1, method="strips", session=fresh)
    index.count()
    fresh.queue.finish()
    held = fresh._pool.active_bytes
    counts = [index.count() for _ in range(3)]
    assert fresh._pool.active_bytes > held
    del counts
    assert fresh._pool.active_bytes == held
    del index
    fresh._cleared.clear()  # the session keeps these, and no kernel
    assert fresh._pool.active_bytes == 0


def test_a_zero_of_another_sign_is_another_number(session):
    text = "kernel void put(global float *out, const float x) { out[0] = 1 / x; }"
    kernel = program.Kernel(cl.Kernel(cl.Program(session.context, text).build(), "put"))
    found = cla.zeros(session.queue, 1, np.float32)
    for x, expected in ((0.0, np.inf), (-0.0, -np.inf), (0.0, np.inf), (2.0, 0.5), (2.0, 0.5), (np.nan, np.nan)):
        session.launch(kernel, 1, 1, found.base_data, np.float32(x))
        assert np.array_equal(found.get(), [np.float32(expected)], equal_nan=True)
