import numpy as np
from matplotlib.figure import Figure

from clfrnn.models import Boids

flock = Boids(800, dim=2, neighbors=8, repeatable=True)
figure = Figure(figsize=(10, 5), dpi=100, layout="constrained")
for panel in figure.subplots(1, 2):
    across, up = flock.positions.get().T
    flying = flock.velocities.get()
    angle = np.arctan2(flying[:, 1], flying[:, 0])
    panel.quiver(across, up, *flying.T, angle, cmap="hsv", clim=(-np.pi, np.pi), pivot="mid", scale=35, width=0.004)
    panel.set_title(f"after {flock.steps_done} steps: order {flock.order():.2f}", loc="left")
    panel.set(aspect="equal", xlim=(0, flock.side), ylim=(0, flock.side), xlabel="x, in radii", ylabel="y, in radii")
    panel.tick_params(labelsize=8)
    print(f"after {flock.steps_done} steps, the order of the flock is {flock.order():.2f}")
    flock.step(600)

figure.supxlabel("colors are directions", fontsize=9)
figure.savefig("boids.png", bbox_inches="tight")
