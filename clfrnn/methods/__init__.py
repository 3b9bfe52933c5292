"""The methods by name. Tests, verification and the command line iterate over :data:`METHODS`."""

from __future__ import annotations

from .auto import choose_method, is_worth_binning
from .base import Method
from .brute_force.brute_force import BruteForce
from .fenns.fenns import Fenns
from .grid.strips import Strips
from .grid.uniform_grid import UniformGrid
from .tree.aabb_tree import AabbTree

__all__ = ["METHODS", "Method", "choose_method", "is_worth_binning"]

METHODS: dict[str, Method] = {
    method.name: method for method in (BruteForce(), UniformGrid(), Strips(), Fenns(), AabbTree())
}
