import itertools

import numpy as np
from matplotlib.figure import Figure

from clfrnn.cluster import friends_of_friends

side, mesh = 40, 80  # particles and nodes along each axis of a periodic box of length 1
n = side**3
steps = np.linspace(0.05, 1, 25)  # the scale of the universe, which is 1 in the end
along = 2 * np.pi * np.fft.fftfreq(mesh, 1 / mesh)
waves = np.stack(np.meshgrid(along, along, along[: mesh // 2 + 1], indexing="ij"))
length = np.maximum(np.linalg.norm(waves, axis=0), 1)


def field(amplitudes):
    """What has these amplitudes of waves, at the nodes."""
    return np.fft.irfftn(amplitudes, (mesh,) * 3, axes=(0, 1, 2))


def pull(amplitudes):
    """The gravity of a density with these amplitudes, at the nodes."""
    return np.stack([field(1j * wave * amplitudes / length**2) for wave in waves], axis=-1).reshape(-1, 3)


def corners(places):
    """The eight nodes around each particle, and how much of it belongs to each."""
    low = np.floor(places * mesh).astype(int)
    part = places * mesh - low
    for corner in np.ndindex(2, 2, 2):
        share = np.prod(np.where(corner, part, 1 - part), axis=1)
        yield np.ravel_multi_index(tuple((low + corner).T), (mesh,) * 3, mode="wrap"), share


def deviation(members):
    """The deviation of the first density in balls with that number of particles, grown in line with the scale."""
    x = length * (3 * members / (4 * np.pi * n)) ** (1 / 3)
    return field(first * 3 * (np.sin(x) - x * np.cos(x)) / x**3).std()


noise = np.fft.rfftn(np.random.default_rng(7).normal(size=(mesh,) * 3))
first = np.where((length > 1) & (length < np.pi * side), noise * length**-0.75, 0)
first *= 1.7 / deviation(100)
grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1) / side
push = pull(first).reshape(mesh, mesh, mesh, 3)[(slice(None, None, mesh // side),) * 3]
places, speed = (grid + steps[0] * push).reshape(-1, 3), (steps[0] ** 1.5 * push).reshape(-1, 3)
for start, end in itertools.pairwise(steps):
    middle = (start + end) / 2
    places = (places + (middle - start) * start**-1.5 * speed) % 1
    density = sum(np.bincount(node, share, mesh**3) for node, share in corners(places)).reshape((mesh,) * 3)
    force = pull(np.fft.rfftn(density * mesh**3 / n))
    speed += 1.5 * (end - start) * middle**-0.5 * sum(share[:, None] * force[node] for node, share in corners(places))
    places = (places + (end - middle) * end**-1.5 * speed) % 1

halos = friends_of_friends(places, 0.2 / side, min_members=20, box=(1.0, 1.0, 1.0)).to_host()
print(halos, f"with {halos.sizes.sum() / n:.0%} of them; the largest have", np.sort(halos.sizes)[:-6:-1].tolist())

members = np.geomspace(20, 2_500, 10)
deviations = np.array([deviation(each) for each in members])
slope = -np.gradient(np.log(deviations), np.log(members))
height, width = 1.686 / deviations, np.diff(np.log(members))
expected = np.sqrt(2 / np.pi) * n / members * slope * height * np.exp(-(height**2) / 2)  # Press and Schechter
counts, _ = np.histogram(halos.sizes, members)
share = counts.sum() / np.sum((expected[1:] + expected[:-1]) / 2 * width)
print(f"{counts.sum()} of them have 20 to 2,500 particles, {share:.0%} of the number by the formula")

figure = Figure(figsize=(10, 4.6), dpi=90, layout="constrained")
slab, masses = figure.subplots(1, 2)
inside, near = halos.labels >= 0, places[:, 2] < 0.25
slab.scatter(*places[near & ~inside, :2].T, s=1, color="silver", linewidths=0)
colors = {"c": halos.labels[near & inside] % 10, "cmap": "tab10", "vmin": 0, "vmax": 9}
slab.scatter(*places[near & inside, :2].T, s=2, linewidths=0, **colors)
slab.set_title("a quarter of the box, with halos in colors", loc="left", fontsize=10)
slab.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xlabel="x, in sides of the box", ylabel="y, in sides of the box")
masses.errorbar(np.sqrt(members[1:] * members[:-1]), counts / width, np.sqrt(counts) / width, fmt="o", label="found")
masses.loglog(members, expected, label="Press and Schechter (1974)")
masses.set_title("numbers of halos by mass", loc="left", fontsize=10)
masses.set(xlabel="particles of a halo", ylabel="halos in a factor e of mass")
masses.legend(frameon=False)
figure.savefig("halos.png", bbox_inches="tight")
