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
    (tmp_path / "docs/old.md").write_text(f"# Old\n\n2097152 points at {commits[0]}\n")
    (tmp_path / "docs/papers/young.md").write_text(
        f"# A page\n\nonce at {commits[1]}, and again at {commits[3]}; not at 0123abc\n\n"
        f"## One\n\n```sh\n# {commits[0]}\n```\n\n## Other\n\nat {commits[3]}\n\n## None\n\n2097152 points\n"
    )
    (tmp_path / "docs/none.md").write_text("2097152 points\n")
    return tmp_path, commits


def test_sections_are_as_old_as_their_oldest_commit(checkout):
    root, commits = checkout
    assert list(ages.ages(root)) == [
        ("docs/old.md", "Old", commits[0], 4),
        ("docs/papers/young.md", "A page", commits[1], 3),
        ("docs/papers/young.md", "One", commits[0], 4),
        ("docs/papers/young.md", "Other", commits[3], 1),
    ]

    printed = CliRunner().invoke(ages.main, ["--root", str(root), "--old", "3"]).output
    assert f"| docs/old.md | Old | {commits[0]} | 4 |" in printed
    assert "Other" not in printed
    assert "2 of 4 sections with figures have some of more than 3 commits ago" in printed


def test_a_folder_that_is_no_checkout(tmp_path):
    found = CliRunner().invoke(ages.main, ["--root", str(tmp_path)])
    assert found.exit_code == 1
    assert "expected pages that name commits, got none" in found.output
