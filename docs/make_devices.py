"""Writes the pages about devices: what each offers and what was compared on it, plans for it, and sources of its facts.

``python docs/make_devices.py``; a test compares.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clfrnn.answers.nearest.plan import plan_rows
from clfrnn.domain.box import open_space
from clfrnn.groups import busy_units, square_root
from clfrnn.methods import METHODS, choose_method
from clfrnn.methods.fenns.block_plan import block_memory
from clfrnn.methods.grid.binning.config import bucket_groups, plan_buckets
from clfrnn.methods.grid.coarse_plan import plan_coarse
from clfrnn.methods.tree.build_plan import default_leaf_size
from clfrnn.methods.tree.walk_plan import plan_tree_walk
from clfrnn.methods.walk_plan import plan_tile, plan_walk
from clfrnn.primitives.config import plan_sort
from clfrnn.problem import Problem
from clfrnn.profile import DeviceProfile
from clfrnn.runtime.launch_limits import launch_budget
from clfrnn.runtime.quirks import QUIRKS
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning, default_tuning
from clfrnn.verify.kinds import KINDS
from clfrnn.verify.matrix import DOMAINS

ROOT = Path(__file__).parent.parent
PROFILES = ROOT / "tests" / "profiles"
SWEEPS = ROOT / "tests" / "sweep"
DOCS = ROOT / "docs"
COMPILED = ROOT / "tests" / "offline" / "amd.json"

#: The search that everything is planned for.
POINTS, DIM, NEIGHBORS = 1_000_000, 3, 8

#: How devices are called here, where their drivers call them otherwise.
CALLED = {
    "awkward": "Awkward",
    "gtx-1080-ti": "GTX 1080 Ti",
    "h100": "H100",
    "h200": "H200",
    "intel-cpu": "Intel CPU",
    "oclgrind": "Oclgrind",
    "pocl": "PoCL",
    "rusticl": "rusticl",
    "titan-x-pascal": "Titan X (Pascal)",
    "mi300x": "MI300X",
    "rx-7900-xtx": "RX 7900 XTX",
    "arc-a770": "Arc A770",
    "iris-xe": "Iris Xe",
    "apple-m1-max": "M1 Max",
    "adreno-750": "Adreno 750",
    "apple-m3-pro": "M3 Pro",
    "arc-b580": "Arc B580",
    "jetson-orin": "Jetson Orin",
    "mali-g720": "Mali-G720",
    "max-1550": "Max 1550",
    "mi210": "MI210",
    "radeon-780m": "Radeon 780M",
    "rtx-4090": "RTX 4090",
    "rx-6700-xt": "RX 6700 XT",
}

#: The order of devices, by how their profiles came about.
_RANK = {"run": 0, "planned": 1, "invented": 2}

HEAD = """\
# Devices

<!-- written by docs/make_devices.py -->

What clfrnn was run on, what it only has plans for, and what was compared with numpy.

**Run**: {run}. clfrnn was run on these, in bold below. PoCL, Intel's driver and rusticl
drive a CPU, and Oclgrind simulates a device.

**Only planned**: {planned}. Nobody has run clfrnn on these for this page. Their facts are
put together from published ones ({{doc}}`/contribute/device-facts`). Tests check that plans for them are legal and fit
their memory; their speed was not measured. Some of their kernels were compiled, and not run
({{doc}}`/contribute/device-plans`).

{invented} is invented: a device that offers little in every respect.

`clfrnn devices` shows the same for the devices at hand. If yours is missing here, or planned only,
{{doc}}`/contribute/add-a-device` says how to add it.
"""

PLANS_HEAD = """\
# Plans for devices

<!-- written by docs/make_devices.py -->

clfrnn does not depend on who made a device. It reads facts from the driver into a
{py:class}`~clfrnn.profile.DeviceProfile`, corrects those that are known to be wrong, and plans from them. Profiles of
some devices lie with the tests, so that plans for a device can be tested without it. The functions that plan a search
make this page from them. {doc}`/reference/devices` has the facts and says what was run.
"""

FACTS = """\
## What they offer

