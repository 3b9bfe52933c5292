"""Figure 9 of the AABB paper: volumes are those of leaves, and an order that is made anew keeps them small."""

import importlib

import numpy as np
import pytest

import clfrnn

pytest.importorskip("asv_benches.papers.coherent_aabb", reason="benchmarks come with a checkout")
growth, paper, steps = (
    importlib.import_module(f"asv_benches.papers.{name}")
    for name in ("coherent_aabb.growth", "paper", "coherent_aabb.steps")
)


def test_volumes_are_those_of_the_boxes_around_leaves():
    points = np.zeros((2 * growth.LEAF + 3, 3), np.float32)
    points[::2] = (1, 2, 0)  # flat, and counted as thick as the least side
    points[growth.LEAF :: 2] *= 3
    order = np.arange(len(points))[::-1]
    expected = [1 * 2 * 0.5, 3 * 6 * 0.5]
    assert sorted(growth.volumes(points[::-1], order, 8.0)) == pytest.approx(expected)


def test_boxes_grow_and_an_order_is_made_anew(session, monkeypatch):
    monkeypatch.setattr(growth, "LEAF", 4)
    monkeypatch.setitem(growth.WALKS, "tiny", growth.Walk(n=300, steps=6, reach=0.1, radius=0.05, stride=3))
    fall, case = growth.plan("tiny")
    numbers = growth.measure(session, case)
    assert numbers["growth 3"] > numbers["median 3"] > 1
    assert numbers["fitted, rebuilt"] == 0 < numbers["renewed, rebuilt"]
    fallen = growth.measure(session, fall)
    assert fallen["growth 4"] > max(1, fallen["median 4"])
    assert fallen["moved"] > 0
    plan = [fall, case]
    results = paper.Results(scale="tiny", plan=plan, numbers={fall: fallen, case: numbers}, failures={})
    simulated, section = growth.sections(results)
    assert [row[0] for row in simulated.tables[0].rows] == ["2", "4"]
    assert not any(paper.NOTHING in row for row in simulated.tables[0].rows)
    assert [row[0] for row in section.tables[0].rows] == ["3", "6"]
    assert not any(paper.NOTHING in row for row in section.tables[0].rows)
    points = growth.cube(60)
    index = clfrnn.build_index(points, 0.3, method="aabb_tree", session=session)
    growth._compare(session, index, points, 0.3)
    with pytest.raises(steps.DisagreementError, match="other counts than those of strips"):
        growth._compare(session, index, points, 0.35)
