"""A forked child whose parent has used OpenCL: every call raises at once; without that, most never come back."""

import os
import subprocess
import sys
import textwrap

import pytest

import clfrnn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")

#: What a parent does first, and what it holds then.
HOLDING = """
    points = np.random.default_rng(0).random((300, 3), dtype=np.float32)
    index = clfrnn.build_index(points, 0.1, method="strips")
    held, hinted, blocks = index.query(distances=True), index.query(hint=10_000), index.query_blocks(max_bytes=2000)
    counts, nearest = index.count(), index.nearest()
    copied = index.query()
    copied.to_host()
    session = index.session
    function = clfrnn.NeighborFunction(per_neighbor="")
    model = clfrnn.models.Circles(50, 5)
"""
TOUCHES = {
    "devices": "clfrnn.devices()",
    "session": "session = clfrnn.Session()",
    "default": "clfrnn.default_session()",
    "search": "clfrnn.search([[0.0, 0.0], [1.0, 0.0]], 2, method='brute_force')",
    "no_device": "try:\n    clfrnn.Session('abacus')\nexcept clfrnn.NoDeviceError:\n    pass",
    "everything": HOLDING,
}
#: What children do after any touch, and what those can do whose parent holds arrays.
CALLS = [
    "clfrnn.search([[0.0, 0.0], [1.0, 0.0]], 2)",
    "clfrnn.build_index([[0.0, 0.0], [1.0, 0.0]], 2)",
    "clfrnn.devices()",
    "clfrnn.Session()",
    "clfrnn.Session(0)",
    "clfrnn.Session('pocl')",
    "clfrnn.default_session()",
]
CALLS_ON_HELD = [
    "clfrnn.search(points, 0.1, session=session)",
    "clfrnn.search(counts.reshape(-1, 1), 0.1)",
    "clfrnn.Session(session.queue)",
    "clfrnn.Session(session.device)",
    "held.to_host()",
    "held.indices",
    "held.distances",
    "held.num_pairs",
    "held[0]",
    "list(held)",
    "held.counts",
    "held.to_coo()",
    "held.to_padded()",
    "repr(held)",
    "hinted.num_pairs",
    "hinted.to_host()",
    "next(blocks)",
    "list(blocks)",
    "counts.get()",
    "np.asarray(counts)",
    "counts == 3",
    "counts.sum()",
    "counts[0] == 3",
    "counts.__iadd__(1)",
    "counts.__setitem__(0, 1)",
    "np.sum(counts)",
    "np.asarray(nearest.distances[:5])",
    "index.query()",
    "index.query(points[:5], hint=100)",
    "index.query_blocks(max_bytes=1000)",
    "index.count()",
    "index.nearest()",
    "index.visit(function)",
    "index.update(points)",
    "index.check()",
    "index.order",
    "index.nbytes",
    "index.reorder(points)",
    "index.explain()",
    "index.kernel_source()",
    "index.empty(3, 'f4')",
    "index.zeros(3, 'f4')",
    "session.trim()",
    "model.step()",
    "model.forces()",
    "clfrnn.models.Circles(50, 5)",
]
#: What touches no device and works in a child.
HARMLESS = [
    "copied.to_host().num_pairs",
    "copied.num_points",
    "len(held)",
    "index.method, index.radius, index.num_points, index.dim, index.dtype, index.last_update, repr(index)",
    "session.profile",
    "clfrnn.NeighborFunction(per_neighbor='')",
    "clfrnn.reference.neighbors(points, 0.1)",
]

PROGRAM = """
import os, select, signal, sys
import numpy as np, clfrnn, clfrnn.models, clfrnn.reference
{touch}
names = globals()
for call in {calls!r}:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            eval(call, names)
            said = "nothing"
        except clfrnn.ClfrnnError as error:
            said = str(error)
        except BaseException as error:
            said = type(error).__name__ + ": " + str(error)
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    heard = os.read(ours, 2000).decode() if select.select([ours], [], [], 30)[0] else "HANGS"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ours)
    print(call, heard, sep=" | ")
"""


def run(touch, calls):
    """What each call came to in a child of its own, in words. The parent is a process of its own, too."""
    program = PROGRAM.format(touch=textwrap.dedent(touch), calls=calls)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    found = [line.split(" | ") for line in done.stdout.splitlines() if " | " in line]
    assert [call for call, _ in found] == calls
    return dict(found)


@pytest.mark.parametrize("touch", TOUCHES)
def test_every_call_raises_at_once(touch):
    found = run(TOUCHES[touch], CALLS + (CALLS_ON_HELD if touch == "everything" else []))

    for call, said in found.items():
        assert "used OpenCL before a fork" in said, call
        assert "'spawn' or 'forkserver'" in said, call


def test_what_needs_no_device_works():
    for call, said in run(HOLDING, HARMLESS).items():
        assert said == "nothing", call


def test_a_child_of_a_parent_that_has_used_nothing_works():
    code = "clfrnn.search([[0.0, 0.0], [1.0, 0.0]], 2, method='brute_force').to_host()"

    for said in run("", [code, "clfrnn.devices()"]).values():
        assert said == "nothing"


def test_the_lock_of_another_thread_is_not_waited_for():
    """A thread of the parent holds it during the fork, and nobody releases it in the child."""
    touch = """
        import threading
        session = clfrnn.Session()
        threading.Thread(target=lambda: session.lock.__enter__()).start()
    """

    (said,) = run(touch, ["clfrnn.search([[0.0]], 1, session=session)"]).values()

    assert "used OpenCL before a fork" in said


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_children_that_are_not_forked_work(how, tmp_path):
    program = f"""
        import multiprocessing, clfrnn
        def work(side):
            return clfrnn.search([[0.0, 0.0], [side, 0.0]], 2, method="brute_force").num_pairs
        if __name__ == "__main__":
            assert work(1.0) == 2
            with multiprocessing.get_context("{how}").Pool(1) as pool:
                print(pool.map(work, [1.0, 3.0]))
    """
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(program))

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)

    assert done.stdout == "[2, 0]\n", done.stderr


def test_the_message_says_what_to_do(monkeypatch):
    from clfrnn.host import process

    monkeypatch.setattr(process, "_first_user", [-1])
    with pytest.raises(clfrnn.ClfrnnError, match=r"multiprocessing.get_context\('spawn'\)"):
        process.check_process()
