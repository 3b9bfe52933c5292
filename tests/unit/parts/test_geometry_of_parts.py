"""The geometry of parts, in numpy alone: any split of any cloud gives the neighbors of the whole."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import assert_same, counts_of

import clfrnn
from clfrnn import clouds, reference
from clfrnn.parts import PartList, assign, join, split
from clfrnn.parts.rows import survey

RADIUS = 0.11


def edge_cloud(dim, dtype):
    """Points at the radius from each other, from multiples of it, and adjacent floats, and a stray."""
    points = clouds.edges(240, dim, dtype=dtype, seed=dim, radius=RADIUS, sides=(RADIUS,) * dim, low=-1.0)
    return np.concatenate([points, np.full((1, dim), 1e30, dtype)])


def torus_cloud(dim, dtype):
    """As :func:`edge_cloud`, moved by lengths of a box of length 1 on all axes but the last."""
    points = clouds.edges(240, dim, dtype=dtype, seed=dim, radius=RADIUS, sides=(RADIUS,) * dim)
    shifts = np.random.default_rng(1).integers(-50, 51, points.shape)
    shifts[:, -1] = 0  # an axis that repeats in some scenes alone
    return (np.concatenate([points[:120], 1 - points[120:]]) + shifts).astype(dtype)


def but_the_last(dim):
    return [*[True] * (dim - 1), False]


CELLS = {2: ((1.0, 0.0), (3.7, 0.8)), 3: ((1.0, 0.0, 0.0), (2.3, 0.9, 0.0), (-1.7, 0.6, 0.8))}

#: name -> cloud, and domain by the number of dimensions
SCENES = {
    "open": (edge_cloud, lambda dim: {}),
    "box": (torus_cloud, lambda dim: {"box": (1.0,) * dim}),
    "corners": (
        torus_cloud,
        lambda dim: {"box": ((-0.3,) * dim, (0.7,) * dim), "periodic": but_the_last(dim)},
    ),
    "thin": (torus_cloud, lambda dim: {"box": (0.15, *[1.0] * (dim - 1))}),
    "cell": (torus_cloud, lambda dim: {"cell": CELLS[dim]}),
    "slab": (torus_cloud, lambda dim: {"cell": CELLS[dim], "periodic": but_the_last(dim)}),
    "crowded": (lambda dim, dtype: clouds.clustered(240, dim, dtype=dtype, clusters=3), lambda dim: {}),
    "coincident": (lambda dim, dtype: np.ones((40, dim), dtype), lambda dim: {}),
}


def by_reference(points, radius, boxes, **domain):
    """The lists of all parts, each by numpy's pairs among its own rows."""
    for part in assign(points, boxes, radius, **domain):
        rows = part.rows
        assert len(np.unique(rows)) == len(part.owned) + len(part.halo)
        found = reference.neighbors(points[rows], radius, **domain)
        owned = np.isin(rows, part.owned)
        pairs = np.repeat(owned, counts_of(found))
        columns = {name: getattr(found, name)[pairs] for name in ("distances", "vectors", "shifts")}
        offsets = np.concatenate([[0], np.cumsum(counts_of(found)[owned])])
        arrays = {"offsets": offsets, "indices": rows[found.indices[pairs]], **columns}
        yield PartList(arrays, query_ids=part.owned, num_points=len(points), dtype=points.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("scene", SCENES)
def test_any_split_gives_the_neighbors_of_the_whole(scene, dim, dtype):
    make, domain_of = SCENES[scene]
    points, domain = make(dim, dtype), domain_of(dim)
    points = np.random.default_rng(0).permutation(points)
    expected = reference.neighbors(points, RADIUS, **domain)
    assert len(expected.indices)
    for parts in (1, 2, 5, 9, 17):
        boxes = split(points[::2], parts, **domain)
        assert_same(join(by_reference(points, RADIUS, boxes, **domain)), expected)


def test_boxes_of_a_user_need_no_order():
    points = clouds.uniform(300, 2, seed=1)
    boxes = np.random.default_rng(0).permutation(split(points, 12))
    assert_same(join(by_reference(points, RADIUS, boxes)), reference.neighbors(points, RADIUS))


def test_halos_are_no_wider_than_the_radius():
    """Beyond a rounding, each row of a halo lies within the radius of its box on each axis."""
    points = clouds.uniform(2000, 2, seed=1)
    boxes = split(points, 8)
    for part, (low, high) in zip(assign(points, boxes, 0.05), boxes, strict=True):
        halo = points[part.halo]
        assert 0 < len(halo) < len(part.owned)
        assert np.maximum(low - halo, halo - high).max() <= 0.05001


@pytest.mark.parametrize("parts", [2, 3, 7, 16])
def test_loads_are_balanced(parts):
    """Of points, of given weights, and where a stray is 10^30 away and most coordinates of an axis are equal."""
    points = clouds.clustered(4000, 3, seed=2)
    points[0], points[1:, 1] = 1e30, 0.5
    shares = np.array([len(part.owned) for part in assign(points, split(points, parts), 0.01)])
    assert shares.sum() == 4000
    assert shares.max() - shares.min() < 0.02 * 4000
    weights = np.where(points[:, 0] > 0.5, 10.0, 1.0)
    loads = [weights[part.owned].sum() for part in assign(points, split(points, parts, weights=weights), 0.01)]
    assert max(loads) < 1.1 * weights.sum() / parts


def test_samples_grow_with_the_number_of_parts():
    points = np.zeros((200_000, 1), np.float32)
    assert len(survey(points, "points").sample) == pytest.approx(1 << 16, rel=1e-3)
    assert len(survey(points, "points", parts=100).sample) == pytest.approx(100 << 10, rel=1e-3)


@pytest.mark.parametrize("many", [0, 1, 3])
def test_more_parts_than_points(many):
    points = np.arange(2.0 * many).reshape(many, 2)
    found = assign(points, split(points, 5), 0.5)
    assert len(found) == 5
    assert sorted(np.concatenate([part.owned for part in found])) == [*range(many)]
    assert not any(len(part.halo) for part in found if not len(part.owned) and not many)
    assert len(join(by_reference(points, 0.5, split(points, 5)))) == many


def test_a_radius_beyond_the_cloud_gives_every_part_the_whole():
    points = clouds.uniform(50, 3, seed=1)
    for part in assign(points, split(points, 4), 1e30):
        assert np.array_equal(part.rows, np.arange(50))


class Sliced:
    """An array that can only be read by slices, as those of Zarr and HDF5, and says how much was read at once."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.most = array, array.shape, array.dtype, 0

    def __getitem__(self, key):
        assert isinstance(key, slice)
        self.most = max(self.most, key.stop - key.start)
        return self.array[key]


def test_arrays_are_read_by_slices(tmp_path):
    points = clouds.uniform(600_000, 2, seed=1)
    np.save(tmp_path / "cloud.npy", points)
    boxes = split(points[::100], 3)
    expected = assign(points, boxes, 0.01)
    sliced = Sliced(points)
    for other in (sliced, np.load(tmp_path / "cloud.npy", mmap_mode="r")):
        for mine, theirs in zip(assign(other, boxes, 0.01), expected, strict=True):
            assert np.array_equal(mine.owned, theirs.owned)
            assert np.array_equal(mine.halo, theirs.halo)
    assert sliced.most < len(points) / 2


POINTS = np.zeros((4, 2))
BAD = np.array([[0, 0], [np.nan, 0]])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: split(POINTS, 0), "parts"),
        (lambda: split(POINTS, 1.5), "parts"),
        (lambda: split(BAD, 2), "sample"),
        (lambda: split([1.0, 2.0], 2), "sample"),
        (lambda: split(POINTS, 2, weights=[1.0]), "weights"),
        (lambda: split(POINTS, 2, weights=[1, 1, -1, 1]), "weights"),
        (lambda: split(POINTS, 2, box=(1.0,)), "box"),
        (lambda: split(POINTS, 2, box=(1.0, -1.0)), "box"),
        (lambda: split(POINTS, 2, periodic=True), "box"),
        (lambda: split(POINTS, 2, box=(1.0, 1.0), periodic=[True]), "periodic"),
        (lambda: split(POINTS, 2, cell=((1.0, 1.0), (2.0, 2.0))), "cell"),
        (lambda: split(POINTS, 2, cell=np.eye(2), box=(1, 1)), "box, cell"),
        (lambda: assign(BAD, split(POINTS, 2), 1.0), "points"),
        (lambda: assign(POINTS + 1j, split(POINTS, 2), 1.0), "points"),
        (lambda: assign(POINTS, split(POINTS, 2), -1.0), "radius"),
        (lambda: assign(POINTS, split(POINTS, 2), np.nan), "radius"),
        (lambda: assign(POINTS, np.zeros((2, 2)), 1.0), "boxes"),
        (lambda: assign(POINTS, split(POINTS, 2)[:1], 1.0), "boxes"),
        (lambda: assign(POINTS, np.concatenate([split(POINTS, 1)] * 2), 1.0), "boxes"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        call()
    assert caught.value.argument == argument
    assert ";" in str(caught.value)


def test_a_row_that_is_not_finite_is_that_of_the_whole():
    points = np.zeros((300_000, 2), np.float32)
    points[290_001, 1] = np.inf
    with pytest.raises(clfrnn.InvalidInputError, match="row 290001 with"):
        assign(points, split(POINTS, 2), 1.0)


def test_lists_of_another_search_are_not_joined():
    points = clouds.uniform(60, 2, seed=1)
    lists = list(by_reference(points, RADIUS, split(points, 3)))
    for wrong in (lists[:2], [*lists, lists[0]]):
        with pytest.raises(clfrnn.InvalidInputError) as caught:
            join(wrong)
        assert caught.value.argument == "results"


def test_split_assign_and_join_need_numpy_alone():
    code = (
        "import sys; from clfrnn.parts import assign, join, split; p = [[0.0], [1.0]]; assign(p, split(p, 2), 1.0); "
        "assert len(join([])) == 0; "
        "print(sorted({'pyopencl', 'mako'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
