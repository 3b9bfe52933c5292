"""The papers' experiments are resumed where they stopped, never mixed, and shown as they were measured."""

import contextlib
import importlib
import json
import types

import numpy as np
import pyopencl as cl
import pytest
from click.testing import CliRunner
from conftest import position

import clfrnn

pytest.importorskip("matplotlib", reason="plots need matplotlib")
papers = pytest.importorskip("asv_benches.papers", reason="benchmarks come with a checkout")
campaign, clock, command, paper_parts, record_file, report, fixed_cells, frames, spheres, strips, models = (
    importlib.import_module(f"asv_benches.papers.{name}")
    for name in (
        *("campaign", "clock", "__main__", "paper", "record", "report"),
        *("particles.fixed_cells", "particles.frames", "particles.spheres", "strips.configurations", "strips.models"),
    )
)
Measurement, Panel, Paper, Plot, Results, Section, Table = (
    getattr(paper_parts, name) for name in ("Measurement", "Panel", "Paper", "Plot", "Results", "Section", "Table")
)

pytestmark = pytest.mark.long

PLAN = [Measurement.of(n=n, method=method) for n in (10, 20) for method in ("one", "other")]


class Fake:
    """A paper whose measurements are counted, and of which some go wrong."""

    def __init__(self, errors=None):
        self.measured = []
        self.errors = errors or {}
        self.paper = Paper(
            name="fake",
            title="A title",
            source="Somebody (2000).",
            timed="What was timed.",
            plan=lambda scale: PLAN,
            measure=self.measure,
            sections=self.sections,
        )

    def measure(self, session, measurement):
        self.measured.append(measurement)
        if measurement in self.errors:
            raise self.errors[measurement]
        return {"seconds": measurement.to_dict()["n"] / 8}

    def sections(self, results):
        rows = [(each.key, results.text(each, "seconds", ".1f", scale=10)) for each in results.plan]
        times = [results.number(each, "seconds") for each in results.plan]
        lines = Panel(title="lines", x="n", y="s", series={"all": (range(len(times)), times)})
        bars = Panel(title="bars", y="s", series={"all": ((), times)}, groups=[each.key for each in results.plan])
        plot = Plot(name="times", caption="All times", panels=[lines, bars], same_y=True)
        return [Section(title="Times", note="A note.", tables=[Table(header=("what", "time"), rows=rows)], plot=plot)]


FACTS = {
    "paper": "fake",
    "scale": "tiny",
    "clfrnn": "1.0",
    "device": "Some (R) Device",
    "platform": "NVIDIA CUDA",
    "driver": "5",
    "date": "2020-02-02",
}


def opened(folder, *, fresh=False, **facts):
    return record_file.Record.open(folder, {**FACTS, **facts}, fresh=fresh)


def measure(fake, folder, plan=PLAN):
    return campaign.measure_missing(None, fake.paper, plan, opened(folder))


def test_a_second_run_measures_nothing(tmp_path):
    fake = Fake()
    assert measure(fake, tmp_path) == campaign.Outcome(measured=4, skipped=0, failed=0)
    assert measure(fake, tmp_path) == campaign.Outcome(measured=0, skipped=4, failed=0)
    assert fake.measured == PLAN
    assert [path.name for path in tmp_path.iterdir()] == ["fake-nvidia-some-r-device.json"]


