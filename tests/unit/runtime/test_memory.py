"""Memory: what limits of the host leave, what a session gives back, and programs that nobody needs any more."""

import gc
import mmap
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest
from conftest import own_session

import clfrnn
from clfrnn import clouds
from clfrnn.host import memory
from clfrnn.runtime import memory as allocations
from clfrnn.runtime import session as sessions

POINTS = clouds.uniform(500, 3, seed=1)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Files of a machine, as a dict of what they contain by path."""

    def write(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    memory._cgroups.cache_clear()
    write(proc__self__cgroup="")
    (tmp_path / "cgroup").mkdir()
    yield tmp_path, write
    memory._cgroups.cache_clear()


def left():
    return memory.host_memory_left(1 << 40) + (1 << 26)


def test_without_limits(machine, monkeypatch):
    """Where a system does not say what is free, the machine has no more than its memory."""
    assert left() == np.inf
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1 << 20}.__getitem__, raising=False)
    assert left() == mmap.PAGESIZE << 20


def test_what_the_machine_has_free(machine):
    machine[1](proc__meminfo="MemTotal: 9 kB\nMemAvailable:  3000000 kB\nSwapFree: 1000 kB\nHugePages_Total: 0\n")

    assert left() == 3001000 * 1024


def test_cgroups_of_both_versions(machine):
    """The tightest of a group and of those around it; what it can drop counts as free."""
    root, write = machine
    write(proc__self__cgroup="4:cpu,memory:/a/b\n1:name=systemd:/\n0::/c\n")
    for folder in ("cgroup/memory/a/b", "cgroup/memory/a", "cgroup/c"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "cgroup/memory/a/b/memory.limit_in_bytes").write_text("9000000000")
    (root / "cgroup/memory/a/b/memory.usage_in_bytes").write_text("1000000000")
    assert left() == 8e9
    (root / "cgroup/memory/a/memory.limit_in_bytes").write_text("6000000000")
    (root / "cgroup/memory/a/memory.usage_in_bytes").write_text("5000000000")
    (root / "cgroup/memory/a/memory.stat").write_text("cache 5\ntotal_inactive_file 1000000000\n")
    memory._cgroups.cache_clear()
    assert left() == 2e9
    (root / "cgroup/c/memory.max").write_text("max\n")
    (root / "cgroup/c/memory.current").write_text("700\n")
    memory._cgroups.cache_clear()
    assert left() == 2e9
    (root / "cgroup/c/memory.max").write_text("500000700\n")
    memory._cgroups.cache_clear()
    assert left() == 5e8


def test_the_group_of_a_container(machine):
    """Whose path is that of the host, and not found inside."""
    root, write = machine
    write(proc__self__cgroup="4:memory:/docker/1234\n")
    (root / "cgroup/memory").mkdir(parents=True)
    (root / "cgroup/memory/memory.limit_in_bytes").write_text("9000000000")
    (root / "cgroup/memory/memory.usage_in_bytes").write_text("1000000000")

    assert left() == 8e9


def test_a_copy_to_the_host_that_does_not_fit(session, monkeypatch):
    array = session.allocate(1 << 23, np.float32, purpose="a test")
    monkeypatch.setattr(memory, "_left_of_process", lambda: 1e6)

    with pytest.raises(clfrnn.DeviceMemoryError, match="a copy in host memory needs 33,554,432 bytes.*ulimit"):
        array.get()


def test_what_a_session_holds_is_given_back_before_anything_is_refused(session, monkeypatch):
    if session.profile.kind == "gpu":
        pytest.skip("the device has memory of its own")
    fresh = own_session(session)
    del_me = fresh.allocate(1 << 24, np.uint8, purpose="a test")
    del del_me
    held = fresh.pooled_bytes
    looked = []

    def left():
        looked.append(fresh.pooled_bytes)
        return np.inf if looked[2:] else 0

    monkeypatch.setattr(memory, "_left_of_process", left)
    assert fresh.allocate(1 << 25, np.uint8, purpose="a test").size
    assert looked == [held, held, 0]
    monkeypatch.setattr(memory, "_left_of_process", lambda: 0)
    with pytest.raises(
        clfrnn.DeviceMemoryError, match=r"a test needs .*limits \(ulimit\), those of its cgroup.*Nothing"
    ):
        fresh.allocate(1 << 25, np.uint8, purpose="a test")
    # The next one is looked at as well, however small it is.
    with pytest.raises(clfrnn.DeviceMemoryError):
        fresh.allocate(10, np.uint8, purpose="a test")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are those of Linux")
@pytest.mark.parametrize(("limit", "column", "call"), [("AS", 0, "build"), ("DATA", 5, "build"), ("AS", 0, "visit")])
def test_the_last_megabytes_under_a_limit(session, limit, column, call):
    """Drivers crash for less than they need to start a kernel: an error comes before, also without any allocation."""
    if session.profile.kind != "cpu":
        pytest.skip("the memory of the device is not that of the process")
    code = f"""
        import resource, numpy as np, clfrnn
        points = np.random.default_rng(0).random((20_000, 3), dtype=np.float32)
        session = clfrnn.Session({session.device.name!r})
        index = clfrnn.build_index(points[:300], 0.05, method="strips", session=session)
        out = index.zeros(300, "int32")
        function = clfrnn.NeighborFunction(arguments="global int *out", finish="out[i] = 1;")
        index.visit(function, out=out).wait()  # compiled, too
        used = int(open("/proc/self/statm").read().split()[{column}]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_{limit}, (used + (1 << 20),) * 2)
        try:
            if {call!r} == "build":
                clfrnn.build_index(points, 0.02, method="strips", session=session)
            else:
                index.visit(function, out=out)
        except clfrnn.DeviceMemoryError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "by its limits (ulimit)" in done.stdout or "by its own limits (ulimit)" in done.stdout, done.stdout


