"""Arrays of other libraries, by DLPack alone or beside ``__array__``, wherever searches take arrays."""

import numpy as np
import pytest

import clfrnn
from clfrnn.host.dlpack import foreign_memory

POINTS = np.random.default_rng(0).random((300, 3), np.float32)


class Bare:
    """An array that has DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **named):
        return self._array.__dlpack__(**{name: value for name, value in named.items() if name != "stream"})

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnGpu(Bare):
    """An array on a GPU that is not here: it is read by the host where its library copies it there."""

    def __dlpack__(self, *, dl_device=None, stream=None, **named):
        if dl_device is None and stream is None:
            raise BufferError("the memory is on a GPU")
        return super().__dlpack__(dl_device=dl_device, **named) if dl_device else self._array.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


class OfALibrary(OnGpu):
    """The same of a library that copies it only by a call of its own."""

    def __dlpack__(self, **_):
        raise BufferError("the memory is on a GPU")

    def cpu(self):
        return self._array


@pytest.fixture(params=[Bare, OnGpu, OfALibrary])
def foreign(request):
    if request.param is OnGpu and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("numpy asks for copies on the host since 2.1")
    return request.param


def test_every_argument(session, foreign):
    """Points, queries, radii, batches, conditions, arguments of visits, and what is reordered."""
    batch = np.arange(300) % 3
    radii = np.linspace(0.1, 0.3, 50)
    asked = {"queries": POINTS[:50], "batch": batch, "query_batch": batch[:50], "sort": "index"}
    expected = clfrnn.search(POINTS, radii, **asked, session=session)
    wrapped = {name: foreign(value) if isinstance(value, np.ndarray) else value for name, value in asked.items()}
    found = clfrnn.search(foreign(POINTS), foreign(radii), **wrapped, session=session)
    assert np.array_equal(found.to_host().indices, expected.to_host().indices)
    assert found.num_pairs > 100

    index = clfrnn.build_index(foreign(POINTS), 0.2, session=session)
    assert np.array_equal(index.count(foreign(POINTS[:9])), index.count(POINTS[:9]))
    assert np.array_equal(index.reorder(foreign(batch)), batch[np.asarray(index.order)])
    few = clfrnn.Condition("kind[j] == 1", kind=foreign(batch))
    assert np.array_equal(index.count(where=few), index.count(where=clfrnn.Condition("kind[j] == 1", kind=batch)))
    mass = clfrnn.NeighborFunction(
        arguments="global const long *mass, global long *sums",
        state="long sum = 0;",
        per_neighbor="sum += mass[j];",
        finish="sums[i] = sum;",
    )
    sums = [index.empty(300, np.int64) for _ in range(2)]
    index.visit(mass, mass=foreign(batch), sums=sums[0])
    index.visit(mass, mass=batch, sums=sums[1])
    assert np.array_equal(sums[0], sums[1])
    index.update(foreign(POINTS[::-1]))
    assert np.array_equal(index.count(), clfrnn.build_index(POINTS[::-1], 0.2, session=session).count())
    assert clfrnn.to_device(foreign(batch), session=session).dtype == np.int64


def test_dtypes_are_those_of_the_array(session, foreign):
    if session.profile.fp64:
        assert clfrnn.as_points(foreign(POINTS.astype(np.float64)), session=session).dtype == np.float64
        mixed = clfrnn.search(foreign(POINTS), 0.1, queries=foreign(POINTS.astype(np.float64)), session=session)
        assert mixed.dtype == np.float64
    assert clfrnn.as_points(foreign(POINTS), session=session).dtype == np.float32


def test_what_no_library_copies_is_refused():
    class Stuck(OnGpu):
        def __dlpack__(self, **_):
            raise BufferError("no")

    with pytest.raises(clfrnn.InvalidInputError, match="points: expected an array that DLPack exports, got Stuck"):
        clfrnn.search(Stuck(POINTS), 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_memory_is_read_from_capsules(dtype):
    array = np.ones((3, 4), dtype)
    memory = foreign_memory(Bare(array))

    assert (memory.pointer, memory.shape, memory.dtype) == (array.ctypes.data, (3, 4), np.dtype(dtype))
    assert memory.nbytes == array.nbytes
    assert foreign_memory(Bare(array[:, ::2])) is None, "an array with gaps"
    assert foreign_memory(Bare(array.astype(np.complex64))) is None


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "cupy"])
def test_libraries(session, library):
    module = pytest.importorskip(library)
    array = module.asarray(POINTS)
    found = clfrnn.search(array, 0.2, sort="index", session=session)

    assert found.num_pairs > 100
    assert np.array_equal(found.to_host().indices, clfrnn.search(POINTS, 0.2, sort="index").to_host().indices)


def test_tensors_of_arrays(session):
    torch = pytest.importorskip("torch")
    counts = clfrnn.build_index(POINTS, 0.2, session=session).count()
    wide = torch.empty(300, dtype=torch.int64)

    assert torch.equal(counts.to_torch(), torch.from_numpy(counts.get()))
    assert counts.to_torch(out=wide) is wide
    assert np.array_equal(wide.numpy(), counts.get())
    with pytest.raises(clfrnn.InvalidInputError, match="requires grad"):
        clfrnn.search(torch.zeros((3, 2), requires_grad=True), 1.0)
