"""Runs a probe in a process of its own and takes down what it found, however it ended."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from .findings import read

__all__ = ["Answer", "ask", "command"]

#: So that compilers are tried, not what they once kept.
_NO_CACHES = {"PYOPENCL_NO_CACHE": "1", "POCL_KERNEL_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}

#: A process that was told to end gets so many seconds for it; one that a driver holds in the kernel never does.
_FAREWELL = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What a probe found, line by line, and what ended it before its time."""

    findings: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""

    def first(self, key: str, default: Any = "") -> Any:
        """The value of the first finding with this key."""
        return next((finding[key] for finding in self.findings if key in finding), default)

    def having(self, key: str) -> list[Mapping[str, Any]]:
        """The findings with this key."""
        return [finding for finding in self.findings if key in finding]


def command(what: str, which: str = "") -> list[str]:
    """How a probe is started."""
    return [sys.executable, "-m", f"{__package__}.probe", what, *([which] if which else [])]


def ask(what: str, which: str = "", *, seconds: float, environment: Mapping[str, str] | None = None) -> Answer:
    """Run one probe for at most `seconds`; `environment` is set besides what is set here."""
    process = subprocess.Popen(  # noqa: S603 — a module of our own
        command(what, which),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **_NO_CACHES, **(environment or {})},
    )
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return _answer(_last_words(process), f"no answer within {seconds:g} s")
    except BaseException:
        process.kill()
        raise
    return _answer(out, _ending(process.returncode, errors.decode(errors="replace")))


def _last_words(process: subprocess.Popen[bytes]) -> bytes:
    """What a process printed before it was killed."""
    try:
        return process.communicate(timeout=_FAREWELL)[0]
    except subprocess.TimeoutExpired as stuck:  # in the kernel, or a child of its own keeps the pipe open
        return stuck.output or b""


def _answer(out: bytes, ending: str) -> Answer:
    findings = tuple(read(out.decode(errors="replace")))
    told = Answer(findings=findings)
    # What the probe says of its own failure is better than the status it leaves behind.
    failure = told.first("failure") or ending
    steps = told.having("step")
    return Answer(findings=findings, failure=f"{failure} while {steps[-1]['step']}" if failure and steps else failure)


def _ending(status: int, errors: str) -> str:
    """What an exit status says, and the last line of what was printed as an error."""
    if status == 0:
        return ""
    said = [line.strip() for line in errors.splitlines() if line.strip()]
    last = f": {said[-1]}" if said else ""
    if status > 0:
        return f"ended with exit status {status}{last}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"crashed ({name}{last})"
