"""The doctor: advice by the facts of machines that are not here, and probes that crash, hang and lie."""

import ast
import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import PROFILES, ROOT
from rich.console import Console

import clfrnn
from clfrnn import cli, doctor
from clfrnn.doctor import folders, probe, runner, trials
from clfrnn.doctor import gather as gathering
from clfrnn.doctor.facts import CHECKS, Check, Device, Entry, Facts, Folder, Gpu, Loader, Platform
from clfrnn.doctor.findings import read
from clfrnn.doctor.hints import FIRST, HINTS, hints
from clfrnn.doctor.report import as_data, print_report
from clfrnn.doctor.variables import VARIABLES, effects
from clfrnn.host.terminal import without_counts_of_errors
from clfrnn.profile import DeviceProfile
from clfrnn.runtime.device import list_devices, read_profile
from clfrnn.runtime.quirks import UNKNOWN_PROCESSOR

PACKAGE = Path(doctor.__file__).parent
PAGE = ROOT / "docs/start/devices-and-drivers.md"
SYSTEM = folders.SYSTEM_FOLDER
AWKWARD = DeviceProfile.from_dict(json.loads((PROFILES / "awkward.json").read_text()))
UNLINKED = dataclasses.replace(
    AWKWARD, lacks="its driver links each kernel by the program `ld`, which fails; `pip install ziglang` has one"
)
UNKNOWN = dataclasses.replace(AWKWARD, lacks=UNKNOWN_PROCESSOR)
PASSED = tuple(Check(name=name, outcome="passed") for name in CHECKS)

WHEEL = Loader(path="/venv/pyopencl/.libs/libOpenCL.so.1", origin="wheel", kind="ocl-icd")
CONDA = Loader(path="/conda/lib/libOpenCL.so.1", origin="conda", kind="ocl-icd")
KHRONOS = Loader(path="/usr/lib/libOpenCL.so.1", origin="system", kind="khronos")
BUNDLED = Folder(
    path="/venv/pyopencl/.libs", named_by="wheel", state="folder", files=("/venv/pyopencl/.libs/pocl.icd",)
)
NO_SYSTEM = Folder(path=SYSTEM, named_by="loader", state="missing")
UNREAD = Folder(path=SYSTEM, named_by="", state="folder", read=False, files=(f"{SYSTEM}/nvidia.icd",))
POCL = Entry(file="/venv/pyopencl/.libs/pocl.icd", library="/venv/pyopencl/.libs/libpocl.so", platforms=1)
NVIDIA = Entry(file=f"{SYSTEM}/nvidia.icd", library="libnvidia-opencl.so.1", platforms=0)
CRASHING = Entry(file=f"{SYSTEM}/bad.icd", library="libbad.so", error="crashed (SIGSEGV) while loading it", fatal=True)

#: A virtual environment with ``clfrnn[pocl]`` on Linux, where nothing has to be done.
HEALTHY = Facts(
    system="Linux",
    architecture="x86_64",
    pyopencl="2026.1",
    loader=WHEEL,
    folders=(NO_SYSTEM, BUNDLED),
    entries=(POCL,),
    platforms=(Platform(name="Portable Computing Language", devices=1),),
    devices=(Device(position=0, name="cpu", platform="Portable Computing Language", profile=None, checks=PASSED),),
    default=0,
)

#: The same without PoCL: no driver at all.
BARE = dataclasses.replace(HEALTHY, folders=(NO_SYSTEM,), entries=(), platforms=(), devices=(), default=None)


def vendors(value, state="missing", files=(), **more):
    """OCL_ICD_VENDORS is set and leads to no device."""
    place = Folder(path=value, named_by="OCL_ICD_VENDORS", state=state, files=files)
    return dataclasses.replace(
        BARE, environment={"OCL_ICD_VENDORS": value}, folders=(place, *more.pop("folders", ())), **more
    )


def bare(**more):
    return dataclasses.replace(BARE, **more)


def healthy(**more):
    return dataclasses.replace(HEALTHY, **more)


FAILED = dataclasses.replace(HEALTHY.devices[0], position=1, name="gpu", failure="crashed (SIGSEGV)")
KEPT_AWAY = dataclasses.replace(HEALTHY.devices[0], alone=POCL.library)
AMD, INTEL = (
    Gpu(path=f"/dev/dri/renderD{k}", vendor=maker, accessible=True) for k, maker in ((128, "AMD"), (129, "Intel"))
)
RUSTICL = Platform(name="rusticl", devices=0)

