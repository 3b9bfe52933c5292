"""How a probe tells what it finds: a line each, printed at once, so that a crash loses nothing of what went before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["read", "tell"]

#: Lines that hold a finding have this before it; drivers print to the same stream.
_MARK = "clfrnn-probe "


def tell(**finding: Any) -> None:
    """Print one finding. A ``step`` says what is about to be tried."""
    print(_MARK + json.dumps(finding), flush=True)  # noqa: T201 — this is how a process answers


def read(text: str) -> Iterator[Mapping[str, Any]]:
    """The findings in what a probe printed."""
    for line in text.splitlines():
        # What a driver prints without a line's end may stand before ours.
        _, mark, finding = line.partition(_MARK)
        if mark:
            try:
                yield json.loads(finding)
            except ValueError:  # cut off
                return
