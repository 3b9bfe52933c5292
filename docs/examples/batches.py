import numpy as np
from matplotlib.figure import Figure

import clfrnn

rng = np.random.default_rng(2)
lengths = np.array([[3.0, 2.2], [2.0, 2.0], [2.6, 1.4]])  # the box of each system
sizes = [16, 9, 12]
batch = np.repeat([0, 1, 2], sizes)
points = rng.random((len(batch), 2)) * lengths[batch]
found = clfrnn.search(points, 0.8, batch=batch, box=lengths, vectors=True).to_host()
print("neighbors in each system:", np.bincount(batch, weights=found.counts).astype(int))

figure = Figure(figsize=(7, 2.8), dpi=80, layout="constrained")
panels = figure.subplots(1, 3)
i = found.to_coo()[0]
for system, panel in enumerate(panels):
    own = batch == system
    box = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) * lengths[system]
    panel.plot(*box.T, color="black", linewidth=1)
    for k in np.flatnonzero(own[i]):
        across = found.shifts[k].any()
        ends = np.transpose([points[i[k]], points[i[k]] + found.vectors[k]])
        panel.plot(*ends, color="tab:orange" if across else "silver", linewidth=1, zorder=1)
    panel.scatter(*points[own].T, s=14, color="black", zorder=2)
    panel.set(aspect="equal", xlim=(-0.8, 3.8), ylim=(-0.8, 3.0), title=f"system {system}", xlabel="x", ylabel="y")

figure.savefig("batches.png")
