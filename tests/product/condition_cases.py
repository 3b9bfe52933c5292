"""Conditions in OpenCL C and in numpy, for tests that compare them."""

import functools

import numpy as np

import clfrnn


def dims(dim, name):
    """The components of a vector in OpenCL C, whose names a scalar lacks."""
    return [name] if dim == 1 else [f"{name}.s{k:x}" for k in range(dim)]


def exclusions(rng, n, m, dim, dtype, radius):
    """Every query leaves out three points."""
    bonds = rng.integers(0, max(1, n), (m, 3)).astype(np.int32)
    text = "bonds[3 * i] != j && bonds[3 * i + 1] != j && bonds[3 * i + 2] != j"
    return clfrnn.Condition(text, bonds=bonds), lambda i, j, d2, dx, shift: (bonds[i] != j[:, None]).all(1)


def species(rng, n, m, dim, dtype, radius):
    """One cutoff for each pair of kinds."""
    kind, of_query = rng.integers(0, 3, n).astype(np.int8), rng.integers(0, 3, m).astype(np.int16)
    cut2 = (rng.uniform(0, 1.1 * radius, (3, 3)) ** 2).astype(dtype)
    made = clfrnn.Condition("d2 <= cut2[3 * of_query[i] + kind[j]]", kind=kind, of_query=of_query, cut2=cut2)
    return made, lambda i, j, d2, dx, shift: d2 <= cut2[of_query[i], kind[j]]


def shell(rng, n, m, dim, dtype, radius):
    """Neither near nor far."""
    inner2 = dtype.type(radius * radius / 3)
    return clfrnn.Condition("d2 > inner2", inner2=float(inner2)), lambda i, j, d2, dx, shift: d2 > inner2


def both_ends(rng, n, m, dim, dtype, radius):
    """Within the larger of two radii."""
    h, of_query = (rng.uniform(0, radius, many).astype(dtype) for many in (n, m))

    def met(i, j, d2, dx, shift):
        larger = np.maximum(of_query[i], h[j])
        return d2 <= larger * larger

    preamble = (
        "// of both\nreal larger(const real a, const real b) { return a > b ? a : b; }\n#define TWICE(x) (x) * (x)"
    )
    return clfrnn.Condition("d2 <= TWICE(larger(g[i], h[j]))", preamble, g=of_query, h=h), met


def always(rng, n, m, dim, dtype, radius):
    return clfrnn.Condition("1"), lambda i, j, d2, dx, shift: np.full(len(i), True)


def never(rng, n, m, dim, dtype, radius):
    return clfrnn.Condition("0"), lambda i, j, d2, dx, shift: np.full(len(i), False)


def sides(rng, n, m, dim, dtype, radius):
    """By direction and image."""
    along, other = dims(dim, "dx")[-1], dims(dim, "shift")[0]
    tilt = dtype.type(radius / 5)

    def met(i, j, d2, dx, shift):
        return ((shift[:, 0] >= 0) & (dx[:, -1] > tilt)) | (shift[:, 0] == -1)

    return clfrnn.Condition(f"({other} >= 0 && {along} > tilt) || {other} == -1", tilt=float(tilt)), met


def of_queries(rng, n, m, dim, dtype, radius):
    """Some queries have neighbors, others have none."""
    active = rng.random(m) < 0.6
    return clfrnn.Condition("active[i]", active=active), lambda i, j, d2, dx, shift: active[i]


def of_points(rng, n, m, dim, dtype, radius):
    """Points without the ball's surface, and some of them not at all."""
    alive = rng.random(n) < 0.6
    r2 = dtype.type(radius) * dtype.type(radius)
    return clfrnn.Condition("alive[j] && d2 < r2", alive=alive), lambda i, j, d2, dx, shift: alive[j] & (d2 < r2)


def numbers(rng, n, m, dim, dtype, radius):
    """By the numbers of both, and a number."""
    return clfrnn.Condition("(i + j) % many", many=3), lambda i, j, d2, dx, shift: (i + j) % 3 != 0


#: Name -> a function of (rng, n, m, dim, dtype, radius) that returns a condition and the same in numpy.
CASES = {
    made.__name__: made
    for made in (exclusions, species, shell, both_ends, always, never, sides, of_queries, of_points, numbers)
}


@functools.cache
def spread():
    """A user's function that adds up what it is given."""
    return clfrnn.NeighborFunction(
        arguments="global int *many, global long *total, const int kind",
        state="int n = 0; long sum = 0;",
        per_neighbor="if (j < 0) continue; n += kind; sum += j + 1;",
        finish="many[i] = n; total[i] = sum;",
    )
