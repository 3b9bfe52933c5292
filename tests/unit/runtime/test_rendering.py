"""Templates: every config field is used, every used name exists, the contract's pragma stands in each program.

Definitions say what they define, and each kernel how it is launched.
"""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from conftest import PROFILES
from mako.lexer import Lexer

from clfrnn import config as configs
from clfrnn.answers.linking import cliques, numbering
from clfrnn.answers.lists.config import ListVisitConfig
from clfrnn.answers.nearest import plan as nearest
from clfrnn.answers.nearest.few_queries import FewQueriesConfig
from clfrnn.config import VisitVariant
from clfrnn.functions import Argument, ConditionCode, WalkFunction, under
from clfrnn.methods import METHODS
from clfrnn.methods.domain_tables import plan as tables
from clfrnn.methods.fenns import block_plan as blocks
from clfrnn.methods.grid import coarse_plan as coarse
from clfrnn.methods.grid.binning import config as buckets
from clfrnn.methods.tree import build_plan as trees
from clfrnn.methods.tree import walk_plan as packs
from clfrnn.methods.tree.first_bounds import FirstBoundsConfig
from clfrnn.primitives import config as primitives
from clfrnn.profile import DeviceProfile
from clfrnn.runtime import array_config as operations
from clfrnn.runtime import rendering
from clfrnn.runtime.rendering import own_function, render, template_root
from clfrnn.scanner import tokens
from clfrnn.scanner.words import why_reserved

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
    "methods/brute_force/brute_force": configs.TileConfig(
        work_group_size=64, dim=5, real="double", square_root="native", periodic=True, tile=64
    ),
    "methods/grid/uniform_grid": configs.WalkConfig(**WALK),
    "methods/grid/strips": configs.WalkConfig(**WALK),
    "methods/fenns/fenns": blocks.BlockConfig(
        **{**WALK, "layout": "records", "width": 1}, tile=256, fine=256, team=16, chunk=2048
    ),
    "methods/fenns/coarse_sort": coarse.CoarseConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=5832, batch=2, spread=4
    ),
    "methods/grid/binning/bucket_pass": buckets.BucketConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=5832, batch=2
    ),
    "methods/grid/binning/select_cells": buckets.SelectCellsConfig(
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
    "methods/grid/binning/serial_cells": buckets.SerialCellsConfig(
        work_group_size=1, dim=3, real="double", periodic=True, layout="columns"
    ),
    "methods/grid/binning/bucket_to_cells": buckets.BucketCellsConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=4096, tile=2048, layout="pairs"
    ),
    "methods/grid/binning/bucket_to_tiles": buckets.BucketCellsConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=4096, tile=2048, layout="pairs"
    ),
    "methods/grid/binning/region_pass": buckets.RegionConfig(
        work_group_size=64, dim=3, real="float", periodic=True, counters=256, batch=2
    ),
    "methods/tree/aabb_tree": packs.TreeWalkConfig(
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
    "methods/tree/build": trees.TreeConfig(
        work_group_size=64,
        dim=3,
        real="float",
        periodic=True,
        layout="columns",
        leaves=64,
        halved=1024,
        block=1024,
        packet=32,
        wide=8.0,
        alike=1.5,
        comparing=64,
        compared=4,
    ),
    "methods/tree/first_bounds": FirstBoundsConfig(
        work_group_size=32, dim=3, real="float", layout="records", beside=48
    ),
    "answers/nearest/few_queries": FewQueriesConfig(
        work_group_size=64, dim=3, real="float", square_root="native", periodic=""
    ),
    "answers/nearest/row_means": configs.PointConfig(work_group_size=64, dim=1, real="float"),
    "answers/each_row": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "answers/grid_nodes": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "answers/lists/visit": ListVisitConfig(
        work_group_size=64,
        dim=3,
        real="float",
        square_root="native",
        periodic="box",
        offset="int",
        stored=True,
    ),
    "primitives/moved": primitives.MovedConfig(work_group_size=64, dim=3, real="float", periodic="cell", wraps=True),
    "primitives/column_sums": primitives.ColumnSumsConfig(work_group_size=64, weighted=True),
    "answers/voxels": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "answers/voxel_keys": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "answers/groups": configs.PointConfig(work_group_size=64, dim=4, real="float"),
    "answers/coincident": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "answers/linking/cliques": cliques.CliqueConfig(
        work_group_size=64, dim=3, real="float", periodic="box", layout="pairs", longest=256, read="links[k]"
    ),
    "answers/linking/core_points": cliques.CliqueWalkConfig(
        work_group_size=64, dim=3, real="float", periodic="box", layout="columns"
    ),
    "answers/linking/labels": numbering.LabelConfig(work_group_size=64, read="links[k]"),
    "runtime/array_operation": operations.OperationConfig(
        work_group_size=64,
        operation="add",
        element="int",
        wide="ulong",
        out="int",
        x_array=True,
        y_array=False,
        truth=False,
    ),
    "runtime/array_reduction": operations.ReductionConfig(
        work_group_size=64, reduction="min", element="float", total="float", items=128
    ),
    "runtime/edges": operations.RowsConfig(work_group_size=64, offset="int"),
    "runtime/padded": operations.RowsConfig(work_group_size=64, offset="int"),
    "primitives/fill": configs.KernelConfig(work_group_size=64),
    "primitives/unpack_bytes": primitives.UnpackBytesConfig(work_group_size=64, items=4),
    "primitives/unpack_pairs": primitives.UnpackPairsConfig(work_group_size=64, items=8, word="int"),
    "primitives/permute_rows": primitives.PermuteRowsConfig(work_group_size=64, word="uint"),
    "methods/domain_tables/periodic_images": tables.ImagesConfig(
        work_group_size=1, dim=3, real="float", periodic="cell", placing_group=64
    ),
    "answers/nearest/rounds": nearest.RowConfig(work_group_size=64, dim=3, real="float", periodic="cell"),
    "primitives/gather": configs.PointConfig(work_group_size=64, dim=3, real="float"),
    "primitives/reduce": primitives.ReduceConfig(work_group_size=64, dim=3, real="float"),
    "methods/first_pass/buffer_to_rows": primitives.BufferToRowsConfig(
        work_group_size=64, buffer_slots=12, offset="long"
    ),
    "primitives/scan": primitives.ScanConfig(
        work_group_size=64, items=8, buffer_slots=12, total="long", out="int", through_local=True
    ),
    "primitives/radix_sort": primitives.SortConfig(work_group_size=64, items=8, digit_bits=4, key="uint", held=True),
    "primitives/row_sort": primitives.RowSortConfig(
        work_group_size=64, tile=512, dim=3, real="float", square_root="integer", **ROWS
    ),
    "primitives/pair_geometry": primitives.PairConfig(
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
    for stem in ("methods/grid/uniform_grid", "methods/grid/strips")
}
#: The walk of each method.
WALKS = (
    "methods/brute_force/brute_force",
    "methods/grid/uniform_grid",
    "methods/grid/strips",
    "methods/fenns/fenns",
    "methods/tree/aabb_tree",
)
#: The folders that the templates of a folder may include, besides their own; "" is the top.
BELOW = {
    "common": {"domain"},
    "domain": {"common"},
    "methods": {"common", "domain", "methods/first_pass", "answers/nearest"},
    "methods/first_pass": {"common", "methods"},
    "methods/domain_tables": {"common", "domain"},
    "methods/brute_force": {"common", "domain", "methods"},
    "methods/grid": {"common", "domain", "methods", "methods/first_pass", "methods/grid/binning", "answers/nearest"},
    "methods/grid/binning": {"common", "domain", "methods", "methods/grid"},
    "methods/fenns": {"common", "domain", "methods", "methods/grid", "methods/grid/binning"},
    "methods/tree": {"common", "domain", "methods", "primitives"},
    "answers/nearest": {"common", "domain", "methods"},
    "answers/linking": {"common", "domain", "methods", "methods/grid"},
    "answers/lists": {"common", "domain", "methods"},
    "primitives": {"common", "domain", "methods/first_pass"},
    "runtime": {"common"},
    "answers": {"common", "methods"},
}
#: Words that nobody outside knows.
RETIRED = (
    "stash(ed|es)?|marks?|marked|handover|handed|gifts?|pick(s|ed)?|rooms|kept|seams?|homeless|in_turn|(?<!/)answers?(?!/)|ask(s|ed)?|watch|told"
    "|put by|so many|home|away|carried|lay_down|take_up"
)
FUNCTION = WalkFunction(
    preamble="int mine;", arguments="global int *counts", state="int c;", per_neighbor="++c;", finish="counts[i] = c;"
)
COUNT = WalkFunction(arguments="global int *counts", state="int c = 0;", per_neighbor="++c;", finish="counts[i] = c;")


TEMPLATES = sorted(path.relative_to(template_root()).as_posix() for path in template_root().rglob("*.mako"))
DEFINITIONS = [name for name in TEMPLATES if not name.endswith(".cl.mako")]


def text(name):
    return (template_root() / name).read_text()


def included(name):
    return set(re.findall(r'file="/([\w/.]+)"', text(name)))


def reach(name):
    """The template and all that it includes."""
    found, front = set(), {name}
    while front:
        found |= front
        front = set().union(*map(included, front)) - found
    return found


def folder(name):
    return name.rpartition("/")[0]


def render_all(stem, config):
    functions = [COUNT] if stem in WALKS or stem in ("answers/lists/visit", "answers/each_row") else [None]
    if stem in PLAIN:  # their programs to sort points stand in the same template
        functions = [None, COUNT]
    return [render(stem, config, function, VisitVariant()) for function in functions]


#: Text of the library's own functions, which stands in no program by itself, and what it includes.
ALONE = set().union(
    *(
        reach(f"{path}.mako")
        for path in ("methods/functions", "answers/histogram", "answers/nearest/heap", "answers/nearest/registers")
    )
)


def test_every_template_is_known():
    launched = {name.removesuffix(".cl.mako") for name in TEMPLATES if name.endswith(".cl.mako")}

    assert launched == set(CONFIGS)
    assert {stem.rpartition("/")[2] for stem in WALKS} == set(METHODS)
    assert set().union(*(reach(f"{stem}.cl.mako") for stem in launched), ALONE) == set(TEMPLATES)


@pytest.mark.parametrize("stem", sorted(CONFIGS))
def test_every_field_is_used(stem):
    sources = "\n".join(map(text, reach(f"{stem}.cl.mako")))
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
        # Voxels need the remainder of a division, which is not rounded.
        assert stem == "answers/voxel_keys" or not re.search(r"\b(fma|mad)\s*\(", source)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_include_downwards_only(name):
    assert {folder(other) for other in included(name)} <= {folder(name), *BELOW[folder(name)]}


def test_no_template_includes_itself():
    below = {name: included(name) for name in TEMPLATES}
    while free := {name for name, targets in below.items() if not targets & below.keys()}:
        below = {name: targets for name, targets in below.items() if name not in free}

    assert not below, f"includes go round among {sorted(below)}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_parse(name):
    assert Lexer(text(name)).parse() is not None
    assert len(text(name).splitlines()) < 240
    assert sum(folder(other) == folder(name) for other in TEMPLATES) <= 14


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_name_others_by_their_path(name):
    named = re.findall(r"(?<![\w.])/([a-z_]+(?:/[a-z_]+)*(?:\.cl)?\.mako)", text(name))
    assert [each for each in named if not (template_root() / each).is_file()] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_say_what_they_are(name):
    """Each namespace has the name of its file, each kernel a header, and definitions say what must be in scope."""
    for space, file in re.findall(r'<%namespace name="(\w+)" file="([^"]+)"', text(name)):
        assert Path(file).stem == space
    if name != "methods/visit.mako":  # the program around walks, whose own templates have the header
        assert text(name).count("// Launch") >= text(name).count("kernel __attribute__")
    if name in DEFINITIONS and name != "common/contract.mako":
        header = re.match(r"(##.*\n)+", text(name))[0]
        assert header.startswith("## Defines")
        assert "in scope" in header.lower()
    assert not re.search(rf"\b({RETIRED})\b", text(name), re.IGNORECASE)


@pytest.mark.parametrize("stem", WALKS)
def test_user_text_enters_as_a_value(stem):
    """Percent signs, double hashes and dollars of a user's code survive rendering."""
    hostile = "\n% if nothing\n## int gone = 1;\nint left = 7 %\n2; // ${j}\n"
    function = dataclasses.replace(COUNT, per_neighbor=hostile, preamble="#define A(x) ${x}")

    source = render(stem, CONFIGS[stem], function)

    assert source.count(hostile) == 1
    assert "#define A(x) ${x}" in source


@pytest.mark.parametrize("stem", WALKS)
@pytest.mark.parametrize("piece", ["state", "per_neighbor", "finish"])
def test_each_piece_stands_once(stem, piece):
    function = dataclasses.replace(COUNT, **{piece: "/* here */"})
    for config in (CONFIGS[stem], *PLAIN.get(stem, ())):
        assert render(stem, config, function).count("/* here */") == 1


@pytest.mark.parametrize(
    "flags", [{}, {"foreign": True, "placed": True}, {"radii": True, "part": True}, {"half": True}]
)
@pytest.mark.parametrize("periodic", ["", "box", "cell", "systems"])
@pytest.mark.parametrize("stem", WALKS)
def test_no_name_behind_code_of_users_can_be_a_macro_of_theirs(stem, periodic, flags):
    """All names of the library's text that stands behind a user's are those that a user cannot define."""
    condition = ConditionCode(
        "k[i] < w", "#define A", (Argument("k", "int", True, True), Argument("w", "real", False, True))
    )
    for config in (CONFIGS[stem], *PLAIN.get(stem, ())):
        for function in (FUNCTION, under(FUNCTION, condition)):
            source = render(stem, dataclasses.replace(config, periodic=periodic), function, VisitVariant(**flags))
            _, _, behind = source.partition('#line 1 "preamble"')
            own = re.sub(
                r'(?ms)^#line 1 "\w+"\n.*?(?=^#line \d+ "clfrnn")|^#pragma OPENCL.*?$', "", f'#line 1 "x"\n{behind}'
            )
            names = {token.text for token in tokens(own) if token.is_name and not token.directive}
            assert {name for name in names if why_reserved(name) is None} == set()
            assert "frnn_self" in names or "foreign" in flags or "half" in flags


@pytest.mark.parametrize("stem", sorted(PLAIN))
def test_macros_of_a_condition_are_gone_behind_it(stem):
    condition = ConditionCode("A < B(1)", "#define A 1\n #  define B(x) \\\n x\n#ifdef A\n#define A 2\n#endif", ())
    source = render(stem, CONFIGS[stem], under(own_function("count"), condition))

    assert re.findall(r"^#undef (\w+)$", source, re.MULTILINE) == ["A", "B"]
    assert source.index("A < B(1)") < source.index("#undef A") < source.index("frnn_visit")


@pytest.mark.parametrize("stem", sorted(PLAIN))
def test_queries_that_do_not_search_skip_the_cells(stem):
    """Where `state` lowers reach2; the text of other functions has no such test."""
    skipping = dataclasses.replace(COUNT, state="int c = 0; if (i & 1) reach2 = -1;")
    for config in (CONFIGS[stem], *PLAIN[stem]):
        for images in ("all", "in_box", "wraps_once"):
            variant = VisitVariant(images=images)
            assert "if (reach2 >= 0)" in render(stem, config, skipping, variant)
            for function in (COUNT, own_function("count")):
                assert "if (reach2 >= 0)" not in render(stem, config, function, variant)


@pytest.mark.parametrize("stem", sorted(PLAIN))
def test_work_items_vote_only_in_lockstep(stem):
    """Barriers stand in counts at the edges of a periodic box on a GPU and nowhere else; nobody returns before them."""
    step, alone = PLAIN[stem][0], CONFIGS[stem]
    count = own_function("count")
    wrapped, in_box = VisitVariant(images="wraps_once"), VisitVariant(images="in_box")

    for flags in ({}, {"part": True}, {"radii": True}, {"half": True}):
        source = render(stem, step, count, dataclasses.replace(wrapped, **flags))
        assert "return;" not in source[source.index("void frnn_visit(") : source.rindex("barrier(")]
    odd = dataclasses.replace(step, lockstep=24)
    assert "local int frnn_nests[3];" in render(stem, odd, count, wrapped), "of 64 work-items, 16 are left over"
    for config, function, variant in ((alone, count, wrapped), (step, COUNT, wrapped), (step, count, in_box)):
        assert "barrier(" not in render(stem, config, function, variant)


def test_a_bound_on_registers_stands_instead_of_the_size_of_groups():
    profile = DeviceProfile.from_dict(json.loads((PROFILES / "h200.json").read_text()))
    step = PLAIN["methods/grid/strips"][0]
    bound = dataclasses.replace(step, registers=32)

    assert "reqd_work_group_size(64, 1, 1)" in render("methods/grid/strips", step, COUNT)
    assert "reqd_work_group_size" not in render("methods/grid/strips", bound, COUNT)
    assert step.options(profile) == []
    assert bound.options(profile) == ["-cl-nv-maxrregcount=32"]


@pytest.mark.parametrize("stem", sorted(WALKS))
def test_walks_with_vectors_say_so(stem):
    """Else Intel's compiler puts work-items that diverge into one vector; other walks may gain by that."""
    for config in (CONFIGS[stem], *PLAIN.get(stem, ())):
        width = config.names()["width"]
        hint = f"__attribute__((vec_type_hint({config.real}{width})))" if width > 1 else ""
        source = render(stem, config, COUNT, VisitVariant())
        assert re.findall(r"__attribute__\(\(vec_type_hint.*", source) == [hint] * bool(hint)
    assert any(each.names()["width"] > 1 for each in (CONFIGS["methods/grid/strips"], *PLAIN["methods/grid/strips"]))


def test_variants_are_compiled_in_only_where_asked():
    plain, foreign, radii, half = (
        re.sub("//.*", "", render("methods/grid/strips", CONFIGS["methods/grid/strips"], COUNT, VisitVariant(**flags)))
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
