import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from clfrnn.models import Keratinocytes

KINDS = {"stem": "#CC3311", "transit-amplifying": "#EE9933", "committed": "#0072B2"}
COLORS = np.array(list(KINDS.values()))
HALF, END = 250, 750


def draw(panel, frame, shown, axes, title):
    """Some cells of a frame as circles of diameter 1, the far ones first."""
    order = shown[np.argsort(-frame.positions[shown, 3 - sum(axes)])]
    one = np.ones(len(order))
    circles = EllipseCollection(
        *(one, one, 0 * one),
        units="x",
        offsets=frame.positions[order][:, axes],
        offset_transform=panel.transData,
        facecolors=COLORS[frame.colors[order]],
        edgecolors="white",
        linewidths=0.5,
    )
    panel.add_collection(circles)
    panel.set_title(title, loc="left", fontsize=10)
    panel.set(aspect="equal", xlim=(-1, skin.side + 1), xlabel="x, in diameters of a cell", ylabel="xyz"[axes[1]])


skin = Keratinocytes(40, seed=1, repeatable=True)
frames, counts = {}, {}
for frame in skin.run(END, every=25, progress=False):
    frames[frame.step], counts[frame.step] = frame, skin.counts()

for step in (0, HALF, END):
    print(f"after {step} steps: {sum(counts[step])} cells, {counts[step]}")

figure = Figure(figsize=(12, 4), dpi=100, layout="constrained")
panels = figure.subplot_mosaic([["growth", "below", "young"], ["growth", "below", "old"]], width_ratios=(1, 1.1, 1.5))
panels["growth"].stackplot(list(counts), np.array(list(counts.values())).T, colors=COLORS, labels=list(KINDS))
panels["growth"].set_title("numbers of cells by kind", loc="left", fontsize=10)
panels["growth"].set(xlabel="steps", ylabel="cells", xlim=(0, END), ylim=(0, 1.35 * skin.n))
panels["growth"].legend(loc="upper left", frameon=False, fontsize=9)

basement = np.flatnonzero(frames[HALF].positions[:, 2] < skin.rules.basement)
draw(panels["below"], frames[HALF], basement, (0, 1), f"the basement after {HALF} steps, from below")
panels["below"].set(ylim=(-1, skin.side + 1))
for name, step in (("young", HALF), ("old", END)):
    slab = np.flatnonzero(abs(frames[step].positions[:, 1] - skin.side / 2) < 1)
    draw(panels[name], frames[step], slab, (0, 2), f"a section after {step} steps")
    panels[name].set(ylim=(-1, 5))

figure.savefig("keratinocytes.png", bbox_inches="tight")
