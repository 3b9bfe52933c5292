"""Processes beside this one: they import nothing from the folder that they are started in."""

import subprocess

import pytest

from clfrnn.doctor import runner
from clfrnn.host.child import python_command


@pytest.mark.parametrize(
    "command", [python_command("import json, ctypes, numpy"), runner.command("loader")], ids=["code", "probe"]
)
def test_modules_in_the_current_folder_are_not_run(command, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name in ("json", "ctypes", "numpy", "warnings"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path; Path('run').touch()")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run").exists()


def test_words_and_the_folders_of_this_process_go_to_the_child(tmp_path, monkeypatch):
    (tmp_path / "a_module.py").write_text("import sys; print(sys.argv[1:])")
    monkeypatch.syspath_prepend(str(tmp_path))
    done = subprocess.run(python_command("import a_module", "one", "'two'"), capture_output=True, text=True, check=True)

    assert done.stdout == "['one', \"'two'\"]\n"
