"""The lines in which a probe prints its findings; each is printed at once, so that a crash loses no earlier one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["print_finding", "read"]

#: Prefix of the lines that hold a finding; drivers print to the same stream.
_MARK = "clfrnn-probe "


def print_finding(**finding: Any) -> None:
    """Print one finding. A ``step`` names what is tried next."""
    print(_MARK + json.dumps(finding), flush=True)  # noqa: T201 — the parent process reads it


def read(text: str) -> Iterator[Mapping[str, Any]]:
    """The findings in the output of a probe."""
    for line in text.splitlines():
        # Output of a driver without an end of line may come before the prefix.
        _, mark, finding = line.partition(_MARK)
        if mark:
            try:
                yield json.loads(finding)
            except ValueError:  # cut off
                return