*Units* are compute units, and the least number of lanes of each: clfrnn assumes 64 for a GPU and 2 for a CPU, whose
compilers may use no more. *Group* is the largest work-group; *lockstep* is the number of work-items that run in
lockstep, or the width of a CPU's vectors; the clock is in MHz. *Root* is how the square root of a float is rounded
correctly: by the device's own instruction, in doubles, or in integers. *64-bit atomics* are those on integers.
"""

PLANS = """\
## What is planned

For {points:,} points spread evenly in {dim}D, single precision, about {neighbors} neighbors each, no options given.
*auto* is the method that a search takes. *Walk* is the work-group of `uniform_grid` and `strips`; *all pairs* the
work-group of `brute_force` and its tile of points; *FENNS* the work-group of `fenns` and its tile of candidates, or
*none* where queries go through global memory; *coarse grid* its cells, of the most that a group can count; *tree* how
queries go down a tree, and the points of a leaf; *sort* the work-group of a sort and the keys that it sorts at a time.
*Launch* is the number of pairs that one launch may test: a guess of what takes half a second, so that no driver ends
it.
"""

ROOM = """\
## What more lockstep and local memory change

Plans for 32 work-items in lockstep and for up to 48 KiB of local memory are made by numbers that were measured on an
H200. What a device has beyond that, its plans use, but nothing of it was measured. *Packet* is the queries that go down
a tree together, one for each work-item of a wavefront. *Largest tile* is the most candidates of a block of `fenns`, and
the bytes of local memory that its group then takes. *Coarse cells* are those of `fenns` where each point has {crowd}
neighbors: with a larger tile, cells may be larger, as long as every compute unit has some, and fewer of the candidates
that a group loads lie in cells beside its own.
"""

GROUPS = """\
## What units, their local memory and long vectors change

Each row has a fact in which the device differs from an H200 or from a CPU with vectors of 8 numbers, and what is
planned otherwise for that, in the search above. All other devices are planned for as if they had none of these.

*Units* whose drivers count less than 64 lanes are counted together, because numbers of groups were measured for units
of 64: each group leaves a counter for every bucket of cells, and as many groups for each small unit left up to six
counters for each point. *Groups* count buckets, *buckets* are what they count, and *counters* is how many of them there
are for each point, with units counted together and, in parentheses, as the driver counts them.

A unit's *local memory* is shared by the groups that it runs at the same time. Where it is known, groups that sort
points into buckets and cells take no more than a quarter of it, if their counters fit; in parentheses is what they
take otherwise. For MI300X a compiler says that one wavefront runs on a SIMD unit then, and four since; for RX 7900 XTX
four, and 16 since.

*Rows* of nearest neighbors in float32 are held in registers up to that length.
"""

UNUSED = """\
## What plans do not use

- **Sub-group operations** (`cl_khr_subgroups`): NVIDIA's driver, the PoCL that `pip` installs, Oclgrind and rusticl
  have none. On Intel's driver for CPUs a scan by them takes 0.93 of the time of the same scan by local memory, and the
  scan by single work-items that is planned for CPUs takes 0.8 of it. For MI300X a compiler writes 7 % fewer
  instructions for a scan, and 4 % fewer for packets that go down a tree, where no barriers are left to spare, as a
  packet is one wavefront.
- **The number of registers of a work-item.** No driver tells it. The longest rows in registers, of 32 neighbors, take
  98 of the 256 registers of an AMD GPU in walks over cells, and 174 in `fenns`, which are all there. On a device with
  64, a compiler keeps 67 of them in memory, and a heap, the other way to hold a row, is in memory as well: on a CPU
  whose registers hold half of such a row, the row takes 0.7 of the time of a heap.
- **More local memory than a group may have**, where no driver tells a unit's own: NVIDIA's units have 96 KiB or more.
"""

OFFLINE = """\
## What a compiler says of the walks

