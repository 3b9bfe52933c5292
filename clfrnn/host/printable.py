"""Texts of files and of users, as a terminal may show them."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, *, beside: str = "\n\t") -> str:
    """`text` with signs that no terminal shows, or that steer one, as Python writes them; those of `beside` stay."""
    return "".join(
        sign if sign.isprintable() or sign in beside else sign.encode("unicode_escape").decode("ascii") for sign in text
    )
