"""Tunings on file: written and read, foreign and damaged ones, which one is in force, and what they may change."""

import dataclasses
import json
import math
import os
import random
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from conftest import RECORDED, truth

import clfrnn
from clfrnn import clouds
from clfrnn.doctor.report import _chosen
from clfrnn.host import folders
from clfrnn.tuning import default_tuning
from clfrnn.tuning.stored import find_tuning, in_force
from clfrnn.tuning.stored.choices import choices, why_illegal
from clfrnn.tuning.stored.files import Stored, read_tuning, write_tuning
from clfrnn.tuning.stored.in_force import slug, stored_path

H200, POCL = RECORDED["h200"], RECORDED["pocl"]
NARROW = {"walks": {"group": 64}}


def other_group(profile):
    """Another group of a walk than the default one."""
    usual = default_tuning(profile)
    settings = next(choice.settings for choice in choices(profile) if choice.name == "group of a walk")
    return next(numbers for numbers in settings.values() if usual.but(**numbers) != usual)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The user's folder of settings, empty, and no tuning named."""
    monkeypatch.delenv("CLFRNN_TUNING", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    in_force._warn.cache_clear()
    return tmp_path / "clfrnn"


def store(profile, **sections):
    """The user's file with other numbers for a device."""
    path = stored_path(profile)
    write_tuning(path, profile, Stored(default_tuning(profile).but(**sections), {"count, 9 points": (2.0, 1.5, 0.01)}))
    return path


def rewritten(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def without_warnings(profile):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return find_tuning(profile)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_setting_of_every_choice_survives_its_file(name):
    profile = RECORDED[name]
    default = default_tuning(profile)
    for choice in choices(profile):
        tunings = [default.but(**numbers) for numbers in choice.settings.values()]
        assert default in tunings, choice.name
        assert len(set(tunings)) == len(tunings) > 1, choice.name
        for tuning in tunings:
            write_tuning(stored_path(profile), profile, Stored(tuning, {}))
            assert without_warnings(profile).tuning == tuning


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_rows_of_a_group_fit_local_memory(name):
    """Those of the hit masks and those of neighbor buffers, which plans take no account of."""
    profile = RECORDED[name]
    for memory in (profile.local_memory, 32 << 10, 16 << 10):
        small = dataclasses.replace(profile, local_memory=memory + profile.local_reserve)
        sizes = [
            numbers["walks"]["group"]
            for choice in choices(small)
            if choice.name == "group of a walk"
            for numbers in choice.settings.values()
        ]
        numbers = default_tuning(small)
        rows, slots = 4 * (numbers.walks.mask_stage + 4) + 16, 4 * (numbers.lists.buffer_slots + 1)
        if profile.kind != "cpu":  # where neither passes through local memory
            assert all(size * max(rows, slots) + 64 <= small.usable_local_memory for size in sizes)


def test_a_file_holds_what_differs_and_says_what_it_is_for(folder):
    path = store(POCL, **NARROW)
    content = json.loads(path.read_text())

    assert path.parent == folder / "tunings"
    assert re.fullmatch(r"pthread-intel-r-xeon-r-[a-z0-9-]+\.json", path.name)
    assert content["changed"] == NARROW
    assert (content["device"], content["platform"], content["driver"]) == (POCL.name, POCL.platform, POCL.driver)
    assert content["clfrnn"] == clfrnn.__version__
    assert read_tuning(path, POCL).steps == {"count, 9 points": (2.0, 1.5, 0.01)}
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_each_device_and_driver_has_a_file_of_its_own():
    """And one of another driver is as if there were none."""
    store(POCL, **NARROW)
    newer = dataclasses.replace(POCL, driver="99")

    assert len({stored_path(each) for each in (*RECORDED.values(), newer)}) == len(RECORDED) + 1
    assert without_warnings(newer).origin == "the defaults for a CPU"
    assert without_warnings(RECORDED["rtx-4090"]).origin == "the defaults for a GPU"
    assert without_warnings(POCL).tuning.walks.group == 64


#: What stands in the file instead, and what the warning says.
CONTENTS = {
    "empty": (b"", "it is not JSON"),
    "cut": (b'{"format": 1, "device"', "it is not JSON"),
    "bytes": (b"\xff\xfe\x00", "it is not JSON"),
    "nested": (b"[" * 60_000, "it is not JSON"),
    "huge": (b"[" + b"1," * 60_000 + b"1]", "it is longer than 65,536 bytes"),
    "a list": (b"[1, 2]", "not a tuning in the form of this version"),
}

#: What is changed of a file, and what the warning says.
EDITS = {
    "another form": ({"format": 2}, "not a tuning in the form"),
    "another version": ({"clfrnn": "9"}, "it is for clfrnn '9', not"),
    "another device": ({"device": "X"}, "it is for the device 'X'"),
    "another driver": ({"driver": None}, "it is for the driver None"),
    "no numbers": ({"changed": None}, "do not stand by section"),
    "no section": ({"changed": {"a": {}}}, "no such numbers as 'a'"),
    "no number": ({"changed": {"walks": {"a": 1}}}, "no such numbers"),
    "a text": ({"changed": {"walks": {"group": "64"}}}, "expected int"),
    "not a number": ({"changed": {"walks": {"group": math.nan}}}, "expected int"),
    "deep": ({"changed": {"walks": {"group": "deep"}}}, "Tuning.group|types"),
    "out of limits": ({"changed": {"walks": {"group": 0}}}, "at least 1"),
    "not tried": ({"changed": {"walks": {"group": 48}}}, "which is not"),
    "not offered": ({"changed": {"auto": {"least_queries": 3}}}, "auto.least_queries is not a number that files may"),
    "no prices": ({"changed": {"grid": {"prices_3d": 1}}}, "types|Prices"),
    "no times": ({"steps": None}, "does not say what was measured"),
    "one time": ({"steps": {"a": [1]}}, "not two times"),
    "a time of nothing": ({"steps": {"a": [0, 1, 0]}}, "not two"),
}


def damaged(damage):
    """A file with a damage, and what the warning says."""
    path = store(POCL, **NARROW)
    if damage == "a folder":
        path.unlink()
        path.mkdir()
        return path, "it cannot be read"
    if damage in CONTENTS:
        content, why = CONTENTS[damage]
    else:
        edit, why = EDITS[damage]
        rewritten(path, lambda data: data.update(edit))
        content = path.read_bytes().replace(b'"deep"', b"[" * 900 + b"]" * 900)
    path.write_bytes(content)
    return path, why


@pytest.mark.parametrize("damage", ["a folder", *CONTENTS, *EDITS])
def test_a_damaged_file_costs_one_warning(damage):
    path, why = damaged(damage)

    with pytest.warns(UserWarning, match=f"(?s){why}") as caught:
        found = find_tuning(POCL)

    assert found == (default_tuning(POCL), "the defaults for a CPU")
    assert len(caught) == 1
    said = str(caught[0].message)
    assert said.startswith(f"{path}: this tuning is not used: ")
    assert said.endswith("measure anew by `clfrnn tune`, or remove the file by `clfrnn tune --forget`")
    assert without_warnings(POCL) == found  # once


def test_a_file_is_not_for_a_device_that_does_not_allow_its_numbers():
    path = store(POCL, walks={"group": 1024})
    smaller = dataclasses.replace(POCL, max_work_group_size=512)

    assert without_warnings(POCL).tuning.walks.group == 1024
    with pytest.warns(UserWarning, match=r"walks\.group is 1024, which is not tried on such a device"):
        assert find_tuning(smaller).tuning == default_tuning(smaller)
    assert path.exists()


def test_the_variable_goes_first(monkeypatch, tmp_path):
    named = store(POCL, **NARROW).rename(tmp_path / "mine.json")
    store(POCL, walks={"group": 1024})

    monkeypatch.setenv("CLFRNN_TUNING", str(named))
    assert without_warnings(POCL) == (default_tuning(POCL).but(**NARROW), str(named))
    for off in ("off", " OFF "):
        monkeypatch.setenv("CLFRNN_TUNING", off)
        assert without_warnings(POCL) == (default_tuning(POCL), "the defaults for a CPU")
    monkeypatch.setenv("CLFRNN_TUNING", "")
    assert without_warnings(POCL).tuning.walks.group == 1024


@pytest.mark.parametrize("name", ["missing.json", "missing/mine.json", "nul\0l"])
def test_a_named_file_must_be_there(monkeypatch, tmp_path, name):
    if "\0" in name:  # no system lets a variable hold it
        monkeypatch.setattr(os, "environ", {"CLFRNN_TUNING": name})
    else:
        monkeypatch.setenv("CLFRNN_TUNING", str(tmp_path / name))

    with pytest.warns(
        UserWarning, match="CLFRNN_TUNING names this file: let it name another one, or unset it$"
    ) as caught:
        assert find_tuning(POCL).tuning == default_tuning(POCL)
    assert len(caught) == 1


def test_a_tuning_that_came_with_the_package(monkeypatch, tmp_path):
    """It is for a device of any driver, and behind what the user has stored."""
    path = store(H200, walks={"group": 128})
    shipped = path.rename(tmp_path / f"{slug(H200)}.json")
    rewritten(shipped, lambda data: data.update(driver="older", clfrnn="0.0.1"))
    monkeypatch.setattr(in_force, "_SHIPPED", tmp_path)
    monkeypatch.setattr(in_force, "_shipped_names", lambda: frozenset([shipped.name]))

    found = without_warnings(H200)
    assert found.tuning == default_tuning(H200).but(walks={"group": 128})
    assert found.origin == "measured on such a device, came with clfrnn"
    assert without_warnings(dataclasses.replace(H200, platform="another")).origin == "the defaults for a GPU"
    monkeypatch.setenv("CLFRNN_TUNING", "off")
    assert without_warnings(H200).tuning == default_tuning(H200)
    monkeypatch.delenv("CLFRNN_TUNING")
    store(H200, walks={"group": 32})
    assert without_warnings(H200).tuning.walks.group == 32


def test_what_came_with_the_package_is_legal():
    for path in in_force._SHIPPED.glob("*.json"):
        content = json.loads(path.read_text())
        own = [
            each for each in RECORDED.values() if (each.name, each.platform) == (content["device"], content["platform"])
        ]
        assert own, f"{path.name} is for a device without a profile in tests/profiles"
        assert [slug(each) for each in own] == [path.stem] * len(own)
        assert all(read_tuning(path, each, shipped=True) for each in own)


def test_the_folder_of_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    for variable, system, where in [
        (str(tmp_path / "own"), "darwin", "own/clfrnn"),
        ("relative", "linux", ".config/clfrnn"),
        ("", "linux", ".config/clfrnn"),
        ("", "darwin", "Library/Application Support/clfrnn"),
        ("", "win32", "Roaming/clfrnn"),
    ]:
        monkeypatch.setenv("XDG_CONFIG_HOME", variable)
        monkeypatch.setattr(sys, "platform", system)
        assert folders.settings_folder() == tmp_path / where
    monkeypatch.delenv("APPDATA")
    assert folders.settings_folder() is None
    assert without_warnings(POCL).tuning == default_tuning(POCL)


def test_a_file_in_place_of_the_folder_is_as_none(folder):
    folder.write_text("")
    assert without_warnings(POCL).tuning == default_tuning(POCL)


def test_no_file_costs_one_look_and_no_module(monkeypatch):
    looked = []
    monkeypatch.setattr("os.path.exists", lambda path: bool(looked.append(path)))
    in_force._shipped_names()
    find_tuning(POCL)
    assert looked == [stored_path(POCL)]
    code = """
        import sys, types
        from clfrnn.tuning.stored import find_tuning
        print(find_tuning(types.SimpleNamespace(name="a", platform="b", driver="c", kind="cpu")).origin)
        print({"json", "numpy", "pyopencl", "clfrnn.tuning.stored.files"} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "the defaults for a CPU\nset()\n"


def test_a_session_loads_it_and_says_so(session):
    numbers = other_group(session.profile)
    path = store(session.profile, **numbers)
    points = clouds.uniform(200, 3, seed=1)

    tuned = clfrnn.Session(session.device)
    index = clfrnn.build_index(points, 0.2, session=tuned)
    usual = clfrnn.build_index(points, 0.2, session=session)

    assert tuned.tuning == default_tuning(session.profile).but(**numbers)
    for long in (False, True):
        assert f"tuning: {path}\n" in index.explain(long=long)
        assert ("tuning: the defaults for a" in usual.explain(long=long)) == long
    other = clfrnn.build_index(points, 0.2, session=tuned.with_tuning(tuned.tuning.but(walks={"group": 16})))
    assert "tuning: one of a program's own" in other.explain()
    assert _chosen(session.profile)["tuning"] == str(path)


def test_odd_but_legal_numbers_change_no_result(session):
    """Of all choices at once, each drawn."""
    profile, draw = session.profile, random.Random(5)
    tuning = default_tuning(profile)
    for choice in choices(profile):
        tuning = tuning.but(**draw.choice([each for each in choice.settings.values() if tuning.but(**each) != tuning]))
    assert not why_illegal(tuning, profile)
    write_tuning(stored_path(profile), profile, Stored(tuning, {}))
    tuned = clfrnn.Session(session.device)
    assert tuned.tuning == tuning
    points = clouds.clustered(600, 3, seed=1, clusters=5, width=0.05)
    expected = truth(points, 0.08)

    for method in ("strips", "fenns", "aabb_tree", "auto"):
        found = clfrnn.search(points, 0.08, method=method, sort="index", session=tuned).to_host()
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(found.offsets, expected.offsets)
    rows = clfrnn.nearest(points, 5, session=tuned).to_host()
    usual = clfrnn.nearest(points, 5, session=session).to_host()
    assert np.array_equal(rows.indices, usual.indices)
    assert math.isfinite(rows.distances.sum())
