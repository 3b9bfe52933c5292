"""Numbering: from the links of a forest to labels, on the device."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl as cl

from ...config import INT, KernelConfig
from ...device_array import DeviceArray
from ...primitives.config import plan_fill
from ...primitives.fill import clear, fill
from ...primitives.scan import exclusive_scan
from ...profile import DeviceProfile
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from .unions import read_of_link

__all__ = ["begin_core_trees", "begin_trees", "find_roots", "number_roots", "sizes_of"]

_BOOL = np.dtype(bool)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelConfig(KernelConfig):
    """The passes over points that number clusters; ``read`` is how ``links[k]`` is read."""

    read: str


def plan_labels(profile: DeviceProfile, tuning: Tuning) -> LabelConfig:
    """Plan one work-item per point."""
    return LabelConfig(**dataclasses.asdict(plan_fill(profile, tuning)), read=read_of_link(profile))


def begin_trees(session: Session, links: DeviceArray[np.int32]) -> DeviceArray[Any]:
    """Make each point a tree of its own; return that all are core, (n,) bool."""
    core = session.allocate(links.size, _BOOL, purpose="which points are core")
    session.publish(_launch(session, "begin_trees", links.size, (links, core)), core)
    return core


def begin_core_trees(
    session: Session, links: DeviceArray[np.int32], least: int
) -> tuple[DeviceArray[Any], DeviceArray[Any]]:
    """Turn numbers of neighbors into the links of trees of one core point each; other points get the link -1.

    A point is core where at least `least` points are within reach, itself counted. Return which are core, and which
    others have a neighbor and may be at the border of a cluster, both (n,) bool.
    """
    core = session.allocate(links.size, _BOOL, purpose="which points are core")
    border = session.allocate(links.size, _BOOL, purpose="which points may be at a border")
    session.publish(_launch(session, "begin_core_trees", links.size, (links, core, border), least), core)
    return core, border


def find_roots(session: Session, links: DeviceArray[np.int32], least: int) -> tuple[DeviceArray[Any], Scratch]:
    """The root of each point, (n,) int32, and 1 for each root of a tree with at least `least` members, (n,) int32.

    Points without a tree get -1. The links are not needed afterwards. One launch, four with `least`
    above 1; nothing is waited for.
    """
    n = links.size
    roots = session.allocate(n, INT, purpose="the labels of clusters")
    chosen = session.scratch(n, INT, purpose="which points are roots of clusters")
    _launch(session, "find_roots", n, (links, roots, chosen))
    if least > 1:
        fill(session, chosen)
        _launch(session, "count_members", n, (roots, chosen))
        _launch(session, "choose_clusters", n, (chosen,), least)
    return roots, chosen


def number_roots(session: Session, roots: DeviceArray[np.int32], chosen: Scratch) -> DeviceArray[np.int32]:
    """Turn roots into labels, from 0 on for the lowest chosen one; return how many, (1,) int32.

    Points of trees whose root is not chosen get -1, as those without a tree. Three launches; nothing is waited for.
    """
    n = roots.size
    many = session.allocate(1, INT, purpose="the number of clusters")
    starts = session.scratch(n + 1, INT, purpose="the first labels")
    exclusive_scan(session, chosen, starts)
    session.publish(_launch(session, "number_clusters", n, (starts, roots, many)), roots, many)
    return many


def sizes_of(session: Session, labels: DeviceArray[np.int32], many: int) -> DeviceArray[Any]:
    """The number of points with each of `many` labels, (many,) int32. Two launches."""
    sizes = session.allocate(many, INT, purpose="the sizes of clusters")
    clear(session, sizes)
    session.publish(_launch(session, "count_members", labels.size, (labels, sizes)), sizes)
    return sizes


def _launch(
    session: Session, name: str, n: int, arrays: tuple[Scratch | DeviceArray[Any], ...], *numbers: int
) -> cl.Event | None:
    """Launch a kernel over `n` points; it takes the numbers first."""
    kernels, config = session.planned("answers/linking/labels", plan_labels)
    # One work-item also where there are no points: it writes the number of clusters.
    given = n, *numbers, *(each.base_data for each in arrays)
    return session.launch(kernels[name], max(1, n), config.work_group_size, *given)
