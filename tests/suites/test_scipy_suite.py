"""scipy's own tests of its k-d tree, with the face in its place."""

from importlib.metadata import version

import pytest

pytest.importorskip("scipy")

from suite import imported_with, taken_from

import clfrnn
from clfrnn.interop.scipy import KDTree

pytestmark = pytest.mark.long

NORM = "another norm than the Euclidean one, which the face refuses"
NODES = "nodes of the tree, of which the face has none"

#: From scipy 1.18 on, the points of a tree are a view that cannot be written.
VIEWS = tuple(map(int, version("scipy").split(".")[:2])) >= (1, 18)

#: Tests that do not hold for the face, and why.
SKIPPED = {
    "test_ckdtree_parallel": "scipy raises for workers=-1 where the number of processors is not known",
    "test_ckdtree_memuse": "the memory of scipy's process, which a device's driver also allocates",
    "test_ckdtree_view": NODES,
    "test_immutable": f"also of {NODES}; test_scipy.py has the attributes that there are",
    **({"test_kdtree_attributes": "the points of the face are the array that was given"} if VIEWS else {}),
    "test_kdtree_box": f"{NORM}; test_scipy.py has p=2",
    "test_kdtree_box_0boxsize": f"{NORM}; test_scipy.py has p=2",
    "test_kdtree_comparisons": NODES,
    "test_kdtree_duplicated_inputs": NODES,
    "test_kdtree_tree_access": NODES,
    "test_kdtree_weights": f"the weights of {NODES}; test_scipy.py has its counts",
    "test_multithreaded_tree_access": NODES,
    "test_query_pairs_eps": "pairs beyond r, which scipy adds with eps: the face is exact",
    "Test_random_ball_l1_KDTree": NORM,
    "Test_random_ball_linf_KDTree": NORM,
    "Test_random_ball_largep_issue9890_KDTree": NORM,
    "Test_two_random_trees_linf_KDTree": NORM,
    "Test_two_random_trees_linf_periodic_KDTree": NORM,
    **{
        f"Test_{cloud}_KDTree.test_points_near_{norm}": NORM
        for cloud in ("random", "random_far", "small", "small_nonleaf")
        for norm in ("l1", "linf")
    },
}

if not clfrnn.default_session().profile.fp64:
    pytest.skip("scipy computes in float64, which the default device has not", allow_module_level=True)

theirs = imported_with("scipy.spatial.tests.test_kdtree", **{"scipy.spatial.KDTree": KDTree})


@pytest.fixture
def kdtree_type():
    """The class that tests of functions are for; theirs are for cKDTree as well."""
    return KDTree


_found = taken_from(
    theirs, {name: reason for name, reason in SKIPPED.items() if name.partition(".")[0] in vars(theirs)}
)
globals().update({name: value for name, value in _found.items() if not name.endswith("_cKDTree")})
