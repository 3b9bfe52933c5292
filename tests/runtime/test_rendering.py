"""Templates: every config field is used, every used name exists, the contract's pragma stands in each program."""

import dataclasses
import json
import re

import pytest
from conftest import PROFILES
from mako.lexer import Lexer

from clfrnn.functions import NeighborFunction
from clfrnn.methods import METHODS
from clfrnn.planning import bucket_sort as buckets
from clfrnn.planning import coarse_grid as coarse
from clfrnn.planning import configs, primitives
from clfrnn.planning import fenns as blocks
from clfrnn.planning import tree_build as trees
from clfrnn.planning import tree_traversal as packs
from clfrnn.planning.configs import VisitVariant
from clfrnn.profile import DeviceProfile
from clfrnn.runtime import rendering
from clfrnn.runtime.rendering import own_function, render, template_root

WALK = {
    "work_group_size": 64,
    "dim": 3,
    "real": "float",
    "square_root": "native",
    "periodic": True,
    "layout": "columns",
    "width": 8,
    "unrolled": None,
    "fused": False,
    "lockstep": 1,
    "held": 4,
    "ahead": 6,
    "stage": 16,
}
ROWS = {"by_distance": True, "offset": "long", "distances": True, "vectors": True, "shifts": True}
CONFIGS = {
    "brute_force": configs.TileConfig(
        work_group_size=64, dim=5, real="double", square_root="native", periodic=True, tile=64
    ),
    "uniform_grid": configs.WalkConfig(**WALK),
    "strips": configs.WalkConfig(**WALK),
    "fenns": blocks.BlockConfig(**{**WALK, "layout": "records", "width": 1}, tile=256, fine=256, team=16, chunk=2048),
    "coarse": coarse.CoarseConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=5832, batch=2, spread=4
    ),
    "buckets": buckets.BucketConfig(work_group_size=64, dim=3, real="float", periodic=True, counters=5832, batch=2),
    "picks": buckets.SelectConfig(
        work_group_size=64,
        dim=3,
        real="float",
        periodic=True,
        counters=4096,
        tile=1024,
        layout="pairs",
        batch=2,
        spread=32,
    ),
    "in_turn": buckets.SerialConfig(work_group_size=1, dim=3, real="double", periodic=True, layout="columns"),
    "bucket_cells": buckets.FillingConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=4096, tile=2048, layout="pairs"
    ),
    "bucket_tiles": buckets.FillingConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=4096, tile=2048, layout="pairs"
    ),
    "regions": buckets.RegionConfig(work_group_size=64, dim=3, real="float", periodic=True, counters=256, batch=2),
    "aabb_tree": packs.TreeWalkConfig(
        **{k: v for k, v in WALK.items() if k != "lockstep"},
        packed=True,
        sorts=True,
        ranks=True,
        many=True,
        band=8,
        chunk=16,
        divided=True,
        wide=32,
    ),
    "tree": trees.TreeConfig(
        work_group_size=64,
        dim=3,
        real="float",
        periodic=True,
        layout="columns",
        leaves=64,
        halved=1024,
        block=1024,
        pack=32,
        wide=8.0,
        alike=1.5,
        comparing=64,
        compared=4,
    ),
    "fill": configs.KernelConfig(work_group_size=64),
    "widen": primitives.WidenConfig(work_group_size=64, items=4),
    "part": primitives.PartConfig(work_group_size=64, items=8, word="int"),
    "take_rows": primitives.TakeConfig(work_group_size=64, word="uint"),
    "images": configs.PointConfig(work_group_size=1, dim=3, real="float"),
    "gather": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "reduce": primitives.ReduceConfig(work_group_size=64, dim=3, real="float"),
    "stashed_rows": primitives.BufferToRowsConfig(work_group_size=64, buffer_slots=12, offset="long"),
    "scan": primitives.ScanConfig(
        work_group_size=64, items=8, buffer_slots=12, total="long", out="int", through_local=True
    ),
    "radix_sort": primitives.SortConfig(work_group_size=64, items=8, digit_bits=4, key="uint", held=True),
    "row_sort": primitives.RowSortConfig(
        work_group_size=64, tile=512, dim=3, real="float", square_root="integer", **ROWS
    ),
    "pairs": primitives.PairConfig(
        work_group_size=64,
        items=4,
        dim=3,
        real="float",
        square_root="integer",
        offset="int",
        distances="root",
        vectors=True,
        shifts=True,
        periodic=True,
    ),
}
PLAIN = {
    stem: [
        configs.WalkConfig(**{**WALK, "layout": layout, "width": 1, "unrolled": (2, 4), "fused": True, "lockstep": 32})
        for layout in ("records", "pairs")
    ]
    for stem in ("uniform_grid", "strips")
}
SHARED = {
    "bounds",
    "contract",
    "types",
    "geometry",
    "coordinates",
    "windows",
    "cells",
    "coarse_steps",
    "binning",
    "blocks",
    "neighborhood",
    "sections",
    "tiles",
    "visit",
    "periodic",
    "seams",
    "marks",
    "marked_rows",
    "batches",
    "stash",
    "packed_rows",
    "row_sums",
    "group_sums",
    "functions",
    "places",
    "runs",
    "boxes",
    "refit",
    "tops",
    "radii",
    "curve",
    "gifts",
    "period",
    "halves",
    "quantiles",
    "sample",
    "packs",
    "bands",
    "chunks",
}
BELOW = {
    "bounds": set(),
    "contract": set(),
    "types": {"contract"},
    "geometry": {"types", "periodic"},
    "coordinates": set(),
    "windows": set(),
    "marks": set(),
    "batches": {"geometry"},
    "stash": {"packed_rows"},
    "packed_rows": set(),
    "row_sums": set(),
    "group_sums": set(),
    "marked_rows": {"marks", "places", "visit"},
    "places": {"geometry"},
    "runs": {"batches", "geometry", "marks", "places", "visit"},
    "boxes": set(),
    "packs": {"bands", "boxes"},
    "bands": {"boxes"},
    "chunks": {"bands", "places", "visit"},
    "radii": {"geometry", "places"},
    "curve": {"geometry", "refit"},
    "halves": {"geometry", "refit"},
    "quantiles": {"curve"},
    "sample": set(),
    "refit": {"geometry", "boxes", "places", "periodic", "tops"},
    "tops": {"boxes", "gifts"},
    "gifts": set(),
    "period": set(),
    "cells": {"geometry", "coordinates", "windows", "marks", "places", "periodic", "seams", "stash"},
    "coarse_steps": {"geometry", "periodic"},
    "blocks": {"neighborhood", "periodic", "sections", "tiles"},
    "neighborhood": {"periodic", "sections"},
    "sections": set(),
    "tiles": {"periodic"},
    "seams": set(),
    "binning": {"geometry", "cells", "places"},
    "visit": {"batches", "geometry", "marks", "periodic", "row_sums", "stash"},
    "periodic": set(),
    "functions": set(),
}
COUNT = NeighborFunction(
    arguments="global int *counts", state="int c = 0;", per_neighbor="++c;", finish="counts[i] = c;"
)


