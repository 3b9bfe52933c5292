"""Compiles source text, once for each text, and reduces work-groups until the compiled kernels allow their size."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from ..config import KernelConfig
from ..errors import KernelBuildError
from ..functions import PIECES
from ..host.folders import warn_of_cache, why_not_all_written
from ..host.foreign_warnings import filters_lock
from ..host.interrupts import interrupts_held_back
from ..host.memory import check_memory_to_compile
from ..host.terminal import one_line_where_it_takes_long, without_counts_of_errors
from ..host.text_cache import cache_folder
from ..profile import DeviceProfile
from .compile_errors import LINE, CompileError, compile_errors, hint, user_pieces

__all__ = ["Kernel", "Part", "ProgramCache"]

#: Option that switches warnings off, whose number some drivers write to the terminal. Errors are reported.
_WARNINGS = "-w"

#: Variable of pyopencl by which people request what compilers have to say; warnings are then left on.
_OUTPUT = "PYOPENCL_COMPILER_OUTPUT"

#: The folders that pyopencl stores programs and code in; where it cannot, it fails in many ways.
_FOLDERS = ("pyopencl", "pytools")

#: Why pyopencl cannot store programs, once it is known that it cannot.
_unstored: list[str] = []

#: Largest number of errors in a user's code that are shown: later errors often follow from the first.
_MOST_ERRORS = 8

#: The argument, the kind and the scope of the pieces of a function and of a condition.
_OF_FUNCTION = (
    "i, r2, reach2, real, real_vec, the declared arguments and what state declares; "
    "in per_neighbor also j, d2, dx and shift"
)
_FUNCTION = "function", "NeighborFunction", _OF_FUNCTION
_CONDITION = "where", "Condition", "i, j, d2, dx, shift, r2, real, real_vec and the values that were given by name"


class Kernel:
    """A compiled kernel that notes the types of its arguments at its first call, and the numbers of its last call.

    pyopencl sets an argument of a known type in a fraction of a microsecond; an argument of unknown type takes ten
    microseconds, more than the launch itself. Most launches in a loop differ from the last one in their buffers alone,
    and it takes half as long to set only these. That is done where all numbers are the same objects as in the last
    call, so the kernel holds references to them. It holds none to buffers, which could then not return to their pool.
    """

    __slots__ = ("_buffers", "_compiled", "_numbers", "_set", "name")

    def __init__(self, compiled: cl.Kernel) -> None:
        self._compiled = compiled
        #: the positions of buffers among the arguments
        self._buffers: tuple[int, ...] = ()
        #: a function that selects the numbers among the arguments; None before the first call
        self._numbers: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
        #: the numbers that are set; None where they are not known
        self._set: tuple[Any, ...] | None = None
        self.name: str = compiled.function_name

    def largest_group(self, device: cl.Device) -> int:
        """The largest work-group that the driver allows for this kernel."""
        return int(self._compiled.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))

    def required_group(self, device: cl.Device) -> int:
        """The size of work-groups that the kernel was compiled for, 0 for any size."""
        return int(self._compiled.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device)[0])

    def enqueue(self, queue: cl.CommandQueue, size: int, work_group_size: int, arguments: Sequence[Any]) -> cl.Event:
        """Launch over `size` work-items. The argument at a position has the same type in every call.

        A Python integer is an ``int`` of OpenCL C, as converting it to numpy takes as long as setting it. Vectors that
        were passed must not change: the same array means the same numbers.
        """
        compiled, before = self._compiled, self._set
        numbers = (self._numbers or self._learn(arguments))(arguments)
        if before is not None and all(map(operator.is_, before, numbers)):
            try:
                for position in self._buffers:
                    compiled.set_arg(position, arguments[position])
            except TypeError:  # pyopencl before 2026.1.3 takes None, an array without elements, in set_args alone
                compiled.set_args(*arguments)
        else:
            self._set = None  # in case an argument is refused
            compiled.set_args(*arguments)
            self._set = numbers
        return cl.enqueue_nd_range_kernel(queue, compiled, (size,), (work_group_size,))

    def _learn(self, arguments: Sequence[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        check_memory_to_compile()  # some drivers compile for the size of groups when a kernel is first launched
        types = [_argument_type(argument) for argument in arguments]
        self._compiled.set_scalar_arg_dtypes(types)
        self._buffers = tuple(position for position, kind in enumerate(types) if kind is None)
        self._numbers = _selector([position for position, kind in enumerate(types) if kind is not None])
        return self._numbers


def _selector(positions: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that selects the elements of a tuple at these positions, as a tuple of any length."""
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    first = positions[0] if positions else 0
    return operator.itemgetter(slice(first, first + len(positions)))


