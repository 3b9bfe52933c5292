"""The tuner on a clock of its own, where it is known what is faster; its steps on devices; and its command."""

import math
import random
import re

import pytest
from click.testing import CliRunner
from conftest import RECORDED

from clfrnn import cli
from clfrnn.errors import DeviceMemoryError
from clfrnn.tuner import bench, search
from clfrnn.tuning import default_tuning
from clfrnn.tuning.stored import find_tuning, in_force
from clfrnn.tuning.stored.choices import Choice, choices
from clfrnn.tuning.stored.files import Stored, write_tuning
from clfrnn.tuning.stored.in_force import stored_path

CPU, GPU = RECORDED["pocl"], RECORDED["h200"]
START = default_tuning(GPU)


class Machine:
    """Steps that take a hundredth of a second, by factors that follow from the tuning, and as much as noise adds."""

    def __init__(self, factor, noise=0.0, seed=0, compiling=0.0):
        self.factor, self.noise, self.compiling = factor, noise, compiling
        self.draw, self.now, self.said = random.Random(seed), 0.0, []

    def clock(self):
        return self.now

    def sample(self, tuning, name):
        self.now += self.compiling
        factor = self.factor(tuning, name)

        def run():
            # Everything is slower for a while, and sometimes one time is three times as long.
            seconds = 0.01 * factor * math.exp(self.draw.gauss(0, self.noise)) * (1.3 + math.sin(self.now))
            seconds *= 3 if self.noise and self.draw.random() < 0.05 else 1
            self.now += seconds
            return seconds

        return run

    def forget(self, *tunings):
        pass

    def find(self, offered, seconds=100.0, start=START):
        return search.find_faster(self, start, offered, seconds=seconds, say=self.said.append, clock=self.clock)

    def said_of(self, name):
        return next(line.removeprefix(f"{name}: ") for line in self.said if line.startswith(name))


def of_group(factors):
    """Factors by the group of a walk."""
    return lambda tuning, _name: factors.get(tuning.walks.group, 1.0)


@pytest.mark.parametrize("profile", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1, 0.5])
def test_noise_changes_nothing(profile, noise):
    start = default_tuning(profile)
    for seed in range(6 if noise else 1):
        machine = Machine(lambda *_: 1.0, noise, seed)
        found = machine.find(choices(profile), start=start)
        assert found[:2] == (start, None), machine.said
        assert len(machine.said) == len(choices(profile))


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_a_gain_is_found(noise):
    for seed in range(1, 9):
        machine = Machine(of_group({32: 1.1, 128: 0.8, 256: 0.9}), noise, seed)
        found = machine.find(choices(GPU))
        assert found.tuning == START.but(walks={"group": 128}), machine.said
        assert found.comparison.better
        assert found.comparison.ratio < 0.95
        assert machine.said_of("group of a walk").startswith("64 is changed: 128 takes 0.")
        assert {"count few", "count many", "list many", "tree few"} <= set(found.comparison.steps)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1, 0.3])
def test_what_is_slower_is_never_taken(noise):
    """Of any settings, whose factors are drawn; what is taken is faster in truth."""
    for seed in range(12):
        draw = random.Random(seed)
        factors = {}

        def factor(tuning, name, draw=draw, factors=factors):
            numbers = tuning.walks.group, tuning.tree.packet_queries
            return math.prod(factors.setdefault((number, name), math.exp(draw.gauss(0.02, 0.05))) for number in numbers)

        found = Machine(factor, noise, seed).find(choices(GPU))
        if found.tuning == START:
            continue
        gained = [math.log(factor(found.tuning, name) / factor(START, name)) for name in found.comparison.steps]
        assert sum(gained) < 0
        assert max(gained) < math.log(1.02) + noise


def test_a_step_that_is_slower_keeps_a_change_away():
    machine = Machine(lambda tuning, name: {"count few": 1.05}.get(name, 0.8) if tuning.walks.group == 128 else 1.0)
    assert machine.find(choices(GPU)).tuning == START
    said = machine.said_of("group of a walk")
    assert said.startswith("64 stays: 128 takes 0.8")
    assert said.endswith("but more for: count few")


