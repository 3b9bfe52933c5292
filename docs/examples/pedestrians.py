import numpy as np
from matplotlib.figure import Figure

from clfrnn.models import Pedestrians


def door(width):
    """24 people in a room with a door of this width, in m; who is through comes in again on the left."""
    low, high = 3 - width / 2, 3 + width / 2
    return Pedestrians(
        24,
        positions=np.random.default_rng(1).uniform((0, 0.5), (5, 5.5), (24, 2)),
        walls=[[[6, 0], [6, low]], [[6, high], [6, 6]], [[-1, 0], [8, 0]], [[-1, 6], [8, 6]], [[-1, 0], [-1, 6]]],
        goals=[[[7, low], [7, high]]],
        entries=[[[0, 1], [0, 5]]],
        repeatable=True,
    )


figure = Figure(figsize=(10, 3.6), dpi=100, layout="constrained")
people, flow = figure.subplots(1, 2)
passed = {}
for width in (1.0, 1.5, 2.0, 2.5, 3.0):
    room = door(width)
    room.step(600)
    passed[width] = room.passed()
    print(f"{passed[width]} through a door of {width} m in {room.time:.0f} s")
    if width == 1.5:
        people.scatter(*room.positions.get().T, s=40, linewidths=0, color="#0072B2")

for wall in ([[6, 6], [0, 2.25]], [[6, 6], [3.75, 6]], [[-1, 8], [0, 0]], [[-1, 8], [6, 6]], [[-1, -1], [0, 6]]):
    people.plot(*wall, color="black")

people.set_title(f"a door of 1.5 m after {room.time:.0f} s", loc="left", fontsize=10)
people.set(aspect="equal", xlim=(-1.1, 8), ylim=(-0.1, 6.1), xlabel="x, m", ylabel="y, m")
flow.plot(passed.keys(), passed.values(), "o-", color="#0072B2")
flow.set_title(f"people through the door in {room.time:.0f} s", loc="left", fontsize=10)
flow.set(xlabel="width of the door, m", ylabel="people", ylim=(0, None))
figure.savefig("pedestrians.png", bbox_inches="tight")
