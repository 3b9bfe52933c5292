"""Particle models on clfrnn's public interface alone, as examples of its use and for benchmarks."""

from __future__ import annotations

from .boids import Boids
from .circles import Circles
from .controls import Action, Controls, Handle, Slider
from .crowd import Pedestrians
from .frame import Frame
from .keratinocytes import Keratinocytes
from .model import Model
from .spheres import Spheres
from .water import Fluid

__all__ = [
    "Action",
    "Boids",
    "Circles",
    "Controls",
    "Fluid",
    "Frame",
    "Handle",
    "Keratinocytes",
    "Model",
    "Pedestrians",
    "Slider",
    "Spheres",
]
