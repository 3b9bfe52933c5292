import numpy as np
from matplotlib.figure import Figure

import clfrnn

cell = np.array([[4.0, 0.0], [2.4, 2.6]])
points = np.random.default_rng(3).random((14, 2)) @ cell
radius = 1.5
found = clfrnn.search(points, radius, cell=cell, vectors=True).to_host()
here = int(np.argmin(points.sum(axis=1)))  # near a corner of the cell
row = slice(found.offsets[here], found.offsets[here + 1])
print(f"point {here} has {row.stop - row.start} neighbors, {np.any(found.shifts[row], axis=1).sum()} of them images")

figure = Figure(figsize=(7, 4), dpi=80, layout="constrained")
panel = figure.subplots()
for s in np.ndindex(3, 3):
    shift = np.array(s) - 1
    outline = (np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) + shift) @ cell
    panel.plot(*outline.T, color="black" if not shift.any() else "lightgray", zorder=2 if not shift.any() else 1)
    panel.scatter(*(points + shift @ cell).T, s=14, color="black" if not shift.any() else "silver", zorder=3)

angle = np.linspace(0, 2 * np.pi, 200)
panel.plot(*(points[here][:, None] + radius * np.array([np.cos(angle), np.sin(angle)])), color="tab:red")
for vector in found.vectors[row]:
    panel.plot(*np.transpose([points[here], points[here] + vector]), color="tab:red", linewidth=1)

panel.set(aspect="equal", xlim=(-3, 7), ylim=(-2, 4), xlabel="x", ylabel="y")
panel.set_title("the cell, its images, and the neighbors of one point", loc="left")
figure.savefig("cell.png")
