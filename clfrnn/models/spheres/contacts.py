"""What touching spheres do to each other: the functions that run for every neighbor."""

from __future__ import annotations

import functools

import clfrnn

__all__ = ["energies", "move"]

#: What a touching body does to a sphere; `towards` is the vector to its center, of length `d`.
_CONTACT = """
real_vec contact(real_vec towards, real d, real reach, real_vec relative,
                 real stiffness, real damping, real shear, real attraction) {
    const real_vec normal = towards / d;
    const real_vec across = relative - dot(relative, normal) * normal;
    return (attraction * d - stiffness * (reach - d)) * normal + damping * relative + shear * across;
}
"""

#: Spheres that touch one which are remembered until they are summed: more than fit around a sphere.
_TOUCHING = 24


@functools.cache
def move(dim: int, *, ordered: bool) -> clfrnn.NeighborFunction:
    """The velocities after a step, and the positions to which these lead.

    With `ordered`, forces are summed in the order of the spheres' numbers, whatever the order of neighbors.
    """
    return _summed(
        dim,
        ordered=ordered,
        preamble=_CONTACT,
        arguments="""const real dt, const real diameter, const real stiffness, const real damping, const real shear,
            const real attraction, const real remaining, const real gravity, const real limit, const real restitution,
            const real_vec center, const real reach, global const real *positions, global const real *velocities,
            global real *moved, global real *changed""",
        state=f"const real_vec own = vload{dim}(i, velocities); real_vec force = (real_vec)(0);",
        # A sphere at the same place has no direction.
        counts="square > 0",
        each=f"""
            force += contact(towards, sqrt(square), diameter, vload{dim}(other, velocities) - own,
                             stiffness, damping, shear, attraction);
        """,
        finish=f"""
            real_vec position = vload{dim}(i, positions);
            const real away = length(center - position);
            if (away > 0 && away <= reach) {{
                force += contact(center - position, away, reach, -own, stiffness, damping, shear, (real)0);
            }}
            force.s{dim - 1} -= gravity;
            real_vec velocity = remaining * (own + dt * force);
            position += dt * velocity;
            velocity = select(velocity, -restitution * velocity, fabs(position) > limit);
            position = clamp(position, -limit, limit);
            vstore{dim}(position, i, moved);
            vstore{dim}(velocity, i, changed);
        """,
    )


@functools.cache
def energies(dim: int, *, ordered: bool) -> clfrnn.NeighborFunction:
    """The energy of each sphere, with half of that of each of its springs; summed as by :func:`move`."""
    return _summed(
        dim,
        ordered=ordered,
        arguments="""const real diameter, const real stiffness, const real attraction, const real gravity,
            const real floor_height, const real_vec center, const real reach, global const real *positions,
            global const real *velocities, global real *energies""",
        state="real sum = 0;",
        counts="square >= 0",
        each="""
            const real overlap = diameter - sqrt(square);
            sum += stiffness * overlap * overlap + attraction * (square - diameter * diameter);
        """,
        finish=f"""
            const real_vec position = vload{dim}(i, positions), velocity = vload{dim}(i, velocities);
            const real overlap = max(reach - length(center - position), (real)0);
            energies[i] = sum / 4 + (stiffness * overlap * overlap + dot(velocity, velocity)) / 2
                + gravity * (position.s{dim - 1} - floor_height);
        """,
    )


def _summed(
    dim: int,
    *,
    ordered: bool,
    arguments: str,
    state: str,
    counts: str,
    each: str,
    finish: str,
    preamble: str = "",
) -> clfrnn.NeighborFunction:
    """A function that runs `each` for the neighbors that `counts` says, as the walk meets them or by their numbers.

    Both see the number of the neighbor, `other`, the vector to it, `towards`, and the `square` of its length.
    """
    if not ordered:
        known = "const real_vec towards = dx; const real square = d2; const int other = j;"
        per_neighbor = f"{known} if ({counts}) {{ {each} }}"
        return clfrnn.NeighborFunction(
            preamble=preamble, arguments=arguments, state=state, per_neighbor=per_neighbor, finish=finish
        )
    # The square as a search computes it: a sphere whose neighbors are more than are remembered is compared with all.
    square = " + ".join(f"towards.s{axis} * towards.s{axis}" for axis in range(dim))
    return clfrnn.NeighborFunction(
        preamble=preamble,
        arguments=f"{arguments}, const int spheres",
        state=f"{state} int touching[{_TOUCHING}]; int many = 0;",
        per_neighbor=f"""
            const real square = d2;
            if ({counts}) {{
                int place = many++;
                if (place < {_TOUCHING}) {{
                    for (; place > 0 && touching[place - 1] > j; --place) touching[place] = touching[place - 1];
                    touching[place] = j;
                }}
            }}
        """,
        finish=f"""
            const int crowded = many > {_TOUCHING};
            const real_vec here = vload{dim}(i, positions);
            for (int k = 0, last = crowded ? spheres : many; k < last; ++k) {{
                const int other = crowded ? k : touching[k];
                const real_vec towards = vload{dim}(other, positions) - here;
                const real square = {square};
                if (!crowded || (other != i && square <= r2 && ({counts}))) {{ {each} }}
            }}
            {finish}
        """,
    )