@pytest.mark.parametrize("up", [[None, None], [2.0, None], []], ids=["nothing", "one", "none"])
def test_a_plot_of_what_was_not_measured(tmp_path, up):
    """Axes that would be logarithmic, and numbers that are missing, as when some of a plan were asked for."""
    lines = Panel(title="lines", x="n", y="s", series={"all": (range(1, 1 + len(up)), up)}, log="xy")
    bars = Panel(title="bars", y="s", series={"all": ((), up)}, groups=[str(k) for k in range(len(up))], log="y")
    report.draw(Plot(name="times", caption="", panels=[lines, bars], same_y=False), tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 1000


def test_what_was_measured_before_an_interruption_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        measure(Fake({PLAN[2]: KeyboardInterrupt()}), tmp_path)
    fake = Fake()
    assert measure(fake, tmp_path) == campaign.Outcome(measured=2, skipped=2, failed=0)
    assert fake.measured == PLAN[2:]


def test_a_file_is_whole_whatever_interrupts_its_writing(tmp_path, monkeypatch):
    record = opened(tmp_path)
    record.keep(PLAN[0], numbers={"seconds": 1.0})
    before = record.path.read_text()
    with monkeypatch.context() as patched:
        patched.setattr(record_file.Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            record.keep(PLAN[1], numbers={"seconds": 2.0})
    assert record.path.read_text() == before
    assert PLAN[0] in opened(tmp_path)
    assert PLAN[1] not in opened(tmp_path)


@pytest.mark.parametrize("fact", ["scale", "clfrnn", "driver"])
def test_another_version_driver_or_scale_is_not_mixed(tmp_path, fact):
    measure(Fake(), tmp_path)
    other = {fact: "small" if fact == "scale" else "2"}
    with pytest.raises(command.click.ClickException, match=rf"{fact} .* there.*--fresh.*--output"):
        opened(tmp_path, **other)
    fresh = opened(tmp_path, fresh=True, **other)
    assert not fresh.entries
    fresh.keep(PLAN[0], numbers={"seconds": 1.0})
    found = json.loads(fresh.path.read_text())
    assert found["facts"][fact] == other[fact]
    assert list(found["measurements"]) == [PLAN[0].key]


@pytest.mark.parametrize("now", ["b2", "a1 with changes"])
def test_two_commits_are_not_mixed(tmp_path, now):
    opened(tmp_path, commit="a1").keep(PLAN[0], numbers={"seconds": 1.0})
    with pytest.raises(command.click.ClickException, match=rf"commit 'a1' there, '{now}' now.*--fresh.*--output"):
        opened(tmp_path, commit=now)
    fresh = opened(tmp_path, fresh=True, commit=now)
    fresh.keep(PLAN[1], numbers={"seconds": 1.0})
    found = json.loads(fresh.path.read_text())
    assert found["facts"]["commit"] == now
    assert list(found["measurements"]) == [PLAN[1].key]


@pytest.mark.parametrize(
    ("there", "now", "stated"), [("a1", "a1", "a1"), ("a1", "", ""), ("", "a1", ""), ("", "", ""), (None, "a1", "")]
)
def test_a_file_states_the_commit_of_all_that_it_holds_or_none(tmp_path, there, now, stated):
    opened(tmp_path, **({} if there is None else {"commit": there})).keep(PLAN[0], numbers={"seconds": 1.0})
    again = opened(tmp_path, commit=now)
    assert again.facts.get("commit", "") == (there or "")
    again.keep(PLAN[1], numbers={"seconds": 2.0})
    record = opened(tmp_path, commit=now)
    assert record.facts.get("commit", "") == stated
    assert PLAN[0] in record
    text = report.write_report(Fake().paper, record)[0].read_text()
    assert ("| commit | a1 |" in text) == bool(stated)


def test_devices_have_files_of_their_own(tmp_path):
    paths = {
        opened(tmp_path, device=device, platform=platform).path.name
        for device in ("NVIDIA H200", "cpu-znver4")
        for platform in ("NVIDIA CUDA", "Portable Computing Language", "Something else")
    }
    assert len(paths) == 6
    assert {"fake-nvidia-h200.json", "fake-pocl-cpu-znver4.json"} <= paths


def test_a_failure_is_kept_shown_and_stops_nothing(tmp_path):
    refused = clfrnn.DeviceMemoryError("needs 9 bytes", needed=9, available=1, largest_allocation=1)
    fake = Fake({PLAN[1]: refused})
    assert measure(fake, tmp_path) == campaign.Outcome(measured=4, skipped=0, failed=1)
    text = report.write_report(fake.paper, opened(tmp_path))[0].read_text()
    assert f"| {PLAN[1].key} | failed (1) |" in text
    assert f"1. `{PLAN[1].key}`: DeviceMemoryError: needs 9 bytes" in text
    assert "4 of 4, 1 failed" in text


def test_what_failed_is_tried_again_the_next_time(tmp_path):
    fake = Fake({PLAN[1]: MemoryError("busy")})
    measure(fake, tmp_path)
    assert measure(fake, tmp_path) == campaign.Outcome(measured=1, skipped=3, failed=1)
    fake.errors.clear()
    assert measure(fake, tmp_path) == campaign.Outcome(measured=1, skipped=3, failed=0)
    assert measure(fake, tmp_path) == campaign.Outcome(measured=0, skipped=4, failed=0)
    assert fake.measured == [*PLAN, PLAN[1], PLAN[1]]
    results = opened(tmp_path).results(PLAN)
    assert not results.failures
    assert results.number(PLAN[1], "seconds") == pytest.approx(10 / 8)


def test_a_mistake_in_a_paper_is_no_failed_measurement(tmp_path):
    with pytest.raises(AssertionError):
        measure(Fake({PLAN[0]: AssertionError()}), tmp_path)
    assert PLAN[0] not in opened(tmp_path)


def test_tables_and_plots_come_from_the_file_alone(tmp_path):
    entry = {"facts": PLAN[0].to_dict(), "date": "2020-02-02", "numbers": {"seconds": 0.25}}
    path = tmp_path / "fake-recorded.json"
    path.write_text(json.dumps({"facts": FACTS, "measurements": {PLAN[0].key: entry}}))
    (record,) = record_file.records_of(Fake().paper, tmp_path)
    text, picture = report.write_report(Fake().paper, record)
    assert text.name == "fake-recorded.md"
    assert picture.name == "fake-recorded-times.png"
    lines = text.read_text().splitlines()
    assert "| method=one n=10 | 2.5 |" in lines
    assert "| method=other n=10 | - |" in lines
    assert "| device | Some (R) Device |" in lines
    assert "| measurements | 1 of 4, 0 failed |" in lines
    assert "![All times](fake-recorded-times.png)" in lines
    check_picture(picture)


@pytest.mark.parametrize("text", ["[]", "{}", '{"facts": {}, "measurements": {}}', "no"])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    (tmp_path / "fake-x.json").write_text(text)
    with pytest.raises(command.click.ClickException, match=r"fake-x\.json: expected measurements"):
        list(record_file.records_of(Fake().paper, tmp_path))


# --- the clock ------------------------------------------------------------------------------------------------------


class Launch:
    """An event of known times."""

    def __init__(self, start, end):
        self.profile = types.SimpleNamespace(start=start, end=end)


class FakeSession:
    """A session whose stages launch what they are told, and that counts how often it is waited for."""

    def __init__(self, *, profiling):
        properties = cl.command_queue_properties.PROFILING_ENABLE if profiling else 0
        self.queue = types.SimpleNamespace(finish=self.finish, properties=properties)
        self.launches, self.waits = None, 0

    def finish(self):
        self.waits += 1

    @contextlib.contextmanager
    def recorded(self):
        self.launches = []
        yield self.launches

    def stage(self, *times):
        return lambda: self.launches.extend(("a kernel", Launch(*each)) for each in times)


def test_stages_are_timed_with_their_gaps_and_without(monkeypatch):
    monkeypatch.setattr(clock, "cl", types.SimpleNamespace(Event=Launch))
    fake = FakeSession(profiling=True)
    stages = [fake.stage((100, 140), (150, 160)), lambda: Launch(200, 230)]
    assert clock.stage_seconds(fake, stages) == [
        pytest.approx(times) for times in [(60e-9, 50e-9), (30e-9, 30e-9), (130e-9, 80e-9)]
    ]
    assert fake.waits == 1


def test_without_event_times_each_stage_is_waited_for_by_the_wall_clock(monkeypatch):
    fake = FakeSession(profiling=False)
    ticks = iter([1.0, 1.5, 2.0, 2.25])
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(ticks))
    done = []
    stages = [lambda: done.append(fake.waits), lambda: done.append(fake.waits)]
    assert clock.stage_seconds(fake, stages) == [(0.5, 0.5), (0.25, 0.25), (0.75, 0.75)]
    assert done == [0, 1]
    assert fake.waits == 2


def test_either_kind_of_frame_has_its_median():
    def frame(*spans):
        return [clock.Seconds(span, span / 2) for span in spans]

    plain = [frame(1.0, 4.0, 8.0), frame(1.0, 4.0, 8.0), frame(1.0, 400.0, 900.0)]
    found = frames.typical([*plain, frame(1.0, 4.0, 8.0, 16.0)])
    assert found == {"collide": 1.0, "reorder": 1.0, "build": 5.0, "build_kernels": 2.5, "frame": 10.0}


def check_picture(path):
    """A picture is there, and not all of one colour."""
    from matplotlib.image import imread

    pixels = imread(path)
    assert min(pixels.shape[:2]) > 100
    assert pixels[..., :3].std() > 0.01


# --- the papers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", papers.PAPERS)
@pytest.mark.parametrize("scale", paper_parts.SCALES)
def test_keys_are_unique_and_say_everything(name, scale):
    plan = papers.PAPERS[name].plan(scale)
    assert plan
    assert len({measurement.key for measurement in plan}) == len(set(plan)) == len(plan)
    for measurement in plan:
        assert measurement == Measurement.of(**dict(reversed(measurement.facts)))


def by_way():
    """Numbers of `strips` that can be reckoned with: seconds of a query by way, twice as many in 3D."""
    queries = {"original": 0.012, "strips 1": 0.010, "strips 0.5": 0.008, "default": 0.006}
    axes = strips.AXES["paper"]
    numbers = {
        strips.case(axes, dim, k, way): {"query": seconds * (dim - 1), "construction": 0.002}
        for dim in strips.DIMS
        for k in axes.densities[dim]
        for way, seconds in queries.items()
    }
    for k, n in enumerate(axes.populations):
        numbers |= {
            strips.case(axes, 2, strips.CROWDS[2], way, n): {"query": seconds}
            for way, seconds in (("original", 0.003 + 0.001 * k), ("strips 0.5", 0.002))
        }
    return Results(scale="paper", plan=strips.plan("paper"), numbers=numbers, failures={})


def test_the_claims_of_strips_are_reckoned_the_right_way_up():
    section, _, experiment, *_ = papers.PAPERS["strips"].sections(by_way())
    claims = {row[0]: row[2] for row in section.tables[0].rows}
    assert claims == {
        "2D: strips 1 saves in a query": "2.000 ms",
        "2D: strips 1 over the original at 52 neighbors": "1.20x",
        "2D: strips 0.5 over strips 1": "1.25x",
        "2D: strips 0.5 over the original": "1.50x",
        "2D: construction's share of a step": "14.3 to 20.0 %",
        "2D: strips 0.5 over the original, by population": "1.50 to 5.00x",
        "2D: default over the original": "2.00x",
        "3D: strips 1 saves in a query": "4.000 ms",
        "3D: strips 0.5 over strips 1": "1.25x",
        "3D: strips 0.5 over the original": "1.50x",
        "3D: construction's share of a step": "7.7 to 11.1 %",
        "3D: strips 0.5 over the original, by population": "-",
        "3D: default over the original": "2.00x",
    }
    assert list(experiment.tables[0].rows[1][3:5]) == ["2.000", "1.20x"]


def test_the_shares_and_speed_ups_of_whole_models():
    """Of boids by the original: half of the run is query, a fifth construction; the other ways are quicker."""
    axes = strips.AXES["paper"]
    numbers = {
        strips.model_case(axes, "boids", way): {
            "query": query,
            "construction": 2e-3,
            "search": query + 2e-3,
            "total": query + 5e-3,
        }
        for way, query in (("original", 5e-3), ("strips 0.5", 4e-3), ("default", 2e-3))
    }
    results = Results(scale="paper", plan=strips.plan("paper"), numbers=numbers, failures={})
    _, shares, *_, whole = papers.PAPERS["strips"].sections(results)
    assert [row[4:] for row in shares.tables[0].rows] == [("50 %", "20 %", "30 %"), *[("-", "-", "-")] * 5]
    assert shares.tables[0].rows[2][1:4] == ("52 %", "33 %", "15 %")
    rows = {row[:2]: row[5:] for row in whole.tables[0].rows}
    assert rows["boids", "query"] == ("50.00", "40.00", "1.25x", "20.00", "2.50x")
    assert rows["boids", "search"] == ("70.00 (70 %)", "60.00 (67 %)", "1.17x", "40.00 (57 %)", "1.75x")
    assert whole.tables[0].rows[2][2:5] == ("751.62", "653.58", "1.15x")
    assert rows["boids", "total"] == ("100.00", "90.00", "1.11x", "70.00", "1.43x")
    assert set(rows["keratinocytes", "total"]) == {"-"}


def test_a_watch_adds_up_visits_and_updates_of_both_indexes(session):
    facts = strips.AXES["tiny"].models["keratinocytes"] | {"model": "keratinocytes", "method": "brute_force"}
    model = models.begin(session, facts)
    alike = models.begin(session, facts)
    watch = models.Watch(model)
    stages = []
    note = watch.note
    watch.note = lambda stage, call: (stages.append(stage), note(stage, call))[1]
    model.step(2)
    watch.count()

    alike.step(2)
    assert stages == ["query", "query", "construction", "construction"] * 2
    assert min(watch.seconds.values()) > 0
    assert np.array_equal(model.positions.get(), alike.positions.get())


def test_boids_of_flame_gpu_part_match_and_stay_in_their_cube(session):
    """By numpy: two that are too near, one alone, and one at a wall."""
    flock = importlib.import_module("asv_benches.papers.strips.flame_boids")
    boids = flock.FlameBoids(4, neighbors=1e-3, session=session, method="brute_force")
    half = boids.half
    place = np.float32([[0, 0, 0], [0.004, 0, 0], [0.2, 0.2, 0.2], [half - 1e-5, -0.2, 0]])
    speed = np.float32([[0.6, 0, 0], [0, 0.7, 0], [0, 0, 3], [1, 0, 0]])
    boids.positions.set(place), boids.velocities.set(speed), boids.index.update(boids.positions)
    boids.step()
    push = 10 * 0.004 * (1 - 0.4) ** 2
    first = speed[0] + 0.15 * (np.float64([-push + 0.055 * 0.004, 0, 0]) + 0.015 * speed[1] - speed[0])
    found = boids.velocities.get()
    assert found[0] == pytest.approx(first, abs=1e-6)
    assert found[2] == pytest.approx([0, 0, 1], abs=1e-6)
    assert found[3] == pytest.approx([0.95, 0, 0], abs=1e-6)
    assert boids.positions.get()[0] == pytest.approx(0.0005 * first, abs=1e-7)
    assert np.abs(boids.positions.get()).max() <= half


def test_pedestrians_of_flame_gpu_keep_clear_and_come_in_again(session):
    """By numpy: one before another, one beside it, one alone, and one that leaves."""
    crowd = importlib.import_module("asv_benches.papers.strips.flame_pedestrians")
    people = crowd.FlamePedestrians(5, neighbors=1e-3, session=session, method="brute_force")
    half = people.half
    place = np.float32([[0, 0], [0.02, 0], [0, 0.015], [0.3, 0.3], [half - 1e-5, -0.3]])
    speed = np.float32([[0.9, 0], [-0.8, 0], [0, 1.2], [0, 1], [1, 0]])
    for array, values in ((people.positions, place), (people.velocities, speed)):
        array.set(values)
    people._speeds.fill(1.0)
    people.index.update(people.positions)
    people.step()
    scale = 0.35 * 0.03125
    ahead, beside = scale / 0.02, scale / 0.015
    change = 0.2 * speed[0] - [0.1 * ahead**1.25 + 0.02 * ahead**2, 0.02 * beside**2]
    first = speed[0] + (0.9 + 0.025) * change
    found = people.velocities.get()
    assert found[0] == pytest.approx(first / max(1, np.linalg.norm(first)), abs=1e-6)
    assert found[3] == pytest.approx([0, 1], abs=1e-6)
    assert people.positions.get()[3] == pytest.approx([0.3, 0.3003], abs=1e-6)
    assert people.positions.get()[4] == pytest.approx([-half, -0.3], abs=1e-6)


def test_keratinocytes_of_flame_gpu_grow_when_they_rest(session):
    facts = {"model": "flame keratinocytes", "start": 60, "n": 60, "method": "brute_force"}
    skin, kinds = models.begin(session, facts), importlib.import_module("asv_benches.papers.strips.flame_keratinocytes")
    ages, moves, before = [], [], skin.positions.get()
    for _ in range(40):
        skin.step()
        ages.append(skin._cells["ages"].get()[:60])
        after = skin.positions.get()[: len(before)]
        moves.append(np.linalg.norm(after - before, axis=1).max())
        before = skin.positions.get()
    grown = [k for k in range(1, 40) if (ages[k] != ages[k - 1]).any()]
    assert 0 < len(grown) < 20
    assert all(moves[k - 1] < kinds.REST for k in grown)
    rounds = [k for k in range(1, 40) if k not in grown]
    assert all(moves[k] >= kinds.REST or k + 1 in [*grown, 40] for k in rounds)


def test_keratinocytes_grow_before_they_are_timed(session):
    facts = {"model": "keratinocytes", "start": 20, "n": 24, "method": "brute_force"}
    model = models.begin(session, facts)
    assert model.n >= 24
    assert model.steps_done > 0


def invoke(*arguments):
    return CliRunner().invoke(command.main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_paper_runs_from_end_to_end(session, tmp_path, name, monkeypatch):
    run = [name, "--device", position(session), "--scale", "tiny", "--output", tmp_path]
    first = invoke(*run)
    assert first.exit_code == 0, first.output
    plan = papers.PAPERS[name].plan("tiny")
    assert f"{len(plan)} measured, 0 of them failed; 0 were there already" in first.output
    (record,) = record_file.records_of(papers.PAPERS[name], tmp_path)
    for entry in record.entries.values():
        assert entry["numbers"]
        assert all(np.isfinite(number) and number >= 0 for number in entry["numbers"].values())
    text = record.path.with_suffix(".md").read_text()
    assert "| - |" not in text
    assert session.profile.driver in text
    pictures = sorted(tmp_path.glob("*.png"))
    assert pictures
    for picture in pictures:
        check_picture(picture)
        assert f"({picture.name})" in text
    redrawn = []
    monkeypatch.setattr(report, "draw", lambda _, path: redrawn.append(path))  # to draw takes longer than to measure
    drawn = invoke(name, "--render", "--output", tmp_path)
    assert drawn.exit_code == 0, drawn.output
    assert record.path.with_suffix(".md").read_text() == text
    assert sorted(redrawn) == pictures
    chosen = max((each.key for each in plan), key=len)  # a key may be a part of others
    again = invoke(*run, "--only", chosen, "--fresh")
    assert "1 measured, 0 of them failed; 0 were there already" in again.output
    assert f"0 measured, 0 of them failed; {len(plan)} were there already" in invoke(*run).output


def test_the_papers_are_listed():
    listed = invoke("--list")
    assert listed.exit_code == 0
    assert all(name in listed.output for name in papers.PAPERS)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a paper"),
        (["nothing"], "'nothing' is not one of"),
        (["particles", "--render", "--fresh"], "--render measures nothing"),
        (["particles", "--only", "no such key"], "no key holds 'no such key'"),
    ],
)
def test_wrong_usage_is_told(tmp_path, arguments, told):
    outcome = invoke(*arguments, "--output", tmp_path)
    assert outcome.exit_code == 2
    assert told in outcome.output