@pytest.mark.product
@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are those of Linux")
@pytest.mark.parametrize("kind", ["lists", "arrays", "a list", "points"])
def test_a_limit_of_the_process(session, kind):
    """`ulimit -v`: an error, and searches that fit go on; the process does not end."""
    if session.profile.kind != "cpu":
        pytest.skip("the memory of the device is not that of the process")
    code = f"""
        import resource, numpy as np, clfrnn
        rng = np.random.default_rng(0)
        points = rng.random((100_000, 3), dtype=np.float32)
        session = clfrnn.Session({session.device.name!r})
        index = clfrnn.build_index(points, 0.02, method="strips", session=session)
        index.query(distances=True)
        clfrnn.search(points[:1000], 0.1, method="brute_force", session=session)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
        held = []
        try:
            for _ in range(2000):
                if {kind!r} == "lists":
                    held.append(index.query(distances=True))
                elif {kind!r} == "arrays":
                    held.append(index.empty(250_000, "f4"))
                elif {kind!r} == "a list":
                    index.query(hint=100_000_000)
                    held.append(index.empty(40_000_000, "f4"))
                else:
                    held.append(clfrnn.build_index(np.broadcast_to(points[:1], (7_000_000, 3)), 1, session=session))
        except clfrnn.DeviceMemoryError as error:
            print("refused" if "ulimit" in str(error) else error)
        held.clear()
        session.trim()
        print(clfrnn.search(points[:1000], 0.1, method="brute_force", session=session).num_pairs > 0)
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout == "refused\nTrue\n", (done.returncode, done.stdout, done.stderr[-2000:])


def test_trimming(session):
    """Memory of a list that was dropped goes back to the device; what is in use stays."""
    fresh = own_session(session)
    index = clfrnn.build_index(POINTS, 0.1, method="strips", session=fresh)
    index.query().to_host()
    counts = index.count()
    before = fresh.pooled_bytes

    fresh.trim()

    assert fresh._pool.held_blocks == 0
    assert 0 < fresh.pooled_bytes < before
    assert np.array_equal(index.count().get(), counts.get())
    fresh.with_tuning(fresh.tuning).trim()  # the same pool
    assert fresh._pool.held_blocks == 0


def visit_many(index, many, first=0):
    out = index.zeros(index.num_points, np.int32)
    for k in range(first, first + many):
        index.visit(clfrnn.NeighborFunction(arguments="global int *out", finish=f"out[i] = {k};"), out=out)
        assert out.get()[0] == k


def test_functions_that_nobody_holds_are_forgotten(session, monkeypatch):
    monkeypatch.setattr(sessions, "_MOST_FUNCTIONS", 3)
    fresh = own_session(session)
    index = clfrnn.build_index(POINTS, 0.1, method="brute_force", session=fresh)
    mine = clfrnn.NeighborFunction(arguments="global int *out", finish="out[i] = -1;")
    out = index.zeros(index.num_points, np.int32)
    index.visit(mine, out=out)
    library = len(fresh.programs._kernels)

    visit_many(index, 8)

    assert len(fresh._of_functions) == 3
    assert len(fresh.programs._kernels) == library + 2
    assert len(index._traversal._programs) <= 4
    compiled = fresh.programs.compiled
    index.visit(mine, out=out)  # held all the time, though it was used first
    visit_many(index, 2, first=6)  # the last ones
    assert fresh.programs.compiled == compiled
    visit_many(index, 1)  # forgotten, and used again now
    assert fresh.programs.compiled == compiled + 1
    del mine
    gc.collect()
    visit_many(index, 2, first=20)
    assert len(fresh._of_functions) == 3


@pytest.mark.parametrize("forgetful", [0, 1], ids=["by the session", "by the index that has grown"])
def test_programs_that_another_session_of_the_queue_forgets(session, monkeypatch, forgetful):
    """An index that has grown has a session of its own; kernels that are forgotten by one are held by none."""
    monkeypatch.setattr(sessions, "_MOST_FUNCTIONS", 3)
    fresh = own_session(session)
    other, grown = (clfrnn.build_index(POINTS, 0.1, method="brute_force", session=fresh) for _ in range(2))
    grown.update(POINTS[:-1])
    assert grown._traversal.session is not fresh
    forgets, holds = (other, grown) if not forgetful else (grown, other)
    visit_many(holds, 3)
    gc.collect()
    visit_many(forgets, 8, first=20)
    visit_many(holds, 1, first=40)
    assert len(holds._traversal._programs) == 1


def test_the_memory_of_the_host_is_looked_at_for_all_sessions_of_a_queue(session, monkeypatch):
    """Indices that grow have sessions of their own, whose allocations come out of the same memory."""
    if session.profile.kind == "gpu":
        pytest.skip("a GPU has memory of its own")
    fresh, looks, size, byte = own_session(session), [], allocations.LOOKED_AT, np.dtype(np.uint8)
    sessions_of_queue = [fresh, *(fresh.with_spare_memory() for _ in range(8))]
    monkeypatch.setattr(allocations, "host_memory_left", lambda wanted: looks.append(wanted) or 1 << 40)
    held = [each.scratch(size // 4, byte, purpose="a test") for each in sessions_of_queue]
    assert len(looks) == 2
    del held
    for each in sessions_of_queue:  # of the memory that the pool holds
        each.scratch(size // 4, byte, purpose="a test")
    assert len(looks) == 2
    # Where little is left every allocation is looked at, whoever makes it.
    monkeypatch.setattr(allocations, "host_memory_left", lambda wanted: looks.append(wanted) or size)
    fresh.scratch(size, byte, purpose="a test")
    looks.clear()
    sessions_of_queue[1].scratch(1000, byte, purpose="a test")
    assert looks


def test_equal_functions_are_held_together():
    from clfrnn.functions import is_held, walk_function

    one, two = (clfrnn.NeighborFunction(per_neighbor="int held_together;") for _ in range(2))
    walked = walk_function(one)
    del one
    gc.collect()
    assert is_held(walked)
    del two
    gc.collect()
    assert not is_held(walked)


CACHES = {
    "a file": {"XDG_CACHE_HOME": "{file}"},
    "nowhere": {"XDG_CACHE_HOME": "/proc/nowhere", "HOME": "/proc/nowhere", "POCL_CACHE_DIR": "/proc/nowhere"},
    "no home": {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": None},
    "no temporary files": {"TMPDIR": "/proc/nowhere"},
}


@pytest.mark.parametrize("case", CACHES)
def test_caches_that_cannot_be_written(session, case, tmp_path):
    """One warning that says which folder it is; the search is right, on the same device."""
    (tmp_path / "file").touch()
    environment = {**os.environ, "CLFRNN_DEVICE": session.device.platform.name}
    environment.pop("PYOPENCL_NO_CACHE", None)
    for name, value in CACHES[case].items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value.format(file=tmp_path / "file")
    code = """
        import warnings, clfrnn
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [clfrnn.search([[0.0, 0.0], [side, 0.0]], 2, method="brute_force").num_pairs for side in (1.0, 3.0)]
        print(found, *(each.message for each in caught), sep="; ")
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
        cwd="/",
    )

    assert done.returncode == 0, done.stderr
    said = done.stdout.strip().split("; ")
    assert said[0] == "[2, 0]"
    if case == "no temporary files":
        assert len(said) == 1
    else:
        assert f"pyopencl cannot store compiled programs ({CACHES[case].get('XDG_CACHE_HOME')}"[:40] in done.stdout
        assert done.stdout.count("cannot store") == 2 if "Portable" in session.profile.platform else 1
    assert not done.stderr or "oclgrind" in done.stderr.lower()


@pytest.mark.parametrize("code", ["INVALID_BUFFER_SIZE", "OUT_OF_RESOURCES"])
def test_a_size_that_the_driver_refuses_needs_memory(session, monkeypatch, code):
    """Drivers refuse what is as large as they say that they allow, each by an error of its own."""

    class Pool:
        active_bytes = managed_bytes = 0

        def allocate(self, size):
            error = cl.LogicError if code.startswith("INVALID") else cl.RuntimeError
            raise error(SimpleNamespace(code=lambda: getattr(cl.status_code, code)))

    fresh = own_session(session)
    monkeypatch.setattr(fresh, "_pool", Pool())

    with pytest.raises(clfrnn.DeviceMemoryError, match="the rows needs 4,000 bytes"):
        fresh.scratch(1000, np.dtype(np.int32), purpose="the rows")
