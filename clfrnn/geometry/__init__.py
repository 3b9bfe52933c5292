"""Geometry of point clouds: normals, outliers, voxels, smoothing, resampling, distance fields and surfaces."""

from __future__ import annotations

from .fields import Field, distance_field
from .normals import Normals, normals
from .orientation import orient
from .outliers import radius_outliers, statistical_outliers
from .resampling import wlop
from .smoothing import smooth
from .surfaces import Surface, isosurface, offset_surface
from .voxels import VoxelClouds, voxel_downsample

__all__ = [
    "Field",
    "Normals",
    "Surface",
    "VoxelClouds",
    "distance_field",
    "isosurface",
    "normals",
    "offset_surface",
    "orient",
    "radius_outliers",
    "smooth",
    "statistical_outliers",
    "voxel_downsample",
    "wlop",
]