#: A machine, and the hints that are given there.
MACHINES = {
    "healthy": (HEALTHY, []),
    "no driver": (BARE, ["pocl"]),
    "no driver on ARM": (bare(architecture="aarch64"), ["pocl"]),
    "no driver on Windows": (bare(system="Windows", folders=()), ["windows"]),
    "no driver on macOS": (bare(system="Darwin", architecture="arm64", folders=()), ["macos", "pocl"]),
    "no pyopencl": (bare(pyopencl="", loader=None, failure="ImportError: libOpenCL.so.1"), ["pyopencl_missing"]),
    "vendors: a list": (vendors("/a:/b"), ["vendors_list"]),
    "vendors: nothing there": (vendors("/nonexistent"), ["vendors_missing"]),
    "vendors: hides what is there": (
        vendors("/empty", state="folder", folders=(UNREAD,)),
        ["vendors_hide", "pocl"],
    ),
    "vendors: on purpose": (
        healthy(environment={"OCL_ICD_VENDORS": "/empty"}, folders=(UNREAD, BUNDLED)),
        [],
    ),
    "vendor path: nothing there": (
        bare(
            environment={"OPENCL_VENDOR_PATH": "/nonexistent"},
            folders=(Folder(path="/nonexistent", named_by="OPENCL_VENDOR_PATH", state="missing"),),
        ),
        ["vendors_missing"],
    ),
    "a driver that crashes": (bare(failure="crashed (SIGSEGV)", entries=(CRASHING, POCL)), ["broken_driver"]),
    "a driver that keeps others away": (
        bare(failure="crashed (SIGSEGV)", entries=(CRASHING, POCL), devices=(KEPT_AWAY,)),
        ["broken_driver"],
    ),
    "crashes of nobody": (bare(failure="no answer within 30 s", entries=(POCL,)), ["broken_driver"]),
    "a wrong name": (
        healthy(environment={"CLFRNN_DEVICE": "abacus"}, default=None, default_failure="device='abacus': no"),
        ["default_names_nothing"],
    ),
    "the default fails": (healthy(devices=(*HEALTHY.devices, FAILED), default=1), ["default_unusable"]),
    "NVIDIA in a container": (bare(nvidia=True, nvidia_library=True, root=True), ["nvidia_not_registered", "pocl"]),
    "NVIDIA beside PoCL": (healthy(nvidia=True, nvidia_library=True), ["nvidia_not_registered"]),
    "NVIDIA without compute": (bare(nvidia=True), ["nvidia_without_library", "pocl"]),
    "NVIDIA without a GPU": (bare(nvidia_library=True, entries=(NVIDIA,)), ["nvidia_silent", "pocl"]),
    "NVIDIA as it should be": (
        healthy(
            nvidia=True,
            nvidia_library=True,
            entries=(NVIDIA, POCL),
            platforms=(Platform(name="NVIDIA CUDA", devices=1), *HEALTHY.platforms),
        ),
        [],
    ),
    "NVIDIA under WSL": (bare(wsl=True, nvidia=True), ["wsl", "pocl"]),
    "no rights": (bare(gpus=(dataclasses.replace(AMD, accessible=False),)), ["render_rights", "pocl"]),
    "GPUs without a driver": (bare(gpus=(AMD, INTEL)), ["gpu_without_driver", "pocl"]),
    "rusticl, not told": (bare(platforms=(RUSTICL,)), ["rusticl", "pocl"]),
    "rusticl, told wrong": (healthy(platforms=(RUSTICL,), environment={"RUSTICL_ENABLE": "x"}), ["rusticl"]),
    "conda's loader": (
        bare(loader=CONDA, environment={"CONDA_PREFIX": "/conda"}, folders=(UNREAD,)),
        ["conda_loader", "pocl"],
    ),
    "pip in conda": (
        bare(
            environment={"CONDA_PREFIX": "/conda"},
            folders=(
                NO_SYSTEM,
                Folder(path="/conda/etc/OpenCL/vendors", named_by="", state="folder", read=False, files=("x.icd",)),
            ),
        ),
        ["conda_drivers", "pocl"],
    ),
    "no linker": (
        healthy(devices=(dataclasses.replace(HEALTHY.devices[0], profile=UNLINKED, checks=()),), default=None),
        ["linker"],
    ),
    "a processor that PoCL does not know": (
        healthy(devices=(dataclasses.replace(HEALTHY.devices[0], profile=UNKNOWN, checks=()),), default=None),
        ["processor"],
    ),
    "a home that cannot be written": (healthy(caches="/home/me/.cache/pyopencl: Permission denied"), ["caches"]),
}