The kernels that are planned for these GPUs, compiled by {compiler} for their instructions, without such a GPU: counts
in the search above, the list of `strips`, and counts of `fenns` where each point has {crowd} neighbors, which is
*crowded*. *Registers* are those of a work-item in vector units; all walks have what
they need, and none keeps them in memory instead. *Local* is the local memory of a work-group, in bytes. *Waves* is how
many wavefronts a SIMD unit runs at the same time, of which others run while one waits for memory, and *by* is what
bounds that number: registers, local memory, or the device, which has no more. It says that kernels fit; speed, it does
not say. A test compares (`tests/offline`), where the compiler is installed.
"""

#: Neighbors of each point where blocks of FENNS fill local memory.
CROWD = 50

SWEEP = """\
## What was compared

`clfrnn verify --matrix` compares every kind of search with numpy, to the last bit, for each method in each of its
dimensions and dtypes: in open space, in a periodic box, in a cell that is not rectangular and in many systems at once,
each time lists, counts, the nearest neighbors and a function of a user's own. These are the results in `tests/sweep`,
where `nox -s sweep` writes them; {doc}`/contribute/add-a-device` says how to add one.

*Passed*, *refused* and *failed* count kinds of searches, each compared over one or several clouds. *Points* is the size
of a cloud, and *pairs* adds up the pairs of all searches that passed, so that a cloud counts once for each search over
it.
"""

SHARES = """\
Of these searches, what passed by method, by domain and by kind:
"""

REFUSED = """\
A refused search raises an error and returns nothing. The reasons:
"""

QUIRKS_HEAD = """\
## What drivers get wrong

Each of these changes facts of a profile when it is read. The tables show the corrected facts.
"""

SOURCES = """\
# Where facts of devices are from

<!-- written by docs/make_devices.py -->

For devices that are only planned ({doc}`/reference/devices`). Options for the compiler follow from the facts and are
left out.
"""


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The texts by their paths in docs/."""
    profiles = {
        path.stem: DeviceProfile.from_dict(json.loads(path.read_text(encoding="utf-8")))
        for path in PROFILES.glob("*.json")
    }
    sources = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (PROFILES / "sources").glob("*.json")
    }
    names = sorted(profiles, key=lambda name: (_RANK[sources[name]["how"]], CALLED[name].lower()))
    by_how = {how: [CALLED[name] for name in names if sources[name]["how"] == how] for how in _RANK}
    words = {how: _listed(called) for how, called in by_how.items()}
    offers = [
        _filled(HEAD.format(**words)),
        _swept(),
        FACTS + "\n" + _table(_facts(profiles[name]) | {"": _cell(name, sources)} for name in names),
        QUIRKS_HEAD + "\n" + "\n".join(f"- **{quirk.name}**: {quirk.why} [More]({quirk.link})" for quirk in QUIRKS),
    ]
    plans = [
        PLANS_HEAD,
        _filled(PLANS.format(points=POINTS, dim=DIM, neighbors=NEIGHBORS))
        + "\n\n"
        + _table(_plans(profiles[name]) | {"": _cell(name, sources)} for name in names),
        *_room(profiles, names, sources),
        *_groups(profiles, names, sources),
        UNUSED,
        *_offline(),
    ]
    facts = [SOURCES, *(_sources(name, profiles[name], sources[name]["facts"]) for name in names)]
    return {
        "reference/devices.md": _page(offers),
        "contribute/device-plans.md": _page(plans),
        "contribute/device-facts.md": _page(facts),
    }


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _cell(name: str, sources: dict[str, Any]) -> str:
    """A device as tables call it: those that ran in bold."""
    return f"**{CALLED[name]}**" if sources[name]["how"] == "run" else CALLED[name]


def _facts(profile: DeviceProfile) -> dict[str, str]:
    root = square_root(profile, "float")
    return {
        "": "",
        "kind": profile.kind,
        "units": f"{profile.compute_units} of {profile.unit_lanes}",
        "clock": f"{profile.clock:,}" if profile.clock > 1 else "not said",
        "group": f"{profile.max_work_group_size:,}",
        "lockstep": f"{profile.simd_width}",
        "local memory": _bytes(profile.local_memory - profile.local_reserve),
        "memory": _bytes(profile.global_memory),
        "one array": _bytes(profile.max_allocation),
        "doubles": _yes(profile.fp64),
        "64-bit atomics": _yes(profile.int64_atomics),
        "root": {"native": "own", "double": "doubles", "integer": "integers"}[root],
    }


