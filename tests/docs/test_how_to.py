"""How to add a method: the method of the page is added and held to the contract."""

import shutil
import sys
import types

import numpy as np
import pyopencl.array as cla
import pytest
from pages import DOCS, blocks, run

import clfrnn
from clfrnn import clouds, reference
from clfrnn.methods import METHODS
from clfrnn.runtime import rendering

METHOD = DOCS / "contribute/how-to-add-a-method.md"

pytestmark = pytest.mark.skipif(not METHOD.is_file(), reason="runs in a checkout")


@pytest.fixture
def sweep(monkeypatch, tmp_path):
    """The page's method among the others, for one test."""
    code, (template,) = blocks(METHOD, "python")[0], blocks(METHOD, "mako")
    root = tmp_path / "templates"
    shutil.copytree(rendering.template_root(), root)
    (root / "sweep.cl.mako").write_text(template, encoding="utf-8")
    monkeypatch.setattr(rendering, "template_root", lambda: root)
    module = types.ModuleType("clfrnn.methods.sweep")
    module.__package__ = "clfrnn.methods"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, "sweep.py", "exec"), vars(module))
    monkeypatch.setitem(METHODS, "sweep", module.Sweep())
    return module


def assert_same(found, expected):
    found = found.to_host()
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.distances, expected.distances)
    assert expected.indices.size


ASKED = {
    "plain": {},
    "half": {"half": True},
    "self": {"include_self": True},
    "periodic": {"box": (1.0, 0.9, 1.1), "periodic": True},
    "one axis": {"box": (1.0, 0.9, 1.1), "periodic": [True, False, False]},
}


@pytest.mark.parametrize("asked", sorted(ASKED))
def test_the_method_of_the_page_is_exact(session, sweep, dtype, asked):
    points = clouds.uniform(400, 3, dtype=dtype, seed=1)
    points[:60] = points[60:120]  # coincident ones
    kind = ASKED[asked]

    found = clfrnn.search(points, 0.17, method="sweep", session=session, sort="index", distances=True, **kind)

    assert_same(found, reference.neighbors(points, 0.17, **kind))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_it_serves_queries_of_their_own_and_radii(session, sweep, dim, dtype):
    points, queries = (clouds.uniform(n, dim, dtype=dtype, seed=n) for n in (300, 77))
    radii = np.linspace(0, 0.4, 77).astype(dtype)

    found = clfrnn.search(points, radii, queries=queries, method="sweep", session=session, sort="index", distances=True)

    assert_same(found, reference.neighbors(points, radii, queries=queries))


def test_it_keeps_pairs_at_the_edges_of_windows(session, sweep, dtype):
    radius = 0.75116706
    sides = (float(dtype.type(radius)),) * 3
    points = clouds.edges(1_000, 3, dtype=dtype, seed=3, radius=radius, sides=sides, low=-1.0)

    found = clfrnn.search(points, radius, method="sweep", session=session, sort="index", distances=True)

    assert_same(found, reference.neighbors(points, radius))


def test_it_is_an_index_like_the_others(session, sweep):
    points = clouds.uniform(500, 2, seed=4)
    index = clfrnn.build_index(points, 0.1, method="sweep", session=session)
    moved = points[::-1] + np.float32(0.01)
    index.update(moved)
    expected = reference.neighbors(moved, 0.1)
    function = clfrnn.NeighborFunction(
        arguments="global int *sums", state="int sum = 0;", per_neighbor="sum += j;", finish="sums[i] = sum;"
    )
    sums = cla.zeros(session.queue, 500, np.int32)

    index.visit(function, sums=sums)

    assert_same(index.query(sort="index", distances=True), expected)
    rows = np.repeat(np.arange(500), np.diff(expected.offsets))
    assert np.array_equal(sums.get(), np.bincount(rows, expected.indices, minlength=500))
    assert np.array_equal(np.sort(index.order.get()), np.arange(500))
    assert (np.diff(moved[index.order.get(), 0]) >= 0).all()
    assert "sorted by the first coordinate" in index.explain()
    first = slice(0, expected.offsets[1])
    assert index.nearest().indices.get()[0] == expected.indices[first][np.argmin(expected.distances[first])]


def test_what_the_page_of_methods_prints(sweep):
    run([(language, text) for language, text in blocks(METHOD) if language != "mako"][1:], {}, METHOD.name)


def test_every_config_field_is_a_name_of_the_template(sweep):
    config = sweep.SweepConfig(work_group_size=64, dim=3, real="double", square_root="native", periodic="box")
    source = rendering.render("sweep", config, None)

    assert "ulong" in source
    assert "kernel" in source
    assert "FP_CONTRACT OFF" in source