def test_nothing_to_draw_is_told(tmp_path):
    outcome = invoke("strips", "--render", "--output", tmp_path)
    assert outcome.exit_code == 1
    assert "measure first" in outcome.output


# --- the spheres of `particles` -------------------------------------------------------------------------------------


def test_put_in_order_spheres_go_on_as_before(session):
    plain, ordered = (spheres.Ordered(60, reorder=reorder, session=session, method="strips") for reorder in (0, 4))
    for heap in (plain, ordered):
        heap.step(30)
    one, other = (heap.positions.get() for heap in (plain, ordered))
    apart = np.abs(one[:, None] - other[None]).max(axis=2)
    assert apart.min(axis=1).max() < 1e-4, "the same places"
    assert np.array_equal(np.sort(apart.argmin(axis=1)), np.arange(60))
    assert len(plain.stages()) == 2
    ordered.step(1)
    assert [len(ordered.stages()), ordered.step(1), len(ordered.stages())] == [3, None, 2]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *(("FixedCells", {"numbering": numbering}) for numbering in fixed_cells.NUMBERINGS),
        *(("FixedCells", {"reads": reads}) for reads in fixed_cells.READS[1:]),
        ("TwoPassCells", {}),
    ],
    ids=str,
)
def test_cells_that_atomics_fill_find_what_the_model_finds(session, kind, given):
    model, cells = (
        make(150, session=session, collider=((0.2, 0.2, -0.2), 0.4), method="brute_force", **each)
        for make, each in ((spheres.Ordered, {}), (getattr(fixed_cells, kind), given))
    )
    rng = np.random.default_rng(1)
    start = rng.uniform(-0.9, 0.9, (150, 3)), rng.normal(0, 1, (150, 3))
    for each in (model, cells):
        each.place(*start)
        assert each.index.count().get().any()
        each.step(8)
    assert np.abs(model.positions.get() - cells.positions.get()).max() < 1e-4
    assert np.abs(model.velocities.get() - cells.velocities.get()).max() < 1e-2


def test_cells_that_are_too_full_are_an_error(session):
    cells = fixed_cells.FixedCells(20, session=session, capacity=3, method="brute_force")
    cells.step(2)
    cells.place(np.full((20, 3), 0.1) + np.linspace(0, 1e-3, 20)[:, None])
    with pytest.raises(clfrnn.ClfrnnError, match="capacity: expected as many .*, 20 or more, got 3; take a larger one"):
        cells.check()
    lossy = fixed_cells.FixedCells(20, session=session, capacity=3, lossy=True, method="brute_force")
    lossy.place(np.full((20, 3), 0.1) + np.linspace(0, 1e-3, 20)[:, None])
    assert lossy.lost() == 17
