"""What drivers' compilers have to say: nothing of the library's own code, and nothing on a user's terminal."""

import secrets

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.errors import KernelBuildError
from clfrnn.planning import primitives as plan
from clfrnn.planning.configs import KernelConfig
from clfrnn.runtime import program
from clfrnn.runtime.rendering import only_kernels, render

POINTS = clouds.uniform(200, 3, seed=1)

#: Compilers warn of the comparison under &. The number keeps drivers from finding the program in their caches.
SUSPICIOUS = "count += 1 & j >= 0 & (i != {});"


@pytest.fixture
def function():
    return clfrnn.NeighborFunction(
        arguments="global int *counts",
        state="int count = 0;",
        per_neighbor=SUSPICIOUS.format(-1 - secrets.randbits(30)),
        finish="counts[i] = count;",
    )


def test_warnings_are_errors_in_tests(session, function):
    """So what the library compiles in any of them has none."""
    text = f"kernel void f(int i, int j, int count) {{ {function.per_neighbor} }}"
    try:
        cl.Program(session.context, text).build(["-Werror"])
    except cl.Error:
        index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)
        with pytest.raises(KernelBuildError):
            index.visit(function, counts=cla.zeros(session.queue, len(POINTS), np.int32))
    else:
        pytest.skip("this driver knows no -Werror")


def test_nothing_is_printed_of_code_that_compilers_warn_of(session, function, capfd, monkeypatch):
    monkeypatch.setattr(program, "_WARNINGS", "-w")
    index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)
    counts = cla.zeros(session.queue, len(POINTS), np.int32)
    capfd.readouterr()

    index.visit(function, counts=counts)

    assert np.array_equal(counts.get(), index.count().get())
    assert capfd.readouterr() == ("", "")


def test_a_selection_is_the_rest_of_the_text_with_its_kernels():
    config = plan.plan_reduce(clfrnn.devices()[0], dim=3, real="float")
    source = render("primitives/reduce", config)
    names = ("bounding_box", "box_and_images", "sample_cells", "count_in_cells", "sum_samples")

    assert only_kernels(source, names) == source
    for name in names:
        alone = only_kernels(source, [name])
        assert f"void {name}(" in alone
        assert alone.count("kernel __attribute__") == 1
        assert "place_of" in alone, "a function that kernels call"
    assert only_kernels(render("primitives/fill", KernelConfig(work_group_size=8)), ["fill"]).count("kernel") == 2
