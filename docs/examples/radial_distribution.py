import numpy as np

import clfrnn

bins, copies, r = 40, 64, 0.1
points = np.random.default_rng(0).random((20_000, 3), dtype=np.float32)

# Work-items next to each other count into different copies, so that few meet at the same counter.
histogram = clfrnn.NeighborFunction(
    arguments="const int bins, const int copies, const real width, global int *counts",
    state="global int *mine = counts + i % copies * bins;",
    per_neighbor="atomic_inc(mine + min((int)(sqrt(d2) / width), bins - 1));",
)
index = clfrnn.build_index(points, r, box=(1, 1, 1), periodic=True)
counts = index.zeros((copies, bins), np.int32)
# The counters are fewer than the points, on purpose.
index.visit(histogram, bins=bins, copies=copies, width=r / bins, counts=counts, checked=False)

edges = np.linspace(0, r, bins + 1)
expected = len(points) ** 2 * 4 / 3 * np.pi * np.diff(edges**3)
g = counts.get().sum(axis=0) / expected
print(f"g(r) of independent points is {g[bins // 2 :].mean():.3f} on average")
