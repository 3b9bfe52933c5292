"""Exchange: what comes and goes through memory that two drivers see, with a stand-in for CUDA's; and its teardown."""

import ctypes

import numpy as np
import pyopencl as cl
import pytest

import clfrnn
from clfrnn.runtime import exchange, external_memory
from clfrnn.runtime.cuda import Allocation, Cuda, CudaError
from clfrnn.runtime.exchange import Exchange


class StandIn:
    """CUDA's driver whose GPU is the host."""

    def __init__(self):
        self.done, self.memory, self.fails, self.status = [], {}, "", 999

    def _step(self, name):
        if self.fails == name:
            raise CudaError(name, self.status)
        self.done.append(name)

    def uuid(self, ordinal):
        return bytes([ordinal]) * 16

    def allocate(self, ordinal, size):
        self._step("allocate")
        whole = -(-size // 4096) * 4096
        raw = np.empty(whole + 4096, np.uint8)
        begin = -raw.ctypes.data % 4096
        block = raw[begin : begin + whole]
        self.memory[block.ctypes.data] = block
        return Allocation(block.ctypes.data, whole, ordinal, handle=1, descriptor=block.ctypes.data)

    def free(self, allocation):
        self._step("free")
        del self.memory[allocation.pointer]

    def synchronize(self, _):
        self._step("synchronize")

    def copy(self, target, source, size, _):
        self._step("copy")
        ctypes.memmove(target, source, size)


@pytest.fixture
def cuda():
    return StandIn()


@pytest.fixture
def exchanged(session, cuda, monkeypatch):
    """An exchange of the session's queue with the stand-in."""
    if session.profile.kind != "cpu":
        pytest.skip("the stand-in's GPU is the host")

    class Imported(cl.Buffer):
        def release(self):
            cuda.done.append("release")
            super().release()

    def import_memory(context, descriptor, _):
        cuda._step("import")
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        return Imported(context, flags, hostbuf=cuda.memory[descriptor])

    monkeypatch.setattr(external_memory, "device_uuid", lambda _: bytes(16))
    monkeypatch.setattr(external_memory, "import_memory", import_memory)
    monkeypatch.setattr(external_memory, "take_over", lambda *_: cuda._step("take over"))
    monkeypatch.setattr(external_memory, "hand_over", lambda *_: cuda._step("hand over"))
    monkeypatch.setattr(exchange.os, "close", lambda _: cuda.done.append("close"))
    return Exchange(session.queue, find=lambda: cuda)


def test_there_and_back(session, exchanged, cuda):
    given = np.arange(1000, dtype=np.int64)
    array = session.allocate(1000, np.int64, purpose="a test")
    assert exchanged.serves(0)
    assert not exchanged.serves(1), "another GPU"
    assert exchanged.bring(given.ctypes.data, 0, array.base_data, given.nbytes)
    assert np.array_equal(array.get(), given)

    shown = exchanged.show(array.base_data, 800, 80, 0)
    assert (ctypes.c_int64 * 10).from_address(shown)[:] == list(range(100, 110))
    assert cuda.done == ["allocate", "import", "copy", *["take over", "hand over"] * 2]
    assert "memory that both drivers see" in exchanged.describe()


def test_memory_grows_and_is_freed_in_order(session, exchanged, cuda):
    array = session.allocate(6 << 20, np.uint8, purpose="a test")
    exchanged.show(array.base_data, 0, 16, 0)
    exchanged.show(array.base_data, 0, 16, 0)
    exchanged.show(array.base_data, 0, 6 << 20, 0)
    assert cuda.done.count("allocate") == 2
    exchanged.trim()
    exchanged.trim()

    ends = [name for name in cuda.done if name in ("release", "free")]
    assert ends == ["release", "free"] * 2, "OpenCL's side first, each once"
    assert not cuda.memory


def test_what_is_lent_is_not_reused_while_it_is_in_use(exchanged, cuda):
    first, second = (exchanged.lend((2, 1000), np.dtype(np.int64), 0) for _ in range(2))
    address = first.__cuda_array_interface__["data"][0]
    assert address != second.__cuda_array_interface__["data"][0]
    del first
    again = exchanged.lend((500,), np.dtype(np.int64), 0)
    assert again.__cuda_array_interface__["data"][0] == address
    assert cuda.done.count("synchronize") == 1, "another library may still read it"
    del again
    large = exchanged.lend((1 << 20,), np.dtype(np.int64), 0)
    assert cuda.done.count("free") == 1, "what is too small is freed"
    exchanged.trim()
    assert len(cuda.memory) == 2, "what is in use stays"
    del second, large
    exchanged.trim()
    assert not cuda.memory
    exchanged.lend((8,), np.dtype(np.int64), 0)
    cuda.fails = "synchronize"
    assert exchanged.lend((8,), np.dtype(np.int64), 0) is None
    assert "synchronize" in exchanged.problem


@pytest.mark.parametrize("points_first", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_edges_are_those_of_the_list(session, exchanged, monkeypatch, points_first, dtype):
    """Rows without pairs among them, at the beginning and at the end."""
    monkeypatch.setattr(session, "exchange", exchanged)
    points = np.float32([[9, 9], [0, 0], [1, 0], [0, 1], [7, 7], [5, 5], [5, 6], [3, 3]])
    found = clfrnn.search(points, 1.5, session=session)
    offsets = clfrnn.to_device(found.offsets.get().astype(dtype), session=session)
    lent = session.array_operations.edges_for_cuda(offsets, found.indices, 0, points_first=points_first)
    rows = (ctypes.c_int64 * 2 * found.num_pairs).from_address(lent.__cuda_array_interface__["data"][0])
    edges = np.frombuffer(rows, np.int64).reshape(2, -1)

    assert lent.__cuda_array_interface__["shape"] == edges.shape
    assert np.array_equal(edges[::-1] if points_first else edges, found.edge_index())
    assert session.array_operations.address_for_cuda(found.indices, 0) is not None
    nothing = clfrnn.search(points, 0.1, session=session)
    assert session.array_operations.edges_for_cuda(nothing.offsets, nothing.indices, 0, points_first=False) is None


@pytest.mark.parametrize("step", ["allocate", "import", "copy", "take over"])
def test_what_fails_is_said_and_not_tried_again(session, exchanged, cuda, step):
    cuda.fails = step
    given, array = np.ones(4), session.allocate(4, np.float64, purpose="a test")
    assert not exchanged.bring(given.ctypes.data, 0, array.base_data, 32)
    assert "999" in exchanged.problem
    assert exchanged.describe().startswith("through pinned memory")
    tried = len(cuda.done)
    assert not exchanged.bring(given.ctypes.data, 0, array.base_data, 32)
    assert exchanged.show(array.base_data, 0, 32, 0) is None
    assert len(cuda.done) == tried
    if step == "import":
        assert cuda.done == ["allocate", "close", "free"], "nothing is left behind"


def test_memory_that_is_missing_now_may_be_there_later(session, exchanged, cuda):
    given, array = np.arange(4.0), session.allocate(4, np.float64, purpose="a test")
    cuda.fails, cuda.status = "allocate", 2
    assert not exchanged.bring(given.ctypes.data, 0, array.base_data, 32)
    assert exchanged.show(array.base_data, 0, 32, 0) is None
    assert exchanged.lend((8,), np.dtype(np.int64), 0) is None
    assert exchanged.problem == ""
    cuda.fails = ""
    assert exchanged.bring(given.ctypes.data, 0, array.base_data, 32)
    assert np.array_equal(array.get(), given)


def test_new_memory_is_not_beside_what_was_returned(session, exchanged, cuda):
    exchanged.lend((8,), np.dtype(np.int64), 0)
    exchanged.show(session.allocate(16, np.uint8, purpose="a test").base_data, 0, 16, 0)
    assert len(cuda.memory) == 1


def test_what_is_written_goes_back_where_writing_fails(session, exchanged, cuda):
    """Each buffer that was taken over is handed over, once, whatever the error."""
    lent = exchanged.lend((8,), np.dtype(np.int64), 0)
    with pytest.raises(KeyboardInterrupt), exchanged.writing(lent):
        raise KeyboardInterrupt
    array = session.allocate(4, np.uint8, purpose="a test")
    assert exchanged.show(array.base_data, 0, 1 << 20, 0) is None, "more than the array has"
    assert cuda.done.count("take over") == cuda.done.count("hand over") == 2
    assert exchanged.problem


def test_a_machine_without_cuda(session):
    without = Exchange(session.queue, find=lambda: None)
    assert not without.serves(0)
    assert "driver is not here" in without.describe()


def test_freeing_tries_every_step():
    """So that one step which fails leaves as little behind as possible."""
    called = []

    class Library:
        def __getattr__(self, name):
            def call(*_):
                called.append(name)
                return name == "cuMemUnmap"

            return call

    allocation = Allocation(pointer=1, size=2, ordinal=0, handle=3, descriptor=4)
    with pytest.raises(CudaError, match="cuMemUnmap failed with error"):
        Cuda(Library()).free(allocation)
    assert called[-4:] == ["cuMemUnmap", "cuMemAddressFree", "cuMemRelease", "cuCtxPopCurrent_v2"]
