"""Keratinocytes: the cells of skin, which divide, differentiate, move and adhere."""

from __future__ import annotations

from .rules import Rules
from .tissue import Counts, Keratinocytes

__all__ = ["Counts", "Keratinocytes", "Rules"]