@pytest.mark.parametrize("name", MACHINES)
def test_hints_of_a_machine(name):
    facts, expected = MACHINES[name]

    assert [hint.name for hint in hints(facts)] == expected


def test_every_hint_has_its_machine():
    given = {name for _, names in MACHINES.values() for name in names}

    assert given == {hint.__name__ for hint in (*FIRST, *HINTS)}


def commands_of(name, hint):
    return next(each.commands for each in hints(MACHINES[name][0]) if each.name == hint)


def test_what_a_driver_lacks_is_a_command():
    assert commands_of("a processor that PoCL does not know", "processor") == ("pip install intel-opencl-rt",)
    assert commands_of("no linker", "linker") == ("pip install ziglang",)


def test_a_driver_is_registered_where_the_loader_looks():
    """As root in the system's folder, with a variable in its folder, else in one that has what was found before too."""
    line = "echo libnvidia-opencl.so.1 > "
    named = vendors("/mine", state="folder", nvidia_library=True)
    theirs = dataclasses.replace(NO_SYSTEM, state="folder", files=(f"{SYSTEM}/amd.icd",))
    guest = bare(nvidia_library=True, folders=(theirs,))

    assert commands_of("NVIDIA in a container", "nvidia_not_registered") == (
        f"mkdir -p {SYSTEM}",
        f"{line}{SYSTEM}/nvidia-opencl.icd",
    )
    assert hints(named)[0].commands[-1] == f"{line}/mine/nvidia-opencl.icd"
    assert hints(guest)[0].commands == (
        'mkdir -p "$HOME/opencl"',
        f'cp {SYSTEM}/*.icd "$HOME/opencl/"',
        f'{line}"$HOME/opencl/nvidia-opencl.icd"',
        'export OCL_ICD_VENDORS="$HOME/opencl"',
    )


def test_commands_follow_the_facts():
    assert commands_of("no driver", "pocl") == ("pip install 'clfrnn[pocl]'",)
    assert commands_of("no driver on ARM", "pocl") == ("conda install -c conda-forge pyopencl pocl",)
    assert 'cp /b/*.icd "$HOME/opencl/"' in commands_of("vendors: a list", "vendors_list")
    assert commands_of("the default fails", "default_unusable") == ("export CLFRNN_DEVICE=0",)
    assert commands_of("rusticl, not told", "rusticl") == ("export RUSTICL_ENABLE=llvmpipe",)
    assert hints(bare(platforms=(RUSTICL,), gpus=(AMD,)))[1].commands == ("export RUSTICL_ENABLE=radeonsi",)
    assert CRASHING.file in hints(MACHINES["a driver that crashes"][0])[0].text


