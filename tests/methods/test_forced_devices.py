"""Searches planned for other devices than the one that runs them: its profile has their limits, and pairs stay the same.

Wavefronts of 64 make packets of 64; vectors of 4, 8 and 16 are those of CPUs; more local memory has larger tiles, and
little has none.
"""

import dataclasses

import numpy as np
import pytest
from conftest import POCL, POINTS, as_gpu, assert_counts, assert_same, joined, own_session, structure_of, truth, tuned

import clfrnn
from clfrnn import clouds

N = min(700, POINTS)
CLOUD = clouds.uniform(N, 3, seed=31)

#: What plans of GPUs with wavefronts of 64 hang on.
WAVE64 = {"kind": "gpu", "fma": True, "simd_width": 64, "max_work_group_size": 256}


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
    """Counts, lists, halves, parts and radii of their own are those of the reference."""
    index = clfrnn.build_index(
        CLOUD, 0.1, method="aabb_tree", session=tuned(wide, tree={"few_queries_a_unit": N if divided else 0})
    )
    config = structure_of(index).config
    assert (config.packed, config.work_group_size, config.hit_words) == (True, 64, 2)
    assert_counts(index.count(), truth(CLOUD, 0.1))
    if divided:
        return
    radii = (np.random.default_rng(11).random(N) ** 3 * 0.1).astype(np.float32)
    assert_same(index.query(radius=radii, sort="index"), truth(CLOUD, radii))
    assert_same(joined(index.query_blocks(max_bytes=4 * N, sort="index")), truth(CLOUD, 0.1))


def test_packets_of_64_look_into_images(wide):
    domain = {"box": (1.0, 0.7, 1.0), "periodic": (True, True, False)}
    index = clfrnn.build_index(CLOUD, 0.2, method="aabb_tree", session=wide, **domain)
    assert structure_of(index).config.work_group_size == 64
    assert_counts(index.count(), truth(CLOUD, 0.2, **domain))


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("method", ["strips", "aabb_tree", "brute_force"])
def test_widths_that_a_device_does_not_have(session, method, width):
    """Plans for vectors of another width find the same pairs, on a CPU and on what counts as a GPU."""
    forced = own_session(session, simd_width=width)
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=forced)
    assert index.session.profile.simd_width == width
    assert_counts(index.count(), truth(CLOUD, 0.1))
