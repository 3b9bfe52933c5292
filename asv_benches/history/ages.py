"""Which pages have figures that are older than some commits: for each page, the youngest commit that it names.

A page says at which commit its figures were measured. A word of seven hexadecimal digits counts as a commit where git
knows it as one that the checkout descends from.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

from ..tools.provenance import ROOT
from ..tools.tables import head, row

#: commits after which figures are old, and the digits by which pages name a commit
OLD, DIGITS = 60, 7


def age(commit: str, root: Path) -> int | None:
    """How many commits the checkout is ahead of this one; None where it does not descend from it."""
    if _git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode:
        return None
    return int(_git(root, "rev-list", "--count", f"{commit}..HEAD").stdout)


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)  # noqa: S603, S607 — words of ours


def ages(root: Path) -> Iterator[tuple[str, str, int]]:
    """Each page that names commits, the youngest of them, and its age."""
    for page in sorted((root / "docs").rglob("*.md")):
        words = set(re.findall(rf"\b[0-9a-f]{{{DIGITS}}}\b", page.read_text(encoding="utf-8")))
        known = [(found, word) for word in words if (found := age(word, root)) is not None]
        if known:
            youngest, commit = min(known)
            yield str(page.relative_to(root)), commit, youngest


@click.command()
@click.option("--old", default=OLD, show_default=True, help="Commits after which figures are old.")
@click.option("--root", type=click.Path(path_type=Path), default=ROOT, help="Another checkout than this one.")
def main(*, old: int, root: Path) -> None:
    """Print a Markdown table of the pages whose figures are old, the oldest first."""
    try:
        found = sorted(ages(root), key=lambda each: -each[2])
    except OSError as error:
        raise click.ClickException(f"{root}: expected git, to ask how old commits are; {error}") from error
    if not found:
        raise click.ClickException(f"{root}: expected pages that name commits, got none; is this a full checkout?")
    head("page", "youngest commit", "commits since:")
    for page, commit, since in found:
        if since > old:
            row(page, commit, f"{since:,}")
    click.echo(
        f"\n{sum(each[2] > old for each in found)} of {len(found)} pages have figures of more than {old} commits ago"
    )


if __name__ == "__main__":
    main()
