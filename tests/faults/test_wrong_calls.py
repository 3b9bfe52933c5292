"""Wrong calls, as people make them: each message names the argument, what was expected, what came, what to do."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.host.keywords import hint
from clfrnn.interop.scipy import KDTree

INVALID, ARGUMENT = clfrnn.InvalidInputError, clfrnn.ArgumentError

#: call -> the error, and parts of its message in their order
TYPOS = {
    "search(P, r, distance=True)": (TypeError, "'distance'", "did you mean 'distances'?", "search takes batch, box"),
    "search(P, r, include_selfs=True)": (TypeError, "'include_selfs'", "did you mean 'include_self'?"),
    "search(P, r, return_distance=True)": (TypeError, "'return_distance'", "did you mean 'distances'?"),
    "search(P, r, query=P)": (TypeError, "'query'", "did you mean 'queries'?"),
    "search(P, r, sorted=True)": (TypeError, "'sorted'", "did you mean 'sort'?"),
    "search(P, r, boxsize=1.0)": (TypeError, "'boxsize'", "did you mean 'box'?"),
    "search(P, r, pbc=True)": (TypeError, "'pbc'", "did you mean 'periodic'?"),
    "search(P, r, device=0)": (TypeError, "'device'", "did you mean session=clfrnn.Session(device)"),
    "search(P, r, dtype='f4')": (TypeError, "'dtype'", "in the points' own dtype", "points.astype(dtype)"),
    "search(P, r, metod='strips')": (TypeError, "'metod'", "did you mean 'method'?"),
    "search(P, r, k=3)": (TypeError, "'k'", "clfrnn.nearest(points, k)"),
    "search(P, r, p=1)": (TypeError, "'p'", "distances are Euclidean"),
    "search(P, r, workers=-1)": (TypeError, "'workers'", "the device takes all that it has"),
    "search(P, r, nothing=1)": (TypeError, "'nothing'", "search takes batch, box, cell, distances"),
    "search(P, r, tohost=1, metod=1)": (TypeError, "'metod', 'tohost'", "did you mean 'method'?"),
    "search(P, r, method='strips', binwidth=1)": (
        TypeError,
        "'binwidth'",
        "did you mean 'bin_width'?",
        "method 'strips' takes bin_width, construction",
    ),
    "search(P, r, method='strips', leaf_size=1)": (TypeError, "'leaf_size'", "'strips' takes bin_width, construction"),
    "search(P, r, leaf_size=1)": (TypeError, "'leaf_size'", "'auto' takes no options", "name the method"),
    "search(P, r, method='aabb_tree', leafsize=1)": (TypeError, "'leafsize'", "did you mean 'leaf_size'?"),
    "search(P, r, method='stripes')": (INVALID, "method: expected 'auto' or one of", "got 'stripes'", "mean 'strips'?"),
    "build_index(P, r, metod='strips')": (
        TypeError,
        "'metod'",
        "did you mean 'method'?",
        "build_index takes batch, box",
    ),
    "build_index(P, r, cells=1)": (TypeError, "'cells'", "did you mean 'cell'?", "'auto' takes no options"),
    "nearest(P, 3, distances=True)": (TypeError, "'distances'", "nearest takes batch, box"),
    "nearest(P, 3, distance_upper_bound=1)": (TypeError, "'distance_upper_bound'", "did you mean 'radius'?"),
    "index.query(distance=True)": (TypeError, "'distance'", "did you mean 'distances'?", "index.query takes distances"),
    "index.query(return_sorted=True)": (TypeError, "'return_sorted'", "did you mean 'sort'?"),
    "index.query(session=None)": (TypeError, "'session'", "index.query takes"),
    "index.query_blocks(maxbytes=9)": (TypeError, "'maxbytes'", "did you mean 'max_bytes'?"),
    "index.count(query=P)": (TypeError, "'query'", "did you mean 'queries'?", "index.count takes include_self"),
    "index.count(mask=1)": (TypeError, "'mask'", "did you mean 'where'?"),
    "index.nearest(n_neighbors=3)": (TypeError, "'n_neighbors'", "did you mean 'k'?"),
    "index.update(P, bxo=1)": (
        TypeError,
        "'bxo'",
        "did you mean 'box'?",
        "index.update takes batch, box, cell, points",
    ),
    "index.update(positions=P)": (TypeError, "'positions'", "did you mean 'points'?"),
    "index.explain(longer=True)": (TypeError, "'longer'", "did you mean 'long'?"),
    "index.empty(3, dtypes=int)": (TypeError, "'dtypes'", "did you mean 'dtype'?"),
    "index.visit(code, out=out, radii=r)": (ARGUMENT, "radii: not declared", "takes out", "did you mean 'radius'?"),
    "index.visit(code, outs=out)": (ARGUMENT, "outs: not declared", "takes out", "did you mean 'out'?"),
    "index.visit(code, wanted=3, out=out)": (ARGUMENT, "wanted: not declared", "takes out", "rename or declare it"),
    "Session(devcie=0)": (TypeError, "'devcie'", "did you mean 'device'?", "Session takes device"),
    "NeighborFunction(per_neigbor='')": (TypeError, "'per_neigbor'", "did you mean 'per_neighbor'?"),
}

#: calls with wrong values, each with what was expected, what came, and what to do
VALUES = """
search(P[0], r)
    points: expected shape (rows, dim) | got (3,) | use reshape(-1, 1) for points on a line, or
