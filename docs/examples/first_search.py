import numpy as np

import clfrnn

points = np.random.default_rng(0).random((100_000, 3), dtype=np.float32)
neighbors = clfrnn.search(points, 0.03, distances=True)
print(neighbors)
print("point 0 has the neighbors", neighbors[0], "and", neighbors.counts.mean(), "is the mean")
