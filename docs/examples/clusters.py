import numpy as np
from matplotlib.figure import Figure

from clfrnn.cluster import dbscan, friends_of_friends

rng = np.random.default_rng(4)
angle = rng.uniform(0, 2 * np.pi, 2_000)
ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(scale=0.07, size=(2_000, 2))
blobs = [rng.normal(middle, 0.13, (800, 2)) for middle in ((0.0, 0.0), (1.7, 0.9), (-1.6, -0.9))]
noise = rng.uniform((-2.2, -1.5), (2.3, 1.5), (700, 2))
points = rng.permutation(np.concatenate([ring, *blobs, noise])).astype(np.float32)

dense = dbscan(points, 0.08, 10).to_host()
friends = friends_of_friends(points, 0.05, min_members=20).to_host()
print(dense, "with", np.sort(dense.sizes)[::-1][:4].tolist(), "points and", (dense.labels < 0).sum(), "points of noise")
print(friends, "with", np.sort(friends.sizes)[::-1][:4].tolist(), "points")

figure = Figure(figsize=(10, 4), dpi=100, layout="constrained")
titles = "dbscan(points, 0.08, 10)", "friends_of_friends(points, 0.05, min_members=20)"
for panel, found, title in zip(figure.subplots(1, 2), (dense, friends), titles, strict=True):
    inside = found.labels >= 0
    panel.scatter(*points[~inside].T, s=2, color="silver", linewidths=0)
    border = inside & ~found.core
    panel.scatter(*points[inside].T, s=4, c=found.labels[inside] % 10, cmap="tab10", vmin=0, vmax=9, linewidths=0)
    panel.scatter(*points[border].T, s=9, facecolors="none", edgecolors="black", linewidths=0.4)
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(aspect="equal", xlim=(-2.2, 2.3), ylim=(-1.5, 1.5), xlabel="x", ylabel="y")
    panel.tick_params(labelsize=8)

figure.savefig("clusters.png", bbox_inches="tight")
