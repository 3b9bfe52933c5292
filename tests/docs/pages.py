"""Pages of the documentation as programs: the blocks of a page, and what it says that they print."""

import ast
import code
import contextlib
import doctest
import io
import linecache
import re
import shlex
import sys
from pathlib import Path

from click.testing import CliRunner

from clfrnn.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: As in doctests: `...` stands for anything, and spaces and line ends are alike.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

#: A fenced block. A comment above it may hold its text with `...` for what differs from machine to machine.
_BLOCK = re.compile(
    r"(?:^<!-- on any machine:\n(?P<pattern>.*?)^-->\n+)?"
    r"^```(?:(?P<language>\w+)\n(?P<text>.*?)|\{literalinclude\} (?P<file>\S+\.py)\n)^```$",
    re.DOTALL | re.MULTILINE,
)


def blocks(path, language=None):
    """The fenced blocks of a page in order, as (language, text); the text alone where a language is asked for.

    Programs on file that the page shows are ``python`` blocks. What differs from machine to machine is `...` in texts.
    """
    found = _found(path.read_text(encoding="utf-8"), path)
    return found if language is None else [text for name, text in found if name == language]


def shown(path):
    """What the page shows its reader as output, as it stands there."""
    found = _BLOCK.finditer(path.read_text(encoding="utf-8"))
    return [block["text"] for block in found if block["language"] in ("text", "console")]


def section(path, heading):
    """The blocks under a heading, down to the next one, as :func:`blocks` gives those of a page."""
    found = {}
    title = None
    for piece in re.split(
        r"(^```.*?^```$|^#+ [^\n]*$)", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    ):
        if piece.startswith("#"):
            title = piece
        found.setdefault(title, []).extend(_found(piece, path))
    return found[heading]


def _found(text, path):
    found = []
    for block in _BLOCK.finditer(text):
        if block["file"]:
            found.append(("python", (path.parent / block["file"]).read_text(encoding="utf-8")))
            continue
        if block["pattern"]:
            check_output(block["pattern"], block["text"], f"{path.name}: a comment, and the block below it")
        found.append((block["language"], block["pattern"] or block["text"]))
    return found


class Prompt(code.InteractiveConsole):
    """Python's interactive prompt, into which a block is pasted; it raises what it would show."""

    def paste(self, text, name):
        """Run the lines one by one, as they arrive there; each statement must be complete where the block ends."""
        ast.parse(text, name, feature_version=(3, 10))
        more = False
        for number, line in enumerate(text.splitlines(), 1):
            try:
                more = self.push(line)
            except Exception as error:
                error.add_note(f"{name}, pasted, line {number}: {line}") if sys.version_info >= (3, 11) else None
                raise
        assert not more, (
            f"{name}: the prompt waits for the end of a loop or a function; add a blank line and a statement"
        )

    def showtraceback(self, *_, **__):
        raise  # noqa: PLE0704 — called where an exception is being handled

    showsyntaxerror = showtraceback


def execute(found, scope, name):
    """Run Python blocks from a file each, for libraries that read the source of functions."""
    for k, (_, text) in enumerate(found):
        where = f"<{name}, block {k}>"
        linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
        exec(compile(text, where, "exec"), scope)
    return scope


def run(found, scope, name):
    """Paste Python blocks into one prompt; what was printed since the last ``text`` block must be what the next says.

    In ``console`` blocks the lines ``$ clfrnn ...`` are run as well, and the lines below must be what they print.
    """
    printed = io.StringIO()
    prompt = Prompt(scope)
    for k, (language, text) in enumerate(found):
        if language == "python":
            with contextlib.redirect_stdout(printed), quiet():
                prompt.paste(text, f"{name}, block {k}")
        elif language == "text":
            check_output(text, printed.getvalue(), f"{name}, block {k}")
            printed = io.StringIO()
        elif language == "console":
            for command, expected in re.findall(r"^\$ clfrnn (.*)\n((?:[^$].*\n|\n)*)", text, re.MULTILINE):
                done = CliRunner().invoke(main, shlex.split(command))
                assert done.exit_code == 0, f"{name}: clfrnn {command}: {done.output} {done.exception}"
                check_output(expected, done.output, f"{name}: clfrnn {command}")
    return scope


@contextlib.contextmanager
def quiet():
    """The values of expressions are not echoed: pages show what is printed."""
    echo, sys.displayhook = sys.displayhook, lambda _: None
    try:
        yield
    finally:
        sys.displayhook = echo


def check_output(expected, printed, name):
    """Fail where a page says that something else is printed."""
    same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
    assert same, f"{name}: the page says\n{expected}\nand this was printed:\n{printed}"