VALUES = [
    ("OCL_ICD_VENDORS", vendors("/a:/b"), "wrong", "not a list"),
    ("OCL_ICD_VENDORS", vendors("/nonexistent"), "wrong", "no such folder"),
    ("OCL_ICD_VENDORS", vendors("/a/x.icd", state="file"), "used", "and no other"),
    ("OCL_ICD_VENDORS", vendors("/a", state="folder"), "used", "it holds no .icd file"),
    ("OCL_ICD_VENDORS", bare(system="Windows", environment={"OCL_ICD_VENDORS": "C:\\x"}), "ignored", "Windows"),
    ("OPENCL_VENDOR_PATH", bare(environment={"OPENCL_VENDOR_PATH": "/a"}), "used", "instead of"),
    (
        "OPENCL_VENDOR_PATH",
        bare(environment={"OPENCL_VENDOR_PATH": "/a"}, loader=KHRONOS),
        "ignored",
        "OCL_ICD_VENDORS",
    ),
    ("OPENCL_VENDOR_PATH", bare(environment={"OPENCL_VENDOR_PATH": "/a", "OCL_ICD_VENDORS": "/"}), "ignored", "first"),
    ("OPENCL_VENDOR_PATH", MACHINES["vendor path: nothing there"][0], "wrong", "no folder"),
    ("OCL_ICD_FILENAMES", bare(environment={"OCL_ICD_FILENAMES": "x.so"}), "ignored", "use OCL_ICD_VENDORS"),
    ("OCL_ICD_FILENAMES", bare(environment={"OCL_ICD_FILENAMES": "x.so"}, loader=KHRONOS), "used", "besides"),
    ("RUSTICL_ENABLE", bare(environment={"RUSTICL_ENABLE": "iris"}), "ignored", "not loaded"),
    ("RUSTICL_ENABLE", bare(environment={"RUSTICL_ENABLE": "iris"}, platforms=(RUSTICL,)), "used", "hardware"),
    ("POCL_DEVICES", healthy(environment={"POCL_DEVICES": "cpu"}), "used", "PoCL"),
    ("CUDA_VISIBLE_DEVICES", healthy(environment={"CUDA_VISIBLE_DEVICES": "0"}), "ignored", "not loaded"),
    ("CUDA_VISIBLE_DEVICES", bare(environment={"CUDA_VISIBLE_DEVICES": "0"}, entries=(NVIDIA,)), "used", "hides"),
    ("GPU_DEVICE_ORDINAL", healthy(environment={"GPU_DEVICE_ORDINAL": "0"}), "ignored", "not loaded"),
    ("ROCR_VISIBLE_DEVICES", healthy(environment={"ROCR_VISIBLE_DEVICES": "0"}), "ignored", "not loaded"),
    ("NVIDIA_DRIVER_CAPABILITIES", bare(environment={"NVIDIA_DRIVER_CAPABILITIES": "utility"}), "wrong", "compute"),
    ("NVIDIA_DRIVER_CAPABILITIES", bare(environment={"NVIDIA_DRIVER_CAPABILITIES": "all"}), "used", "container"),
    ("CLFRNN_DEVICE", healthy(environment={"CLFRNN_DEVICE": "0"}), "used", "by default"),
    ("CLFRNN_DEVICE", MACHINES["a wrong name"][0], "wrong", "no device"),
    ("CLFRNN_QUIET", healthy(environment={"CLFRNN_QUIET": "1"}), "used", "hides the line"),
    ("CLFRNN_TUNING", healthy(environment={"CLFRNN_TUNING": "off"}), "used", "the defaults of its class"),
    ("CLFRNN_TUNING", healthy(environment={"CLFRNN_TUNING": "/a/mine.json"}), "used", "this file"),
    ("PYOPENCL_CTX", healthy(environment={"PYOPENCL_CTX": "0"}), "used", "by default"),
    ("PYOPENCL_CTX", healthy(environment={"PYOPENCL_CTX": "0", "CLFRNN_DEVICE": "0"}), "ignored", "first"),
    ("CONDA_PREFIX", bare(environment={"CONDA_PREFIX": "/conda"}), "ignored", "not conda's"),
    ("CONDA_PREFIX", bare(environment={"CONDA_PREFIX": "/conda"}, loader=CONDA), "used", "conda's folder"),
    ("LD_PRELOAD", bare(environment={"LD_PRELOAD": "/usr/lib/liboclgrind-rt.so"}), "used", "Oclgrind"),
    ("LD_PRELOAD", bare(environment={"LD_PRELOAD": "/usr/lib/libasan.so"}), "used", "stand in"),
    ("LD_LIBRARY_PATH", bare(environment={"LD_LIBRARY_PATH": "/opt/lib"}), "used", "first"),
    ("OPENCL_LAYERS", bare(environment={"OPENCL_LAYERS": "/opt/layer.so"}), "used", "between"),
]


@pytest.mark.parametrize(("name", "facts", "verdict", "words"), VALUES)
def test_what_a_variable_does(monkeypatch, name, facts, verdict, words):
    effect = next(effect for effect in effects(facts) if effect.name == name)

    assert (effect.verdict, effect.value) == (verdict, facts.environment[name])
    assert words in effect.why


def test_every_variable_is_tried():
    assert {name for name, *_ in VALUES} == set(VARIABLES)
    assert effects(HEALTHY) == ()


# Where drivers are registered


@pytest.fixture
def package(tmp_path):
    """A folder as pyopencl's wheel has it, with a loader and a driver."""
    libraries = tmp_path / "pyopencl/.libs"
    libraries.mkdir(parents=True)
    (libraries / "libOpenCL-1.so").write_bytes(b"...OCL Icd free software...Khronos Group...")
    (libraries / "libpocl-1.so").touch()
    (libraries / "pocl.icd").write_text("libpocl-1.so")
    return libraries.parent


@pytest.fixture
def standard(tmp_path):
    folder = tmp_path / "vendors"
    folder.mkdir()
    (folder / "gpu.icd").write_text("libgpu.so.1\n")
    (folder / "void.icd").touch()
    (folder / "notes.txt").touch()
    return folder


def test_the_loader_of_the_wheel(package):
    loader = folders.find_loader("", str(package), {})

    assert (loader.origin, loader.kind) == ("wheel", "ocl-icd")
    assert loader == folders.find_loader(loader.path, str(package), {"CONDA_PREFIX": str(package)})
    assert folders.find_loader(loader.path, str(package), {"LD_PRELOAD": loader.path}).origin == "preloaded"


