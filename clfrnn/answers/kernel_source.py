"""KernelSource: the walk over neighbors as macros, for kernels of users."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from pyopencl import cltypes

from ..methods.traversal import Traversal
from ..runtime.rendering import render_inline

__all__ = ["KernelSource", "make_kernel_source"]

_USAGE = """// A walk over neighbors for kernels of your own: method {method}, {dim}D, {real}.
//
//   kernel void mine(const int n, const real radius, global int *counts, FRNN_PARAMETERS)
//   {{
//       const int place = get_global_id(0);              // any launch, any work-group
//       if (place >= n) return;
//       const int i = FRNN_POINT_ID(place);               // points in the index's order, with the caller's numbers
//       const real_vec p = FRNN_POINT(place);
//       int count = 0;
//       FRNN_FOR_NEIGHBORS({query})
//                                                         // {meaning}
//           ++count;                                      // here: j, d2, dx, shift, r2, reach2
//       FRNN_END_NEIGHBORS
//       counts[i] = count;
//   }}
//
// The radius may not exceed the index's. Between the two macros, break and continue leave one neighbor only; return and
// barriers must not stand there. Build without -cl-fast-relaxed-math and its kin, which change who is a neighbor.
"""

#: The arguments of FRNN_FOR_NEIGHBORS in the usage, and what they mean.
_QUERY = "p, radius, i", "position, radius, a point to leave out or -1"
_QUERY_IN_SYSTEM = "p, radius, i, FRNN_SYSTEM(i)", "position, radius, a point to leave out or -1, system"


class KernelSource(NamedTuple):
    """OpenCL C that loops over the neighbors of any position, and the arguments that it needs: for kernels of your own.

    Put ``header`` before your own kernel, and ``FRNN_PARAMETERS`` last among its parameters. Pass ``*arguments`` for
    them, and run the kernel on the index's own queue. The header defines ``real``, ``real_vec`` and

    - ``FRNN_FOR_NEIGHBORS(position, radius, leave_out)`` … ``FRNN_END_NEIGHBORS``: the code between them runs once for
      each point within `radius` of `position`, a ``real_vec``. The `radius` may not exceed the index's; `leave_out` is
      the index of a point that is not its own neighbor, or -1. In scope are ``j``, ``d2``, ``dx``, ``shift``, ``r2``
      and ``reach2``, as in a :class:`~clfrnn.NeighborFunction`. ``break`` and ``continue`` leave one neighbor only;
      ``return`` and barriers must not stand there.
      Where points have a batch, there is a fourth argument: the system of the position, as the place of its number
      among those of the batch in ascending order. For any other number the loop finds nothing.
    - ``FRNN_SYSTEM(i)``: the system of point ``i`` as such a place, where points have a batch.
    - ``FRNN_POINT(place)`` and ``FRNN_POINT_ID(place)``: the position and the index of the point at a place of the
      search order, from 0 up to ``num_points``. Work-items at adjacent places read adjacent memory.
    """

    header: str
    arguments: tuple[Any, ...]


def make_kernel_source(traversal: Traversal, method: str) -> KernelSource:
    """The walk of a `method` over the points that its structure holds now."""
    structure, dim, real = traversal.structure, traversal.dim, traversal.problem.real
    parts = render_inline(structure.stem, structure.config.inline())
    batched = "SYSTEM" in parts
    query, meaning = _QUERY_IN_SYSTEM if batched else _QUERY
    loop = "frnn_position_, frnn_radius_, frnn_self_" + (", frnn_system_" if batched else "")
    header = "\n".join(
        (
            _USAGE.format(method=method, dim=dim, real=real, query=query, meaning=meaning),
            parts["PRELUDE"],
            _macro("FRNN_PARAMETERS", parts["PARAMETERS"]),
            _macro("FRNN_POINT(frnn_place_)", parts["POINT"]),
            _macro("FRNN_POINT_ID(frnn_place_)", parts["POINT_ID"]),
            *([_macro("FRNN_SYSTEM(frnn_point_)", parts["SYSTEM"])] if batched else []),
            _macro(f"FRNN_FOR_NEIGHBORS({loop})", parts["BEGIN"]),
            _macro("FRNN_END_NEIGHBORS", parts["END"]),
            "",
        )
    )
    return KernelSource(header, tuple(_vector(argument) for argument in structure.arguments()))


def _macro(name: str, body: str) -> str:
    """A macro of several lines."""
    lines = [re.sub(r"//.*", "", line).rstrip() for line in body.splitlines()]
    return " \\\n".join([f"#define {name}", *(line for line in lines if line.strip())]) + "\n"


def _vector(argument: Any) -> Any:
    """Four numbers as the vector that pyopencl passes by value; other arguments as they are."""
    if not isinstance(argument, np.ndarray):
        return argument
    kinds = {"i4": cltypes.make_int4, "f4": cltypes.make_float4, "f8": cltypes.make_double4}
    return kinds[argument.dtype.str[1:]](*argument.tolist())
