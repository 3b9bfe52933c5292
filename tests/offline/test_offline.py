"""The walks that are planned for GPUs that are not there are compiled, and held against the plans and a table."""

import json

import offline_compiler as offline
import pytest
from conftest import RECORDED

from clfrnn.methods.fenns import block_plan as fenns
from clfrnn.methods.tree import walk_plan as tree_traversal

TABLE = json.loads(offline.TABLE.read_text(encoding="utf-8"))
DEVICES = offline.amd_profiles()

needs_clang = pytest.mark.skipif(bool(offline.why_not()), reason=offline.why_not() or "clang-19 is here")

#: Registers that a work-item may have before they are spilled, on all of these devices.
MOST_REGISTERS = 256


def planned_local_memory(config):
    """Bytes that the plan counts on, which kernels may undercut where the compiler finds arrays unused."""
    if isinstance(config, fenns.BlockConfig):
        return fenns.block_memory(config) if config.tile else 0
    if isinstance(config, tree_traversal.TreeWalkConfig):
        return config.local_memory if config.packed else 0
    return 0


def test_the_table_has_every_walk_of_every_device():
    assert set(TABLE["devices"]) == set(DEVICES)
    assert len(DEVICES) >= 5
    for walks in TABLE["devices"].values():
        assert list(walks) == list(offline.WALKS)


@pytest.mark.parametrize("walk", offline.WALKS)
@pytest.mark.parametrize("name", DEVICES)
def test_plans_are_those_of_the_table_and_fit_the_device(name, walk):
    """No compiler is needed: what it said must still be of the plan of today."""
    said, profile = TABLE["devices"][name][walk], DEVICES[name]
    config, _ = offline.planned_walk(walk, profile)
    again = "plans have changed: python tests/offline/offline_compiler.py"
    assert said["work-group"] == config.work_group_size, again
    most = planned_local_memory(config)
    # The compiler aligns arrays, which plans leave a margin for, and finds some that no code reads.
    assert most * 0.9 <= said["local memory"] <= most + 64, again
    assert most <= profile.usable_local_memory
    assert said["wavefront"] == profile.simd_width
    assert said["work-group"] % said["wavefront"] == 0, "lanes are idle"
    assert said["registers"] <= MOST_REGISTERS
    assert (said["spilled"], said["private memory"]) == (0, 0)
    assert said["waves"] >= 1


@needs_clang
def test_the_compiler_says_what_the_table_says():
    """To the number where it is the same compiler; a newer one must not spill either."""
    made = offline.make_table()
    if made["compiler"] == TABLE["compiler"]:
        assert made == TABLE, "kernels have changed: python tests/offline/offline_compiler.py"
    for name, walks in made["devices"].items():
        for walk, said in walks.items():
            assert (said["spilled"], said["private memory"]) == (0, 0), (name, walk)
            assert said["local memory"] == TABLE["devices"][name][walk]["local memory"], (name, walk)


@needs_clang
@pytest.mark.parametrize("name", ["rtx-4090", "arc-b580"])
def test_other_forms_of_code_are_written(name):
    """PTX for NVIDIA's compiler, and SPIR for Intel's."""
    sign = {"rtx-4090": ".entry frnn_visit", "arc-b580": "spir_kernel void @frnn_visit"}[name]
    for walk in offline.WALKS:
        assert sign in offline.compiles(walk, RECORDED[name]), walk
