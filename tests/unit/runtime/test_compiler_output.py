"""What drivers' compilers have to say: nothing of the library's own code, and nothing on a user's terminal."""

import re
import secrets
import warnings

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.errors import KernelBuildError
from clfrnn.runtime import program

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


def test_warnings_are_errors_in_tests(session, function, capfd):
    """So what the library compiles in any of them has none."""
    text = f"kernel void f(int i, int j, int count) {{ {function.per_neighbor} }}"
    try:
        cl.Program(session.context, text).build(["-Werror"])
    except cl.Error:
        index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)
        with pytest.raises(KernelBuildError):
            index.visit(function, counts=cla.zeros(session.queue, len(POINTS), np.int32))
    else:
        pytest.skip("this driver heeds no -Werror")
    capfd.readouterr()  # what a driver says of programs that are not clfrnn's


def test_nothing_is_printed_of_code_that_compilers_warn_of(session, function, capfd, monkeypatch):
    monkeypatch.setattr(program, "_WARNINGS", "-w")
    if session.profile.kind == "other":
        pytest.skip("Oclgrind heeds no options about warnings")
    index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)
    counts = cla.zeros(session.queue, len(POINTS), np.int32)
    capfd.readouterr()

    index.visit(function, counts=counts)

    assert np.array_equal(counts.get(), index.count().get())
    printed = capfd.readouterr()
    assert not printed.out
    assert not re.search("generated|precedence", printed.err), "Mesa writes of its own"


def test_what_compilers_say_is_shown_on_request(session, function, monkeypatch, capfd):
    monkeypatch.setattr(program, "_WARNINGS", "-w")
    monkeypatch.setenv("PYOPENCL_COMPILER_OUTPUT", "1")
    text = f"kernel void f(int i, int j, int count) {{ {function.per_neighbor} }}"
    built = cl.Program(session.context, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        built.build()
    if "precedence" not in built.get_build_info(session.device, cl.program_build_info.LOG):
        pytest.skip("this driver's compiler says nothing")
    index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)

    with pytest.warns(cl.CompilerWarning, match="precedence"):
        index.visit(function, counts=cla.zeros(session.queue, len(POINTS), np.int32))
    capfd.readouterr()  # some compilers write there, too


def test_nothing_is_printed_of_code_that_compilers_refuse(session, capfd):
    """They count errors on standard error; the errors themselves are raised."""
    index = clfrnn.build_index(POINTS, 0.2, method="strips", session=session)
    wrong = clfrnn.NeighborFunction(per_neighbor=f"nowhere{secrets.randbits(30)} = j;")
    capfd.readouterr()

    with pytest.raises(KernelBuildError, match="nowhere"):
        index.visit(wrong)
    with pytest.raises(KernelBuildError, match="nowhere"):
        index.query(where=clfrnn.Condition(f"nowhere{secrets.randbits(30)} > j"))

    assert capfd.readouterr() == ("", "")
