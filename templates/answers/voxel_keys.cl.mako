<%include file="/common/types.mako"/>
// The number of the voxel of each point along each axis, exactly, as clfrnn/answers/voxels.py says.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Launch: one work-item per point, groups of ${work_group_size}.
// In: layout, the size of voxels, and for each axis the origin modulo the size, and the remainders from which on a
//     point lies one voxel further; points (n, ${dim}).
// Out: keys (n, ${dim}); offsets (n,), the bits of the squared distance to the middle of the voxel, in sizes.
// Config fields used: work_group_size, dim, real.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void voxel_keys(const int n, global const double *restrict layout, global const real *restrict points,
                global long *restrict keys, global ulong *restrict offsets)
{
    const int i = get_global_id(0);
    if (i >= n) return;
    const double size = layout[0];
    double squares = 0;
    for (int axis = 0; axis < ${dim}; ++axis) {
        const size_t at = (size_t)i * ${dim} + axis;
        const double x = points[at];
        global const double *along = layout + 1 + 4 * axis;
        if (fabs(x) / size >= 0x1p53) {  // two numbers as large as this are a size apart, or one number
            keys[at] = x < 0 ? -as_long(-x) : as_long(x);
            continue;
        }
        // The remainder of the right quotient is a number, so that fma does not round it; the quotient may be off by one.
        double quotient = trunc(x / size), rest = fma(-quotient, size, x);
        const int back = rest != 0 && (rest < 0) != (x < 0), on = fabs(rest) >= size;
        if (back || on) {
            quotient += (x < 0) == (int)back ? 1 : -1;
            rest = fma(-quotient, size, x);
        }
        const int further = (rest >= along[1]) + (rest >= along[2]) + (rest >= along[3]) - 2;
        keys[at] = (long)quotient + further;
        const double from_middle = rest / size - along[0] / size - further - 0.5;
        squares += from_middle * from_middle;
    }
    offsets[i] = as_ulong(squares);
}