def _plans(profile: DeviceProfile) -> dict[str, str]:
    problem, tuning = _problem(), default_tuning(profile)
    fenns = METHODS["fenns"].plan(problem, profile, tuning)
    facts = {"dim": DIM, "real": "float", "periodic": False}
    walk = plan_walk(profile, tuning, **facts)
    pairs = plan_tile(profile, tuning, **facts)
    of_leaf = default_leaf_size(tuning, POINTS, NEIGHBORS)
    tree = plan_tree_walk(profile, tuning, **facts, leaf_size=of_leaf)
    sort = plan_sort(profile, tuning, key="uint")
    block, most = fenns.config, plan_coarse(profile, tuning, **facts).counters
    return {
        "": "",
        "auto": f"`{choose_method(problem, profile, tuning).method.name}`",
        "walk": f"{walk.work_group_size}",
        "all pairs": f"{pairs.work_group_size}, {pairs.tile}",
        "FENNS": f"{block.work_group_size}, {block.tile or 'none'}",
        "coarse grid": f"{' x '.join(map(str, fenns.grid.shape))} of {most:,}",
        "tree": f"{f'packets of {tree.work_group_size}' if tree.packed else 'one by one'}, {of_leaf}",
        "sort": f"{sort.work_group_size}, {sort.work_group_size * sort.items:,}",
        "launch": f"{launch_budget(profile, tuning):.1e}".replace("e+", "e"),
    }


def _swept() -> str:
    """What was compared: the reports of ``clfrnn verify --matrix`` that are on file, one device after the other."""
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob("*.json"))]
    found = sorted(
        ((_driven(device["profile"]), report, device) for report in reports for device in report["devices"]),
        key=lambda each: each[0].lower(),
    )
    reasons = [f"- **{name}**: {reason}" for name, _, device in found for reason in _reasons(device)]
    return "\n\n".join(
        [
            SWEEP.strip(),
            _table(_totals(report, device) | {"": f"**{name}**"} for name, report, device in found),
            SHARES.strip(),
            _table(_shares(device) | {"": f"**{name}**"} for name, _, device in found),
            *([REFUSED.strip(), "\n".join(reasons)] if reasons else []),
        ]
    )


def _driven(profile: dict[str, Any]) -> str:
    """A device and its driver, by the words of the driver."""
    name, platform, driver = (re.sub(r"\((R|TM|C)\)", "", profile[fact]) for fact in ("name", "platform", "driver"))
    return f"{name}, {driver if driver.startswith(platform) else f'{platform} {driver}'}"


