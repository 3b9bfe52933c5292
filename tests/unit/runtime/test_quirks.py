"""What profiles say holds on the device itself, and every quirk that meets its device here is needed there."""

import dataclasses
import types

import numpy as np
import pyopencl as cl
import pytest
from conftest import RECORDED

import clfrnn.runtime.device
from clfrnn.runtime.device import read_profile
from clfrnn.runtime.quirks import QUIRKS, apply_quirks

SOURCE = """
kernel void fill_and_read(global int *out, local int *room, int ints)
{
    const int own = (int)get_local_id(0), items = (int)get_local_size(0);
    for (int k = own; k < ints; k += items)
        room[k] = k;
    barrier(CLK_LOCAL_MEM_FENCE);
    long sum = 0;
    for (int k = ints - 1 - own; k >= 0; k -= items)
        sum += room[k];
    atomic_add(out, (int)(sum & 0xffff));
}

kernel void count_turns(global int *out, int turns)
{
    int taken = 0;
    for (int k = 0; k < turns; k++)
        taken += out[1];  // a one that no compiler knows of
    out[0] = taken;
}
"""


@pytest.fixture(scope="module")
def kernels(session):
    program = cl.Program(session.queue.context, SOURCE).build(list(session.profile.build_options))
    return {name: cl.Kernel(program, name) for name in ("fill_and_read", "count_turns")}


def launch(session, kernel, out, items, *arguments):
    """The kernel's event, and `out` after one work-group of so many items."""
    buffer = cl.Buffer(session.queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=out)
    event = kernel(session.queue, (items,), (items,), buffer, *arguments)
    event.wait()
    cl.enqueue_copy(session.queue, out, buffer)
    return event


def reported(session, monkeypatch):
    """What the driver says of itself."""
    with monkeypatch.context() as patch:
        patch.setattr(clfrnn.runtime.device, "apply_quirks", lambda profile: profile)
        return read_profile(session.device)


def quirk(name):
    return next(quirk for quirk in QUIRKS if quirk.name == name)


@pytest.mark.core
def test_local_memory_is_there(session, kernels):
    """All of it, for a single group; on NVIDIA that is less than the driver reports."""
    profile = session.profile
    ints, items = (profile.local_memory - profile.local_reserve) // 4, 8
    out = np.zeros(1, np.int32)
    launch(session, kernels["fill_and_read"], out, items, cl.LocalMemory(4 * ints), np.int32(ints))
    each = np.arange(ints)[::-1].astype(np.int64)
    assert out[0] == sum(each[own::items].sum() & 0xFFFF for own in range(items))


@pytest.mark.core
def test_loops_end_where_the_profile_says(session, kernels):
    """A driver that ends them early is known; if this fails, so that ``loop_turns`` is None, results would be wrong."""
    turns = 100_000
    out = np.array([0, 1], np.int32)
    launch(session, kernels["count_turns"], out, 1, np.int32(turns))
    bound = session.profile.loop_turns
    assert out[0] == turns if bound is None else turns > out[0] >= bound - 1


@pytest.mark.core
def test_kernels_run_in_the_groups_that_they_require(session):
    """The largest there are, where the profile says that kernels do so whatever the driver says of each."""
    items = session.profile.max_work_group_size
    required = f"kernel __attribute__((reqd_work_group_size({items}, 1, 1)))\nvoid fill_and_read"
    source = SOURCE.replace("kernel void fill_and_read", required)
    kernel = cl.Kernel(
        cl.Program(session.queue.context, source).build(list(session.profile.build_options)), "fill_and_read"
    )
    said = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, session.device)
    if not session.profile.required_groups and said < items:
        pytest.skip(f"the driver allows this kernel groups of {said}")

    out = np.zeros(1, np.int32)
    launch(session, kernel, out, items, cl.LocalMemory(4 * items), np.int32(items))

    assert out[0] == sum(range(items))


def test_quirks_are_needed_where_they_apply(session, monkeypatch):
    raw = reported(session, monkeypatch)
    assert apply_quirks(raw) == session.profile
    for each in QUIRKS:
        if each.when(raw):
            changed = dataclasses.replace(raw, **each.change(raw))
            assert changed != raw, f"{each.name} changes nothing of {raw}"


def test_pocl_promises_more_local_memory_than_a_core_caches(session, monkeypatch):
    raw = reported(session, monkeypatch)
    if not quirk("pocl-local-memory").when(raw):
        pytest.skip("the device is not PoCL's")
    assert session.profile.local_memory == min(raw.local_memory, 256 << 10)
    assert session.profile.usable_local_memory < 256 << 10


def test_llvmpipe_says_nothing_of_its_lanes_and_loops(session, monkeypatch):
    raw = reported(session, monkeypatch)
    if not quirk("llvmpipe-loops").when(raw):
        pytest.skip("the device is not llvmpipe")
    assert (raw.loop_turns, raw.simd_width) == (None, 1)
    assert (session.profile.loop_turns, session.profile.simd_width) == (65_535, 8)


def test_quirks_change_facts_once(profile):
    assert apply_quirks(profile) == apply_quirks(apply_quirks(profile))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_profiles_are_as_quirks_leave_them(name):
    assert apply_quirks(RECORDED[name]) == RECORDED[name]


def test_quirks_say_why_and_where():
    names = [each.name for each in QUIRKS]
    assert len(set(names)) == len(names)
    for each in QUIRKS:
        assert each.why.endswith(".")
        assert each.link.startswith("https://")
        assert any(each.when(profile) for profile in RECORDED.values()), f"{each.name} has no recorded profile"


def test_quirks_reach_whom_they_mean():
    def quirked(recorded, **facts):
        return apply_quirks(dataclasses.replace(RECORDED[recorded], **facts))

    assert quirked("h200", local_reserve=0).local_reserve == 1024
    assert quirked("gtx-1080-ti", local_reserve=0).local_reserve == 1024
    assert quirked("gtx-1080-ti", required_groups=False).required_groups
    assert not quirked("mi300x").required_groups
    assert quirked("mi300x").local_reserve == 0
    assert quirked("arc-a770", unit_lanes=64).unit_lanes == 8
    assert quirked("iris-xe", unit_lanes=64).unit_lanes == 8
    assert quirked("h200", unit_lanes=64).unit_lanes == 64
    assert quirked("intel-cpu", unit_lanes=2).unit_lanes == 2, "its CPUs are counted by cores"
    assert quirked("rusticl", loop_turns=None, simd_width=1).loop_turns == 65_535
    assert quirked("rusticl", loop_turns=None, simd_width=1).simd_width == 8
    assert quirked("rusticl", name="a GPU", kind="gpu", loop_turns=None).loop_turns is None
    assert quirked("rusticl", name="a GPU", kind="gpu", local_memory=64 << 10).local_memory == 64 << 10
    assert quirked("pocl", local_memory=2 << 20).local_memory == 256 << 10
    assert quirked("pocl", kind="gpu", local_memory=48 << 10).local_memory == 48 << 10
    assert quirked("intel-cpu", local_memory=1 << 20).local_memory == 1 << 20


@pytest.mark.parametrize(("kind", "said", "read"), [("gpu", 65_536, 65_536), ("gpu", None, 0), ("cpu", 32_768, 0)])
def test_local_memory_of_a_unit_is_read_where_a_driver_tells_it(kind, said, read):
    device = types.SimpleNamespace(**({} if said is None else {"local_mem_size_per_compute_unit_amd": said}))
    assert clfrnn.runtime.device._unit_local_memory(device, kind) == read
