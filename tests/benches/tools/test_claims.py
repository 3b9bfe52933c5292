"""What pages state of results is printed by a command, and the cheapest of its tables says what the page says."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import position

claims = pytest.importorskip("asv_benches.tools.claims", reason="benchmarks come with a checkout")
DOCS = Path(claims.__file__).parents[2] / "docs"


def test_pages_name_claims_that_there_are():
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"asv_benches\.tools\.claims\s+(\w+)", page)}
    assert named == set(claims.CLAIMS)


@pytest.mark.long
def test_noise_of_a_plane_that_is_smoothed(session):
    done = CliRunner().invoke(claims.main, ["smoothing", "--device", position(session)])
    assert done.exit_code == 0, done.output
    found = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", done.output, re.MULTILINE)
    left = {int(points): [float(share) for share in shares] for points, *shares in found}
    assert left == {
        10: pytest.approx([1.25, 1.11], abs=0.02),
        30: pytest.approx([1.12, 1.13], abs=0.02),
        100: pytest.approx([1.1, 1.12], abs=0.02),
    }
