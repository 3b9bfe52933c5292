"""The answers of clfrnn, against which those of the peers are held."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import clfrnn
from clfrnn.cluster import Clusters, dbscan, friends_of_friends
from clfrnn.geometry import Normals, normals

from .agreement import ULPS, Agreement, Fingerprint, compare_counts, compare_pairs, distances, fingerprint, slack_of
from .agreement_by_point import Labels, compare_labels, compare_normals, compare_rows
from .clouds import Cloud
from .peer import AROUND, CORE, NEAREST, Array, Pairs, Peer, Question


@dataclasses.dataclass
class Reference:
    """A cloud with its points, and what clfrnn finds on it, searched for when a task first asks for it."""

    cloud: Cloud
    device: str | None
    points: Array

    @classmethod
    def of(cls, cloud: Cloud, device: str | None) -> Reference:
        """The cloud, made."""
        return cls(cloud, device, np.ascontiguousarray(cloud.points()))

    @property
    def radius(self) -> float:
        """That of the cloud."""
        return self.cloud.radius

    def question(self, task: str) -> Question:
        """What a peer is given for a task."""
        return Question(
            task=task,
            points=self.points,
            radius=self.radius,
            widest=self.widest if task in ("lists", "cells", "batches") else 0,
            cell=self.cloud.cell,
            batch=self.cloud.batch(len(self.points)),
        )

    @functools.cached_property
    def session(self) -> clfrnn.Session:
        """One for all searches of this cloud."""
        return clfrnn.Session(self.device)

    @functools.cached_property
    def pairs(self) -> Pairs:
        """All pairs within the radius, with shifts in a cell."""
        cell, batch = self.cloud.cell, self.cloud.batch(len(self.points))
        found = clfrnn.search(
            self.points, self.radius, cell=cell, batch=batch, vectors=cell is not None, session=self.session
        ).to_host()
        if not len(found.indices):
            raise ValueError(f"cloud: {self.cloud.name} has no neighbors within {self.radius}; measure one that has")
        rows = np.repeat(np.arange(len(self.points), dtype=np.int32), np.diff(found.offsets))
        return Pairs(rows, found.indices, found.shifts)

    @functools.cached_property
    def marks(self) -> Fingerprint:
        """The fingerprint of the pairs."""
        return fingerprint(self.pairs, len(self.points))

    @property
    def counts(self) -> Array:
        """Neighbors of each point."""
        return self.marks.counts

    @property
    def widest(self) -> int:
        """The longest list."""
        return int(self.counts.max())

    def compare(self, peer: Peer, task: str, answer: Any) -> Agreement:
        """A peer's answer against ours."""
        compare = {
            "count": self._count,
            "nearest": self._nearest,
            "friends": self._friends,
            "dbscan": self._dbscan,
            "normals": self._normals,
        }.get(task, self._pairs)
        return compare(peer, answer)

    def _count(self, peer: Peer, answer: Any) -> Agreement:
        question = self.question("count")
        return compare_counts(self.counts, peer.counts_of(answer), lambda rows: self._near(rows, slack_of(question)))

    def _pairs(self, peer: Peer, answer: Any) -> Agreement:
        return compare_pairs(self.question("count"), self.pairs, self.marks, peer.pairs_of(answer))

    def _nearest(self, peer: Peer, answer: Any) -> Agreement:
        return compare_rows(self.points, self.rows, peer.rows_of(answer))

    def _friends(self, peer: Peer, answer: Any) -> Agreement:
        return self._clusters(self.linked, peer.labels_of(answer))

    def _dbscan(self, peer: Peer, answer: Any) -> Agreement:
        return self._clusters(self.dense, peer.labels_of(answer))

    def _clusters(self, found: Sequence[Labels], theirs: Array) -> Agreement:
        ours, less, more = found
        return compare_labels(ours, (less, more), theirs, functools.partial(self._attached, more.core))

    def _attached(self, core: Array, rows: Array, labels: Array) -> Array:
        """Whether each of these rows has the label of a core point within the distance, or a little more."""
        reach = self.reaches[-1]
        found = clfrnn.search(self.points[core], reach, queries=self.points[rows], session=self.session).to_host()
        mine = np.repeat(np.arange(len(rows)), np.diff(found.offsets))
        same = labels[core][found.indices] == labels[rows[mine]]
        return np.bincount(mine[same], minlength=len(rows)) > 0

    @property
    def reaches(self) -> tuple[float, float, float]:
        """The radius, and those less and more by rounding."""
        slack = slack_of(self.question("dbscan"))
        return self.radius, self.radius - slack, self.radius + slack

    @functools.cached_property
    def linked(self) -> Sequence[Labels]:
        """Friends of friends within each of these."""
        return [_labels(friends_of_friends(self.points, reach, session=self.session)) for reach in self.reaches]

    @functools.cached_property
    def dense(self) -> Sequence[Labels]:
        """Clusters of DBSCAN within each of these."""
        return [_labels(dbscan(self.points, reach, CORE, session=self.session)) for reach in self.reaches]

    def _normals(self, peer: Peer, answer: Any) -> Agreement:
        ours, tied = self.facing
        return compare_normals(ours.normals.get(), ours.eigenvalues.get(), tied, peer.normals_of(answer))

    @functools.cached_property
    def facing(self) -> tuple[Normals, Array]:
        """The normals, and whether the last point of which each is made could be another one as well, by rounding."""
        rows = self._rows(AROUND + 1)
        last, after = (distances(self.points, np.arange(len(rows)), rows[:, at]) for at in (-2, -1))
        tied = after - last <= ULPS * np.spacing(after.astype(np.float32))
        return normals(self.points, k=AROUND, session=self.session), tied

    @functools.cached_property
    def rows(self) -> Array:
        """The nearest points of each, itself among them."""
        return self._rows(NEAREST)

    def _rows(self, k: int) -> Array:
        return np.asarray(clfrnn.nearest(self.points, k, include_self=True, session=self.session).indices.get())

    def _near(self, rows: Array, slack: float) -> Array:
        """For each of these rows, the number of other points whose distance is within `slack` of the radius."""
        wide = float(np.float32(self.radius + 4 * slack))
        found = clfrnn.search(self.points, wide, queries=self.points[rows], session=self.session).to_host()
        mine = np.repeat(np.arange(len(rows)), np.diff(found.offsets))
        apart = distances(self.points, rows[mine], found.indices)
        doubtful = (np.abs(apart - self.radius) <= slack) & (rows[mine] != found.indices)
        return np.bincount(mine[doubtful], minlength=len(rows))


def _labels(found: Clusters) -> Labels:
    host = found.to_host()
    return Labels(host.labels, host.core)
