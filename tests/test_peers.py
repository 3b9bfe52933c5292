"""clfrnn beside its peers: answers are compared before times are shown, and no peer stops the others."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("asv_benches.benchmarks", reason="benchmarks come with a checkout")
pytest.importorskip("matplotlib", reason="plots are of the bench extra")
pytest.importorskip("scipy", reason="the peer that is always there")

from asv_benches.peers import __main__ as program
from asv_benches.peers import agreement, clouds, processors, warp_peers
from asv_benches.peers.measurement import Reference, measure
from asv_benches.peers.peer import Absent, Pairs
from asv_benches.peers.report import Entry, Report

TINY = (clouds.uniform(1500, 20, "1,500"), clouds.shell(2000, "2,000"))


@pytest.fixture
def device(session):
    """The device under test, as an option names it."""
    if session.profile.kind != "cpu":
        pytest.skip("the tests of peers are for CPUs")
    return session.profile.name


@pytest.fixture(params=TINY, ids=lambda cloud: cloud.label.split("\n")[1])
def case(request, device):
    """A cloud and what clfrnn found on it."""
    return request.param, Reference.of(request.param, device)


def outcome(peer, case, task, **options):
    cloud, reference = case
    return measure(peer, cloud, reference, task, limit=options.pop("limit", 60), repeats=2)


def peers():
    """Every peer and task; those that are absent are skipped when they are made."""
    return [pytest.param(kind, task, id=f"{kind.name}-{task}") for kind in program.known() for task in kind.tasks]


@pytest.mark.parametrize(("kind", "task"), peers())
def test_peers_find_the_same_pairs(case, kind, task):
    try:
        kind.find()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs, not ours
            found = outcome(kind(), case, task)
    except Absent as reason:
        pytest.skip(str(reason))
    assert found.status == "measured", found.message
    assert found.total > 0
    assert found.agreement.boundary < 10


class Scipy(processors.Scipy):
    """Right."""

    name = "right"


class Dropping(processors.Scipy):
    """Leaves out the last neighbor of the point that has most."""

    name = "dropping"

    def count(self):
        counts = super().count()
        counts[np.argmax(counts)] -= 1
        return counts

    def lists(self):
        lists = super().lists()
        lists[np.argmax([len(row) for row in lists])].pop()
        return lists


class Doubling(processors.Scipy):
    """Names a pair twice."""

    name = "doubling"

    def lists(self):
        lists = super().lists()
        longest = lists[np.argmax([len(row) for row in lists])]
        longest.append(longest[0])
        return lists


class Swapping(processors.Scipy):
    """Right counts, wrong neighbors."""

    name = "swapping"

    def lists(self):
        lists = list(super().lists())
        i = np.argmax([len(row) for row in lists])
        near = sorted(lists[i], key=lambda j: np.square(self.points[j] - self.points[i]).sum())
        stranger = next(j for j in range(self.n) if j not in near)
        lists[i] = [near[0], *near[2:], stranger]  # the first is i itself
        return lists


class Failing(processors.Scipy):
    """Breaks down."""

    name = "failing"

    def lists(self):
        raise RuntimeError("out of luck")


@pytest.mark.parametrize(
    ("kind", "task", "message"),
    [
        (Dropping, "count", "wrong: 1 pair missing"),
        (Dropping, "lists", "wrong: 1 pair missing"),
        (Doubling, "lists", "wrong: 1 pair too many"),
        (Swapping, "lists", "wrong: 1 pair missing, 1 pair too many"),
    ],
)
def test_a_wrong_peer_is_caught_and_gets_no_time(case, kind, task, message):
    found = outcome(kind(), case, task)
    assert (found.status, found.message) == ("wrong", message)
    assert found.total is found.build is found.query is found.device is None


def test_a_failing_peer_is_told(case):
    found = outcome(Failing(), case, "lists")
    assert (found.status, found.message, found.total) == ("failed", "RuntimeError: out of luck", None)


def test_a_slow_peer_is_left_out(device, monkeypatch):
    cloud = clouds.uniform(3200, 10, "3,200")
    monkeypatch.setattr("asv_benches.peers.measurement.ENOUGH", 10)
    case = cloud, Reference.of(cloud, device)
    found = outcome(Scipy(), case, "count", limit=1e-9)
    assert (found.status, found.message, found.total) == ("over", "over 1e-09 s", None)
    assert outcome(Scipy(), case, "count").status == "measured"


def test_pairs_may_differ_at_the_boundary_alone():
    """Along a line, float32 has 0.3 a little above the float64 that others may search within."""
    radius = float(np.float32(0.3))
    points = np.zeros((3, 3), np.float32)
    points[1, 0], points[2, 0] = 0.3, 0.1
    ours = Pairs(np.array([0, 1, 0, 2, 1, 2]), np.array([1, 0, 2, 0, 2, 1]))
    marks = agreement.fingerprint(ours, 3)
    open_ball = Pairs(ours.rows[2:], ours.columns[2:])
    assert agreement.compare_pairs(points, radius, ours, marks, open_ball) == agreement.Agreement(boundary=2)
    lost = Pairs(ours.rows[:4], ours.columns[:4])
    assert agreement.compare_pairs(points, radius, ours, marks, lost) == agreement.Agreement(missing=2)
    itself = Pairs(np.r_[ours.rows, [0, 1]], np.r_[ours.columns, [0, 1]])
    assert agreement.compare_pairs(points, radius, ours, marks, itself) == agreement.Agreement()
    counts = marks.counts
    fewer = counts - [1, 1, 0]
    assert agreement.compare_counts(counts, fewer, lambda rows: np.ones(len(rows))).boundary == 2
    assert agreement.compare_counts(counts, fewer, lambda rows: np.zeros(len(rows))).missing == 2


def test_markdown_shows_winners_losers_and_the_absent():
    cloud = TINY[0]
    from asv_benches.peers.measurement import Outcome

    def made(peer, status, **facts):
        return Outcome(peer=peer, cloud=cloud.name, task="lists", status=status, **facts)

    report = Report(
        machine={"date": "today"},
        limit=10,
        ulps=4,
        entries=[
            Entry(name="clfrnn", package="clfrnn", place="cpu"),
            Entry(name="quick", package="q", place="cpu"),
            Entry(name="broken", package="b", place="cpu"),
            Entry(name="false", package="f", place="cpu"),
            Entry(name="away", package="a", absent="a is not installed"),
        ],
        clouds=[cloud],
        outcomes=[
            made("clfrnn", "measured", total=0.002),
            made("quick", "measured", total=0.001),
            made("broken", "failed", message="OSError: no"),
            made("false", "wrong", message="wrong: 3 pairs missing"),
        ],
    )
    text = report.markdown()
    assert f"| {cloud.name} | 2.000 | **1.000** (0.50 x) | failed (1) | wrong: 3 pairs missing |" in text
    assert "1. broken: OSError: no" in text
    assert "| away | absent | | took no part: a is not installed |" in text


def test_the_program_runs_from_end_to_end(device, monkeypatch, tmp_path):
    monkeypatch.setattr(program, "SMALL", TINY[:1])
    monkeypatch.setattr(warp_peers.Warp, "module", "no_such_module")
    arguments = ["--device", device, "--small", "--peers", "scipy", "--repeats", "1", "--output", str(tmp_path)]
    result = CliRunner().invoke(program.main, arguments)
    assert result.exit_code == 0, result.output
    for part in ("## Counts of neighbors", "## Neighbor lists: details", "| clfrnn | scipy |"):
        assert part in result.output
    assert "| Warp, grid | absent | | took no part: warp-lang is not installed |" in result.output
    plain = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert {(each["peer"], each["status"]) for each in plain["outcomes"]} == {
        ("clfrnn", "measured"),
        ("scipy", "measured"),
    }
    assert (tmp_path / "peers.png").stat().st_size > 1000
    assert (tmp_path / "peers.md").read_text(encoding="utf-8").strip() in result.output


def test_an_unknown_peer_is_refused():
    result = CliRunner().invoke(program.main, ["--peers", "nobody"])
    assert result.exit_code == 2
    assert "'nobody' is none of" in result.output
