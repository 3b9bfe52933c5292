"""mpi_parts.py, the example over MPI: three processes put together the list of one."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from pages import DOCS

import clfrnn

EXAMPLE = DOCS / "examples" / "mpi_parts.py"

#: What Open MPI wants to be told in a container, where users are root, and on machines of few cores.
ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

pytestmark = pytest.mark.skipif(not EXAMPLE.is_file(), reason="runs in a checkout")


def test_the_example_is_short():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.long
def test_three_processes_make_the_list_of_one(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if shutil.which("mpiexec") is None:
        pytest.skip("there is no mpiexec")
    done = subprocess.run(
        ["mpiexec", "-n", "3", sys.executable, EXAMPLE],
        cwd=tmp_path,
        env={**os.environ, **ANYWHERE},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {f"process {rank}:" in done.stdout for rank in range(3)} == {True}
    cloud = np.random.default_rng(0).random((30_000, 3), dtype=np.float32)
    expected = clfrnn.search(cloud, 0.05, sort="index", to_host=True)
    found = np.load(tmp_path / "neighbors.npz")
    assert np.array_equal(found["offsets"], expected.offsets)
    assert np.array_equal(found["indices"], expected.indices)
