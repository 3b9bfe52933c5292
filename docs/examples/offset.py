import numpy as np
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from clfrnn.geometry import distance_field, isosurface, normals, offset_surface, orient

n = 20_000
rng = np.random.default_rng(6)
along, around = rng.uniform(0, 2 * np.pi, (2, n, 1))


def knot(t):
    """A trefoil."""
    return np.hstack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])


ahead = (knot(along + 1e-4) - knot(along - 1e-4)) / 2e-4
length = 2 * np.pi * np.linalg.norm(ahead, axis=1).mean()
across = np.cross(ahead, [0, 0, 1])
upward = np.cross(across, ahead)
across, upward = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (across, upward))
scan = (knot(along) + 0.4 * (np.cos(around) * across + np.sin(around) * upward)).astype(np.float32)

outside = orient(scan, normals(scan, 0.2).normals, 0.2)
middle = isosurface(distance_field(scan, outside, spacing=0.08, radius=0.25))
outer = offset_surface(scan, outside, 0.2, spacing=0.08)
inner = offset_surface(scan, outside, -0.2, spacing=0.08)
for name, found in {"at 0": middle, "at 0.2": outer, "at -0.2": inner}.items():
    volume = np.linalg.det(found.vertices[found.faces]).sum() / 6
    radius = np.sqrt(volume / length / np.pi)
    print(f"{name}: {len(found.faces):,} triangles, with the volume of a tube of radius {radius:.3f}")


def triangles(found, color, top=np.inf):
    """The corners of the triangles below a height, and their colors."""
    corners = found.vertices[found.faces]
    corners = corners[corners[..., 2].max(axis=1) < top]
    return corners, np.tile(color, (len(corners), 1))


blue, orange, gray = (0.34, 0.71, 0.91), (0.9, 0.62, 0.0), (0.75, 0.75, 0.75)
cut = [np.concatenate(both) for both in zip(triangles(outer, blue, 0), triangles(inner, orange), strict=True)]
figure = Figure(figsize=(10, 3.6), dpi=90, layout="constrained")
panels = figure.subplots(1, 3, subplot_kw={"projection": "3d"})
light = LightSource(azdeg=315, altdeg=45)
titles = "at 0", "at 0.2", "at 0.2, cut open, and at -0.2"
for panel, shown, title in zip(panels, (triangles(middle, gray), triangles(outer, blue), cut), titles, strict=True):
    look = {"facecolors": shown[1], "shade": True, "lightsource": light, "linewidths": 0, "antialiaseds": False}
    panel.add_collection3d(Poly3DCollection(shown[0], **look))
    panel.set(xlim=(-2.8, 3.6), ylim=(-3.1, 3.3), zlim=(-1.6, 1.6))
    panel.set_box_aspect((2, 2, 1), zoom=1.35)
    panel.view_init(65, -60)
    panel.set_axis_off()
    panel.set_title(title, loc="left", fontsize=10)

figure.savefig("offset.png", bbox_inches="tight")
