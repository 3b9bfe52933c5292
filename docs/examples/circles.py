import numpy as np
from matplotlib.figure import Figure

from clfrnn.models import Circles

model = Circles(1_000, 12, dim=2, radius=1.0, repeatable=True)
figure = Figure(figsize=(10, 5), dpi=100, layout="constrained")
for panel in figure.subplots(1, 2):
    across, up = model.points.get().T
    panel.scatter(across, up, s=9, linewidths=0, color="#0072B2")
    panel.set_title(f"after {model.steps_done} steps: {model.index.count().get().mean():.1f} neighbors", loc="left")
    panel.set(aspect="equal", xlim=(0, model.side), ylim=(0, model.side), xlabel="x, in radii", ylabel="y, in radii")
    panel.tick_params(labelsize=8)
    moved = np.median(np.linalg.norm(model.forces(), axis=1)) / model.damping
    print(f"after {model.steps_done} steps, half of the actors move by less than {moved:.2g} of the damping")
    model.step(400)

figure.savefig("circles.png", bbox_inches="tight")
