import numpy as np
from matplotlib.figure import Figure

from clfrnn.models import Fluid

# Martin and Moyce (1952), table 2: times in units of sqrt(width / (2 gravity)), and the front in widths of the column.
times = [0.41, 0.84, 1.19, 1.43, 1.63, 1.83, 1.98, 2.20, 2.32, 2.51, 2.65, 2.83, 2.98, 3.11, 3.33]
fronts = [1.11, 1.22, 1.44, 1.67, 1.89, 2.11, 2.33, 2.56, 2.78, 3.00, 3.22, 3.44, 3.67, 3.89, 4.11]

water = Fluid(1_000, column=(1, 2), tank=(4.5, 2.5), sound=25.0, repeatable=True)
unit = (water.column[0] / (2 * water.gravity)) ** 0.5
start = water.energy()
figure = Figure(figsize=(11, 5), dpi=100, layout="constrained")
panels = figure.subplots(2, 2)
found = [(0.0, 1.0)]
for panel, end in zip(panels.flat[:3], (1.2, 2.4, 3.9), strict=True):
    while water.time < end * unit:
        water.step(25)
        found.append((water.time / unit, water.front()))
    speed = np.linalg.norm(water.velocities.get(), axis=1)
    dots = panel.scatter(*water.positions.get().T, s=8, c=speed, cmap="viridis", vmin=0, vmax=8, linewidths=0)
    panel.set_title(f"T = {end}: {water.steps_done:,} steps", loc="left", fontsize=10)
    panel.set(aspect="equal", xlim=(0, 4.5), ylim=(0, 2.5), xlabel="x, m", ylabel="y, m")
    panel.tick_params(labelsize=8)
    print(f"T = {end}: the front is at {water.front():.2f}, and {water.energy() / start:.0%} of the energy is left")

clock, front = np.array([times, fronts])[:, 1:]  # but the first
for late in (0, 0.24):
    ahead = np.interp(clock - late, *np.transpose(found)) / front - 1
    print(f"beside the experiment's points, {late} earlier, the front is {ahead.min():.0%} to {ahead.max():.0%} ahead")

figure.colorbar(dots, ax=panels[:, 0], location="left", label="speed, m/s")
chart = panels[1, 1]
chart.plot(*np.transpose(found), color="#0072B2", label="Fluid, 1,000 particles")
chart.plot(times, fronts, "o", color="#D55E00", markersize=4, label="Martin and Moyce (1952)")
chart.plot(np.array(times) - 0.24, fronts, "o", color="#D55E00", markersize=4, fillstyle="none", label="0.24 earlier")
chart.set(xlim=(0, 3.5), ylim=(1, 4.6), xlabel="T: time, in √(width / 2 gravity)", ylabel="front, in widths")
chart.legend(fontsize=8)
figure.savefig("fluid.png", bbox_inches="tight")
