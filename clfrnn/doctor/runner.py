"""Runs a probe in a process of its own and reads its findings, however the process ends."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from ..host.child import python_command
from .findings import read

__all__ = ["ProbeResult", "command", "run_probe"]

#: Settings under which compilers do not use cached programs.
_NO_CACHES = {"PYOPENCL_NO_CACHE": "1", "POCL_KERNEL_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}

#: Seconds that a killed process has for its end; one that a driver holds in the kernel never ends.
_SECONDS_TO_END = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """The findings of a probe, and why it ended early."""

    findings: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""

    def first(self, key: str, default: Any = "") -> Any:
        """The value of the first finding with this key."""
        return next((finding[key] for finding in self.findings if key in finding), default)

    def having(self, key: str) -> list[Mapping[str, Any]]:
        """The findings with this key."""
        return [finding for finding in self.findings if key in finding]


def command(what: str, which: str = "") -> list[str]:
    """The command that starts a probe."""
    return python_command(
        f"from {__package__}.probe import main; main(*sys.argv[1:])", what, *([which] if which else [])
    )


def run_probe(
    what: str, which: str = "", *, seconds: float, environment: Mapping[str, str] | None = None
) -> ProbeResult:
    """Run one probe for at most `seconds`; `environment` is added to the variables of this process."""
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
        return _result(_rest_of_output(process), f"no answer within {seconds:g} s")
    except BaseException:
        process.kill()
        raise
    return _result(out, _ending(process.returncode, errors.decode(errors="replace")))


def _rest_of_output(process: subprocess.Popen[bytes]) -> bytes:
    """The output of a process that was killed."""
    try:
        return process.communicate(timeout=_SECONDS_TO_END)[0]
    except subprocess.TimeoutExpired as stuck:  # it hangs in the kernel, or a child process holds the pipe open
        return stuck.output or b""


def _result(out: bytes, ending: str) -> ProbeResult:
    findings = tuple(read(out.decode(errors="replace")))
    result = ProbeResult(findings=findings)
    # The probe's own report of its failure says more than its exit status.
    failure = result.first("failure") or ending
    steps = result.having("step")
    return ProbeResult(
        findings=findings, failure=f"{failure} while {steps[-1]['step']}" if failure and steps else failure
    )


def _ending(status: int, errors: str) -> str:
    """An exit status in words, and the last line of the error output."""
    if status == 0:
        return ""
    printed = [line.strip() for line in errors.splitlines() if line.strip()]
    last = f": {printed[-1]}" if printed else ""
    if status > 0:
        return f"ended with exit status {status}{last}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"crashed ({name}{last})"
