"""Frames: the parts of a text that each say where all atoms are, taken from it one at a time."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..errors import InvalidInputError
from ..host.numbers import shown as shown_value
from .cloud import Cloud
from .contents import check_memory, label, quoted, shown, stream_lines

__all__ = ["Frame", "FrameFormat", "LineReader"]

#: Lines that are taken at once, so that no more memory is taken than the file has lines for.
_AT_ONCE = 1 << 16

#: Bytes that a line takes in memory beside its signs, at least.
_BYTES_OF_LINE = 60

_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)


class Frame(NamedTuple):
    """The lines of a frame, those at the head of the file that say something of it included."""

    path: Path
    lines: list[str]
    #: of each line its number in the file, counted from 0
    numbers: Sequence[int]

    def fail(self, line: int, expected: str, got: str, remedy: str) -> NoReturn:
        """Refuse a line, by its position in the frame."""
        number = self.numbers[line] + 1 if line < len(self.numbers) else self.numbers[-1] + 2
        raise InvalidInputError(f"{label(self.path)}: line {number}: expected {expected}, got {got}; {remedy}")


class LineReader:
    """The lines of a text, one after the other."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        self.path = path
        #: how many lines were taken
        self.number = 0
        self._lines, self._ahead = iter(lines), deque[str]()

    def peek(self, further: int = 0) -> str | None:
        """The line that is taken next, or one further on; None behind the end."""
        while len(self._ahead) <= further:
            line = next(self._lines, None)
            if line is None:
                return None
            self._ahead.append(line)
        return self._ahead[further]

    def take(self, count: int = 1) -> list[str]:
        """The next lines, as many as there are up to `count`."""
        taken: list[str] = []
        while self._ahead and len(taken) < count:
            taken.append(self._ahead.popleft())
        while len(taken) < count:
            some = list(islice(self._lines, min(count - len(taken), _AT_ONCE)))
            if not some:
                break
            taken += some
            if len(some) == _AT_ONCE:
                check_memory(self.path, sum(map(len, some)) + _BYTES_OF_LINE * len(some))
        self.number += len(taken)
        return taken

    def skip_blanks(self) -> bool:
        """Take the lines that have no words; return whether others stand behind them."""
        while (line := self.peek()) is not None and not line.strip():
            self.take()
        return line is not None

    def take_count(self, what: str) -> int:
        """The number in the next line, which says how many `what` follow."""
        line = (self.take() or [""])[0].strip()
        if not _WHOLE.fullmatch(line):
            self.fail(f"the number of {what}", quoted(line) if line else "nothing", "save it again")
        return int(line)

    def take_rows(self, count: int, what: str, said: str) -> list[str]:
        """The next `count` lines, which `said` announces; refuses fewer."""
        rows = self.take_written(count)
        if len(rows) < count:
            raise InvalidInputError(
                f"{label(self.path)}: {said}: expected {count:,} {what}, got {len(rows):,} lines; the file may be cut "
                "off: save it again"
            )
        return rows

    def take_written(self, count: int) -> list[str]:
        """The next lines, as many as there are up to `count`, without the blank ones at the end of the file."""
        rows = self.take(count)
        while rows and not rows[-1].strip() and self.peek() is None:
            rows.pop()
        return rows

    def fail(self, expected: str, got: str, remedy: str) -> NoReturn:
        """Refuse the line that was taken last."""
        raise InvalidInputError(
            f"{label(self.path)}: line {max(1, self.number)}: expected {expected}, got {shown(got, 80)}; {remedy}"
        )


class FrameFormat(NamedTuple):
    """A format of texts with one frame or several."""

    #: takes frames from a text one at a time, and refuses what is none
    split: Callable[[LineReader], Iterator[Frame]]
    #: what a frame says; takes the options of the format
    parse: Callable[..., Cloud]

    def frames(self, path: Path, lines: Iterable[str] | None = None) -> Iterator[Frame]:
        """The frames of a file, or of its lines where these were read before."""
        return self.split(LineReader(path, stream_lines(path, any_signs=True) if lines is None else lines))

    def count(self, path: Path, lines: Iterable[str] | None = None) -> int:
        """How many frames there are; reads the whole file."""
        return sum(1 for _ in self.frames(path, lines))

    def choose(self, path: Path, position: int, lines: Iterable[str] | None = None) -> tuple[Frame, int, int]:
        """One frame, its position from 0 on, and how many there are; a negative position counts from the end.

        Raises
        ------
        InvalidInputError
            There is no such frame.
        """
        total, last, found = 0, deque[Frame](maxlen=min(max(1, -position), sys.maxsize)), None
        for frame in self.frames(path, lines):
            if position < 0:
                last.append(frame)
            elif total == position:
                found = frame
            total += 1
        if position < 0 and -position <= total:
            found = last[0]
        if found is None:
            has = "one frame" if total == 1 else f"{total:,} frames"
            raise InvalidInputError(
                f"expected a frame that {label(path)} has, from 0 to {max(0, total - 1):,}, got "
                f"{shown_value(position)}; it has {has}",
                argument="frame",
            )
        return found, position % total, total
