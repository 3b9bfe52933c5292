# Started by: mpiexec -n 3 python docs/examples/mpi_parts.py
import numpy as np
from mpi4py import MPI

import clfrnn
from clfrnn import parts

world, radius, n = MPI.COMM_WORLD, 0.05, 30_000
cloud = np.random.default_rng(0).random((n, 3), dtype=np.float32)  # stands for a file
first, last = (n * rank // world.size for rank in (world.rank, world.rank + 1))
points = cloud[first:last]  # the rows that this process reads

# A box for each process, by a sample of the points of all.
boxes = parts.split(np.concatenate(world.allgather(points[::10])), world.size)

# Each process gets the points in its box and in its halo, with their rows of the whole, from those that read them.
sent = [
    (first + part.owned, points[part.owned], first + part.halo, points[part.halo])
    for part in parts.assign(points, boxes, radius)
]
owned, inside, halo, outside = (np.concatenate(column) for column in zip(*world.alltoall(sent), strict=True))
order = np.argsort(np.concatenate([owned, halo]))
rows, seen = np.concatenate([owned, halo])[order], np.concatenate([inside, outside])[order]

# The points in the box are the queries; place_of is where each stands, as it is no neighbor of itself.
others = clfrnn.Condition("j != place_of[i]", place_of=np.searchsorted(rows, owned).astype(np.int32))
found = clfrnn.search(seen, radius, queries=inside, where=others, sort="index", to_host=True)
numbered = {"offsets": found.offsets, "indices": rows[found.indices]}
lists = world.gather(parts.PartList(numbered, query_ids=owned, num_points=n, dtype=found.dtype))
print(
    f"process {world.rank}: {len(owned):,} points, {len(halo):,} in the halo, {len(found.indices):,} pairs", flush=True
)
if world.rank == 0:
    whole = parts.join(lists)
    np.savez("neighbors.npz", offsets=whole.offsets, indices=whole.indices)
