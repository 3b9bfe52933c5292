"""Searches planned for other devices than the one that runs them: with their limits, pairs stay the same.

Wavefronts of 64 make packets of 64; some GPUs have 4, 8 or 16 items in lockstep; more local memory has larger tiles,
and little has smaller ones.
"""

import numpy as np
import pytest
from conftest import (
    POCL,
    POINTS,
    assert_counts,
    assert_same,
    own_session,
    structure_of,
    takes_long_as_gpu,
    truth,
    tuned,
)

import clfrnn
from clfrnn import clouds

N = min(700, POINTS)
CLOUD = clouds.uniform(N, 3, seed=31)

#: What plans of GPUs with wavefronts of 64 hang on.
WAVE64 = {"kind": "gpu", "fma": True, "simd_width": 64, "max_work_group_size": 256}

#: So small that a packet of few points meets leaves in several rounds.
SMALL_LEAF = 1


def needs_group(session, size):
    if session.profile.max_work_group_size < size:
        pytest.skip(f"the device has no groups of {size}")


@pytest.fixture(scope="module")
def wide(session):
    """A session whose device has wavefronts of 64."""
    needs_group(session, 64)
    return own_session(session, **WAVE64)


@pytest.mark.parametrize("divided", [False, True], ids=["alone", "shared out"])
def test_packets_of_64(wide, divided):
    """Counts, and lists with radii of their own, are those of the reference."""
    session = tuned(wide, tree={"few_queries_a_unit": N if divided else 0})
    index = clfrnn.build_index(CLOUD, 0.1, method="aabb_tree", session=session, leaf_size=SMALL_LEAF)
    config = structure_of(index).config
    assert (config.packed, config.work_group_size, config.hit_words) == (True, 64, 2)
    assert_counts(index.count(), truth(CLOUD, 0.1))
    if divided:
        return
    radii = (np.random.default_rng(11).random(N) ** 3 * 0.1).astype(np.float32)
    assert_same(index.query(radius=radii, sort="index"), truth(CLOUD, radii))


def test_packets_of_64_look_into_images(wide):
    domain = {"box": (1.0, 0.7, 1.0), "periodic": (True, True, False)}
    index = clfrnn.build_index(CLOUD, 0.2, method="aabb_tree", session=wide, leaf_size=SMALL_LEAF, **domain)
    assert structure_of(index).config.work_group_size == 64
    assert_counts(index.count(), truth(CLOUD, 0.2, **domain))


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_widths_that_a_device_does_not_have(session, kind, width):
    """Plans for so many items in lockstep find the same pairs; a GPU's have other code for each."""
    forced = own_session(session, kind=kind, simd_width=width)
    index = clfrnn.build_index(CLOUD, 0.1, method="strips", session=forced)
    assert index.session.profile.simd_width == width
    assert_counts(index.count(), truth(CLOUD, 0.1))


@pytest.mark.parametrize("method", ["strips", "fenns", "aabb_tree"])
def test_16_kib_of_local_memory(session, method):
    """Tiles, packets and the cells that are counted shrink; .ci/run lets Oclgrind enforce it."""
    if session.profile.platform == POCL:
        pytest.skip("PoCL does not check what kernels declare; Oclgrind and other drivers do")
    needs_group(session, 64)
    little = own_session(session, kind="gpu", fma=True, local_memory=16 << 10, local_reserve=0, max_work_group_size=64)
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=little)
    assert_counts(index.count(), truth(CLOUD, 0.1))


def test_tiles_larger_than_those_of_48_kib(session):
    """Blocks of more candidates than the tiles for that hold, in groups of eight, so that few points are enough."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("it is compiled for a minute, and other drivers have it")
    needs_group(session, 8)
    facts = {"max_work_group_size": 8, "local_memory": 32 << 10, "local_reserve": 0, "loop_turns": None}
    roomy = tuned(own_session(session, kind="gpu", fma=True, **facts), fenns={"widest_group": 8, "least_tile": 8})
    points = clouds.uniform(min(160, POINTS), 3, seed=32)
    index = clfrnn.build_index(points, 0.4, method="fenns", session=roomy)
    config = structure_of(index).config
    assert config.tile > config.work_group_size * roomy.tuning.fenns.tile_points_of_item[-1]
    assert_counts(index.count(), truth(points, 0.4))
