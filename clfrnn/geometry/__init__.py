"""Geometry of point clouds: normals, and points that stand alone."""

from __future__ import annotations

from .normals import Normals, normals
from .outliers import radius_outliers, statistical_outliers

__all__ = ["Normals", "normals", "radius_outliers", "statistical_outliers"]