def test_other_loaders(tmp_path):
    theirs = tmp_path / "lib/libOpenCL.so.1"
    theirs.parent.mkdir()
    theirs.write_bytes(b"Khronos Group")

    assert folders.find_loader(str(theirs), "/nowhere", {}) == Loader(path=str(theirs), origin="system", kind="khronos")
    assert folders.find_loader(str(theirs), "/nowhere", {"CONDA_PREFIX": str(tmp_path)}).origin == "conda"
    assert folders.find_loader("", "/nowhere", {}) == Loader(path="", origin="system", kind="")


def test_the_wheel_reads_two_folders(package, standard):
    found = folders.folders(folders.find_loader("", str(package), {}), {}, standard=str(standard))

    assert [(place.named_by, place.state, len(place.files)) for place in found] == [
        ("loader", "folder", 2),
        ("wheel", "folder", 1),
    ]
    registered = folders.entries(found)
    assert [entry.library for entry in registered] == ["libgpu.so.1", "", str(package / ".libs/libpocl-1.so")]
    assert [bool(entry.error) for entry in registered] == [False, True, False]
    assert "is empty" in registered[1].error


@pytest.mark.parametrize(
    ("value", "state", "libraries"),
    [
        ("{standard}/gpu.icd", "file", ["libgpu.so.1"]),
        ("gpu.icd", "file", ["libgpu.so.1"]),
        ("missing.icd", "missing", []),
        ("libgpu.so.1", "library", ["libgpu.so.1"]),
        ("{standard}", "folder", ["libgpu.so.1", "", "libpocl-1.so"]),
        ("{standard}:{standard}", "missing", []),
        ("{standard}/absent", "missing", []),
    ],
)
def test_vendors_as_ocl_icd_takes_them(package, standard, value, state, libraries):
    environment = {"OCL_ICD_VENDORS": value.format(standard=standard)}

    found = folders.folders(folders.find_loader("", str(package), {}), environment, standard=str(standard))

    assert (found[0].named_by, found[0].state) == ("OCL_ICD_VENDORS", state)
    assert [Path(entry.library).name for entry in folders.entries(found)] == libraries
    assert [place.read for place in found if place.path == str(standard)] == [state == "folder"]


def test_the_vendor_path_goes_second(package, standard, tmp_path):
    loader, absent = folders.find_loader("", str(package), {}), str(tmp_path / "absent")

    alone = folders.folders(loader, {"OPENCL_VENDOR_PATH": str(standard)}, standard=absent)
    both = folders.folders(loader, {"OPENCL_VENDOR_PATH": absent, "OCL_ICD_VENDORS": str(standard)}, standard=absent)

    assert [place.named_by for place in alone] == ["OPENCL_VENDOR_PATH", "wheel"]
    assert [place.named_by for place in both] == ["OCL_ICD_VENDORS", "wheel"]


def test_loaders_of_conda_and_khronos(standard, tmp_path):
    own = tmp_path / "etc/OpenCL/vendors"
    own.mkdir(parents=True)
    (own / "pocl.icd").write_text("libpocl.so.2")
    prefix = {"CONDA_PREFIX": str(tmp_path)}

    conda = folders.folders(CONDA, prefix, standard=str(standard))
    khronos = folders.folders(KHRONOS, {**prefix, "OCL_ICD_FILENAMES": "liba.so:libb.so"}, standard=str(standard))

    assert [(place.path, place.read) for place in conda] == [(str(own), True), (str(standard), False)]
    assert [(place.path, place.read) for place in khronos] == [
        ("liba.so", True),
        ("libb.so", True),
        (str(standard), True),
        (str(own), False),
    ]


# Probes in processes of their own

#: What probes print, and how they end. None needs the library, so they start at once.
ENDS = {
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "hangs": "import time; time.sleep(600)",
    "complains": "import sys; sys.stderr.write('first\\nout of paper\\n'); sys.exit(3)",
    "goes well": "",
}


def script(*findings, end="goes well"):
    """A program that finds so much and ends so."""
    told = "".join(f"print({'clfrnn-probe ' + json.dumps(finding)!r}, flush=True)\n" for finding in findings)
    return [sys.executable, "-S", "-c", told + ENDS[end]]


@pytest.mark.parametrize(
    ("end", "failure"),
    [
        ("crashes", "crashed (SIGKILL) while loading it"),
        ("hangs", "no answer within 3 s while loading it"),
        ("complains", "ended with exit status 3: out of paper while loading it"),
        ("goes well", ""),
    ],
)
def test_a_probe_ends(monkeypatch, end, failure):
    """However it ends, what it found before is kept."""
    monkeypatch.setattr(
        runner, "command", lambda what, which: script({"platforms": 2}, {"step": "loading it"}, end=end)
    )

    answer = runner.run_probe("library", "x.so", seconds=3)

    assert answer.failure == failure
    assert answer.first("platforms") == 2


