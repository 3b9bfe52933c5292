import laspy
import numpy as np
from matplotlib.figure import Figure

import clfrnn
from clfrnn.cluster import dbscan

tile = laspy.read("autzen_trim.laz")
points = (tile.xyz - tile.header.mins).astype(np.float32)  # in feet, from the low corner on
ground = points[np.asarray(tile.classification) == 2]  # as those who made the tile found it
below, _ = clfrnn.nearest(ground[:, :2], 1, queries=points[:, :2])
height = points[:, 2] - ground[below.get()[:, 0], 2]
high = points[height > 8]
found = dbscan(high, 6.0, 10).to_host()
groups = [high[found.labels == number] for number in range(found.num_clusters)]
longest = max(groups, key=lambda group: np.ptp(group[:, :2], axis=0).max())
print(f"{len(points):,} points, of which {len(high):,} are higher than 8 feet above the ground")
print(found, f"and {np.sum(found.labels < 0):,} of noise")
print(f"the longest has {len(longest):,} points and is {np.hypot(*np.ptp(longest[:, :2], axis=0)):.0f} feet long")

figure = Figure(figsize=(9, 4.8), dpi=90, layout="constrained")
panel = figure.subplots()
panel.scatter(*points[height <= 8, :2].T, s=0.5, color="silver", linewidths=0)
inside = found.labels >= 0
panel.scatter(*high[~inside, :2].T, s=1, color="gray", linewidths=0)
panel.scatter(*high[inside, :2].T, s=2, c=found.labels[inside] % 20, cmap="tab20", vmin=0, vmax=19, linewidths=0)
panel.set(aspect="equal", xlim=(0, 1_180), ylim=(0, 565), xlabel="x, feet", ylabel="y, feet")
panel.tick_params(labelsize=8)
figure.savefig("lidar_clusters.png", bbox_inches="tight")
