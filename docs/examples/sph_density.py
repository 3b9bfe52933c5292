import numpy as np
import pyopencl.array as cla

import clfrnn

h = 0.08
rng = np.random.default_rng(0)
points = rng.random((20_000, 3), dtype=np.float32)
masses = rng.uniform(0.5, 1.5, len(points)).astype(np.float32) / len(points)

density = clfrnn.NeighborFunction(
    arguments="const real scale, global const real *masses, global real *densities",
    state="real sum = 0;",
    per_neighbor="const real w = r2 - d2; sum += masses[j] * w * w * w;",
    finish="densities[i] = scale * sum;",
)
index = clfrnn.build_index(points, h)
densities = cla.empty(index.session.queue, len(points), np.float32)
index.visit(density, include_self=True, scale=315 / (64 * np.pi * h**9), masses=masses, densities=densities)
print(f"the median density is {np.median(densities.get()):.2f}, of a mass of 1 in a volume of 1")
