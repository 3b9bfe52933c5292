import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import clfrnn

across = 2 * np.random.default_rng(0).random((20_000, 2)) - 1
points = (across * np.abs(across)).astype(np.float32)

figure = Figure(figsize=(10, 4.6), dpi=80, layout="constrained")
panels = figure.subplots(1, 2, sharey=True)
for panel, k in zip(panels, (1, 16), strict=True):
    distances = clfrnn.nearest(points, k).to_host().distances[:, -1]
    print(f"k = {k}: the median distance is {np.median(distances):.4f}, the largest {distances.max():.4f}")
    order = np.argsort(-distances)  # the most crowded points are drawn last
    dots = panel.scatter(*points[order].T, c=distances[order], s=3, linewidths=0, norm=LogNorm(1e-4, 0.2))
    panel.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1), xticks=[-1, -0.5, 0, 0.5, 1], xlabel="x")
    panel.set_title(f"distance to neighbor number {k}", loc="left")

panels[0].set_ylabel("y")
figure.colorbar(dots, ax=panels, label="distance")
figure.savefig("nearest_distances.png")
