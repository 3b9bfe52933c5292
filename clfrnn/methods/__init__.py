"""The methods by name. Tests, verification and the command line iterate over :data:`METHODS`."""

from __future__ import annotations

from .aabb_tree import AabbTree
from .base import Method
from .brute_force import BruteForce
from .choice import choose_method, is_worth_binning
from .fenns import Fenns
from .index import Index, Nearest
from .kernel_source import KernelSource
from .strips import Strips
from .uniform_grid import UniformGrid

__all__ = ["METHODS", "Index", "KernelSource", "Method", "Nearest", "choose_method", "is_worth_binning"]

METHODS: dict[str, Method] = {
    method.name: method for method in (BruteForce(), UniformGrid(), Strips(), Fenns(), AabbTree())
}
