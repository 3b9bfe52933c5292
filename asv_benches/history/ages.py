"""Which figures are older than some commits: for each section of a page, the oldest commit that it names.

A section says at which commit its tables were measured, and is as old as the oldest of them: a page that was measured
again in part is told by the part that was not. A word of seven to twelve hexadecimal digits counts as a commit where
git knows it as one that the checkout descends from.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from ..tools.provenance import ROOT
from ..tools.tables import head, row

#: commits after which figures are old
OLD = 60

_WORD = re.compile(r"\b[0-9a-f]{7,12}\b")
_HEADING = re.compile(r"^#+ +(.*)$")


class Age(NamedTuple):
    """A section of a page, the oldest commit that it names, and how many commits there have been since."""

    page: str
    section: str
    commit: str
    since: int


@functools.cache
def age(commit: str, root: Path) -> int | None:
    """How many commits the checkout is ahead of this one; None where it does not descend from it."""
    if _git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode:
        return None
    return int(_git(root, "rev-list", "--count", f"{commit}..HEAD").stdout)


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)  # noqa: S603, S607 — words of ours


def ages(root: Path) -> Iterator[Age]:
    """Each section that names commits."""
    for page in sorted((root / "docs").rglob("*.md")):
        for section, text in _sections(page.read_text(encoding="utf-8")):
            known = [(found, word) for word in set(_WORD.findall(text)) if (found := age(word, root)) is not None]
            if known:
                since, commit = max(known)
                yield Age(str(page.relative_to(root)), section, commit, since)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """The text below each heading, without the sections below that one; what looks like a heading in code is none."""
    heading, lines, fenced = "", list[str](), False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        found = None if fenced else _HEADING.match(line)
        if found:
            yield heading, "\n".join(lines)
            heading, lines = found[1], []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


@click.command()
@click.option("--old", default=OLD, show_default=True, help="Commits after which figures are old.")
@click.option("--root", type=click.Path(path_type=Path), default=ROOT, help="Another checkout than this one.")
def main(*, old: int, root: Path) -> None:
    """Print a Markdown table of the sections whose figures are old, the oldest first."""
    try:
        found = sorted(ages(root), key=lambda each: -each.since)
    except OSError as error:
        raise click.ClickException(f"{root}: expected git, to ask how old commits are; {error}") from error
    if not found:
        raise click.ClickException(f"{root}: expected pages that name commits, got none; is this a full checkout?")
    head("page", "section", "oldest commit", "commits since:")
    for each in found:
        if each.since > old:
            row(each.page, each.section, each.commit, f"{each.since:,}")
    many = sum(each.since > old for each in found)
    click.echo(f"\n{many} of {len(found)} sections with figures have some of more than {old} commits ago")


if __name__ == "__main__":
    main()
