from pathlib import Path

import numpy as np
from rich.progress import track

import clfrnn

rng = np.random.default_rng(0)


def write_walk(path, atoms=2_000, frames=20):
    """A trajectory of a salt whose atoms wander, in a cell that is sheared and pressed from frame to frame."""
    shares, species = rng.random((atoms, 3)), np.array(["Na", "Cl"])[np.arange(atoms) % 2]
    with Path(path).open("w") as stream:
        for k in range(frames):
            cell = np.array([[30, 0, 0], [k, 30, 0], [0, 0, 30 - 0.5 * k]])
            shares += rng.normal(0, 0.01, shares.shape)
            rows = zip(species, *(shares @ cell).T, strict=True)
            lattice = " ".join(f"{x:g}" for x in cell.ravel())
            stream.write(f'{atoms}\nLattice="{lattice}" Properties=species:S:1:pos:R:3\n')
            stream.writelines(f"{symbol} {x:.4f} {y:.4f} {z:.4f}\n" for symbol, x, y, z in rows)


def count_contacts(cloud, reach):
    """How many pairs of one Na and one Cl are within reach, images included."""
    kind = (cloud.species == "Na").astype(np.int32)
    unlike = clfrnn.Condition("kind[i] != kind[j]", kind=kind)
    index = clfrnn.build_index(cloud.points, reach, cell=cloud.cell, periodic=cloud.periodic)
    return int(index.count(where=unlike).sum()) // 2


path = "walk.xyz"
write_walk(path)
total = clfrnn.files.read(path).frames
contacts = [count_contacts(cloud, 3.0) for cloud in track(clfrnn.files.frames(path), "contacts", total, transient=True)]
print(f"{total} frames; contacts in the first {contacts[0]:,}, in the last {contacts[-1]:,}")
volume = np.linalg.det(clfrnn.files.read(path, frame=-1).cell)
print(f"by the density of the last frame, {1000 * 1000 / volume * 4 / 3 * np.pi * 3.0**3:,.0f} are to be expected")
