import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

BINS, r = 40, 0.1
points = np.random.default_rng(0).random((20_000, 3), dtype=np.float32)
index = clfrnn.build_index(points, r, box=(1, 1, 1), periodic=True)
source = index.kernel_source()

# A histogram of its own for each work-group, in local memory: barriers stand before and behind the loop.
kernel = """
kernel void histogram(const int n, const real radius, global int *counts, FRNN_PARAMETERS)
{
    local int mine[BINS];
    for (int k = get_local_id(0); k < BINS; k += get_local_size(0)) mine[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int place = get_global_id(0);
    if (place < n) {
        FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, FRNN_POINT_ID(place))
            atomic_inc(mine + min((int)(sqrt(d2 / r2) * BINS), BINS - 1));
        FRNN_END_NEIGHBORS
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < BINS; k += get_local_size(0)) atomic_add(counts + k, mine[k]);
}
"""
queue, n = index.session.queue, len(points)
program = cl.Program(queue.context, source.header + kernel).build([f"-DBINS={BINS}"])
counts = cla.zeros(queue, BINS, np.int32)
program.histogram(queue, (-(-n // 64) * 64,), (64,), np.int32(n), np.float32(r), counts.data, *source.arguments)
print(f"{counts.get().sum():,} pairs, {index.count().get().sum():,} by the library's own count")
