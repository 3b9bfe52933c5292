import numpy as np
import pyopencl.array as cla

import clfrnn

RADIUS, SKIN, STEPS, DT = 2.5, 0.4, 200, 0.004  # in units of the size, mass and energy of an atom

forces_of = clfrnn.NeighborFunction(
    arguments="const real shifted, global real *forces, global real *energies",
    state="real_vec force = (real_vec)(0); real energy = 0;",
    per_neighbor="""
        const real s6 = 1 / (d2 * d2 * d2);
        force -= dx * (24 * s6 * (2 * s6 - 1) / d2);
        energy += 2 * s6 * (s6 - 1) - shifted;
    """,
    finish="""
        forces[3 * i] = force.s0; forces[3 * i + 1] = force.s1; forces[3 * i + 2] = force.s2;
        energies[i] = energy;
    """,
)

rng = np.random.default_rng(0)
side = 12
box = np.full(3, side * 1.2)
lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * 1.2
velocities = rng.normal(0, 1, lattice.shape)
velocities -= velocities.mean(axis=0)

pairs = clfrnn.VerletList(lattice.astype(np.float32), RADIUS, skin=SKIN, box=box)
queue = pairs.session.queue
places = cla.to_device(queue, lattice.astype(np.float32))
speeds = cla.to_device(queue, velocities.astype(np.float32))
forces, energies = cla.zeros_like(places), cla.zeros(queue, len(lattice), np.float32)
shifted = 2 * RADIUS**-6 * (RADIUS**-6 - 1)  # half of the energy of a pair at the radius, where it is to be 0


def total_energy():
    """Kinetic and potential energy of an atom."""
    kinetic = 0.5 * (speeds.get().astype(float) ** 2).sum()
    return (kinetic + energies.get().astype(float).sum()) / len(lattice)


pairs.visit(forces_of, shifted=shifted, forces=forces, energies=energies)
first, made = total_energy(), 0
for _ in range(STEPS):  # velocity Verlet
    speeds += np.float32(DT / 2) * forces
    places += np.float32(DT) * speeds
    made += pairs.update(places)
    pairs.visit(forces_of, shifted=shifted, forces=forces, energies=energies)
    speeds += np.float32(DT / 2) * forces

print(f"{len(lattice):,} atoms, {STEPS} steps: the list was made again {made} times")
print(f"energy of an atom: {first:.3f} at the start, {total_energy():.3f} at the end")
print(pairs.explain().splitlines()[3])
