"""Geometry of point clouds: normals, points that stand alone, and smoothing."""

from __future__ import annotations

from .normals import Normals, normals
from .outliers import radius_outliers, statistical_outliers
from .smoothing import smooth

__all__ = ["Normals", "normals", "radius_outliers", "smooth", "statistical_outliers"]
