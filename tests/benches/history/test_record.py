"""Recording benchmarks: machines described, files held against their commit, results named alike on every machine."""

import importlib
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

pytest.importorskip("asv_benches", reason="benchmarks come with a checkout")
record = importlib.import_module("asv_benches.history.record")

FILES = {"clfrnn/a.py": "one", "templates/b.mako": "two", "asv_benches/benchmarks/c.py": "three", "docs/d.md": "four"}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A checkout of files, and a bare clone of its history, as where there are only files and a bundle."""
    root = tmp_path / "root"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "all")):
        subprocess.run(["git", "-C", root, *command], check=True)
    bundle = tmp_path / "history.bundle"
    subprocess.run(["git", "-C", root, "bundle", "create", "-q", bundle, "HEAD", "main"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", bundle, tmp_path / "history.git"], check=True)
    subprocess.run(["rm", "-rf", root / ".git"], check=True)
    monkeypatch.setattr(record, "ROOT", root)
    return root


def test_files_are_those_of_the_commit(tree, tmp_path):
    def changed():
        return record.changed(tmp_path / "history.git", "main", tmp_path)

    assert changed() == []
    (tree / "docs/d.md").write_text("other")
    assert changed() == [], "figures do not depend on it"
    (tree / "templates/b.mako").write_text("other")
    (tree / "clfrnn/new.py").write_text("new")
    (tree / "asv_benches/benchmarks/c.py").unlink()
    assert changed() == ["asv_benches/benchmarks/c.py", "clfrnn/new.py", "templates/b.mako"]


def test_a_git_command_that_fails_says_why(tree, tmp_path):
    with pytest.raises(record.click.ClickException, match="^git: .*nowhere"):
        record.changed(tmp_path / "history.git", "nowhere", tmp_path)


def test_a_machine_is_described_with_devices_and_drivers(session):
    pytest.importorskip("asv")
    facts = record.describe("somewhere")

    assert facts["machine"] == "somewhere"
    assert facts["os"] in ("Linux", "Darwin", "Windows")
    device = session.device
    for name, text in record.PLATFORMS.items():
        if text in device.platform.name:
            assert device.driver_version.strip() in record.devices()[name]
            assert facts[name] == record.devices()[name]


def test_results_are_named_by_the_version_of_python(tmp_path):
    pytest.importorskip("asv")
    path = "/usr/bin/python"
    results = {"commit_hash": "0123456789", "env_name": "existing-_usr_bin_python", "python": path}
    results |= {"params": {"python": path, "cpu": "x"}, "results": {"a": [float("nan")]}}
    (tmp_path / "01234567-existing-_usr_bin_python.json").write_text(json.dumps(results))
    (tmp_path / "machine.json").write_text("{}")
    record.rename(tmp_path)

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {found.name for found in tmp_path.iterdir()} == {f"01234567-python{version}.json", "machine.json"}
    renamed = json.loads((tmp_path / f"01234567-python{version}.json").read_text())
    assert renamed["env_name"] == f"python{version}"
    assert renamed["params"] == {"python": version, "cpu": "x"}
    assert renamed["python"] == version


def test_a_second_recording_adds_to_the_first(tmp_path):
    pytest.importorskip("asv")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    results = {"commit_hash": "0123456789", "env_name": f"python{version}", "python": version}
    results |= {"params": {"python": version}, "results": {"a": [1.0]}}
    kept = tmp_path / f"01234567-python{version}.json"
    kept.write_text(json.dumps(results))
    record.rename_back(tmp_path, "0123456789")

    from asv.environment import get_env_name

    name = get_env_name("existing", sys.executable.replace("/", "_"), {}, {})
    assert (tmp_path / f"01234567-{name}.json").is_file(), "where asv looks for it"
    kept.unlink()
    record.rename(tmp_path)
    assert json.loads(kept.read_text()) == results


def test_files_without_a_clone_or_with_changes_are_refused(tree, tmp_path):
    pytest.importorskip("asv")
    run = CliRunner().invoke
    asked = ["--machine", "m", "--output", str(tmp_path / "results")]

    assert "git bundle create history.bundle" in run(record.main, asked).output
    (tree / "templates/b.mako").write_text("other")
    done = run(record.main, [*asked, "--history", str(tmp_path / "history.bundle")])
    assert done.exit_code == 1
    assert "templates/b.mako differ from it; commit them first" in done.output
    assert not (tmp_path / "results").exists()
