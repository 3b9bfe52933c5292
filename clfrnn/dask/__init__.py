"""Clouds in dask arrays, searched by the workers of a cluster, each on a device of its own.

The parts are those of :mod:`clfrnn.parts`; what runs them, moves them and runs them again is Dask.
"""

from __future__ import annotations

from .nearest_rows import nearest
from .searches import Clusters, count, dbscan, friends_of_friends, search

__all__ = ["Clusters", "count", "dbscan", "friends_of_friends", "nearest", "search"]
