"""The two visits of a step of a fluid: density and pressure, then forces and movement; walls are mirrors."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import clfrnn

__all__ = ["DENSITY", "MOVE", "PEAKS"]

#: Places among which particles share the search for the largest speed, and again that for the largest acceleration.
PEAKS = 64

_AXES = {2: "xy", 3: "xyz"}


def _images(dim: int, line: Callable[[str, str, str], str]) -> str:
    """One statement for each image of a particle behind the nearest walls: behind one, and behind several in corners.

    ``line`` gets the squared distance of the image, its position and its velocity, seen from the particle in question.
    A mirror turns these on some of the axes and leaves them on the others. An image is never nearer than the particle
    itself, so those within reach belong to particles within reach.
    """
    axes = _AXES[dim]
    text = ""
    for count in range(1, dim + 1):
        for mirrored in itertools.combinations(axes, count):
            square = " + ".join(["square", *(f"behind.{axis}" for axis in mirrored)])
            place, moving = (
                "(real_vec)(" + ", ".join(f"{turned if axis in mirrored else plain}.{axis}" for axis in axes) + ")"
                for plain, turned in (("apart", "across"), ("towards", "back"))
            )
            text += f"    if ({square} < limit) {line(square, place, moving)}\n"
    return text


#: Where a particle is, its nearest walls, on which side of it these are, and whether one of them is within reach.
_WALLS = {
    dim: f"""
        const real_vec at = vload{dim}(i, points);
        const real_vec wall = fmin(at, tank - at);
        const real_vec side = sign(tank - 2 * at);  // 0 in the middle, where no wall is within reach
        const int near = {" || ".join(f"wall.{axis} * wall.{axis} < r2" for axis in axes)};
    """
    for dim, axes in _AXES.items()
}

#: What the squared distance of an image adds to that of its particle, by axis; `dx` is 0 for a particle's own images.
_BEHIND = "4 * wall * (wall + side * dx)"

DENSITY = {
    dim: clfrnn.NeighborFunction(
        preamble=f"""
real weight(const real square, const real per_reach) {{
    const real share = sqrt(square) * per_reach, rest = fmax(1 - share, (real)0);
    return rest * rest * rest * rest * (1 + 4 * share);
}}
real mirrored_weight(const real square, const real_vec behind, const real limit, const real per_reach) {{
    real sum = 0;
{_images(dim, lambda square, *_: f"sum += weight({square}, per_reach);")}
    return sum;
}}
""",
        arguments="""const real_vec tank, const real per_reach, const real of_weight, const real rest_density,
            const real stiffness, const real smoothing, const real signal, const real courant,
            global const real *points, global real *densities, global real *stresses, global const real *clock,
            global real *next_clock, global const uint *peaks, global uint *next_peaks""",
        # The images of the particle itself come first: behind those of its neighbors, under a condition, one compiler
        # for CPUs makes wrong sums of them (see the lab-book).
        state=_WALLS[dim]
        + """
            real sum = 1;  // the weight of the particle itself
            if (near) sum += mirrored_weight(0, 4 * wall * wall, r2, per_reach);
        """,
        per_neighbor=f"""
            sum += weight(d2, per_reach);
            if (near) sum += mirrored_weight(d2, {_BEHIND}, r2, per_reach);
        """,
        finish=f"""
            const real density = of_weight * sum, ratio = density / rest_density, cube = ratio * ratio * ratio;
            densities[i] = density;
            stresses[i] = fmax(stiffness * (cube * cube * ratio - 1), (real)0) / (density * density);
            if (i == 0) {{  // one particle decides about the step, by what the last one has left, and nobody waits
                uint fastest = 0, hardest = 0;
                for (int k = 0; k < {PEAKS}; k++) {{
                    fastest = max(fastest, peaks[k]);
                    hardest = max(hardest, peaks[{PEAKS} + k]);
                    next_peaks[k] = next_peaks[{PEAKS} + k] = 0;
                }}
                const real speed = sqrt((real)as_float(fastest)), force = sqrt((real)as_float(hardest));
                const real step = courant * fmin(smoothing / (signal + speed), sqrt(smoothing / force));
                const real more = step - clock[2], total = clock[1] + more;  // by Kahan's sum, as there are many steps
                next_clock[0] = step;
                next_clock[1] = total;
                next_clock[2] = (total - clock[1]) - more;
            }}
        """,
    )
    for dim in _AXES
}

_PUSH = "push({}, {}, {}, stress, per_reach, viscosity, soft)"

MOVE = {
    dim: clfrnn.NeighborFunction(
        preamble=f"""
real_vec push(const real square, const real_vec apart, const real_vec towards, const real stress, const real per_reach,
              const real viscosity, const real soft) {{
    const real rest = fmax(1 - sqrt(square) * per_reach, (real)0);
    const real friction = viscosity * fmin(dot(apart, towards), (real)0) / (square + soft);
    return ((friction - stress) * rest * rest * rest) * apart;
}}
real_vec mirrored_push(const real square, const real_vec apart, const real_vec towards, const real_vec behind,
                       const real_vec across, const real_vec back, const real limit, const real stress,
                       const real per_reach, const real viscosity, const real soft) {{
    real_vec sum = (real_vec)(0);
{_images(dim, lambda *image: f"sum += {_PUSH.format(*image)};")}
    return sum;
}}
""",
        arguments="""const real_vec tank, const real_vec gravity, const real per_reach, const real of_push,
            const real viscosity, const real soft, global const real *points, global const real *velocities,
            global const real *stresses, global const real *clock, global real *moved, global real *changed,
            global uint *peaks""",
        state=_WALLS[dim]
        + f"""
            const real_vec own = vload{dim}(i, velocities);
            const real stress = stresses[i];
            real_vec sum = (real_vec)(0);
            if (near) sum += mirrored_push(0, (real_vec)(0), (real_vec)(0), 4 * wall * wall, -2 * side * wall, -2 * own,
                                           r2, 2 * stress, per_reach, viscosity, soft);
        """,
        per_neighbor=f"""
            const real_vec other = vload{dim}(j, velocities);
            const real both = stress + stresses[j];
            sum += push(d2, dx, other - own, both, per_reach, viscosity, soft);
            if (near) sum += mirrored_push(d2, dx, other - own, {_BEHIND}, -dx - 2 * side * wall, -other - own,
                                           r2, both, per_reach, viscosity, soft);
        """,
        finish=f"""
            const real_vec force = gravity + of_push * sum;
            real_vec velocity = own + clock[0] * force, place = at + clock[0] * velocity;
            // Who passes a wall comes back as the image that has met it there.
            const real_vec other_end = 2 * tank - place;
            velocity = place < 0 || place > tank ? -velocity : velocity;
            place = clamp(place < 0 ? -place : place > tank ? other_end : place, (real_vec)(0), tank);
            vstore{dim}(place, i, moved);
            vstore{dim}(velocity, i, changed);
            // Numbers above 0 are in the order of their bits.
            atomic_max(peaks + (i & {PEAKS - 1}), as_uint(convert_float_rtp(dot(velocity, velocity))));
            atomic_max(peaks + {PEAKS} + (i & {PEAKS - 1}), as_uint(convert_float_rtp(dot(force, force))));
        """,
    )
    for dim in _AXES
}
