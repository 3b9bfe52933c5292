"""Processes that run Python beside this one."""

from __future__ import annotations

import sys

__all__ = ["python_command"]


def python_command(code: str, *words: str) -> list[str]:
    """The command that runs `code` in another process of this Python, with `words` in ``sys.argv[1:]``.

    The process imports modules from the folders of this one. Python alone would look in the current folder first, where
    a stranger's download may have a file with the name of a module.
    """
    return [sys.executable, "-c", f"import sys; sys.path[:] = {[*map(str, sys.path)]!r}\n{code}", *words]
