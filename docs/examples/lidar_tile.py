import laspy
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from clfrnn.geometry import normals, radius_outliers

tile = laspy.read("autzen_trim.laz")
points = (tile.xyz - tile.header.mins).astype(np.float32)  # in feet, from the low corner on
stays = radius_outliers(points, 8.0, 3).get()
clean = points[stays]
found = normals(clean, 8.0, viewpoint=(600, 300, 5_000))  # from about where the airplane was
vectors, curvature = found.normals.get(), found.curvature.get()
known = np.isfinite(curvature)
lean = np.degrees(np.arccos(np.minimum(vectors[known, 2], 1)))
print(f"{len(points):,} points, of which {len(clean):,} stay, and {known.sum():,} of these have normals")
river = points[~stays, 2] < 8  # feet above the lowest point
print(f"of the points that go, {river.mean():.0%} are on the river")
print(f"half of the normals lean by less than {np.median(lean):.1f}°, and {np.mean(lean > 45):.0%} by more than 45°")

figure = Figure(figsize=(9, 8.4), dpi=80, layout="constrained")
above, below = figure.subplots(2, 1)
light = vectors @ np.float32([-0.58, 0.58, 0.58])
gray, green = colormaps["gray"].resampled(24), colormaps["viridis_r"].resampled(8)
dots = {"s": 1, "linewidths": 0, "antialiaseds": False}
above.scatter(*clean[:, :2].T, c=light, cmap=gray, vmin=-0.2, vmax=1, **dots)
above.scatter(*points[~stays, :2].T, color="#D55E00", **{**dots, "s": 3})
above.set_title("in the light of a low sun in the northwest; in red what goes", loc="left", fontsize=10)
colors = below.scatter(*clean[:, :2].T, c=curvature, cmap=green, vmin=0, vmax=0.2, **dots)
figure.colorbar(colors, ax=below, shrink=0.7, label="curvature")
below.set_title("curvature", loc="left", fontsize=10)
for panel in (above, below):
    panel.set(aspect="equal", xlim=(0, 1_180), ylim=(0, 565), xlabel="x, feet", ylabel="y, feet")
    panel.tick_params(labelsize=8)

figure.savefig("lidar_tile.png", bbox_inches="tight")