def text(stem):
    return (template_root() / f"{stem}.cl.mako").read_text()


def reach(stem):
    """The template and all that it includes."""
    names = re.findall(r'file="(\w+)\.cl\.mako"', text(stem))
    return {stem}.union(*(reach(name) for name in names if name not in ("visit",)), set(names))


def render_all(stem, config):
    functions = [None, COUNT] if stem in METHODS else [None]
    if stem in ("brute_force", "fenns", "aabb_tree"):  # what they build stands in templates of its own
        functions = [COUNT]
    return [render(stem, config, function, VisitVariant()) for function in functions]


def test_every_template_is_known():
    stems = {path.name.removesuffix(".cl.mako") for path in template_root().glob("*.cl.mako")}

    assert stems == set(CONFIGS) | SHARED
    assert set(METHODS) <= set(CONFIGS)


@pytest.mark.parametrize("stem", sorted(CONFIGS))
def test_every_field_is_used(stem):
    sources = "\n".join(text(name) for name in reach(stem))
    for field in dataclasses.fields(CONFIGS[stem]):
        derived = {"real": r"\breal\b", "dim": r"\b(dim|components)\b", "digit_bits": "digit_bits|digits"}
        assert re.search(derived.get(field.name, rf"\b{field.name}\b"), sources), field.name


@pytest.mark.parametrize("stem", sorted(CONFIGS))
def test_every_name_is_a_field(stem):
    """strict_undefined raises for a name that the config does not hold, also in a branch not taken."""
    for source in render_all(stem, CONFIGS[stem]):
        assert "kernel" in source
        assert "${" not in source
        assert not re.search(r"^\s*%\s*(if|for|end)", source, re.MULTILINE)


