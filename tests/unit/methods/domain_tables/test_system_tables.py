"""What the device knows of many systems stays what it is when points move."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import structure_of

import clfrnn
from clfrnn.methods import METHODS

BATCH = np.arange(60) % 3


def cloud(seed):
    return np.random.default_rng(seed).random((60, 3), np.float32)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_new_points_have_new_tables(session, method):
    index = clfrnn.build_index(cloud(1), 0.3, batch=BATCH, box=np.ones(3), method=method, session=session)
    before = structure_of(index).images
    assert before.tables.holds((), ())
    index.update(cloud(1) * np.float32(5))
    after = structure_of(index).images
    assert after.tables is not before.tables
    assert before.tables.holds((), ())
    assert not after.tables.holds((), ())
    assert after.tables.domain is before.tables.domain
    assert after.tables.ranks is before.tables.ranks


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_update_that_is_refused_leaves_the_tables(session, method):
    index = clfrnn.build_index(cloud(1), 0.3, batch=BATCH, box=np.ones(3), method=method, session=session)
    before, counts = structure_of(index).images, index.count().get()
    far = cloud(1)
    far[7] = 1e9
    with pytest.raises(clfrnn.InvalidInputError, match="system 1"):
        index.update(far)
    assert structure_of(index).images == before
    assert np.array_equal(index.count().get(), counts)


@pytest.mark.parametrize("kind", ["open", "box"])
def test_an_update_reads_one_number_while_the_layout_stays(session, calls_of, kind, dtype):
    """Points that leave it, that are not finite or that lie too far out are looked at by the host."""
    points, given = cloud(1).astype(dtype), {"box": np.ones(3)} if kind == "box" else {}
    index = clfrnn.build_index(points, 0.3, batch=BATCH, session=session, **given)
    held = points * dtype.type(0.999)
    bad, away, far = held.copy(), held + dtype.type(7), held.copy()
    bad[7] = np.nan
    far[7] = np.finfo(dtype).max / 2**10
    uploads = calls_of(clfrnn.Session, "upload")
    assert index.nbytes["systems"] > 0
    assert not uploads, "a report needs no memory"
    index.update(cla.to_device(session.queue, held))  # now the layout has margins
    read = calls_of(clfrnn.Session, "read")
    for moved, stays in ((held, True), (bad, False), (held, False), (held, True), (away, False)):
        before, many = structure_of(index).images.tables, len(read)
        index.update(cla.to_device(session.queue, moved))
        after = structure_of(index).images.tables
        sizes = [array.size for _, array in read[many:]]
        assert (after is before) == (sizes == [1]) == stays
    with pytest.raises(clfrnn.InvalidInputError, match="row 7"):
        index.check()
    with pytest.raises(clfrnn.InvalidInputError, match="system 1"):
        index.update(cla.to_device(session.queue, far))
