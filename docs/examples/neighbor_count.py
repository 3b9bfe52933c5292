import numpy as np
import pyopencl.array as cla
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import clfrnn

dim = 2
across = 2 * np.random.default_rng(0).random((20_000, dim)) - 1
points = (across * np.abs(across)).astype(np.float32)
index = clfrnn.build_index(points, 0.02)
drift = clfrnn.NeighborFunction(
    arguments="global real *steps",
    state="real_vec sum = 0; int many = 1;",
    per_neighbor="sum += dx; ++many;",
    finish=f"vstore{dim}(sum / (real)many, i, steps);",
)
places = cla.to_device(index.session.queue, points)
steps = cla.empty_like(places)

figure = Figure(figsize=(10, 4.6), dpi=80, layout="constrained")
panels = figure.subplots(1, 2, sharey=True)
for panel, step in zip(panels, (0, 5), strict=True):
    counts = index.count().get()
    print(f"after {step} steps: {np.median(counts):.0f} neighbors in the median, {counts.max()} at most")
    order = np.argsort(counts)  # the most crowded points are drawn last
    dots = panel.scatter(*places.get()[order].T, c=1 + counts[order], s=3, linewidths=0, norm=LogNorm(1, 1000))
    panel.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1), xticks=[-1, -0.5, 0, 0.5, 1], xlabel="x")
    panel.set_title("the cloud" if step == 0 else f"after {step} steps to the mean", loc="left")
    if step == 0:
        for _ in range(5):
            index.visit(drift, steps=steps)
            places += steps
            index.update(places)

panels[0].set_ylabel("y")
figure.colorbar(dots, ax=panels, label="points within reach, itself included")
figure.savefig("neighbor_count.png")
