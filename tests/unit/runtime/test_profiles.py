"""Recorded profiles: those of devices that tests were run on, and those put together from what is published of others.

``profiles/sources`` says of each which it is, and of the latter where every fact is from.
"""

import copy
import dataclasses
import json
import pickle
import re
import runpy

import pytest
from conftest import PROFILES, RECORDED, ROOT

from clfrnn.profile import DeviceProfile
from clfrnn.tuning import default_tuning

DOCS = ROOT / "docs"
SOURCES = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((PROFILES / "sources").glob("*.json"))
}
PLANNED = [name for name, source in SOURCES.items() if source["how"] == "planned"]
FIELDS = [field.name for field in dataclasses.fields(DeviceProfile)]


def test_every_profile_says_how_it_came_about():
    assert list(SOURCES) == list(RECORDED)
    assert {source["how"] for source in SOURCES.values()} == {"run", "planned", "invented"}
    assert all(set(source) == {"how", "facts"} for source in SOURCES.values())
    assert all(not source["facts"] for name, source in SOURCES.items() if name not in PLANNED)


@pytest.mark.parametrize("name", PLANNED)
def test_every_fact_has_a_source(name):
    """An address, or why it is inferred."""
    facts = SOURCES[name]["facts"]
    assert sorted(facts) == sorted(set(FIELDS) - {"lacks"})  # which is about a machine
    for fact, source in facts.items():
        assert re.fullmatch(r"https://\S+|inferred: \w.{10,}", source), f"{fact}: {source}"


@pytest.mark.parametrize("name", PLANNED)
def test_what_plans_hang_on_most_is_published(name):
    """Of the device itself, or where no report of it was found, of one that the source names."""
    facts = SOURCES[name]["facts"]
    for fact in ("compute_units", "max_work_group_size", "local_memory", "global_memory"):
        assert "https://" in facts[fact], fact


@pytest.mark.parametrize("name", RECORDED)
def test_facts_agree_with_each_other(name):
    profile = RECORDED[name]
    written = json.loads((PROFILES / f"{name}.json").read_text(encoding="utf-8"))
    assert set(written) <= set(FIELDS), "a field that DeviceProfile does not have"
    assert profile.kind in ("cpu", "gpu", "other")
    assert profile.max_allocation <= profile.global_memory
    assert profile.local_reserve < profile.local_memory < profile.max_allocation
    assert profile.simd_width <= profile.max_work_group_size
    assert ("-cl-fp32-correctly-rounded-divide-sqrt" in profile.build_options) == profile.rounded_sqrt
    assert profile.register_option in ("", "-cl-nv-maxrregcount={}")
    assert bool(profile.register_option) == (profile.platform == "NVIDIA CUDA")


@pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")
def test_pages_of_devices_are_what_their_generator_writes():
    made = runpy.run_path(str(DOCS / "make_devices.py"))
    pages = made["pages"]()
    for name, text in pages.items():
        written = (DOCS / name).read_text(encoding="utf-8")
        assert written == text, f"{name}: plans have changed: python docs/make_devices.py"
    written = pages["reference/devices.md"]
    assert set(made["CALLED"]) == set(RECORDED), "name it in docs/make_devices.py"
    for name, called in made["CALLED"].items():
        bold = f"| **{called}** |" in written
        assert bold == (SOURCES[name]["how"] == "run"), f"{called}: whether it was run"
        assert f"| {called} |" in written or bold


@pytest.mark.parametrize("fact", FIELDS)
@pytest.mark.parametrize("value", [None, "x", -1, 1.5, [], {}, True])
def test_facts_of_other_types_are_refused(fact, value):
    """A damaged report ended in a traceback, wherever a plan first used the fact."""
    good = RECORDED["pocl"].to_dict()
    fits = {"x": str, True: bool}.get(value) if isinstance(value, (str, bool)) else None
    allowed = (
        (fits is not None and isinstance(good[fact], fits) and fact != "kind")
        or (fact == "loop_turns" and value is None)
        or (fact == "build_options" and value == [])
    )
    if allowed:
        DeviceProfile.from_dict({**good, fact: value})
    else:
        with pytest.raises((ValueError, TypeError)):
            DeviceProfile.from_dict({**good, fact: value})


@pytest.mark.parametrize("make", [lambda profile: profile, default_tuning], ids=["profile", "tuning"])
def test_a_hash_stays_in_its_process(profile, make):
    """Texts have another hash in each, and what was pickled with its own would be missed among its equals."""
    given = make(profile)
    assert len({given, make(profile)}) == 1
    for other in (pickle.loads(pickle.dumps(given)), copy.copy(given)):
        assert "_hash" not in vars(other)
        assert other == given
        assert hash(other) == hash(given)
