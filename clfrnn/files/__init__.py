"""Clouds of points and atoms on file: what a file says, and nothing that it does not hold."""

from __future__ import annotations

from .cloud import Cloud
from .formats import frames, read

__all__ = ["Cloud", "frames", "read"]