search(P[:, :, None], r)
    points: expected shape (rows, dim) with dim at least 1 | got (60, 3, 1) | pass one row of coordinates for each point
search(np.zeros((4, 0)), r)
    points: expected shape (rows, dim) with dim at least 1 | got (4, 0) | pass one row of coordinates for each point
search(np.zeros((13, 13)), r)
    points: expected at most 12 coordinates a point | got 13 | no method serves that many: leave out
search(P.T, r)
    points: expected at most 12 coordinates a point | got 60 | pass points.T if each column is a point
search(P > 0.5, r)
    points: expected float32 or float64 (or float16, or | got bool | convert with points.astype(numpy.float64) if
search(P.astype(complex), r)
    points: expected float32 or float64 (or float16, or | got complex128 | convert with points.astype(numpy.float64) if
search(P.astype(object), r)
    points: expected float32 or float64 | got dtype object of shape (60, 3) | convert it to a rectangular array of
search(P.astype('S4'), r)
    points: expected float32 or float64 numbers | got dtype |S4 of shape (60, 3) | convert it to a rectangular array of
search([[1.0, 2.0], [3.0]], r)
    points: expected an array of shape (rows, dim) | got list | pass a rectangular array in host memory, or
search([], r)
    points: expected shape (rows, dim) | got none of either | pass numpy.zeros((0, dim)) for no points
search('cloud.npy', r)
    points: expected an array of shape (rows, dim) | a text, which is no array | clfrnn.files.read('cloud.npy').points
search(None, r)
    points: expected an array of shape (rows, dim) | got NoneType, which is no array | pass an array of numbers
search({1.0, 2.0}, r)
    points: expected an array of shape (rows, dim) | got set, which is no array | pass an array of numbers with a row
search(np.array([[0, 2**53 + 1]]), r)
    points: expected integers up to 2**53, which float64 | got 9007199254740993 | choose the rounding yourself with
search(np.array([[0, 2**63]], np.uint64), r)
    points: expected integers up to 2**53, which float64 | got 9223372036854775808 | choose the rounding yourself with
search(np.where(P > 0.99, np.nan, P), r)
    points: expected finite numbers | got NaN or inf in row 36 | remove or repair that row
search([[0.0, 1.0], [np.inf, 0.0]], r)
    points: expected finite numbers | got NaN or inf in row 1 | remove or repair that row
search(np.ma.masked_less(P, 0.5), r)
    points: expected plain rows | got a masked array | drop the masked rows first
search(P[:, :1], r, method='strips')
    points: expected 2 to 3 coordinates a point for method | got 1 | method='brute_force' or 'aabb_tree' serves it
search(P, r, queries=P[0])
    queries: expected shape (rows, dim) | got (3,) | use reshape(-1, 1) for points on a line, or
search(P, r, queries=P[:, :2])
    queries: expected shape (m, 3), as the points have | got (60, 2) | pass 3 coordinates for each query
search(P, r, queries=[[0.0, np.nan, 0.0]])
    queries: expected finite numbers | got NaN or inf in row 0 | remove or repair that row
search(P, r, queries='all')
    queries: expected an array of shape (rows, dim) | a text, which is no array | pass clfrnn.files.read('all').points
search(P, -1)
    radius: expected a finite number of at least 0 whose square | got -1.0 | pass a distance in the points' unit
search(P, np.nan)
    radius: expected a finite number of at least 0 whose square | got nan | pass a distance in the points' unit
search(P, np.inf)
    radius: expected a finite number of at least 0 whose square | got inf | pass a distance in the points' unit
search(P, 1e30)
    radius: expected a finite number of at least 0 | got 1.0000000150474662e+30 | pass a distance in the points' unit
search(P, 10**400)
    radius: expected a finite number of at least 0 whose square | got inf in float32, from int 100000 | pass a distance
search(P, '0.1')
    radius: expected a number | got '0.1' | pass a distance in the points' unit, or one
search(P, None)
    radius: expected a number | got None | pass a distance in the points' unit, or one
search(P, True)
    radius: expected a number | got True | pass a distance in the points' unit, or one
search(P, 1j)
    radius: expected a number | got 1j | pass a distance in the points' unit, or one
search(P, [0.1, 0.2])
    radius: expected a number or shape (60,) | got shape (2,) | pass one for all, or one for each query
search(P, [[0.1], [0.1, 0.2]])
    radius: expected a number or one per query | got [[0.1], [0.1, 0.2]] | pass a flat list of numbers
search(P, np.full(60, -0.5))
    radius: expected a finite number of at least 0 whose | got -0.5 in row 0 | pass a distance in the points' unit
search(P, np.ma.masked_less(np.linspace(0, 0.1, 60), 0.05))
    radius: expected a number or one per query | got a masked array | fill it, or drop the masked queries
search(P, [0.1, None])
    radius: expected a number | got [0.1, None] | pass a distance in the points' unit, or one
search(P, r, method=None)
    method: expected 'auto' or one of brute_force, | got None | leave it out to have one chosen
search(P, r, method=3)
    method: expected 'auto' or one of brute_force, | got 3 | leave it out to have one chosen
search(P, r, sort='d')
    sort: expected None, 'index' or 'distance' | got 'd' | take None where the order does not matter
search(P, r, sort=True)
    sort: expected None, 'index' or 'distance' | got True | take None where the order does not matter
search(P, r, half=True, queries=P)
    half: expected no queries | got 60 of them | pairs between queries and points have no
search(P, np.full(60, 0.1), half=True)
    half: expected one radius for all | got one per query, of shape (60,) | pass one radius, or leave half out
search(P, r, max_bytes=-1)
    max_bytes: expected a whole number of at least 0 | got -1 | pass it as an int
search(P, r, max_bytes='1 GB')
    max_bytes: expected a whole number of at least 0 | got '1 GB' | pass it as an int
search(P, r, session='gpu')
    session: expected a clfrnn.Session | got str | wrap it: clfrnn.Session(...)
search(P, r, where='d2 > 0')
    where: expected a clfrnn.Condition | got str | wrap the expression:
search(P, r, box=1)
    box: expected 3 lengths, or the low and the high corner as | got 1 | pass one number for each axis of the points
search(P, r, box=(1, 1))
    box: expected 3 lengths, or the low and the high corner | got (1, 1) | pass one number for each axis of the points
search(P, r, box=(1, 1, 0))
    box: expected a positive, finite length on axis 2, which is | got 0.0 | leave that axis out of periodic, or pass its
search(P, r, box=(1, 1, -1))
    box: expected a positive, finite length on axis 2, which | got -1.0 | leave that axis out of periodic, or pass its
search(P, r, box=(1, 1, np.nan))
    box: expected a positive, finite length on axis 2, which is | got nan | leave that axis out of periodic, or pass its
search(P, r, box='1 1 1')
    box: expected 3 lengths, or the low and the high corner | got '1 1 1' | pass one number for each axis of the points
search(P, r, box=np.eye(3))
    box: expected 3 lengths, or the low and the high | got array([[1., 0., 0.], | lattice vectors are passed as cell=
search(P, r, box=(1, 1, 1, 90, 90, 90))
    box: expected 3 lengths, or the low and the high | got (1, 1, 1, 90, 90, 90) | lengths and angles are passed as
search(P, r, box=((1, 1, 1), (90, 90, 90)))
    box: expected lengths or two corners | got what looks like lengths | pass cell=clfrnn.cell_from_parameters(a, b,
search(P, r, box=(1, 1, 1), cell=np.eye(3))
    box, cell: expected one of the two | got both | pass cell=(the lattice vectors) alone, or
search(P, r, box=(1e-8, 1, 1))
    radius: 0.20000000298023224 reaches over images of the box, | 2**31 can be counted. Take a smaller one
search(P, r, periodic=True)
    box: periodic=True needs the lengths of the box | got None | pass box=(length, ...), one for each axis,
search(P, r, box=(1, 1, 1), periodic='xy')
    periodic: expected True, False or 3 of them, one for each | got 'xy' | pass True for the axes that repeat, and
search(P, r, box=(1, 1, 1), periodic=(True, False))
    periodic: expected True, False or 3 of them, one for | got (True, False) | pass True for the axes that repeat, and
search(P, r, box=(1, 1, 1), periodic=2)
    periodic: expected True, False or 3 of them, one for each | got 2 | pass True for the axes that repeat, and
search(P, r, cell=(1, 1, 1))
    cell: expected lattice vectors as shape (3, 3) | got (1, 1, 1) | the lengths of a rectangular box are passed
search(P, r, cell=np.eye(2))
    cell: expected lattice vectors as shape (3, 3) | got array([[1., 0.], | pass one row for each lattice vector
search(P, r, cell=(1, 1, 1, 90, 90, 90))
    cell: expected lattice vectors as shape | got (1, 1, 1, 90, 90, 90) | pass cell=clfrnn.cell_from_parameters(a, b,
search(P, r, cell=np.ones((3, 3)))
    cell: expected linearly independent | got [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], | pass vectors that span a cell, or
search(P, r, cell=np.eye(3) * np.nan)
    cell: expected lattice vector 0, which is | got [nan, nan, nan] | leave it out of periodic, or pass the vector
search(np.zeros((4, 5)), r, cell=np.eye(5))
    cell: expected points with 2 or 3 coordinates | got 5 | pass the lengths of a rectangular box as box
search(P, r, method='strips', bin_width=0)
    bin_width: expected cell side / radius, a number from 0.001 | got 0 | leave it out to have it chosen from the data
search(P, r, method='strips', bin_width='1')
    bin_width: expected cell side / radius, a number from 0.001 | got '1' | leave it out to have it chosen from the data
search(P, r, method='uniform_grid', construction='fast')
    construction: expected 'counting' or 'sort' | got 'fast' | take 'sort' where the order of neighbors
search(P, r, method='aabb_tree', construction='counting')
    construction: expected 'morton' or 'median' | got 'counting' | 'median' orders points on the host, level by
search(P, r, method='aabb_tree', leaf_size=0)
    leaf_size: expected a number of points from 1 to 65,536 | got 0 | leave it out for that of the device
search(P, r, method='aabb_tree', leaf_size=2.5)
    leaf_size: expected a number of points from 1 to 65,536 | got 2.5 | leave it out for that of the device
search(P, r, method='aabb_tree', rebuild_threshold=0.5)
    rebuild_threshold: expected a ratio of volumes of at least 1 | got 0.5 | pass math.inf to never build the tree again
search(P, r, method='fenns', coarse_shape=0)
    coarse_shape: expected a number of cells, or one for each | got 0 | leave it out for as many as the points are
search(P, r, method='fenns', coarse_shape=(2, 2))
    coarse_shape: expected a number of cells, or 3 for the axes | got 2 numbers, (2, 2) | pass one for each axis
search(P, r, method='fenns', coarse_shape='big')
    coarse_shape: expected a number of cells, or one for each | got 'big' | leave it out for as many as the points are
build_index(P, np.full(60, 0.1))
    radius: expected a number | got ndarray array([0.1, 0.1, 0.1, 0.1, | pass a float in the points' unit
build_index(P, [0.1])
    radius: expected a number | got [0.1] | pass a float in the points' unit
nearest(P, 0)
    k: expected a whole number of at least 1 | got 0 | pass how many neighbors to find
nearest(P, 2.5)
    k: expected a whole number of at least 1 | got 2.5 | pass how many neighbors to find
nearest(P, None)
    k: expected a whole number of at least 1 | got None | pass how many neighbors to find
nearest(P, 3, radius='near')
    radius: expected a number | got 'near' | pass a distance in the points' unit, or one
nearest(P, 3, box=(1, 1, 1), where=Condition('d2 > 0'))
    radius: expected a number with where= in a periodic box | got None | images go on without end, and the condition
nearest(P, 3, where=Condition('d2 > r2'))
    radius: expected a number with a condition that reads r2 | got None | pass the largest distance of a neighbor, or
index.query(P[:, :2])
    queries: expected shape (m, 3), as the points have | got (60, 2) | pass 3 coordinates for each query
index.query(P.astype(np.float64))
    queries: expected float32, as the points are | got float64 | convert queries with astype(numpy.float32),
index.query(radius=0.3)
    radius: expected at most | got 0.3 | build the index with the largest radius that
index.query(radius=np.full(60, 0.3))
    radius: expected at most | got 0.3 | build the index with the largest radius that
index.query(radius=np.full(59, 0.1))
    radius: expected a number or shape (60,) | got shape (59,) | pass one for all, or one for each query
index.query(hint=-1)
    hint: expected a whole number of at least 0 | got -1 | pass it as an int
index.query(hint='many')
    hint: expected a whole number of at least 0 | got 'many' | pass it as an int
index.query(half=True, queries=P)
    half: expected no queries | got 60 of them | pairs between queries and points have no
index.query_blocks(max_bytes=None)
    max_bytes: expected a number of bytes | got None | query() needs no budget
index.query_blocks(max_bytes=1.5)
    max_bytes: expected a whole number of at least 0 | got 1.5 | pass it as an int
index.count(radius=-1)
    radius: expected a finite number of at least 0 whose square | got -1.0 | pass a distance in the points' unit
index.nearest(k=0)
    k: expected a whole number of at least 1 | got 0 | pass how many neighbors to find
index.nearest(vectors=True)
    vectors: expected k with vectors=True | got k=None | pass k=1 for one neighbor's vectors
index.nearest(k='3')
    k: expected a whole number of at least 1 | got '3' | pass how many neighbors to find
index.update(P[:, :2])
    points: expected shape (n, 3), as the points before | got (60, 2) | build anew for another number of
index.update(P.astype(np.float64))
    points: expected float32, as the points before | got float64 | convert with astype(numpy.float32)
index.update(P, box=(1, 1, 1))
    box: expected none, as there was no box when it was built | got (1, 1, 1) | leave it out, or build anew with box
index.update(None)
    points: expected an array of shape (rows, dim) | got NoneType, which is no array | pass an array of numbers
index.visit('out[i] = 1;', out=out)
    function: expected a clfrnn.NeighborFunction | got str | wrap the code:
index.visit(code)
    out: declared by the function and not given | pass out=...
index.visit(code, out=np.zeros(60, np.int32))
    out: expected a pyopencl.array.Array for 'global int *out' | got a numpy array | pass index.zeros(shape, dtype) or
index.visit(code, out=[1, 2])
    out: expected a pyopencl.array.Array for 'global int *out' | got [1, 2] | pass
index.visit(code, out=index.zeros(60, np.float32))
    out: expected int32 for 'global int *out' | got float32 | convert it with astype(numpy.int32)
index.visit(code, out=index.zeros(59, np.int32))
    out: expected one element of 'global int | got DeviceArray of shape (59,) | the code may write beyond it: pass a
index.visit(code, out=index.zeros(120, np.int32)[::2])
    out: expected a contiguous array for 'global int *out' | got shape (60,) | pass a copy
index.reorder(P[:10])
    arrays[0]: expected one row for each of the 60 points | got shape (10, 3) | pass numbers, in the order in which the
index.zeros(-1)
    shape: expected a whole number, or one for each axis, of at | got -1 | pass index.num_points for one number for
index.zeros(3, 'text')
    dtype: expected a dtype of numbers | got 'text' | pass numpy.float32, say
index.empty('abc')
    shape: expected a whole number, or one for each axis, of at | got 'abc' | pass index.num_points for one number for
Session(1.5)
    device: expected a pyopencl device, a position in | got float | leave it out for the default one
NeighborFunction(per_neighbor='return;')
    per_neighbor: line 1: return | the code runs inside a loop over neighbors
NeighborFunction(finish='break;')
    finish: line 1: break | it would leave the piece, not a loop or a
NeighborFunction(arguments='float *a')
    arguments: expected 'T name' or 'global [const] T *name' | got 'float *a' | declare scalars by value and arrays as
NeighborFunction(arguments='int i')
    arguments: 'i' is a name of the library's | choose another name
NeighborFunction(state=3)
    state: expected OpenCL C in a str | got int | pass the text of the code
Condition('d2 = 1')
    expression: line 1: '=' assigns | a condition is one expression: compare with
Condition('d2 > 1;')
    expression: line 1: ';' | a condition is one expression: compare with
Condition('kind[i] > 0', kind='a')
    kind: expected a number or an array of numbers | got str of dtype <U1 | convert it to integers, float32 or float64
Condition('n > 0', n=2**40)
    n: expected an int of 32 bits | got 1099511627776 | pass an array of one int64, and write n[0]
cell_from_parameters(1, 1, 1, 90, 90, 200)
    alpha, beta, gamma: expected three angles between 0 and | got (90, 90, 200) | pass lengths, then angles in degrees
cell_from_parameters(0, 1, 1, 90, 90, 90)
    a, b, c: expected three positive lengths | got (0, 1, 1) | pass lengths, then angles
precompile(dim=0)
    dim: expected a whole number of at least 1 | got 0 | pass points.shape[1]
precompile(dtype='int32')
    dtype: expected float32 or float64 | got 'int32' | pass points.dtype
search(P, r).to_padded(width=1)
    width: expected at least 3, the longest row | got 1 | leave it out to fit all rows
search(P, r, max_bytes=10)
    max_bytes: the list of 74 pairs needs | 10 were allowed | index.query_blocks(max_bytes=10) gives it in
Session('abacus')
    device='abacus' | Present: 0:  | Take one of these
Session(99)
    device=99: expected a position below | Present: 0:  | Take one of these
search(P, r)['a']
    indexed by one row number | got str | pass an int
"""


@pytest.fixture(scope="module")
def names(session):
    """What the calls of the tables refer to."""
    P = clouds.uniform(60, 3, seed=1)
    index = clfrnn.build_index(P, 0.2, method="strips", session=session)
    code = clfrnn.NeighborFunction(arguments="global int *out", finish="out[i] = 1;")
    given = {"np": np, "cl": cl, "cla": cla, "clfrnn": clfrnn, "P": P, "r": 0.2, "index": index, "code": code}
    given |= {name: getattr(clfrnn, name) for name in clfrnn.__all__}
    return given | {"session": session, "out": index.zeros(60, np.int32)}


def assert_refused(call, expected, names):
    """The call raises an error of that class, whose message has these parts in their order."""
    error, *parts = expected
    with pytest.raises(error) as caught:
        eval(call, names)
    message, place = str(caught.value), 0
    for part in parts:
        place = message.find(part, place)
        assert place >= 0, f"{call}: no {part!r} in {message!r}"


@pytest.mark.parametrize("call", TYPOS)
def test_mistyped_keywords(names, call):
    assert_refused(call, TYPOS[call], names)


LINES = VALUES.strip().splitlines()


@pytest.mark.parametrize(("call", "parts"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_wrong_values(names, call, parts):
    if not names["session"].profile.fp64:
        pytest.skip("float64 is refused first, and integers are searched in float32")
    assert_refused(call, ((clfrnn.ClfrnnError, TypeError), *parts.strip().split(" | ")), names)


def test_hints_are_of_what_is_there():
    assert hint("distance", ["box"]) == ""
    assert hint("queri", ["queries", "query_ids"]) == "did you mean 'queries'?"


class Scan:
    """A scan as laspy has it: numpy would read it row by row, for minutes."""

    xyz = np.zeros((3, 3))

    def __len__(self):
        return 3

    def __getitem__(self, row):
        raise AssertionError("read item by item")


@pytest.mark.parametrize(
    "call",
    [
        lambda scan, session: clfrnn.search(scan, 1, session=session),
        lambda scan, session: clfrnn.search(np.zeros((1, 3), np.float32), 1, queries=scan, session=session),
        lambda scan, session: clfrnn.search(scan, 1, queries=np.zeros((1, 3)), session=session),
        lambda scan, session: clfrnn.parts.count(scan, 1, sessions=[session]),
        lambda scan, session: KDTree(scan),
    ],
    ids=["points", "queries", "points beside queries", "parts", "KDTree"],
)
def test_scans_are_refused_unread(session, call):
    with pytest.raises(
        clfrnn.InvalidInputError, match=r"got Scan, which is no array; pass .* numpy.asarray\(.*\.xyz\)"
    ):
        call(Scan(), session)


def test_sequences_of_users_are_read(session):
    class Rows:
        def __len__(self):
            return 2

        def __getitem__(self, row):
            return [(0.0, 0.0), (0.5, 0.5)][row]

    assert clfrnn.search(Rows(), 1, session=session).num_pairs == 2
