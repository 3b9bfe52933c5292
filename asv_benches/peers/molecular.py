"""Peers for atoms, on CPUs: lists without a box, and lists in a cell that repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from .peer import Array, Pairs, Question
from .processors import Host


class Vesin(Host):
    """vesin.NeighborList, which builds its cells and answers in one call."""

    name = "vesin"
    module = "vesin"
    package = "vesin"
    dtype = np.float64
    tasks = ("lists", "cells")
    builds = False
    remark = "`NeighborList(full_list=True).compute`, all threads; an array of pairs, not copied; no counts alone"

    def lists(self) -> Any:
        """(pairs, 2), which live as long as the object does."""
        return self._compute(np.zeros((3, 3)), "P")

    def cells(self) -> Any:
        """(pairs, 2) and shifts."""
        return self._compute(np.asarray(self.question.cell, np.float64), "PS")

    def _compute(self, cell: Array, quantities: str) -> Any:
        finder = self.library.NeighborList(cutoff=self.radius, full_list=True)
        return finder, finder.compute(self.points, cell, len(quantities) > 1, quantities, copy=False)

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns, and shifts in a cell."""
        pairs, *shifts = answer[1]
        ids = pairs.view(np.int64)
        return Pairs(ids[:, 0], ids[:, 1], *shifts)


class Freud(Host):
    """freud.locality.AABBQuery; its box is periodic, and is made so large that no image is within reach."""

    name = "freud"
    module = "freud"
    package = "freud-analysis"
    tasks = ("lists", "cells")
    remark = (
        "`AABBQuery`, for lists in a box too wide for images; a `NeighborList` with distances and vectors; no counts "
        "alone"
    )

    def hold(self, question: Question) -> None:
        """About the origin, which is the middle of freud's boxes.

        Without a cell only if float32 lets the points be moved without rounding.
        """
        super().hold(question)
        points = question.points
        if question.cell is None:
            middle = np.float32(0.5) * np.round(points.min(axis=0) + points.max(axis=0))
            moved = points - middle
            if np.array_equal(moved.astype(np.float64) + middle, points):
                self.points = moved
            self.box = self.library.box.Box.cube(2 * float(np.abs(self.points).max()) + 3 * self.radius)
        else:
            self.box = self.library.box.Box.from_matrix(question.cell.astype(np.float64).T)
            self.points = (points - 0.5 * question.cell.astype(np.float64).sum(axis=0)).astype(np.float32)

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.locality.AABBQuery(self.box, self.points)

    def lists(self) -> Any:
        """A NeighborList."""
        return self.tree.query(self.points, {"r_max": self.radius, "exclude_ii": True}).toNeighborList()

    def cells(self) -> Any:
        """A NeighborList."""
        return self.lists()

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns; in a cell, the shifts that are left of the vectors."""
        rows, columns = np.asarray(answer.query_point_indices), np.asarray(answer.point_indices)
        if self.question.cell is None:
            return Pairs(rows, columns)
        away = np.asarray(answer.vectors) - (self.question.points[columns] - self.question.points[rows])
        return Pairs(rows, columns, np.rint(away @ np.linalg.inv(self.question.cell)).astype(np.int32))


class Matscipy(Host):
    """matscipy.neighbours.neighbour_list."""

    name = "matscipy"
    module = "matscipy.neighbours"
    package = "matscipy"
    dtype = np.float64
    tasks = ("cells",)
    builds = False
    remark = '`neighbour_list("ijS")`, one thread; arrays'

    def cells(self) -> Any:
        """Rows, columns and shifts."""
        return self.library.neighbour_list(
            "ijS", positions=self.points, cell=self.question.cell.astype(float), pbc=(True,) * 3, cutoff=self.radius
        )

    def pairs_of(self, answer: Any) -> Pairs:
        """As they are."""
        return Pairs(*answer)


class Ase(Matscipy):
    """ase.neighborlist.primitive_neighbor_list."""

    name = "ASE"
    module = "ase.neighborlist"
    package = "ase"
    remark = '`primitive_neighbor_list("ijS")`, numpy, one thread; arrays'

    def cells(self) -> Any:
        """Rows, columns and shifts."""
        cell = self.question.cell.astype(float)
        return self.library.primitive_neighbor_list("ijS", (True,) * 3, cell, self.points, self.radius)


PEERS = (Vesin, Freud, Matscipy, Ase)
