"""Texts that were rendered once on a machine: read whole or made again, and never those of other templates."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clfrnn.config import KernelConfig
from clfrnn.host import text_cache
from clfrnn.host.text_cache import cached_text
from clfrnn.runtime import rendering
from clfrnn.runtime.rendering import render, template_root


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "clfrnn"


def test_a_text_is_made_once(folder):
    assert cached_text("key", lambda: "kernel\r\n ä") == "kernel\r\n ä"
    assert cached_text("key", lambda: pytest.fail("made again")) == "kernel\r\n ä"
    assert cached_text("another key", lambda: "other") == "other"
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"kernel", b"\xff\xfe", None], ids=["empty", "short", "no text", "cut"])
def test_a_file_that_is_not_whole_counts_as_none(folder, damage):
    cached_text("key", lambda: "kernel void f() {}")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-3] if damage is None else damage)

    assert cached_text("key", lambda: "made again") == "made again"
    assert cached_text("key", lambda: pytest.fail("not written again")) == "made again"


def test_a_text_of_another_key_is_not_stored(folder):
    assert cached_text("key", lambda: "of edited templates", may_store=lambda: False) == "of edited templates"
    assert cached_text("key", lambda: "of the key") == "of the key"


def test_a_write_that_fails_leaves_no_file(folder, monkeypatch):
    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "replace", fail)
    assert cached_text("key", lambda: "text") == "text"
    assert not list(folder.iterdir())


def test_a_relative_folder_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    folder = text_cache.cache_folder()
    assert folder is None or folder.is_absolute()


def test_without_a_folder_texts_are_made_each_time(folder, monkeypatch):
    folder.write_text("a file in the folder's place")
    assert cached_text("key", lambda: "first") == "first"
    assert cached_text("key", lambda: "second") == "second"

    monkeypatch.setattr(text_cache, "cache_folder", lambda: None)
    assert cached_text("key", lambda: "third") == "third"


def test_other_templates_give_other_texts(folder, monkeypatch, tmp_path):
    """Also where a template that is included has changed, and its dates have not."""
    config, root = KernelConfig(work_group_size=64), tmp_path / "templates"
    before = render("primitives/fill", config)
    shutil.copytree(template_root(), root)
    included = root / "common" / "contract.mako"
    dates = included.stat()
    pragma = "#pragma OPENCL FP_CONTRACT OFF"
    included.write_text(included.read_text().replace(pragma, f"// Of another version.\n{pragma}"))
    os.utime(included, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    monkeypatch.setattr(rendering, "template_root", lambda: root)

    after = render("primitives/fill", config)

    assert after != before
    assert after == before.replace(pragma, f"// Of another version.\n{pragma}")


def test_a_process_whose_texts_are_cached_loads_no_templates(folder):
    """What is rendered depends on nothing that differs from process to process."""
    code = textwrap.dedent("""
        import sys
        from clfrnn.config import VisitVariant
        from clfrnn.methods.walk_plan import plan_walk
        from clfrnn.tuning import default_tuning
        from clfrnn.profile import DeviceProfile
        from clfrnn.runtime.rendering import own_function, render
        import json, pathlib
        profile = DeviceProfile.from_dict(json.loads(pathlib.Path(sys.argv[1]).read_text()))
        config = plan_walk(profile, default_tuning(profile), dim=3, real="float", periodic=True)
        stem = "methods/grid/strips"
        text = render(stem, config, own_function("count"), VisitVariant()) + render(stem, config)
        print(hash("seed"), "mako.lookup" in sys.modules, len(text))
    """)
    profile = Path(__file__).parents[2] / "profiles" / "pocl.json"

    first, second = (
        subprocess.run([sys.executable, "-c", code, profile], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    )

    assert first[0] != second[0]
    assert (first[1], second[1]) == ("True", "False")
    assert first[2] == second[2]