def test_findings_among_noise():
    printed = 'warning: clfrnn\nno line end clfrnn-probe {"a": 1}\nclfrnn-probe {"a": 2}\nclfrnn-probe {"a": '

    assert list(read(printed)) == [{"a": 1}, {"a": 2}]


@pytest.fixture
def outcomes(capsys):
    """What a probe told in this process."""

    def found():
        return list(read(capsys.readouterr().out))

    return found


def test_libraries_that_are_no_drivers(outcomes):
    from numpy.random import _mt19937

    probe.main("library", "libclfrnn-does-not-exist.so")
    missing = outcomes()
    probe.main("library", _mt19937.__file__)
    other = outcomes()

    assert "libclfrnn-does-not-exist.so" in missing[-1]["error"]
    assert "no OpenCL driver" in other[-1]["error"]


def test_an_exception_is_a_finding(outcomes):
    with pytest.raises(SystemExit) as ended:
        probe.main("device", "100000")

    assert ended.value.code == 1
    assert "IndexError" in outcomes()[-1]["failure"]


def checks(findings):
    return {each["check"]: each["outcome"] for each in findings if "check" in each}


@pytest.mark.core
def test_a_device_is_tried(session, outcomes):
    trials.try_device(list_devices().index(session.device))

    found = checks(outcomes())
    assert list(found) == list(CHECKS)
    assert set(found.values()) <= {"passed", "mended"}


LIES = {
    "local_atomics": ("atomic_inc(&bins[keys[i]])", "bins[0] = 1"),
    "contraction": ("x * x + y * y + z * z", "fma(z, z, fma(x, x, y * y))"),
    "square_root": ("sqrt(squares[i])", "nextafter(sqrt(squares[i]), 0.0f)"),
}


@pytest.mark.parametrize("name", sorted(LIES))
def test_a_device_that_computes_wrongly(session, outcomes, monkeypatch, name):
    right, wrong = LIES[name]
    assert right in trials._SOURCE
    monkeypatch.setattr(trials, "_SOURCE", trials._SOURCE.replace(right, wrong))
    monkeypatch.setattr(
        trials, "read_profile", lambda device: dataclasses.replace(read_profile(device), rounded_sqrt=True)
    )

    trials.try_device(list_devices().index(session.device))

    found = checks(outcomes())
    assert found.pop(name) == "failed"
    assert set(found.values()) <= {"passed", "mended"}


def test_roots_that_nobody_promised(session, outcomes, monkeypatch):
    right, wrong = LIES["square_root"]
    monkeypatch.setattr(trials, "_SOURCE", trials._SOURCE.replace(right, wrong))
    monkeypatch.setattr(
        trials, "read_profile", lambda device: dataclasses.replace(read_profile(device), rounded_sqrt=False)
    )

    trials.try_device(list_devices().index(session.device))

    assert checks(outcomes())["square_root"] == "mended"


def test_a_program_that_does_not_build(session, outcomes, monkeypatch):
    monkeypatch.setattr(trials, "_SOURCE", "kernel void count(")

    # Some compilers count errors on standard error, which a probe has for itself.
    with pytest.raises(SystemExit), without_counts_of_errors():
        probe.main("device", str(list_devices().index(session.device)))

    found = outcomes()
    assert checks(found) == {}
    assert found[-1]["failure"]


# All of it


def told_device(position):
    """A device as a probe lists it."""
    facts = {"position": position, "name": f"number {position}", "platform": "P"}
    return {"device": facts, "profile": AWKWARD.to_dict()}


def stage(monkeypatch, *, ends, listing="goes well"):
    """Three devices, each of whose probes ends in its own way; `listing` says how they are listed."""
    devices = [told_device(k) for k in range(3)]
    binding = {"pyopencl": "2026.1", "folder": "/nowhere", "loader": ""}
    tried = [{"step": "compiling a kernel"}, *({"check": name, "outcome": "passed"} for name in CHECKS)]

    def command(what, which=""):
        if what == "loader":
            return script(binding)
        if what == "devices":
            return script(
                {"step": "listing"}, *(devices if listing == "goes well" else ()), {"default": 1}, end=listing
            )
        if what == "library":
            return script({"error": "not here"})
        end = ends[int(which)]
        return script(*(tried if end == "goes well" else tried[:1]), end=end)

    monkeypatch.setattr(runner, "command", command)