def test_a_gain_of_one_percent_is_not_worth_a_change():
    machine = Machine(of_group({128: 0.99}))
    assert machine.find(choices(GPU)).tuning == START
    assert machine.said_of("group of a walk").startswith("64 stays: 128 takes 0.99")


def test_what_harms_a_step_of_another_choice_is_taken_back():
    """The last change first, and no other."""

    def factor(tuning, name):
        gains = (0.9 if tuning.walks.group == 128 else 1.0) * (0.7 if tuning.tree.packet_queries == 16 else 1.0)
        return 1.1 if name == "list many" and tuning.tree.packet_queries == 16 else gains

    found = Machine(factor).find(choices(GPU))
    assert found.tuning == START.but(walks={"group": 128})
    assert found.withdrawn == "queries of a packet was taken back, as this is slower: list many"


def test_time_that_is_up():
    machine = Machine(of_group({128: 0.5}))
    assert machine.find(choices(GPU), seconds=0.1).tuning == START
    assert machine.said[0].endswith("6,000 stays, as time is up")
    assert machine.said[-1].endswith("not tried, as time is up")
    slow = Machine(of_group({128: 0.5}), compiling=2.0)
    assert slow.find(choices(GPU), seconds=30.0).tuning in (START, START.but(walks={"group": 128}))
    assert slow.now < 60


def test_no_time_for_the_end():
    """Nothing is taken that was not compared in the end."""
    machine = Machine(of_group({128: 0.5}))
    sample = machine.sample
    machine.sample = lambda *given: (setattr(machine, "now", machine.now + 90 * bool(machine.said)), sample(*given))[1]
    found = machine.find([choice for choice in choices(GPU) if choice.name == "group of a walk"])
    assert found[:2] == (START, None)
    assert found.withdrawn.startswith("there was no time left")


def test_steps_that_a_device_refuses_are_left_out():
    machine = Machine(of_group({128: 0.5}))
    sample = machine.sample

    def refusing(tuning, name):
        if name == "list many" or tuning.walks.group == 256:
            raise DeviceMemoryError("no room", needed=2, available=1)
        return sample(tuning, name)

    machine.sample = refusing
    found = machine.find(choices(GPU))
    assert found.tuning.walks.group == 128
    assert "list many" not in found.comparison.steps

    def refuse(*_):
        raise DeviceMemoryError("no room", needed=2, available=1)

    machine.sample = refuse
    assert machine.find(choices(GPU)).tuning == START


