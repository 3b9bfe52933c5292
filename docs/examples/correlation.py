import Corrfunc.theory
import numpy as np
from matplotlib.figure import Figure

import clfrnn

# Clusters of points in a periodic box, as galaxies lie in halos; motion makes them longer along the line of sight.
rng = np.random.default_rng(0)
side, clusters, members = 100.0, 2_000, 25
centers = np.repeat(rng.random((clusters, 3)) * side, rng.poisson(members, clusters), axis=0)
galaxies = (centers + rng.normal(0, 0.8, centers.shape)) % side
observed = (galaxies + rng.normal(0, 2.5, len(galaxies))[:, None] * (0, 0, 1)) % side
box = np.full(3, side)

edges = np.geomspace(0.1, 20, 21)
found = clfrnn.pair_counts(galaxies, edges, box=box)
correlation = found.rdf() - 1

theirs = Corrfunc.theory.xi(side, 1, edges, *galaxies.T, output_ravg=False)
differ = np.abs(theirs["npairs"].astype(int) - found.counts)
print(f"{len(galaxies):,} galaxies, {found.counts.sum():,} pairs; Corrfunc's counts differ by at most {differ.max()}")
print(f"xi at {edges[5]:.2f} to {edges[6]:.2f}: {correlation[5]:.3f}, Corrfunc {theirs['xi'][5]:.3f}")

across, along = np.linspace(0, 10, 21), np.linspace(0, 10, 21)
rings = clfrnn.pair_counts(observed, (across, along), line_of_sight=2, box=box)
squeezed = np.log10(1 + rings.rdf())

figure = Figure(figsize=(9, 4), layout="constrained")
left, right = figure.subplots(1, 2)
middle = np.sqrt(edges[1:] * edges[:-1])
left.loglog(middle, np.abs(correlation), label="clfrnn")
left.loglog(middle, np.abs(theirs["xi"]), "k+", label="Corrfunc")
left.set(xlabel="r", ylabel="|ξ(r)|", title="along all directions")
left.legend()
whole = np.block([[squeezed[::-1, ::-1].T, squeezed[:, ::-1].T], [squeezed[::-1].T, squeezed.T]])
picture = right.imshow(whole, extent=(-10, 10, -10, 10), origin="lower", cmap="viridis")
right.set(xlabel="across the line of sight", ylabel="along it", title="seen with their motion")
figure.colorbar(picture, label="log₁₀(2 + ξ)")
figure.savefig("correlation.png", dpi=110)
