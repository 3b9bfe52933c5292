"""Programs: of the kernels that are to be launched, several templates' together where these are launched together."""

import dataclasses

import pytest
from conftest import own_session

import clfrnn
from clfrnn import clouds
from clfrnn.config import INT, KernelConfig
from clfrnn.primitives.config import plan_reduce
from clfrnn.primitives.fill import fill, fill_selection
from clfrnn.runtime import program
from clfrnn.runtime.rendering import only_kernels, render
from clfrnn.runtime.session import Selection


def test_parts_of_a_program_shrink_by_themselves(session, monkeypatch):
    """One compilation; the group of each part is what its own kernels allow."""
    cache = own_session(session).programs
    monkeypatch.setattr(program.Kernel, "largest_group", lambda kernel, device: 4 if kernel.name == "f" else 64)
    cache._profile = dataclasses.replace(session.profile, required_groups=False)
    wide, narrow = KernelConfig(work_group_size=64), KernelConfig(work_group_size=8)

    fitted = cache.build_to_fit(
        program.Part(narrow, lambda _: "kernel void f() {}", ("f",)),
        program.Part(wide, lambda _: "kernel void g() {}\nkernel void h() {}", ("g", "h")),
    )

    assert [sorted(kernels) for kernels, _ in fitted] == [["f"], ["g", "h"]]
    assert [config.work_group_size for _, config in fitted] == [4, 64]
    assert cache.compiled == 1, "the text does not depend on the size here"


def test_selections_are_compiled_once_and_together(session):
    """Whoever selects kernels that some program has takes them from there."""
    fresh = own_session(session)
    config = plan_reduce(fresh.profile, fresh.tuning, dim=3, real="float")
    boxes = Selection("primitives/reduce", config, ("bounding_box",))
    samples = Selection("primitives/reduce", config, ("bounding_box", "sample_cells"))

    fresh.compile_together(samples, fill_selection(fresh))
    compiled = fresh.programs.compiled
    kernels, _ = fresh.selected(boxes)
    fill(fresh, fresh.scratch(5, INT, purpose="a test"))

    assert fresh.programs.compiled == compiled
    assert sorted(kernels) == ["bounding_box", "sample_cells"]
    everything, _ = fresh.selected(Selection("primitives/reduce", config))
    assert "box_and_images" in everything
    assert fresh.programs.compiled > compiled
    with pytest.raises(KeyError, match="no kernel missing among bounding_box"):
        fresh.selected(Selection("primitives/reduce", config, ("missing",)))


@pytest.mark.parametrize("as_device", ["cpu", "gpu"])
def test_a_first_search_compiles_what_it_launches(session, as_device):
    fresh = own_session(session, **({"kind": "gpu", "fma": True} if as_device == "gpu" else {}))
    with fresh.recorded() as launches:
        found = clfrnn.search(clouds.uniform(30_000, 3, seed=1), 0.03, session=fresh)

    assert found.num_pairs
    launched = {name for name, _ in launches}
    compiled = {name for kernels in fresh.programs._kernels.values() for name in kernels}
    assert compiled == launched
    assert fresh.programs.compiled <= (4 if session.profile.kind == "cpu" and as_device == "cpu" else 6)


def test_a_selection_is_the_rest_of_the_text_with_its_kernels(session):
    config = plan_reduce(session.profile, session.tuning, dim=3, real="float")
    source = render("primitives/reduce", config)
    names = ("bounding_box", "box_and_images", "find_bulk", "sample_cells", "count_in_cells", "sum_samples")

    assert only_kernels(source, names) == source
    rest = only_kernels(source, ())
    assert "#pragma" in rest
    for name in names:
        alone = only_kernels(source, [name])
        assert f"void {name}(" in alone
        assert alone.count("kernel __attribute__") == 1
        assert only_kernels(alone, ()) == rest