@pytest.mark.parametrize("stem", sorted(CONFIGS))
def test_contraction_is_off_in_every_program(stem):
    for source in render_all(stem, CONFIGS[stem]):
        first = source.index("#pragma OPENCL FP_CONTRACT OFF")
        assert first < source.index("kernel __attribute__")
        assert not re.search(r"\b(fma|mad)\s*\(", source)


@pytest.mark.parametrize("stem", sorted(BELOW))
def test_templates_include_downwards_only(stem):
    assert set(re.findall(r'file="(\w+)\.cl\.mako"', text(stem))) <= BELOW[stem]


@pytest.mark.parametrize("stem", sorted(SHARED | set(CONFIGS)))
def test_templates_parse(stem):
    assert Lexer(text(stem)).parse() is not None
    assert len(text(stem).splitlines()) <= 210


@pytest.mark.parametrize("stem", sorted(METHODS))
def test_user_text_enters_as_a_value(stem):
    """Percent signs, double hashes and dollars of a user's code survive rendering."""
    hostile = "\n% if nothing\n## int gone = 1;\nint left = 7 %\n2; // ${j}\n"
    function = dataclasses.replace(COUNT, per_neighbor=hostile, preamble="#define A(x) ${x}")

    source = render(stem, CONFIGS[stem], function)

    assert source.count(hostile) == 1
    assert "#define A(x) ${x}" in source


@pytest.mark.parametrize("stem", sorted(METHODS))
@pytest.mark.parametrize("piece", ["state", "per_neighbor", "finish"])
def test_each_piece_stands_once(stem, piece):
    function = dataclasses.replace(COUNT, **{piece: "/* here */"})
    for config in (CONFIGS[stem], *PLAIN.get(stem, ())):
        assert render(stem, config, function).count("/* here */") == 1


@pytest.mark.parametrize("stem", sorted(PLAIN))
def test_work_items_agree_only_where_they_go_in_step(stem):
    """Barriers stand in counts at the edges of a periodic box on a GPU and nowhere else; nobody returns before them."""
    step, alone = PLAIN[stem][0], CONFIGS[stem]
    count = own_function("count")
    near, home = VisitVariant(images="next"), VisitVariant(images="home")

    for flags in ({}, {"part": True}, {"radii": True}, {"half": True}):
        source = render(stem, step, count, dataclasses.replace(near, **flags))
        assert "return;" not in source[source.index("void frnn_visit(") : source.rindex("barrier(")]
    odd = dataclasses.replace(step, lockstep=24)
    assert "local int frnn_ways[3];" in render(stem, odd, count, near), "of 64 work-items, 16 are left over"
    for config, function, variant in ((alone, count, near), (step, COUNT, near), (step, count, home)):
        assert "barrier(" not in render(stem, config, function, variant)


def test_a_bound_on_registers_stands_instead_of_the_size_of_groups():
    profile = DeviceProfile.from_dict(json.loads((PROFILES / "h200.json").read_text()))
    step = PLAIN["strips"][0]
    bound = dataclasses.replace(step, registers=32)

    assert "reqd_work_group_size(64, 1, 1)" in render("grid/strips", step, COUNT)
    assert "reqd_work_group_size" not in render("grid/strips", bound, COUNT)
    assert step.options(profile) == []
    assert bound.options(profile) == ["-cl-nv-maxrregcount=32"]


def test_variants_are_compiled_in_only_where_asked():
    plain, foreign, radii, half = (
        render("grid/strips", CONFIGS["strips"], COUNT, VisitVariant(**flags))
        for flags in ({}, {"foreign": True}, {"radii": True}, {"half": True})
    )

    assert "frnn_queries" in foreign
    assert "frnn_radii" in radii
    assert "frnn_least" in half
    assert not any(word in plain for word in ("frnn_queries", "frnn_radii", "frnn_least"))


def test_own_functions():
    write = own_function("write", offset="long", distances="root", vectors=True, components=(".s0", ".s1"))

    assert [a.name for a in write.parsed_arguments] == ["offsets", "first_row", "indices", "distances", "vectors"]
    assert write.parsed_arguments[0].const
    assert "frnn_sqrt" in write.per_neighbor
    assert own_function("count") is own_function("count")


def test_missing_templates_are_an_error_that_says_where(monkeypatch, tmp_path):
    monkeypatch.setattr(rendering, "__file__", str(tmp_path / "clfrnn" / "rendering.py"))

    with pytest.raises(Exception, match="templates are missing: looked for common/types.mako in .*reinstall"):
        template_root()
