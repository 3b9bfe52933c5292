"""The declarations that a program needs, of the header that PoCL has each program read.

The header is a megabyte: one declaration for each function of OpenCL and each of its types. Reading it takes 0.15 s of
the 0.21 s in which PoCL builds a program without optimizing, on one core. With the declarations of the functions that a
program names, PoCL makes the same kernels, byte for byte.
"""

import functools
import importlib.metadata
import importlib.util
import re
from pathlib import Path

#: PoCL takes its header as read where this is defined.
HEADER_IS_READ = "-D_OPENCL_H_"

_IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*|\\\n", re.DOTALL)
#: A line of the preprocessor, or a declaration.
_PIECE = re.compile(r"^[ \t]*#.*$|^[^#\s][^;#]*;", re.MULTILINE)
_FUNCTION = re.compile(r"(\w+)\((?!\()")
_NAME = re.compile(r"[A-Za-z_]\w*")
#: A condition that nothing is left of.
_EMPTY = re.compile(r"^[ \t]*#[ \t]*if.*\n(?:[ \t]*#[ \t]*pragma.*\n)*[ \t]*#[ \t]*endif.*\n", re.MULTILINE)
#: What PoCL's own header ends with.
_END = "#pragma OPENCL EXTENSION all : disable\n#line 1\n"


def with_declarations(source, version):
    """The source behind the declarations of the functions that it names, its lines numbered as before.

    None where PoCL, whose version is given, is not the wheel's. The compiler refuses a function whose name a macro puts
    together.
    """
    functions = _functions(version)
    return _declarations(functions.intersection(_NAME.findall(source))) + _END + source if functions else None


@functools.cache
def _functions(version):
    """The names that the header declares, or none where the wheel has another version."""
    is_wheels = _header() and version.startswith(importlib.metadata.version("pocl-binary-distribution"))
    return frozenset(function for function, _ in _header() if function) if is_wheels else frozenset()


@functools.cache
def _declarations(named):
    text = "".join(f"{piece}\n" for function, piece in _header() if function is None or function in named)
    while (shorter := _EMPTY.sub("", text)) != text:
        text = shorter
    return text


@functools.cache
def _header():
    """The header of PoCL's wheel, with what it includes, in pieces: the function that each declares, or None."""
    found = importlib.util.find_spec("pocl_binary_distribution")
    folder = Path(found.origin).parent / ".libs/share/pocl/include" if found else Path()
    base, functions = folder / "opencl-c-base.h", folder / "opencl-c.h"
    if not (base.exists() and functions.exists()):
        return []
    # PoCL has numbers of its own for these two, before it comes here.
    pieces = [(None, re.sub(r"#define FP_ILOGB.*", "", base.read_text()))]
    text = functions.read_text().replace(f'#include "{base.name}"', "").replace("#define _OPENCL_H_", "")
    text = text.replace("#ifndef _OPENCL_H_", "#if 1")
    for piece in _PIECE.findall(_IGNORED.sub("", text)):
        function = None if piece.lstrip().startswith("#") else _FUNCTION.search(piece)
        pieces.append((function and function[1], piece))
    return pieces
