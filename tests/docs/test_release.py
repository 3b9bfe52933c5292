"""What stands beside the package for those who install, cite and report: it is of this version, and in its form."""

import re

import pytest
from pages import ROOT

import clfrnn

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))

pytestmark = pytest.mark.skipif(not FORMS, reason="runs in a checkout")


def test_the_changelog_and_the_citation_are_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    released = re.findall(r"^## (\d\S*) - (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == (cited["version"], str(cited["date-released"]))
    assert released[0][0] == clfrnn.__version__
    assert len(cited["references"]) == 4


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_something_and_names_commands_that_there_are(path):
    from clfrnn.cli import main

    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len({*ids}) > 0
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    assert {*re.findall(r"`clfrnn (\w+)", path.read_text(encoding="utf-8"))} <= {*main.commands}
