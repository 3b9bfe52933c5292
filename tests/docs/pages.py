"""Pages of the documentation as programs: the blocks of a page, and what it says that they print."""

import contextlib
import doctest
import io
import linecache
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from clfrnn.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: As in doctests: `...` stands for anything, and spaces and line ends are alike.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(path, language=None):
    """The fenced blocks of a page in order, as (language, text); the text alone where a language is asked for."""
    found = _BLOCK.findall(path.read_text(encoding="utf-8"))
    return found if language is None else [text for name, text in found if name == language]


def section(path, heading):
    """The blocks under a heading, down to the next one, as :func:`blocks` gives those of a page."""
    text = path.read_text(encoding="utf-8")
    found = {}
    title = None
    for piece in re.split(r"(^```.*?^```$|^#+ [^\n]*$)", text, flags=re.DOTALL | re.MULTILINE):
        if piece.startswith("#"):
            title = piece
        found.setdefault(title, []).extend(_BLOCK.findall(piece))
    return found[heading]


def run(found, scope, name):
    """Run Python blocks in one scope; what was printed since the last ``text`` block must be what the next one says.

    In ``console`` blocks the lines ``$ clfrnn ...`` are run as well, and the lines below must be what they print.
    """
    printed = io.StringIO()
    for k, (language, text) in enumerate(found):
        if language == "python":
            where = f"<{name}, block {k}>"
            # where tracebacks, and libraries that read the source of functions, look for the lines
            linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
            with contextlib.redirect_stdout(printed):
                exec(compile(text, where, "exec"), scope)
        elif language == "text":
            check_output(text, printed.getvalue(), f"{name}, block {k}")
            printed = io.StringIO()
        elif language == "console":
            for command, expected in re.findall(r"^\$ clfrnn (.*)\n((?:[^$].*\n)*)", text, re.MULTILINE):
                done = CliRunner().invoke(main, shlex.split(command))
                assert done.exit_code == 0, f"{name}: clfrnn {command}: {done.output} {done.exception}"
                check_output(expected, done.output, f"{name}: clfrnn {command}")
    return scope


def check_output(expected, printed, name):
    """Fail where a page says that something else is printed."""
    same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
    assert same, f"{name}: the page says\n{expected}\nand this was printed:\n{printed}"
