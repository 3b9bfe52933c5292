"""The benchmarks run, and find neighbors."""

import importlib
import inspect
import pkgutil
import time

import pytest

benchmarks = pytest.importorskip("asv_benches.benchmarks", reason="benchmarks come with a checkout")
common = importlib.import_module("asv_benches.benchmarks.common")

pytestmark = pytest.mark.long

MODULES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "common")


def classes():
    """Every benchmark of every module."""
    for name in MODULES:
        module = importlib.import_module(f"asv_benches.benchmarks.{name}")
        yield from (
            pytest.param(value, id=f"{name}-{value.__name__}")
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and not inspect.isabstract(value)
        )


@pytest.fixture
def small(monkeypatch, session):
    """Every logical device is the one under test, every cloud small."""
    original, timed = common.cloud, common.profiled(session.device)
    for name in MODULES:
        module = importlib.import_module(f"asv_benches.benchmarks.{name}")
        for fake, value in (("session", lambda _: timed), ("cloud", lambda name, _, k: original(name, 2000, k))):
            for place in (module, common):
                if hasattr(place, fake):
                    monkeypatch.setattr(place, fake, value)
    public = importlib.import_module("asv_benches.benchmarks.public")
    monkeypatch.setattr(public, "POINTS", dict.fromkeys(public.POINTS, 2000))
    monkeypatch.setattr(public, "ENOUGH", 0)
    yield
    common.case.cache_clear()
    common.wall_case.cache_clear()
    periodic = importlib.import_module("asv_benches.benchmarks.periodic")
    periodic.periodic_case.cache_clear()
    periodic.cell_case.cache_clear()
    importlib.import_module("asv_benches.benchmarks.batches").batch_case.cache_clear()
    importlib.import_module("asv_benches.benchmarks.models").model_case.cache_clear()
    importlib.import_module("asv_benches.benchmarks.verlet").gas_case.cache_clear()


@pytest.mark.parametrize("bench", list(classes()))
def test_every_benchmark_runs_and_finds_neighbors(small, bench):
    parameters = [axis[0] if axis[0] != 65_536 else 2000 for axis in getattr(bench, "params", ())]
    if parameters and bench.__module__.endswith("startup"):
        pytest.skip("a process of its own, which knows nothing of the device under test")
    bench = bench()
    if hasattr(bench, "setup"):
        bench.setup(*parameters)
    names = [name for name in dir(bench) if name.startswith(("time_", "track_"))]
    assert names
    for name in names:
        value = getattr(bench, name)(*parameters)
        if name.startswith("track_"):
            assert value > 0
            assert getattr(bench, name).unit in {"seconds", "bytes"}
    if hasattr(bench, "case"):
        assert bench.case.pairs > 0


@pytest.mark.parametrize(("name", "neighbors"), [("uniform", 10), ("uniform", 50), ("shell", 10), ("shell", 50)])
def test_clouds_have_about_so_many_neighbors(session, name, neighbors):
    points, radius = common.cloud(name, 20_000, neighbors)
    found = common.Case(session, points, radius).pairs / len(points)
    assert 0.7 * neighbors < found < 1.2 * neighbors


def test_times_on_the_device_and_by_the_wall(session):
    """Kernels take less than the step, gaps and waits included; on a plain queue there is the wall clock alone."""
    timed = common.profiled(session.device)
    assert common.has_event_times(timed) == (session.device.profiling_timer_resolution > 0)
    for each in (session, timed):
        case = common.Case(each, *common.cloud("uniform", 2000, 10), method="strips")
        times = common.timed(each, case.index.count, 5)
        assert 0 < times.kernels <= times.span
        assert not common.has_event_times(session)
        if not common.has_event_times(each):
            assert times.kernels == times.span == times.wall


def test_steps_in_turn(session):
    """Each as often as the others, after warm-up; one that takes long its third time alone."""
    done = []

    def slow():
        done.append("slow")
        time.sleep(0.02)

    quick, long, other = common.timed_in_turn(
        session, [lambda: done.append("quick"), slow, lambda: done.append("other")], repeats=8, enough=0.1
    )

    assert done[:7] == ["quick", "quick", "slow", "slow", "other", "other", "slow"]
    rounds = list(zip(done[7::2], done[8::2], strict=True))
    assert all(set(each) == {"quick", "other"} for each in rounds)
    assert len(set(rounds)) == 2, "in either order"
    assert 5 <= len(rounds) - 1 <= 8
    assert min(quick.wall, long.wall, other.wall) > 0


def test_an_absent_device_is_skipped():
    absent = [
        name
        for name, platform in common.PLATFORMS.items()
        if not any(platform in device.platform.name for device in common.list_devices())
    ]
    for name in absent:
        with pytest.raises(NotImplementedError, match=name):  # what asv takes for "skip"
            common.session.__wrapped__(name)