def _argument_type(argument: Any) -> np.dtype[Any] | None:
    """None for a buffer, the dtype of a scalar, untyped bytes for a vector such as a float4."""
    if isinstance(argument, np.ndarray):
        return np.dtype((np.void, argument.nbytes))
    if isinstance(argument, int):
        return np.dtype(np.int32)
    return argument.dtype if isinstance(argument, np.generic) else None


class Part(NamedTuple):
    """A part of a program: its config, its text for a config, and its kernels by name; without names, all."""

    config: KernelConfig
    render: Callable[[Any], str]
    names: Collection[str] = ()

    def of(self, kernels: Mapping[str, Kernel]) -> dict[str, Kernel]:
        """The kernels of this part among those of the program."""
        return {name: kernels[name] for name in self.names or kernels}


class ProgramCache:
    """The compiled programs of one context by their source text.

    ``compiled`` is the number of compilations. ``forgotten`` says how often programs were forgotten, to those who hold
    kernels themselves.
    """

    def __init__(self, context: cl.Context, device: cl.Device, profile: DeviceProfile) -> None:
        self._context = context
        self._device = device
        self._profile = profile
        self._kernels: dict[str, dict[str, Kernel]] = {}
        self.compiled = self.forgotten = 0

    def build_to_fit(self, *parts: Part) -> list[tuple[dict[str, Kernel], Any]]:
        """Compile all parts as one program, and return the kernels of each part by name with the final config.

        A driver may allow smaller groups for a kernel than the device allows in general, because of registers or
        barriers. The group of a part is then halved until all kernels of the part allow it. Parts must not declare
        equal names, and are compiled with the same options.
        """
        while True:
            kernels = self._build(parts)
            fitted = [self._fit(part, kernels) for part in parts]
            if all(after.config == before.config for after, before in zip(fitted, parts, strict=True)):
                return [(part.of(kernels), part.config) for part in parts]
            parts = tuple(fitted)

    def forget(self, kernels: Iterable[Kernel]) -> None:
        """Forget the programs that these kernels belong to."""
        gone = set(kernels)
        self.forgotten += 1
        self._kernels = {text: found for text, found in self._kernels.items() if gone.isdisjoint(found.values())}

    def _fit(self, part: Part, kernels: Mapping[str, Kernel]) -> Part:
        """The part with groups that all of its compiled kernels allow."""
        allowed, size = min(map(self._largest_group, part.of(kernels).values())), part.config.work_group_size
        if allowed >= size or size == 1:
            return part
        config = dataclasses.replace(part.config, work_group_size=_power_of_two_below(allowed, size))
        return part._replace(config=config)

    def _largest_group(self, kernel: Kernel) -> int:
        required = kernel.required_group(self._device) if self._profile.required_groups else 0
        return required or kernel.largest_group(self._device)

    def _build(self, parts: Sequence[Part]) -> dict[str, Kernel]:
        source, config = "\n".join(part.render(part.config) for part in parts), parts[0].config
        if source in self._kernels:
            return self._kernels[source]
        try:
            self._kernels[source] = self._compile(source, config, users=bool(user_pieces(source)))
        except cl.Error as error:
            raise KernelBuildError(
                self._explain(config, source, str(error)), device=str(self._profile), config=config, source=source
            ) from None
        self.compiled += 1
        return self._kernels[source]

    def _compile(self, source: str, config: KernelConfig, *, users: bool) -> dict[str, Kernel]:
        """The kernels of `source`; where `users` code is in it, a compiler may have to count its errors."""
        check_memory_to_compile()
        shown = os.environ.get(_OUTPUT, "0") not in ("", "0")
        options = [*([] if shown else [_WARNINGS]), *self._profile.build_options, *config.options(self._profile)]
        counts = without_counts_of_errors() if users and not shown else contextlib.nullcontext()
        wait = one_line_where_it_takes_long(self._profile.name)
        with filters_lock, interrupts_held_back(), wait, counts, warnings.catch_warnings():
            warnings.simplefilter("always" if shown else "ignore", cl.CompilerWarning)
            # pyopencl 2026.1.4 fails with a KeyError where it cannot store a program, and later ones warn.
            warnings.filterwarnings("error", "PyOpenCL compiler caching failed")
            program = self._built(source, options)
            # program.all_kernels() holds the kernels, and so their context, for ever (pyopencl 2026.1.4).
            names = program.get_info(cl.program_info.KERNEL_NAMES).split(";")
            kernels = {name: Kernel(cl.Kernel(program, name)) for name in names}
        if _unstored:
            instead = "each process compiles them anew. Set XDG_CACHE_HOME to a folder that can be written."
            warn_of_cache("pyopencl", _unstored[0], instead)
        return kernels

    def _built(self, source: str, options: list[str]) -> cl.Program:
        """The compiled program, from pyopencl's files where these serve the driver and can be written."""
        folder = cache_folder()
        if folder is not None and not cl._PYOPENCL_NO_CACHE:  # noqa: SLF001
            _do_without_files(why_not_all_written(folder.parent, _FOLDERS))
        try:
            return cl.Program(self._context, source).build(options, devices=[self._device])
        except (OSError, KeyError, UserWarning) as error:  # a full disk, say
            _do_without_files(str(error.__context__ or error))
            return cl.Program(self._context, source).build(options, devices=[self._device])

    def _explain(self, config: KernelConfig, source: str, log: str) -> str:
        """The message for a user when the driver's compiler refuses `source` with this `log`."""
        pieces = user_pieces(source)
        if not pieces:
            return (
                f"{self._profile}: the driver's compiler refused a kernel of clfrnn's.\n{config}\n{log}\n"
                "The exception's `source` holds the numbered text; please report it together with this message."
            )
        found = compile_errors(source, log) or self._errors_by_line(config, source)
        concerned = [error.piece for error in found] or list(pieces)
        what, named, scope = _FUNCTION if any(piece in PIECES for piece in concerned) else _CONDITION
        if not found:
            return (
                f"{what}: {self._profile}: the driver's compiler refused the kernel with this {named} in it, and names "
                f"no line of its pieces.\n{log}\n"
                "Something that the pieces declare or #define disturbs the code around them, a variable with the name "
                "of a built-in function, say: rename it, or take code away until it compiles. The exception's `source` "
                f"holds the numbered text, with the pieces {', '.join(pieces)}."
            )
        shown = "\n".join(map(str, found[:_MOST_ERRORS]))
        more = f"\n... and {len(found) - _MOST_ERRORS} more" if len(found) > _MOST_ERRORS else ""
        return (
            f"{what}: {self._profile}: the driver's compiler refused the code of this {named}.\n{shown}{more}\n"
            f"Correct it there. In scope are {scope}. {hint(found[0])}The exception's `source` holds the whole kernel."
        )

    def _errors_by_line(self, config: KernelConfig, source: str) -> list[CompileError]:
        """The errors of a driver that ignores ``#line`` and reports lines of the whole text."""
        try:
            self._compile(
                "\n".join("" if LINE.match(line) else line for line in source.split("\n")), config, users=True
            )
        except cl.Error as error:
            return compile_errors(source, str(error), named=False)
        return []


def _do_without_files(why: str) -> None:
    """Where there is a reason why, keep pyopencl from using files, as the variable PYOPENCL_NO_CACHE does."""
    if why:
        cl._PYOPENCL_NO_CACHE = True  # noqa: SLF001
        _unstored.append(why)


def _power_of_two_below(allowed: int, size: int) -> int:
    size //= 2
    while size > max(1, allowed):
        size //= 2
    return size
