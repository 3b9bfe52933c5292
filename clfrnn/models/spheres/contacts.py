"""What touching spheres do to each other: the functions that run for every neighbor."""

from __future__ import annotations

import clfrnn

__all__ = ["ENERGIES", "MOVE"]

#: What a touching body does to a sphere; `towards` is the vector to its center, of length `d`.
_CONTACT = """
real_vec contact(real_vec towards, real d, real reach, real_vec relative,
                 real stiffness, real damping, real shear, real attraction) {
    const real_vec normal = towards / d;
    const real_vec across = relative - dot(relative, normal) * normal;
    return (attraction * d - stiffness * (reach - d)) * normal + damping * relative + shear * across;
}
"""


def _move(dim: int) -> clfrnn.NeighborFunction:
    """The velocities after a step, and the positions to which these lead."""
    return clfrnn.NeighborFunction(
        preamble=_CONTACT,
        arguments="""const real dt, const real diameter, const real stiffness, const real damping, const real shear,
            const real attraction, const real remaining, const real gravity, const real limit, const real restitution,
            const real_vec center, const real reach, global const real *positions, global const real *velocities,
            global real *moved, global real *changed""",
        state=f"const real_vec own = vload{dim}(i, velocities); real_vec force = (real_vec)(0);",
        # A sphere at the same place has no direction.
        per_neighbor=f"""
            if (d2 > 0) {{
                force += contact(dx, sqrt(d2), diameter, vload{dim}(j, velocities) - own,
                                 stiffness, damping, shear, attraction);
            }}
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
            vstore{dim}(clamp(position, -limit, limit), i, moved);
            vstore{dim}(velocity, i, changed);
        """,
    )


def _energies(dim: int) -> clfrnn.NeighborFunction:
    """The energy of each sphere, with half of that of each of its springs."""
    return clfrnn.NeighborFunction(
        arguments="""const real diameter, const real stiffness, const real attraction, const real gravity,
            const real floor_height, const real_vec center, const real reach, global const real *positions,
            global const real *velocities, global real *energies""",
        state="real sum = 0;",
        per_neighbor="""
            const real overlap = diameter - sqrt(d2);
            sum += stiffness * overlap * overlap + attraction * (d2 - diameter * diameter);
        """,
        finish=f"""
            const real_vec position = vload{dim}(i, positions), velocity = vload{dim}(i, velocities);
            const real overlap = max(reach - length(center - position), (real)0);
            energies[i] = sum / 4 + (stiffness * overlap * overlap + dot(velocity, velocity)) / 2
                + gravity * (position.s{dim - 1} - floor_height);
        """,
    )


#: By the number of dimensions.
MOVE = {dim: _move(dim) for dim in (2, 3)}
ENERGIES = {dim: _energies(dim) for dim in (2, 3)}
