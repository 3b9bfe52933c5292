from pathlib import Path

import freud
import numpy as np
from matplotlib.figure import Figure

import clfrnn

water = clfrnn.files.read(Path(__file__).with_name("water.xyz"))
oxygens, hydrogens = (water.points[water.species == species] for species in ("O", "H"))
box = np.diag(water.cell)

edges = np.linspace(0, 8, 81)
g = {
    "O-O": clfrnn.pair_counts(oxygens, edges, box=box).rdf(),
    "O-H": clfrnn.pair_counts(hydrogens, edges, queries=oxygens, box=box).rdf(),
}

middle = (edges[1:] + edges[:-1]) / 2
theirs = freud.density.RDF(bins=80, r_max=8)
theirs.compute((freud.box.Box(*box), oxygens - box / 2))
largest = np.abs(theirs.rdf - g["O-O"]).max()
peak = g["O-O"].argmax()
print(f"{len(oxygens)} molecules of water in a box of {box[0]:.2f} {water.unit}")
print(
    f"g(r) of oxygen is {g['O-O'][peak]:.2f} at {middle[peak]:.2f} {water.unit}; freud differs by at most {largest:.2f}"
)

figure = Figure(figsize=(7, 4), layout="constrained")
axes = figure.subplots()
for name, values in g.items():
    axes.plot(middle, values, label=name)
axes.plot(middle, theirs.rdf, "k+", label="O-O by freud")
axes.set(xlabel="r in Å", ylabel="g(r)", xlim=(0, 8), ylim=(0, 4))
axes.legend()
figure.savefig("water.png", dpi=110)
