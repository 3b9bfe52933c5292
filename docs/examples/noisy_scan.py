import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from clfrnn.geometry import normals, orient, radius_outliers, smooth, wlop

rng = np.random.default_rng(5)
n, noise = 20_000, 0.03
around, along = rng.uniform(0, 2 * np.pi, (2, n))
ring = np.stack([np.cos(along), np.sin(along), np.zeros(n)], axis=1)
tube = np.cos(around)[:, None] * ring + np.sin(around)[:, None] * np.float64([0, 0, 1])
scan = ring + (0.4 + rng.normal(0, noise, n))[:, None] * tube  # a torus, scanned with noise
scan = np.concatenate([scan, rng.uniform(-1.5, 1.5, (200, 3))]).astype(np.float32)

tilt = np.float64([[1, 0, 0], [0, np.cos(0.9), -np.sin(0.9)], [0, np.sin(0.9), np.cos(0.9)]])
scan = scan @ tilt.T.astype(np.float32)


def off(points):
    """The root mean square of the distances to the torus."""
    x, y, z = (points @ tilt).T
    return np.sqrt(np.mean((np.hypot(np.hypot(x, y) - 1, z) - 0.4) ** 2))


clean = scan[radius_outliers(scan, 0.1, 10).get()]
smoothed = smooth(clean, 0.15, iterations=2).get()
particles = wlop(clean, 2_000, iterations=30, seed=0).get()
print(f"{len(scan):,} points, of which {len(clean):,} stay")
print(f"off the torus: {off(clean):.3f}, smoothed {off(smoothed):.3f}, particles {off(particles):.3f}")

figure = Figure(figsize=(12, 4), dpi=100, layout="constrained")
titles = "clean", "smooth(clean, 0.15, iterations=2)", "wlop(clean, 2_000, iterations=30)"
clouds = (clean, 0.1, 3), (smoothed, 0.1, 3), (particles, 0.25, 12)
for panel, (points, radius, size), title in zip(figure.subplots(1, 3), clouds, titles, strict=True):
    outside = orient(points, normals(points, radius).normals, radius).get()
    front = outside[:, 2] > 0  # which is False where there is no normal
    light = outside[front] @ np.float32([-0.5, 0.4, 0.77])
    shades = {"cmap": colormaps["bone"].resampled(24), "vmin": -0.5, "vmax": 1.2}
    panel.scatter(*points[front, :2].T, s=size, c=light, linewidths=0, antialiaseds=False, **shades)
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.3, 1.3), xticks=[], yticks=[])

figure.savefig("noisy_scan.png", bbox_inches="tight")
