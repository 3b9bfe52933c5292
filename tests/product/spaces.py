"""Spaces that the product goes over: open space, boxes, cells that are not rectangular, and systems in each."""

import functools

import numpy as np
import pytest
from conftest import FULL, POINTS, truth

import clfrnn

SIXTY = [0.5, 0.8660254]
#: Name -> vectors in two dimensions and in three.
CELLS = {
    "hexagonal": {2: [[1, 0], SIXTY], 3: [[1, 0, 0], [*SIXTY, 0], [0, 0, 1.3]]},
    "skewed": {2: [[1, 0], [3.7, 0.8]], 3: [[1, 0, 0], [2.3, 0.9, 0], [-1.7, 0.6, 0.8]]},
    "thin": {2: [[2, 0.1], [0.3, 0.2]], 3: [[2, 0.1, 0.2], [0.3, 1.4, 0.1], [0.1, 0.2, 0.25]]},
    "left-handed": {2: [[0.2, 1], [1, 0.3]], 3: [[0.2, 1, 0.1], [1, 0.3, 0], [0.1, 0.1, 1]]},
    "rotated": {2: [[0.6, 0.8], [-0.8, 0.6]], 3: [[0.36, 0.48, -0.8], [-0.8, 0.6, 0], [0.48, 0.64, 0.6]]},
    "reversed": {2: [[-1, 0], [0, -1]], 3: [[-1, 0, 0], [0, 1, 0], [0, 0, -1]]},
    "diagonal": {2: [[1, 0], [0, 0.7]], 3: [[1, 0, 0], [0, 0.7, 0], [0, 0, 1.1]]},
}

#: What a test can go over. Of each kind, the word before the point, a run has as many cases as if it were a test.
ALL_CELLS = [f"cell.{name}" for name in CELLS]
SYSTEMS = ["systems.open", "systems.box", "systems.boxes", "systems.cells"]

#: Numbers of systems, in no order; queries also belong to one that has no points.
NUMBERS = np.array([7, -2, 40, 3, 11])
QUERIED = np.array([*NUMBERS, 99])

#: Kind -> the most points, a short radius, long ones, and how far away points may lie, in lengths.
KINDS = {
    "open": (POINTS, None, (0.5,), 1e20),
    "box": (200, None, (0.5, 0.51, 0.97, 1.0, 1.3, 2.1), 3000),
    "axis": (200, None, (1.1,), 3000),
    "torus": (200, 1.0, (2.0,), 3),
    "cell": (80, 0.17, (0.9,), 40),
    "systems": (90, 0.4, (0.9,), 40),
}


def spaces(*names, core=(), drawn=("cell", "systems")):
    """Parametrize a test with spaces: the kinds that are in the core, and those of which some cases are drawn.

    Of cells and systems, kernels are optimized in test_laws.py.
    """
    marked = {"core": core, "product": drawn, "optimized": ("open", "box", "axis", "torus")}
    given = []
    for name in names:
        marks = [getattr(pytest.mark, mark) for mark, kinds in marked.items() if name.partition(".")[0] in kinds]
        given.append(pytest.param(name, marks=marks, id=name))
    return pytest.mark.parametrize("space", given, indirect=True)


