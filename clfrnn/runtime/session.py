"""Session: a queue, the profile of its device, compiled programs, memory, and copies to and from the host."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..config import KernelConfig, VisitVariant
from ..errors import DeviceMemoryError, NoDeviceError
from ..functions import WalkFunction, is_held
from ..host.keywords import checks_keywords
from ..host.locks import queue_lock
from ..host.process import check_process
from ..tuning import Tuning
from ..tuning.stored import find_tuning
from .array_operations import SessionOperations
from .device import context_of, find_device, read_profile
from .exchange import Exchange
from .launcher import Launcher
from .memory import LEAST, ForPairs, Memory, SpareSizes
from .pinned import PinnedBytes
from .program import Kernel, Part, ProgramCache
from .rendering import only_kernels, render
from .scratch import Scratch

__all__ = ["Selection", "Session"]

Config = TypeVar("Config", bound=KernelConfig)
Found = TypeVar("Found")

#: Largest number of cached results.
_MOST_RESULTS = 512

#: Number of functions of users whose programs are held though nobody holds the functions.
_MOST_FUNCTIONS = 64

#: The numbers of sessions.
_NUMBERS = itertools.count()

#: The first serial number, which memory does not contain by chance as it may contain small counts and zeros, and how
#: many there are.
_FIRST_SERIAL, _MANY_SERIALS = 0x5EED0001, 2**31 - 0x5EED0001

_BYTE = np.dtype(np.uint8)


class Selection(NamedTuple):
    """Kernels of a template for a config, by their names; without names, all kernels of the template."""

    stem: str
    config: KernelConfig
    names: tuple[str, ...] = ()

    def render(self, config: KernelConfig) -> str:
        """The text of these kernels for `config`."""
        source = render(self.stem, config)
        return only_kernels(source, self.names) if self.names else source


@checks_keywords
class Session(Launcher, Memory):
    """A device with what clfrnn needs on it: an OpenCL queue, compiled programs, and memory that is used again.

    Most programs need none of their own: searches take that of the arrays they are given, or :func:`default_session`.
    Make sessions to choose a device, or to use several at the same time.

    Parameters
    ----------
    device : None, int, str, pyopencl.Device or in-order pyopencl.CommandQueue
        None takes the device that the environment variable ``CLFRNN_DEVICE`` names, else ``PYOPENCL_CTX``, else the
        first GPU, else the first CPU; devices whose drivers end loops after a number of turns come last. An int is a
        position in :func:`clfrnn.devices`. A str is a part of the name of a device or platform, in any case. For these
        the session makes a queue of its own. Pass a queue that was made with profiling if you want times of events.

    Raises
    ------
    NoDeviceError
        No device fits, or the one that does gives no context, or its driver cannot compile on this machine.
    InvalidInputError
        `device` is an out-of-order queue, one whose context is gone, or of another type.

    Notes
    -----
    Any thread may call anything: calls on one session run one after the other, by its lock, and sessions do not wait
    for each other. A forked child may not use OpenCL after its parent has: every call raises there. Cost: a context;
    programs are compiled at first use.

    Examples
    --------
    >>> import clfrnn
    >>> session = clfrnn.Session()
    >>> session.profile.compute_units > 0
    True
    """

    #: all sessions in use, by which the session of a device array is found; see :meth:`all_living`
    living: ClassVar[weakref.WeakSet[Session]] = weakref.WeakSet()
    #: held while a session is added, or while all are gone through
    _registering: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, device: object = None) -> None:
        check_process()
        if isinstance(device, cl.CommandQueue):
            queue = device
            self.device = device.device
            self.context = context_of(device)
        else:
            self.device = find_device(device)
            self.context, queue = _opened(self.device)
        profile = read_profile(self.device)
        if profile.lacks:
            raise NoDeviceError(
                f"device {profile.name} cannot compile here: {profile.lacks}. `clfrnn devices` says more"
            )
        found = find_tuning(profile)
        Launcher.__init__(self, queue, profile, found.tuning)
        #: where the tuning comes from, in words
        self.tuning_origin = found.origin
        Memory.__init__(self, queue, self.profile)
        self.array_operations = SessionOperations(self)
        #: how arrays that CUDA addresses come and go without the host; None where the driver imports no memory
        self.exchange = Exchange(self.queue) if profile.external_memory else None
        self.programs = ProgramCache(self.context, self.device, self.profile)
        self._pinned = PinnedBytes(self.queue)
        self._fitted: dict[Hashable, tuple[dict[str, Kernel], Any]] = {}
        #: by template and config, its programs: the names that were selected, the kernels, the config that fits
        self._selected: defaultdict[Hashable, list[tuple[tuple[str, ...], dict[str, Kernel], Any]]] = defaultdict(list)
        self._results: dict[Hashable, Any] = {}
        #: the keys of the programs of users' functions, by function, the one used last at the end
        self._of_functions: dict[WalkFunction, list[Hashable]] = {}
        self._serials = itertools.count()
        self._lock, self._process = queue_lock(queue.int_ptr), os.getpid()
        self.number = next(_NUMBERS)
        with Session._registering:
            Session.living.add(self)

    def __repr__(self) -> str:
        return f"Session({self.profile})"

    def __dir__(self) -> list[str]:
        """The names that users may rely on; other names serve the library."""
        return ["device", "lock", "profile", "queue", "trim"]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Session holds an OpenCL queue and cannot be pickled; make one where it is needed")

    @staticmethod
    def all_living() -> list[Session]:
        """All sessions in use; other threads may make sessions meanwhile."""
        with Session._registering:
            return list(Session.living)

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """The lock that each call on the session holds: ``with session.lock:`` keeps other threads out between calls.

        Reading it raises an error in a forked child.
        """
        if os.getpid() != self._process:  # looked at here as well, as the call would cost as much as the lock
            check_process()
        self.look_at_limits()
        return self._lock

    def trim(self) -> None:
        """Give the memory of arrays and lists that were dropped back to the device.

        A session holds it for the next arrays otherwise, as to allocate it anew takes long. Arrays, lists and indices
        in use are not touched.

        Notes
        -----
        Cost: a wait for the device; the next arrays are allocated anew.

        Examples
        --------
        >>> import clfrnn
        >>> clfrnn.default_session().trim()
        """
        with self.lock:
            if self.exchange is not None:
                self.exchange.trim()
            self.release_held()

    def kernels(
        self,
        stem: str,
        config: Config,
        function: WalkFunction | None = None,
        variant: VisitVariant | None = None,
    ) -> tuple[dict[str, Kernel], Config]:
        """The compiled kernels of a template, and the config with the work-group size that they were compiled for."""
        key = (stem, config, function and function.key, variant)
        fitted = self._fitted.get(key)
        if fitted is None:
            part = Part(config, lambda fitting: render(stem, fitting, function, variant))
            (fitted,) = self.programs.build_to_fit(part)
            self._fitted[key] = fitted
            if function is not None and not function.own:
                self._of_functions.setdefault(function, []).append(key)
                self._forget_functions()
        return fitted

    def use(self, function: WalkFunction) -> None:
        """Note that a user's function is used, whose programs are then the last to be forgotten."""
        if function in self._of_functions:
            self._of_functions[function] = self._of_functions.pop(function)

    def _forget_functions(self) -> None:
        """Forget the programs of functions that nobody holds, those used longest ago first, down to the bound."""
        excess = len(self._of_functions) - _MOST_FUNCTIONS
        dropped = [function for function in self._of_functions if not is_held(function)] if excess > 0 else []
        for function in dropped[:excess]:
            for key in self._of_functions.pop(function):
                kernels, _ = self._fitted.pop(key)
                self.programs.forget(kernels.values())
                self.forget_runs(kernels.values())

    def planned(
        self, stem: str, plan: Callable[..., Config], *names: str, **facts: Any
    ) -> tuple[dict[str, Kernel], Config]:
        """The kernels of a primitive; ``plan(profile, tuning, **facts)`` is called once for equal facts.

        `names` are the kernels that will be launched, and others need not be compiled; without names, all kernels of
        the template are compiled.
        """
        key = (stem, plan, names, *facts.values())
        fitted = self._fitted.get(key)
        if fitted is None:
            fitted = self._fitted[key] = self.selected(Selection(stem, plan(self.profile, self.tuning, **facts), names))
        return fitted

    def selected(self, selection: Selection) -> tuple[dict[str, Kernel], Any]:
        """The kernels of a selection, possibly with others, and the config that they were compiled for."""
        found = self._find_selected(selection)
        if found is None:
            self.compile_together(selection)
            found = self._find_selected(selection)
            assert found is not None
        return found

    def compile_together(self, *selections: Selection) -> None:
        """Compile those of these selections that are not compiled yet, as one program, which takes less time."""
        missing = [each for each in dict.fromkeys(selections) if self._find_selected(each) is None]
        if missing:
            parts = [Part(each.config, each.render, each.names) for each in missing]
            for each, (kernels, config) in zip(missing, self.programs.build_to_fit(*parts), strict=True):
                self._selected[each.stem, each.config].append((each.names, kernels, config))

    def _find_selected(self, wanted: Selection) -> tuple[dict[str, Kernel], Any] | None:
        """The first program that has all kernels of a selection."""
        for names, kernels, config in self._selected[wanted.stem, wanted.config]:
            if names == wanted.names or (wanted.names and kernels.keys() >= set(wanted.names)):
                return kernels, config
        return None

    def once(self, find: Callable[..., Found], *facts: Hashable) -> Found:
        """Return ``find(self, *facts)``, which is called once for equal facts."""
        key = (find, *facts)
        result: Found | None = self._results.get(key)
        if result is None:
            if len(self._results) == _MOST_RESULTS:
                self._results.clear()
            result = self._results[key] = find(self, *facts)
        return result

    def with_tuning(self, tuning: Tuning) -> Session:
        """A session with the same queue, programs and memory, whose plans use another tuning."""
        own: dict[str, Any] = {"number": next(_NUMBERS), "_fitted": {}, "_results": {}, "_of_functions": {}}
        return _Variant(self, tuning=tuning, tuning_origin="one of a program's own", **own)

    def with_spare_memory(self) -> Session:
        """A session with the same queue, programs and memory, whose buffers have spare memory: see SpareSizes."""
        return _Spacious(self, _spare=SpareSizes())

    def draw_serial(self) -> int:
        """Return a number that no kernel of the session was given lately, to mark memory that is not cleared.

        After half a billion numbers the first comes again. Memory that still holds it looks marked, which costs its
        readers time and no result.
        """
        return _FIRST_SERIAL + next(self._serials) % _MANY_SERIALS

    def publish(self, event: cl.Event | None, *arrays: cla.Array) -> None:
        """Make other queues wait for `event`, the last one that writes to `arrays`, and submit it."""
        event = event or cl.enqueue_marker(self.queue)
        for array in arrays:
            # The last event of an in-order queue stands for all earlier ones. pyopencl would wait for old events in a
            # long list.
            array.events[:] = (event,)
        self.queue.flush()

    def pinned(self, owner: object, size: int) -> np.ndarray[Any, Any]:
        """Host memory, for as long as `owner` lives, into which the device copies without making the host wait."""
        try:
            return self._pinned.take(owner, size)
        except (cl.MemoryError, cl.RuntimeError):
            self._refuse(size, "memory that the device copies numbers into")

    def upload(self, values: np.ndarray[Any, Any], *, purpose: str) -> cla.Array:
        """A device copy of a contiguous host array."""
        array = self.allocate(values.shape, values.dtype, purpose=purpose)
        if values.nbytes:
            cl.enqueue_copy(self.queue, array.base_data, values)
        return array

    def copy(self, source: cla.Array, target: cla.Array, first: int = 0) -> None:
        """Enqueue a copy of rows of a contiguous array, from `first` on, as many as `target` has."""
        if target.nbytes:
            begin = source.offset + first * source.strides[0]
            cl.enqueue_copy(self.queue, target.base_data, source.base_data, byte_count=target.nbytes, src_offset=begin)

    def read(self, array: cla.Array | Scratch, first: int = 0, count: int | None = None) -> np.ndarray[Any, Any]:
        """Read elements of a one-dimensional device array; waits for them."""
        count = array.size - first if count is None else count
        values = np.empty(count, array.dtype)
        if count:
            cl.enqueue_copy(self.queue, values, array.base_data, src_offset=array.offset + first * array.dtype.itemsize)
        return values


