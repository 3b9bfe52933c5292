"""The check that names pages with old figures."""

import subprocess

import pytest
from click.testing import CliRunner

pytest.importorskip("asv_benches.history.ages", reason="the benches are in the checkout alone")
from asv_benches.history import ages


@pytest.fixture
def checkout(tmp_path):
    """Five commits, and pages that name the first, the fourth, and none."""

    def git(*words):
        done = subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()[:7]

    (tmp_path / "docs/papers").mkdir(parents=True)
    git("init", "-q")
    commits = []
    for number in range(5):
        git("commit", "-q", "--allow-empty", "-m", str(number))
        commits.append(git("rev-parse", "HEAD"))
    (tmp_path / "docs/old.md").write_text(f"2097152 points at {commits[0]}\n")
    (tmp_path / "docs/papers/young.md").write_text(f"once at {commits[0]}, and again at {commits[3]}; not at 0123abc\n")
    (tmp_path / "docs/none.md").write_text("2097152 points\n")
    return tmp_path, commits


def test_pages_are_as_old_as_their_youngest_commit(checkout):
    root, commits = checkout
    assert list(ages.ages(root)) == [("docs/old.md", commits[0], 4), ("docs/papers/young.md", commits[3], 1)]

    printed = CliRunner().invoke(ages.main, ["--root", str(root), "--old", "3"]).output
    assert f"| docs/old.md | {commits[0]} | 4 |" in printed
    assert "young.md" not in printed
    assert "1 of 2 pages have figures of more than 3 commits ago" in printed


def test_a_folder_that_is_no_checkout(tmp_path):
    found = CliRunner().invoke(ages.main, ["--root", str(tmp_path)])
    assert found.exit_code == 1
    assert "expected pages that name commits, got none" in found.output