class Space:
    """Where points lie, as the arguments of a search say it, points in it, and what is found there."""

    def __init__(self, name, dim):
        self.name, self.dim = name, dim
        self.kind, _, self.form = name.partition(".")
        self.rows = np.array(CELLS[self.form][dim], float) if self.kind == "cell" else np.eye(dim)
        most, short, self.long, self.far = KINDS[self.kind]
        self.number, self.short = min(most, POINTS), short or (0.2 if dim > 2 else 0.11)
        self.domain = self._domain()
        self.repeats = bool(self.domain)

    def _domain(self):
        draw = np.random.default_rng(self.dim)
        lengths = draw.uniform(0.7, 1.5, (len(NUMBERS), self.dim))
        cells = lengths[:, :, None] * np.eye(self.dim) + draw.uniform(-0.3, 0.3, (len(NUMBERS), self.dim, self.dim))
        one_axis = [axis == self.dim // 2 for axis in range(self.dim)]
        return {
            "box": {"box": (1.0,) * self.dim},
            "axis": {"box": (1.0,) * self.dim, "periodic": one_axis},
            "torus": {"box": (1e4,) * self.dim},
            "cell": {"cell": self.rows},
            "systems.box": {"box": (1.1,) * self.dim},
            "systems.axis": {"box": (1.1,) * self.dim, "periodic": one_axis},
            "systems.boxes": {
                "box": lengths,
                "periodic": np.repeat(np.arange(len(NUMBERS))[:, None] % 2 == 0, self.dim, axis=1),
            },
            "systems.cells": {"cell": cells},
        }.get(self.name if self.kind == "systems" else self.kind, {})

    def points(self, n, dtype, *, seed=5, far=0, faces=False):
        """Points in a cell, or some on its faces, up to `far` lengths away from it."""
        return _points(self.name, self.dim, n, np.dtype(dtype), seed, far, faces)

    def known(self, n, part=slice(None)):
        """The arguments that say where n points lie, or a part of them."""
        batch = NUMBERS[np.random.default_rng(3).permutation(n) % len(NUMBERS)][part]
        return {**self.domain, **({"batch": batch} if self.kind == "systems" else {})}

    def asked(self, m):
        """The arguments that say where m queries belong."""
        return {"query_batch": QUERIED[np.arange(m) % len(QUERIED)]} if self.kind == "systems" else {}

    def truth(self, points, radius, **asked):
        asked |= self.asked(len(asked["queries"])) if "queries" in asked else {}
        return truth(points, radius, **{**self.known(len(points)), **asked})

    def search(self, session, way, points, radius, **asked):
        """The list with all that it can carry: what asks alike shares the programs."""
        asked |= self.asked(len(asked["queries"])) if "queries" in asked else {}
        return search(points, radius, way, session, **{**self.known(len(points)), **asked})

    def index(self, session, way, points, radius):
        return build(points, radius, way, session, **self.known(len(points)))

    def steps(self, dtype):
        """Points as they may be after each other in an index, and the arguments that change with them."""
        rng, n = np.random.default_rng(10), self.number // 2
        points = self.points(n, dtype)
        yield points, {}
        if self.kind == "torus":
            for low, width in ((0, 4), (9_999, 3), (-30_001, 3), (0, 1e4), (5_000, 2e4), (-1, 3)):
                yield (low + rng.random((n, self.dim)) * width).astype(dtype), {}
            return
        for step, drift in enumerate((0.02, 0.3, 0.05, 2.5, 0.05)):
            points = (points + rng.normal(0, drift, points.shape)).astype(dtype)
            if step == 2:  # leaps, as of positions that nobody wraps
                turns = np.rint(rng.uniform(-1, 1, points.shape) * self.far)
                points = points + turns @ self.rows if self.repeats else 40 * points
            if step == 4:
                points = points / (40 if self.repeats else 400)
            changed = {"cell": self.domain["cell"] * (1 + 0.2 * (step % 2))} if self.name == "systems.cells" else {}
            yield points.astype(dtype), changed


@functools.cache
def space_of(name, dim):
    return Space(name, dim)


@functools.cache
def _points(name, dim, n, dtype, seed, far, faces):
    rng = np.random.default_rng(seed)
    places = rng.random((n, dim))
    if faces:
        places = np.where(rng.random((n, dim)) < 0.4, rng.integers(0, 2, (n, dim)), places)
    return ((places + np.rint(rng.uniform(-far, far, (n, dim)))) @ space_of(name, dim).rows).astype(dtype)


def search(points, radius, way, session, **asked):
    """The list that a way finds, with all columns unless others are asked for."""
    method, options = way
    return clfrnn.search(points, radius, method=method, session=session, **{**FULL, **asked}, **options)


def build(points, radius, way, session, **known):
    method, options = way
    return clfrnn.build_index(points, radius, method=method, session=session, **known, **options)