class _Variant(Session):
    """A session on the queue of another one, with which it shares all but some attributes."""

    def __init__(self, session: Session, **own: Any) -> None:
        vars(self).update(vars(session) | own)


class _Spacious(_Variant):
    """A session whose buffers are somewhat longer than is needed, for an index whose sizes change."""

    _spare: SpareSizes

    def scratch(self, size: int, dtype: np.dtype[Any], *, purpose: str | ForPairs) -> Scratch:
        if not isinstance(purpose, ForPairs):
            spacious = self._spare.fit(max(LEAST, size * dtype.itemsize), purpose)
            with contextlib.suppress(DeviceMemoryError):  # there may be memory for what is needed
                return Scratch(super().scratch(spacious, _BYTE, purpose=purpose).base_data, size, dtype)
        return super().scratch(size, dtype, purpose=purpose)


def _opened(device: cl.Device) -> tuple[cl.Context, cl.CommandQueue]:
    """A context and a queue of a device; raises where its driver gives none."""
    try:
        context = cl.Context([device])
        return context, cl.CommandQueue(context, device)
    except cl.Error as error:
        raise NoDeviceError(
            f"device {device.name.strip()} was found and cannot be opened: {error}. Often other programs hold its "
            "memory, as JAX takes three quarters of a GPU's when it starts, or there are many sessions: end what is "
            "not needed, use one session for all searches, or name another device. `clfrnn devices` lists them"
        ) from error
