"""Kernels compiled for GPUs that are not there: what a compiler says of the walks that are planned for them.

``python tests/offline/offline_compiler.py`` writes ``amd.json`` beside this file anew. It takes Debian's packages
clang-19 and libclc-19. Compiled kernels fit and do not spill registers; that they are right or fast, this does not
say.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clfrnn.config import KernelConfig, VisitVariant
from clfrnn.domain.box import open_space
from clfrnn.methods import METHODS
from clfrnn.problem import Problem
from clfrnn.profile import DeviceProfile
from clfrnn.runtime.rendering import own_function, render
from clfrnn.survey import Survey
from clfrnn.tuning import default_tuning

TABLE = Path(__file__).parent / "amd.json"
PROFILES = Path(__file__).parents[1] / "profiles"

#: The compiler, and the built-in functions of OpenCL C for AMD's GPUs. Kernels that call what is not linked seem to
#: need twice the registers: the compiler assumes the worst of a function that it does not see.
CLANG, BUILTINS = "clang-19", Path("/usr/lib/clc/amdgcn--amdhsa.bc")

#: Each walk: its method, the library's own function that it runs, and about how many neighbors each point has.
WALKS = {
    "strips": ("strips", "count", 8),
    "strips, a list": ("strips", "write", 8),
    "uniform_grid": ("uniform_grid", "count", 8),
    "fenns": ("fenns", "count", 8),
    "fenns, crowded": ("fenns", "count", 50),
    "aabb_tree": ("aabb_tree", "count", 8),
}

#: Platforms whose compilers take another form of code than machine code that clang writes.
TARGETS = {"NVIDIA CUDA": ("nvptx64-nvidia-nvcl", "sm_61"), "Intel(R) OpenCL Graphics": ("spir64", "")}

#: The numbers of the metadata behind the assembly, by what the table calls them.
_METADATA = {
    "registers": "vgpr_count",
    "spilled": "vgpr_spill_count",
    "scalar registers": "sgpr_count",
    "scalar spilled": "sgpr_spill_count",
    "private memory": "private_segment_fixed_size",
    "local memory": "group_segment_fixed_size",
    "wavefront": "wavefront_size",
}


def why_not() -> str:
    """The reason why nothing can be compiled here; "" where it can."""
    if shutil.which(CLANG) is None:
        return f"{CLANG} is not installed: apt install clang-19 libclc-19"
    return "" if BUILTINS.exists() else f"{BUILTINS} is missing: apt install libclc-19"


def compiler() -> str:
    """The version of the compiler, in its own words."""
    return _run("--version").splitlines()[0]


def amd_profiles() -> dict[str, DeviceProfile]:
    """The recorded devices whose names are a target of the compiler, by the names of their files."""
    profiles = ((path.stem, DeviceProfile.from_dict(json.loads(path.read_text()))) for path in PROFILES.glob("*.json"))
    return {name: profile for name, profile in sorted(profiles) if profile.name.startswith("gfx")}


def planned_walk(walk: str, profile: DeviceProfile) -> tuple[KernelConfig, str]:
    """The plan of a walk over a million even points in 3D, single precision, and its OpenCL C."""
    name, function, neighbors = WALKS[walk]
    n, method = 1_000_000, METHODS[name]
    radius = (neighbors / (n * math.pi * 4 / 3)) ** (1 / 3)
    survey = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3, others=n * radius**3)
    options = method.check({})
    problem = Problem(n=n, domain=open_space(3), real="float", radius=radius, survey=survey, options=options)
    config = method.plan(problem, profile, default_tuning(profile)).config
    return config, render(method.stem, config, own_function(function), VisitVariant())


def compiled(walk: str, profile: DeviceProfile) -> dict[str, int]:
    """What the compiler says of a walk that is planned for one of AMD's GPUs, as ``amd.json`` has it."""
    linked = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(BUILTINS), "-Wno-linker-warnings"]
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={profile.name.partition(':')[0]}"]
    config, source = planned_walk(walk, profile)
    assembly = _run(*target, *_options(profile), *linked, "-O3", source=source)
    said = {name: _number(rf"^ +\.{key}: +(\d+)", assembly) for name, key in _METADATA.items()}
    # The compiler computes it from registers, local memory and the size of the work-group.
    return {"work-group": config.work_group_size, **said, "waves": _number(r"^; Occupancy: (\d+)", assembly)}


def compiles(walk: str, profile: DeviceProfile) -> str:
    """The PTX or SPIR of a walk that is planned for a GPU of another maker, which tells no registers."""
    target, chip = TARGETS[profile.platform]
    chosen = ["-Xclang", "-target-cpu", "-Xclang", chip] if chip else ["-emit-llvm"]
    return _run("-target", target, *chosen, *_options(profile), "-O1", source=planned_walk(walk, profile)[1])


def make_table() -> dict[str, Any]:
    """What ``amd.json`` holds: the compiler, and what it says of each walk on each device."""
    devices = amd_profiles()
    asked = [(name, walk) for name in devices for walk in WALKS]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda pair: compiled(pair[1], devices[pair[0]]), asked)
        rows: Iterator[tuple[tuple[str, str], dict[str, int]]] = zip(asked, found, strict=True)
        table: dict[str, dict[str, dict[str, int]]] = {name: {} for name in devices}
        for (name, walk), numbers in rows:
            table[name][walk] = numbers
    return {"compiler": compiler(), "devices": table}


def _options(profile: DeviceProfile) -> list[str]:
    """Those of the device's own programs; its library of built-in functions is not there."""
    return ["-x", "cl", *profile.build_options, "-nogpulib", "-S", "-o", "-", "-"]


def _number(pattern: str, text: str) -> int:
    """The number of the one kernel of a program."""
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return int(found)


def _run(*options: str, source: str = "") -> str:
    done = subprocess.run([CLANG, *options], input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{CLANG} {' '.join(options)}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Write the table."""
    if why := why_not():
        sys.exit(why)
    TABLE.write_text(json.dumps(make_table(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
