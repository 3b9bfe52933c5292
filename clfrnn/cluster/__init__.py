"""Clusters: points that belong together by the pairs within a distance, found without a list of these pairs."""

from __future__ import annotations

from .clusters import Clusters
from .searches import dbscan, friends_of_friends

__all__ = ["Clusters", "dbscan", "friends_of_friends"]
