"""Wrong calls, as people make them: each message names the argument, what was expected, what came, what to do."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.host.keywords import hint

INVALID, ARGUMENT = clfrnn.InvalidInputError, clfrnn.ArgumentError

#: call -> the error, and parts of its message in their order
TYPOS = {
    "search(P, r, distance=True)": (TypeError, "'distance'", "did you mean 'distances'?", "search takes box"),
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
    "search(P, r, nothing=1)": (TypeError, "'nothing'", "search takes box, cell, distances"),
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
    "build_index(P, r, metod='strips')": (TypeError, "'metod'", "did you mean 'method'?", "build_index takes box"),
    "build_index(P, r, cells=1)": (TypeError, "'cells'", "did you mean 'cell'?", "'auto' takes no options"),
    "nearest(P, 3, distances=True)": (TypeError, "'distances'", "nearest takes box"),
    "nearest(P, 3, distance_upper_bound=1)": (TypeError, "'distance_upper_bound'", "did you mean 'radius'?"),
    "index.query(distance=True)": (TypeError, "'distance'", "did you mean 'distances'?", "index.query takes distances"),
    "index.query(return_sorted=True)": (TypeError, "'return_sorted'", "did you mean 'sort'?"),
    "index.query(session=None)": (TypeError, "'session'", "index.query takes"),
    "index.query_blocks(maxbytes=9)": (TypeError, "'maxbytes'", "did you mean 'max_bytes'?"),
    "index.count(query=P)": (TypeError, "'query'", "did you mean 'queries'?", "index.count takes include_self"),
    "index.count(mask=1)": (TypeError, "'mask'", "did you mean 'where'?"),
    "index.nearest(n_neighbors=3)": (TypeError, "'n_neighbors'", "did you mean 'k'?"),
    "index.update(P, bxo=1)": (TypeError, "'bxo'", "did you mean 'box'?", "index.update takes box, cell, points"),
    "index.update(positions=P)": (TypeError, "'positions'", "did you mean 'points'?"),
    "index.explain(longer=True)": (TypeError, "'longer'", "did you mean 'long'?"),
    "index.empty(3, dtypes=int)": (TypeError, "'dtypes'", "did you mean 'dtype'?"),
    "index.visit(code, out=out, radii=r)": (ARGUMENT, "radii: not declared", "takes out", "did you mean 'radius'?"),
    "index.visit(code, outs=out)": (ARGUMENT, "outs: not declared", "takes out", "did you mean 'out'?"),
    "index.visit(code, wanted=3, out=out)": (ARGUMENT, "wanted: not declared", "takes out", "rename or declare it"),
    "Session(devcie=0)": (TypeError, "'devcie'", "did you mean 'device'?", "Session takes device"),
    "NeighborFunction(per_neigbor='')": (TypeError, "'per_neigbor'", "did you mean 'per_neighbor'?"),
}


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


def test_hints_are_of_what_is_there():
    assert hint("distance", ["box"]) == ""
    assert hint("queri", ["queries", "query_ids"]) == "did you mean 'queries'?"
