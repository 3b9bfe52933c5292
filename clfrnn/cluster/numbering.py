"""Numbering: from the links of a forest to labels, on the device."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..device_array import DeviceArray
from ..planning.configs import KernelConfig
from ..planning.primitives import plan_fill
from ..planning.tuning import Tuning
from ..primitives.fill import clear, fill
from ..primitives.scan import exclusive_scan
from ..profile import DeviceProfile
from ..runtime.scratch import INT, Scratch
from ..runtime.session import Session
from .unions import read_of_link

__all__ = ["begin_trees", "label_trees", "sizes_of"]

_BOOL = np.dtype(bool)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelConfig(KernelConfig):
    """The passes over points that number clusters; ``read`` is how ``links[k]`` is read."""

    read: str


def plan_labels(profile: DeviceProfile, tuning: Tuning) -> LabelConfig:
    """Plan one work-item per point."""
    return LabelConfig(**dataclasses.asdict(plan_fill(profile, tuning)), read=read_of_link(profile))


def begin_trees(session: Session, links: DeviceArray, least: int) -> DeviceArray:
    """Turn numbers of neighbors into the links of trees of one point each; return which points are core, (n,) bool.

    A point is core where at least `least` points are within reach, itself counted. With `least` = 1 all are, whatever
    `links` hold. The link of a point that is not core is -2 where it has a neighbor, else -1.
    """
    core = session.allocate(links.size, _BOOL, purpose="which points are core")
    _launch(session, "begin_trees", links.size, least, links.base_data, core.base_data)
    return core


def label_trees(session: Session, links: DeviceArray, least: int) -> tuple[DeviceArray, Scratch]:
    """Number the trees of at least `least` members by their roots; return the labels, (n,) int32, and their number.

    Points of other trees get -1, and those without a tree keep their negative link. The number of labels is one int32
    on the device. `links` are not needed afterwards. Four launches over the points, six with `least` above 1; nothing
    is waited for.
    """
    n = links.size
    labels = session.allocate(n, INT, purpose="the labels of clusters")
    chosen = session.scratch(n, INT, purpose="which points are roots of clusters")
    many = session.scratch(1, INT, purpose="the number of clusters")
    _launch(session, "find_roots", n, links.base_data, labels.base_data, chosen.base_data)
    if least > 1:
        fill(session, chosen)
        _launch(session, "count_members", n, labels.base_data, chosen.base_data)
        _launch(session, "mark_clusters", n, least, chosen.base_data)
    # The links are done with, and as long as the starts but for one number: these lie in their memory, if that is free.
    starts = session.scratch(n + 1, INT, purpose="the first labels")
    exclusive_scan(session, chosen, starts)
    _launch(session, "number_clusters", n, starts.base_data, labels.base_data, many.base_data)
    return labels, many


def sizes_of(session: Session, labels: DeviceArray, many: int) -> DeviceArray:
    """The number of points with each of `many` labels, (many,) int32. Two launches."""
    sizes = session.allocate(many, INT, purpose="the sizes of clusters")
    clear(session, sizes)
    _launch(session, "count_members", labels.size, labels.base_data, sizes.base_data)
    session.publish(None, sizes)
    return sizes


def _launch(session: Session, name: str, n: int, *arguments: Any) -> None:
    kernels, config = session.planned("cluster/labels", plan_labels)
    session.launch(kernels[name], n, config.work_group_size, n, *arguments)
