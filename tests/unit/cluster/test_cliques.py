"""Clusters of points that crowd, which are linked clique by clique, against numpy's pairs."""

import itertools

import numpy as np
import pyopencl.array as cla
import pytest
from cluster_reference import assert_clusters, twin
from conftest import POINTS, RECORDED, as_gpu, launched, takes_long_as_gpu, truth, tuned, with_tuning

import clfrnn
from clfrnn import clouds
from clfrnn.answers.linking.cliques import Cliques
from clfrnn.cluster import dbscan, friends_of_friends
from clfrnn.domain.box import open_space
from clfrnn.methods import METHODS
from clfrnn.methods.grid.clique_cells import has_clique_cells, with_clique_cells
from clfrnn.methods.grid.strips import Strips
from clfrnn.problem import Problem
from clfrnn.survey import Survey

SIZE = min(POINTS, 600)


@pytest.fixture
def crowded(session):
    """A session that takes every cloud for a crowd, with cliques that large cells are divided into."""
    if session.profile.loop_turns is not None:
        pytest.skip("the driver bounds loops, and points are linked by visits")
    return tuned(session, linking={"least_others": (0.0, 0.0), "longest_clique": 7})


def halos(dim):
    """Halos of many widths, before few even points."""
    draw = np.random.default_rng(1)
    widths, which = 10.0 ** draw.uniform(-4, -1, 6), draw.integers(6, size=SIZE)
    points = draw.random((6, dim))[which] + widths[which, None] * draw.standard_normal((SIZE, dim))
    points[: SIZE // 4] = draw.random((SIZE // 4, dim))
    return points


def specks(dim):
    """Two specks whose points are about 0.1 apart, so that boxes around them decide about nothing."""
    points = 0.01 * np.random.default_rng(2).random((SIZE, dim))
    points[SIZE // 2 :, 0] += 0.1
    return points


def shared_places(dim):
    """Three places of many points each, and even points."""
    points = np.random.default_rng(3).random((SIZE, dim))
    points[: SIZE // 2] = points[np.arange(SIZE // 2) % 3]
    return points


def strayed(dim):
    points = halos(dim)
    points[5] = 1e5
    return points


def exact_steps(dim):
    """A lattice whose steps are the radius, with twenty points at some nodes."""
    draw = np.random.default_rng(4)
    points = draw.integers(0, 9, (SIZE, dim)) * 0.125
    points[::20] = points[0]
    return points


def cell_edges(dim):
    """Numbers beside the edges of cells."""
    draw = np.random.default_rng(5)
    points = (draw.integers(0, 30, (SIZE, dim)) * (0.1 / 3)).astype(np.float32)
    return np.nextafter(points, np.where(draw.random((SIZE, dim)) < 0.5, -np.inf, np.inf).astype(np.float32))


CLOUDS = {
    each.__name__: (each, radius)
    for each, radius in (
        (halos, 0.05),
        (specks, 0.1),
        (shared_places, 0.1),
        (strayed, 0.1),
        (exact_steps, 0.125),
        (cell_edges, 0.1),
    )
}


def check(points, radius, *, session, least=(1, 3, 25), **given):
    """Both searches against the twin, and that they launched no visit."""
    domain = {name: given[name] for name in ("box", "periodic") if name in given}
    for min_samples in least:
        names, found = launched(session, lambda k=min_samples: dbscan(points, radius, k, session=session, **given))
        assert_clusters(found, twin(points, radius, min_samples, **domain))
        assert "link_cliques" in names
        assert "frnn_visit" not in names
    found = friends_of_friends(points, radius, session=session, **given)
    assert_clusters(found, twin(points, radius, 1, **domain))
    return found


@pytest.mark.core
@pytest.mark.parametrize("cloud", sorted(CLOUDS))
def test_every_crowd(crowded, cloud, dim, dtype):
    make, radius = CLOUDS[cloud]
    check(make(dim).astype(dtype), radius, session=crowded)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("away", [1e12, float(np.finfo(np.float32).max)])
def test_strays_so_far_away_that_cells_are_wide(crowded, away):
    points = halos(3).astype(np.float32)
    points[5] = away
    assert_clusters(dbscan(points, 0.05, 3, session=crowded), twin(points, 0.05, 3))
    assert_clusters(friends_of_friends(points, 0.05, session=crowded), twin(points, 0.05, 1))


def test_points_on_a_line(crowded, dtype):
    """They are searched in the plane; squared distances are those on the line."""
    for make, radius in CLOUDS.values():
        points = make(2)[:, :1].astype(dtype)
        check(points, radius / 10, session=crowded, least=(3,))
    found = dbscan(cla.to_device(crowded.queue, points), radius / 10, 3)
    assert_clusters(found, twin(points, radius / 10, 3))
    points[9] = np.nan
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected finite numbers, got NaN or inf in row 9"):
        dbscan(cla.to_device(crowded.queue, points), radius, 3)


@pytest.mark.parametrize("domain", ["box", "slab", "short"])
@pytest.mark.parametrize("cloud", ["halos", "shared_places", "exact_steps", "cell_edges"])
def test_crowds_across_edges_of_a_box(crowded, cloud, domain, dim):
    """Clusters go on behind the edges, also in a box that is shorter than the radius."""
    make, radius = CLOUDS[cloud]
    points = make(dim) - make(dim)[0]  # a crowd lies at the corner
    lengths = np.full(dim, 1.0)
    if domain == "short":
        lengths[0], points[:, 0] = 0.75 * radius, points[:, 0] * radius
    points = (points % lengths).astype(np.float32)
    points[points == lengths.astype(np.float32)] = 0
    given = {"box": tuple(lengths), **({"periodic": (False,) + (True,) * (dim - 1)} if domain == "slab" else {})}
    found = check(points, radius, session=crowded, **given)
    if cloud == "halos" and domain != "short" and SIZE >= 500:
        assert found.num_clusters < friends_of_friends(points, radius, session=crowded).num_clusters


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
@pytest.mark.parametrize("options", [{}, {"bin_width": 0.5}, {"construction": "sort"}], ids=str)
def test_methods_that_have_cells(crowded, method, options):
    check(halos(3).astype(np.float32), 0.05, session=crowded, method=method, **options)


@pytest.mark.long
@pytest.mark.oclgrind_expected  # a GPU reads links while others change them, see clfrnn/answers/linking/unions.py
@pytest.mark.parametrize("box", [None, (1.0, 1.0, 1.0)], ids=["open", "box"])
def test_as_on_a_gpu(crowded, box):
    if takes_long_as_gpu(crowded, "strips"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    session = tuned(as_gpu(crowded), linking={"least_others": (0.0, 0.0), "longest_clique": 7})
    check((halos(3) % 1).astype(np.float32), 0.05, session=session, least=(3,), **({} if box is None else {"box": box}))


def test_cliques_are_neighbors_in_one_cell(crowded):
    """They are runs of places that cover all points; no two points of one are farther apart than the radius."""
    for make, radius in CLOUDS.values():
        points = make(2).astype(np.float32)
        index = clfrnn.build_index(points, radius, method="strips", bin_width=0.6, session=crowded)
        structure = index._traversal.structure
        members = crowded.read(Cliques(structure)._members)
        first = np.flatnonzero(members)
        assert np.array_equal(np.append(first, len(points)), np.append(0, np.cumsum(members[first])))
        assert members.max() in range(1, 8)
        order = structure.order().get()
        expected = truth(points, radius)
        near = set(zip(np.repeat(np.arange(len(points)), np.diff(expected.offsets)), expected.indices, strict=True))
        for t in first:
            assert near.issuperset(itertools.permutations(order[t : t + members[t]], 2))


def test_where_points_do_not_crowd_they_are_visited(session):
    even, crowd = clouds.uniform(20_000, 3, seed=6), clouds.uniform(20_000, 3, seed=6)
    crowd[:5000] = crowd[0]
    where = clfrnn.Condition("d2 >= 0")
    names = {}
    for name, points, given in (
        ("even", even, {}),
        ("crowd", crowd, {}),
        ("condition", crowd[:1000], {"where": where}),
        ("systems", crowd[:1000], {"batch": np.zeros(1000, int)}),
        ("cell", crowd[:1000], {"cell": ((1, 0, 0), (0.5, 1, 0), (0, 0, 1))}),
        ("tree", crowd[:1000], {"method": "aabb_tree"}),
        ("wide cells", crowd[:1000], {"method": "strips", "bin_width": 1.0}),
    ):
        names[name], found = launched(session, lambda p=points, g=given: dbscan(p, 0.01, 2, session=session, **g))
        assert found.num_clusters >= (name != "even")
    linked = {name for name, each in names.items() if "link_cliques" in each}
    assert linked == ({"crowd"} if session.profile.loop_turns is None else set())


def test_points_outside_a_periodic_box_are_visited(crowded):
    points = halos(3).astype(np.float32)
    points[:, 0] += 40.0
    points[7, 0] -= 3.0
    names, found = launched(crowded, lambda: dbscan(points, 0.05, 3, box=(1, 1, 1), session=crowded))
    assert "frnn_visit" in names
    assert_clusters(found, twin(points, 0.05, 3, box=(1, 1, 1)))


@pytest.mark.parametrize("least", [5, 40_000])
def test_as_many_points_at_one_place_as_pairs_would_take_minutes(session, least):
    if session.profile.loop_turns is not None or POINTS < 1000:
        pytest.skip("the driver bounds loops, or is a simulator")
    points = np.full((100_000, 3), 0.5, np.float32)
    points[::4] = 0.25
    found = dbscan(points, 0.01, least, session=session)
    assert found.sizes.get().tolist() == ([25_000, 75_000] if least == 5 else [75_000])
    assert friends_of_friends(points, 0.0, session=session).sizes.get().tolist() == [25_000, 75_000]


def test_points_that_are_not_finite_are_refused(crowded):
    points = halos(3).astype(np.float32)
    points[3] = np.nan
    points[4] = np.inf
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected finite numbers"):
        dbscan(cla.to_device(crowded.queue, points), 0.05, 3)


# --- plans ------------------------------------------------------------------------------------------------------------


def problem(others, *, dim=3, radius=0.01, **options):
    survey = Survey(n=1_000_000, low=(0.0,) * dim, high=(1.0,) * dim, others=others)
    facts = {"domain": open_space(dim), "real": "float", "radius": radius, "survey": survey, "options": options}
    return Problem(n=1_000_000, **facts)


@pytest.mark.parametrize("dim", [2, 3])
def test_cells_of_cliques_are_chosen_where_points_crowd(profile, dim):
    """Their diagonal is the radius at most, and named methods keep what was asked of them."""
    few, many = problem(1.0, dim=dim), problem(100.0, dim=dim)
    assert with_clique_cells(few, *with_tuning(profile), None) is None
    chosen = with_clique_cells(many, *with_tuning(profile), None)
    if profile.loop_turns is not None:
        assert chosen is None
        return
    method, planned = chosen
    assert method.name == "strips"
    assert has_clique_cells(planned, profile)
    sides = method.plan(planned, *with_tuning(profile)).grid.sides
    assert np.linalg.norm(sides) <= 0.01 * (1 + 1e-6)
    asked = problem(100.0, dim=dim, bin_width=1.0, construction="sort")
    assert with_clique_cells(asked, *with_tuning(profile), Strips()) is None
    own = problem(100.0, dim=dim, bin_width=None, construction="sort")
    assert with_clique_cells(own, *with_tuning(profile), Strips())[1].options["construction"] == "sort"
    assert with_clique_cells(problem(100.0, dim=dim, leaf_size=8), *with_tuning(profile), METHODS["aabb_tree"]) is None


def test_other_dimensions_have_no_cells():
    for dim in (1, 4):
        assert with_clique_cells(problem(100.0, dim=dim), *with_tuning(RECORDED["h100"]), None) is None


def test_weights_where_points_crowd(crowded):
    """Neighbors are visited for their weights, and core points are linked by cliques."""
    points = halos(3).astype(np.float32)
    weights = np.random.default_rng(8).integers(-1, 3, SIZE).astype(float)
    names, found = launched(crowded, lambda: dbscan(points, 0.05, 3, sample_weight=weights, session=crowded))
    assert {"frnn_visit", "link_cliques"} <= set(names)
    even = dbscan(points, 0.05, 3, sample_weight=weights, session=crowded, where=clfrnn.Condition("d2 >= 0"))
    assert np.array_equal(found.core.get(), even.core.get())
    assert np.array_equal(found.labels.get(), even.labels.get())
    nobody = dbscan(points[:0], 0.05, 3, sample_weight=[], session=crowded)
    assert nobody.num_clusters == 0