def _cells_of(device: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of all rows, each with its method."""
    return [{**cell, "row": row} for row in device["rows"] for cell in row["cells"]]


def _totals(report: dict[str, Any], device: dict[str, Any]) -> dict[str, str]:
    cells = _cells_of(device)
    return {
        "": "",
        "date": report["date"],
        "clfrnn": report["clfrnn"],
        "points": f"{report['points']:,}",
        **{name: f"{sum(cell['outcome'] == name for cell in cells):,}" for name in ("passed", "refused", "failed")},
        "pairs": f"{sum(cell['pairs'] for cell in cells):,}",
    }


def _shares(device: dict[str, Any]) -> dict[str, str]:
    """Of the cells of each method, domain and kind, those that passed."""
    cells = _cells_of(device)
    columns = {"": ""}
    for method in METHODS:
        columns[f"`{method}`"] = _share(cell for cell in cells if cell["row"]["method"] == method)
    for fact, values in (("domain", DOMAINS), ("kind", KINDS)):
        for value in values:
            columns[value] = _share(cell for cell in cells if cell[fact] == value)
    return columns


def _share(cells: Iterable[dict[str, Any]]) -> str:
    """ "all", or how many passed of how many."""
    outcomes = [cell["outcome"] for cell in cells]
    passed = outcomes.count("passed")
    return f"all {passed}" if passed == len(outcomes) else f"{passed} of {len(outcomes)}"


def _reasons(device: dict[str, Any]) -> list[str]:
    """Why searches were refused, each reason with the number of searches."""
    reasons = collections.Counter(cell["reason"] for cell in _cells_of(device) if cell["outcome"] == "refused")
    return [f"{reason} ({many:,} searches)" for reason, many in reasons.items()]


def _room(profiles: dict[str, DeviceProfile], names: list[str], sources: dict[str, Any]) -> list[str]:
    """What follows from wavefronts and local memory, for each GPU."""
    rows = []
    for name in (name for name in names if profiles[name].kind == "gpu"):
        profile, tuning = profiles[name], default_tuning(profiles[name])
        walk = plan_tree_walk(profile, tuning, dim=DIM, real="float", periodic="", leaf_size=8)
        # no tile holds a block of that many neighbors
        large = METHODS["fenns"].plan(_problem(neighbors=5000), profile, tuning).config
        cells = METHODS["fenns"].plan(_problem(neighbors=CROWD), profile, tuning).grid.shape
        rows.append(
            {
                "": _cell(name, sources),
                "lockstep": f"{profile.simd_width}",
                "packet": f"{walk.work_group_size}",
                "local memory": _bytes(profile.local_memory - profile.local_reserve),
                "largest tile": f"{large.tile:,} in {block_memory(large):,}",
                "coarse cells": " x ".join(map(str, cells)),
            }
        )
    return [_filled(ROOM.format(crowd=CROWD)) + "\n\n" + _table(rows)]


def _groups(profiles: dict[str, DeviceProfile], names: list[str], sources: dict[str, Any]) -> list[str]:
    """What follows from small units, the local memory of units, and long vectors, where a device has them."""
    rows = []
    for name in names:
        profile, tuning = profiles[name], default_tuning(profiles[name])
        row = {"": _cell(name, sources), "fact": "", "plan": ""}
        if profile.kind == "gpu" and busy_units(profile) < profile.compute_units:
            apart = dataclasses.replace(profile, unit_lanes=64)
            (groups, buckets), before = _counted(profile, tuning), math.prod(_counted(apart, tuning)) / POINTS
            row["fact"] = f"{profile.compute_units} units of {profile.unit_lanes} lanes"
            counters = f"{groups * buckets / POINTS:.2f} counters a point ({before:.2f})"
            row["plan"] = f"{groups:,} groups, {buckets:,} buckets, {counters}"
            rows.append(row)
        elif profile.unit_local_memory:
            facts: dict[str, Any] = {"dim": DIM, "real": "float", "periodic": ""}
            _, buckets = _counted(profile, tuning)
            taken, whole = (plan_buckets(profile, tuning, **facts, buckets=many) for many in (buckets, None))
            row["fact"] = f"{_bytes(profile.unit_local_memory)} of local memory in a unit"
            row["plan"] = f"{4 * taken.counters:,} bytes for {buckets:,} buckets ({4 * whole.counters:,})"
            rows.append(row)
        elif profile.kind == "cpu" and (longest := _longest_row(profile, tuning)) > tuning.nearest.register_places:
            row["fact"] = f"vectors of {profile.simd_width} numbers"
            row["plan"] = f"rows of up to {longest} neighbors in registers ({tuning.nearest.register_places})"
            rows.append(row)
    return [_filled(GROUPS) + "\n\n" + _table(rows)]


def _counted(profile: DeviceProfile, tuning: Tuning) -> tuple[int, int]:
    """The groups that count buckets, and the buckets, of a grid over the points of this page."""
    size = plan_buckets(profile, tuning, dim=DIM, real="float", periodic="").work_group_size
    strips = METHODS["strips"]
    problem = dataclasses.replace(_problem(), options=strips.check({}))
    return bucket_groups(profile, tuning, POINTS, size), strips.plan(problem, profile, tuning).binning.buckets


def _longest_row(profile: DeviceProfile, tuning: Tuning) -> int:
    """The most neighbors of a row in registers."""
    plans = (plan_rows(profile, tuning, k=k, real="float", images=False) for k in range(1, 1000))
    return max(plan.capacity for plan in plans)


def _offline() -> list[str]:
    """What the compiler said of each walk, as tests keep it."""
    said = json.loads(COMPILED.read_text(encoding="utf-8"))
    rows = [
        {
            "": CALLED[name],
            "walk": ", ".join([f"`{walk.partition(', ')[0]}`", *walk.split(", ")[1:]]),
            "group": f"{numbers['work-group']}",
            "wavefront": f"{numbers['wavefront']}",
            "registers": f"{numbers['registers']}",
            "local": f"{numbers['local memory']:,}",
            "waves": f"{numbers['waves']}",
            "by": _bound(numbers),
        }
        for name, walks in said["devices"].items()
        for walk, numbers in walks.items()
    ]
    version = re.sub(r" \(.*", "", said["compiler"]).replace(" version", "")
    return [_filled(OFFLINE.format(compiler=version, crowd=CROWD)) + "\n\n" + _table(rows)]


def _bound(numbers: dict[str, int]) -> str:
    """What bounds the number of wavefronts."""
    most, file = (8, 512) if numbers["wavefront"] == 64 else (16, 1024)
    if numbers["waves"] >= most:
        return "the device"
    return "local memory" if numbers["waves"] < file // numbers["registers"] else "registers"


def _problem(neighbors: float = NEIGHBORS) -> Problem:
    """Points evenly in a unit cube, as many neighbors as the page says."""
    radius = (neighbors / (POINTS * math.pi * 4 / 3)) ** (1 / 3)
    survey = Survey(n=POINTS, low=(0.0,) * DIM, high=(1.0,) * DIM, others=POINTS * radius**3)
    options = {"coarse_shape": None}
    return Problem(n=POINTS, domain=open_space(DIM), real="float", radius=radius, survey=survey, options=options)


def _sources(name: str, profile: DeviceProfile, facts: dict[str, str]) -> str:
    """The facts of a planned device, those of one source together; nothing for a device that ran."""
    if not facts:
        return ""
    together: dict[str, list[str]] = {}
    for fact, source in facts.items():
        if fact != "build_options":
            together.setdefault(source, []).append(f"`{fact}`")
    rows = [{"facts": _listed(named), "source": _linked(source)} for source, named in together.items()]
    return f"## {CALLED[name]}\n\n`{profile.name}`, {profile.platform} {profile.driver}\n\n" + _table(rows)


def _linked(source: str) -> str:
    """Addresses as links that show where they lead."""
    return re.sub(r"https://([^\s,()]+)", lambda match: f"[{_short(match[1])}]({match[0]})", source)


def _short(address: str) -> str:
    """`github.com/a/b/issues/3` as `a/b#3`, a file by its name, else the site."""
    if match := re.fullmatch(r"github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address):
        return f"{match[1]}#{match[2]}"
    if match := re.fullmatch(r"github\.com/([^/]+/[^/]+)/blob/.*/([^/]+)", address):
        return f"{match[1]}: {match[2]}"
    return (
        address.removeprefix("github.com/") if address.startswith("github.com/") else address.split("/", maxsplit=1)[0]
    )


def _table(rows: Iterable[dict[str, str]]) -> str:
    found = list(rows)
    heads = list(found[0])
    lines = [heads, ["---"] * len(heads), *([row[head] for head in heads] for row in found)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _filled(text: str) -> str:
    """Paragraphs whose lines are full again after names were put in."""
    return "\n\n".join(textwrap.fill(part, 120, break_on_hyphens=False) for part in text.strip().split("\n\n"))


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _bytes(size: int) -> str:
    """In KiB, MiB or GiB, whichever leaves a few digits."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1024:.3g} KiB"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


if __name__ == "__main__":
    main()