def test_one_bad_device_costs_one_row(monkeypatch):
    stage(monkeypatch, ends=["crashes", "hangs", "goes well"])

    facts = gathering.gather(seconds=3)

    assert [device.usable for device in facts.devices] == [False, False, True]
    assert facts.devices[0].failure == "crashed (SIGKILL) while compiling a kernel"
    assert facts.devices[1].failure == "no answer within 3 s while compiling a kernel"
    assert "default_unusable" in [hint.name for hint in hints(facts)]
    text = printed(facts)
    assert text.count("NOT USABLE") == 2
    assert "1 of 3 devices usable, but not the one that is taken by default" in text


def test_a_listing_that_crashes(monkeypatch):
    stage(monkeypatch, ends=[], listing="crashes")

    facts = gathering.gather(seconds=30)

    assert facts.devices == ()
    assert facts.failure == "crashed (SIGKILL) while listing"
    assert [hint.name for hint in hints(facts)] == ["broken_driver"]


def test_the_driver_that_brings_all_down_is_found(monkeypatch):
    """Each loads well, and one crashes when devices are listed: then each is tried alone."""
    good = Entry(file="/v/good.icd", library="good.so", platforms=1)
    bad = Entry(file="/v/bad.icd", library="bad.so", platforms=1)

    tried = tuple({"check": name, "outcome": "passed"} for name in CHECKS)

    def ask(what, which="", *, seconds, environment):
        if environment["OCL_ICD_VENDORS"] == "bad.so":
            return runner.ProbeResult(failure="exit status 3")
        return runner.ProbeResult(findings=(told_device(0),) if what == "devices" else tried)

    monkeypatch.setattr(gathering, "run_probe", ask)

    found = [gathering._alone(entry, WHEEL, 1) for entry in (good, bad, CRASHING)]

    assert [(entry.error, entry.fatal) for entry, _ in found] == [
        ("", False), ("exit status 3", True), (CRASHING.error, True),
    ]  # fmt: skip
    assert [[(device.alone, device.usable) for device in devices] for _, devices in found] == [
        [("good.so", True)], [], [],
    ]  # fmt: skip
    assert gathering._alone(bad, KHRONOS, 1) == (bad, [])