def test_a_choice_of_what_is_there_alone_is_not_timed():
    machine = Machine(lambda *_: 1.0)
    machine.sample = lambda *_: lambda: pytest.fail("timed")
    assert machine.find([Choice("alone", {"64": {"walks": {"group": 64}}}, ("count few",))]).tuning == START
    assert machine.said == ["alone: 64 stays"]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_choice_has_its_steps(name):
    profile = RECORDED[name]
    known = bench.steps_for(profile)
    named = {step for choice in choices(profile) for step in choice.steps}
    assert named <= set(known)
    assert len(set(map(str, known.values()))) == len(known)
    assert all(100 < step.n <= 1 << 20 for step in known.values())
    assert known["once few"].n < default_tuning(profile).auto.pairs_once < known["once many"].n


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A few hundred points instead of as many as suit a device, an empty folder of settings, and no shipped tunings."""
    sized = {name: each._replace(n=min(each.n, 400)) for name, each in bench.steps_for(CPU).items()}
    monkeypatch.setattr(bench, "steps_for", lambda _: sized)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("CLFRNN_TUNING", raising=False)
    monkeypatch.setattr(in_force, "_shipped_names", frozenset)
    in_force._warn.cache_clear()


def test_a_bench_times_every_step(session, small):
    timed = bench.Bench(session)
    other = session.tuning.but(auto={"pairs_once": 0})
    for name in ("count few", "list many", "nearest many", "tree few", "once few"):
        assert timed.sample(session.tuning, name)() > 0
    assert timed.sample(session.tuning, "count few") is timed.sample(session.tuning, "count few")
    forgotten = timed.sample(other, "once few")
    timed.forget(session.tuning)
    assert timed.sample(other, "once few") is not forgotten


def test_times_of_events(session, small):
    """Where the device has a timer; only a GPU is timed by it."""
    timed = bench.Bench(session)
    assert not timed.by_events or session.profile.kind == "gpu"
    if not session.device.profiling_timer_resolution:
        pytest.skip("the device has no timer")
    timed.by_events, timed._timed = True, bench._with_events(session)
    assert 0 < timed.sample(session.tuning, "count few")() < 10


def run(*arguments):
    done = CliRunner().invoke(cli.main, ["tune", *arguments], prog_name="clfrnn")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


class TimedByThreshold:
    """In place of a bench: a step takes ten milliseconds times the threshold of pairs over the default one."""

    by_events = True

    def __init__(self, session):
        self.usual, self.steps = default_tuning(session.profile), bench.steps_for(CPU)

    def sample(self, tuning, name):
        share = tuning.auto.pairs_once / self.usual.auto.pairs_once if name.startswith("once") else 1.0
        return lambda: 0.01 * share

    def forget(self, *tunings):
        pass


def test_the_command_stores_shows_and_forgets(place, session, small, monkeypatch):
    """With a clock by which half as large a threshold takes half as long."""
    profile = session.profile
    usual = default_tuning(profile)
    monkeypatch.setattr(bench, "Bench", TimedByThreshold)
    path = stored_path(profile)

    status, printed = run("--device", place, "--quick")

    assert status == 0, printed
    assert f"device   {profile}\n" in printed
    assert f"tuning   the defaults for {in_force._CLASSES[profile.kind]}\n" in printed
    assert f"changed  auto.pairs_once: {usual.auto.pairs_once // 2}, by default {usual.auto.pairs_once}\n" in printed
    assert re.search(
        r"^search once, 384 points, 20 neighbors +10\.000 +5\.000 +-50\.0 %, give or take 0\.0 %$",
        printed,
        re.MULTILINE,
    )
    assert f"stored   {path}\n" in printed
    assert find_tuning(profile).tuning == usual.but(auto={"pairs_once": usual.auto.pairs_once // 2})

    status, shown = run("--device", place, "--show")
    assert status == 0
    assert f"tuning   {path}\n" in shown
    assert printed[printed.index("changed  ") : printed.index("stored ")].strip() in shown
    again = run("--device", place, "--quick")[1]
    assert "nothing is stored: no change is faster by more than times spread" in again
    assert path.exists()

    monkeypatch.setenv("CLFRNN_TUNING", "off")
    shown = run("--device", place, "--show")[1]
    assert "tuning   the defaults for" in shown
    assert "changed" not in shown
    status, printed = run("--device", place, "--forget")
    assert (status, path.exists()) == (0, False)
    assert printed.startswith(f"forgotten {path}\n")
    assert "CLFRNN_TUNING=off is set" in printed
    assert run("--device", place, "--forget") == (0, f"nothing was stored for {profile}\n")


@pytest.mark.parametrize("options", [("--quick", "--show"), ("--show", "--forget"), ("--quick", "--forget")])
def test_options_that_contradict_each_other(options):
    status, printed = run(*options)
    assert status == 2
    assert "--quick, --show, --forget: expected one of them at most" in printed


@pytest.mark.filterwarnings("default:.*it is not JSON")
def test_a_damaged_file_is_told_by_show_and_removed_by_forget(place, session, small):
    path = stored_path(session.profile)
    write_tuning(path, session.profile, Stored(default_tuning(session.profile), {}))
    path.write_text("{")
    status, printed = run("--device", place, "--show")
    assert (status, "tuning   the defaults for" in printed) == (0, True)
    assert re.search("clfrnn: warning: .*it is not JSON", printed)
    assert run("--device", place, "--forget")[0] == 0
    assert not path.exists()


def test_no_folder_to_store_in(place, session, small, monkeypatch):
    monkeypatch.setattr(in_force, "settings_folder", lambda: None)
    status, printed = run("--device", place, "--forget")
    assert status == 1
    assert "clfrnn: there is no home folder to store a tuning in; set XDG_CONFIG_HOME" in printed


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_measured(place, session, small, tmp_path):
    (tmp_path / "clfrnn").write_text("")
    status, printed = run("--device", place)
    assert status == 1
    assert printed.startswith(f"clfrnn: {tmp_path / 'clfrnn' / 'tunings'}: ")
    assert "tunings are stored there, or where XDG_CONFIG_HOME says" in printed