def test_a_driver_that_keeps_others_away_is_left_out():
    """The others are shown, though no program reaches them, and the commands make a folder without it."""
    other = Entry(file=f"{SYSTEM}/other.icd", library="other.so", platforms=1)
    read = Folder(path=SYSTEM, named_by="loader", state="folder", files=(CRASHING.file, other.file))
    facts = bare(
        failure="crashed", folders=(read, BUNDLED), entries=(CRASHING, other, POCL), devices=(KEPT_AWAY,), default=None
    )

    (hint,) = hints(facts)
    text = printed(facts)

    assert not facts.usable
    assert hint.commands[1] == f'cp {other.file} "$HOME/opencl/"'
    assert hint.commands[-1] == 'export OCL_ICD_VENDORS="$HOME/opencl"'
    assert "-  cpu  usable without the broken driver" in text
    assert text.strip().endswith("a driver ends every program; 1 of 1 devices usable without it.")
    # A folder does not leave out what the wheel brought.
    bundled = dataclasses.replace(CRASHING, file=POCL.file)
    assert hints(dataclasses.replace(facts, entries=(bundled, other)))[0].commands == ()


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="compiles a driver that crashes")
@pytest.mark.parametrize("end", ["__builtin_trap()", "for (;;) sleep(1)", "exit(3)"])
def test_a_real_driver_that_ends_what_loads_it(tmp_path, monkeypatch, end):
    """Loaded by the loader that is here, beside the drivers that are."""
    source, library = tmp_path / "driver.c", tmp_path / "libdriver.so"
    source.write_text(
        f"#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) {{ {end}; }}\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    folder = tmp_path / "vendors"
    folder.mkdir()
    (folder / "driver.icd").write_text(str(library))
    monkeypatch.setenv("OCL_ICD_VENDORS", str(folder))

    facts = gathering.gather(seconds=8)

    if facts.loader.kind != "ocl-icd" or facts.loader.origin != "wheel":
        pytest.skip("another loader, or one that finds no drivers of its own beside this one")
    assert [Path(entry.file).name for entry in facts.entries if entry.fatal] == ["driver.icd"]
    assert not facts.usable
    if not any(place.named_by == "wheel" and place.files for place in facts.folders):
        pytest.skip("no driver came with pyopencl")
    usable = {device.name for device in facts.unreachable if device.usable}
    assert usable
    assert usable <= {profile.name for profile in clfrnn.devices()}
    (hint,) = hints(facts)
    assert hint.name == "broken_driver"
    assert str(folder / "driver.icd") in hint.text


def test_no_driver_at_all(tmp_path):
    """With a variable that leads nowhere; whatever is installed here, and whichever loader this is."""
    code = (
        "from clfrnn.doctor.gather import gather; f = gather(seconds=120);"
        "print(f.system, bool(f.pyopencl), len(f.devices));"
        "from clfrnn.doctor.hints import hints; print([hint.name for hint in hints(f)])"
    )
    answer = runner.run_probe("devices", seconds=120, environment={"OCL_ICD_VENDORS": str(tmp_path / "nowhere")})
    if answer.having("device"):
        pytest.skip("drivers are found here without OCL_ICD_VENDORS")
    environment = {**runner.os.environ, "OCL_ICD_VENDORS": str(tmp_path / "nowhere")}

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    assert "True 0" in done.stdout
    assert "vendors_missing" in done.stdout or "Linux" not in done.stdout


def printed(facts):
    console = Console(width=100, highlight=False)
    with console.capture() as text:
        print_report(facts, console)
    return text.get()


@pytest.mark.parametrize("name", MACHINES)
def test_reports(name):
    """Of every machine: text with all that is to be done, and JSON with the same keys."""
    facts, expected = MACHINES[name]

    text, data = printed(facts), as_data(facts)

    assert json.loads(json.dumps(data)) == data
    assert set(data) == set(as_data(HEALTHY))
    assert [hint["name"] for hint in data["hints"]] == expected
    assert data["usable"] == bool(facts.usable) == ("Ready: " in text.splitlines()[-1])
    assert ("What to do" in text) == bool(expected)
    for hint in hints(facts):
        assert " ".join(hint.text.split()[:3]) in text
    for entry in facts.entries:
        assert entry.file in text


def test_paths_are_not_cut_off_nor_taken_for_markup():
    path = "/home/someone/[bold]" + "x" * 200 + "/libOpenCL.so"
    text = printed(bare(loader=dataclasses.replace(WHEEL, path=path)))

    assert path in "".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize(
    ("checked", "usable", "words"),
    [
        (PASSED, True, "passed: kernels compile"),
        (PASSED[:2], False, "NOT USABLE"),
        ((*PASSED[:3], Check(name="square_root", outcome="mended", detail="7")), True, "worked around: square roots"),
        ((*PASSED[:3], Check(name="square_root", outcome="failed", detail="7")), False, "failed: square roots"),
    ],
)
def test_what_makes_a_device_usable(checked, usable, words):
    device = dataclasses.replace(HEALTHY.devices[0], checks=checked)

    assert device.usable == usable
    assert words in printed(healthy(devices=(device,)))


@pytest.mark.parametrize(("facts", "status"), [(HEALTHY, 0), (BARE, 1)], ids=["usable", "none"])
def test_the_command(monkeypatch, facts, status):
    monkeypatch.setattr(gathering, "gather", lambda *, seconds: facts)

    text = CliRunner().invoke(cli.main, ["devices"])
    data = CliRunner().invoke(cli.main, ["devices", "--json"])

    assert (text.exit_code, data.exit_code) == (status, status)
    assert text.output.splitlines()[-1].startswith("Ready" if status == 0 else "Not ready")
    assert json.loads(data.output) == as_data(facts)


def test_drivers_are_touched_by_probes_alone():
    """What runs in the command's own process imports no pyopencl."""
    for path in PACKAGE.glob("*.py"):
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import)]
        names = {alias.name for node in imports for alias in node.names}
        assert ("pyopencl" in names) == (path.name == "trials.py"), path
    code = "import sys, clfrnn.cli, clfrnn.doctor.gather, clfrnn.doctor.report; print('pyopencl' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page_names_everything():
    text = PAGE.read_text(encoding="utf-8")

    data = as_data(HEALTHY)
    for name in (*CHECKS, *VARIABLES, *data, *data["devices"][0], *data["drivers"][0], *data["system"]):
        assert f"`{name}`" in text, name
    for hint in (*FIRST, *HINTS):
        assert f"`{hint.__name__}`" in text, hint


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page_runs(capsys):
    """Its program sees the devices of this machine, in the order of clfrnn."""
    (program,) = (block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:])
    scope = {}

    exec(program, scope)

    names = [profile.name for profile in clfrnn.devices()]
    assert [device["profile"]["name"] for device in scope["report"]["devices"]] == names
    printed = ast.literal_eval(capsys.readouterr().out)
    assert printed.keys() == set(names)
    assert set(map(type, printed.values())) == {bool}
