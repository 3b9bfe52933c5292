<%include file="/common/contract.mako"/>
// Unpacks numbers that were written as bytes. Numbers of 255 or more were written as ints already, and their bytes are 255.
// Launch: one work-item per ${items} times four numbers, groups of ${work_group_size}.
// In: bytes (n,); disorder[disorder_start]: nothing is done where it is 0. In and out: numbers (n,).
// Config fields used: work_group_size, items.
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void unpack_bytes(const int n, global const int *restrict disorder, const int disorder_start, global const uchar *restrict bytes,
           global int *restrict numbers)
{
    if (!disorder[disorder_start]) return;
    const int fours = n / 4 + (n % 4 > 0), begin = (int)get_group_id(0) * ${work_group_size * items} + (int)get_local_id(0);
    for (int m = 0, four = begin; m < ${items} && four < fours; ++m, four += ${work_group_size}) {
        const int first = 4 * four;
        if (n - first >= 4) {
            const uchar4 some = ((global const uchar4 *)bytes)[four];
            if (all(some != (uchar4)255)) {
                ((global int4 *)numbers)[four] = convert_int4(some);
                continue;
            }
        }
        for (int k = first; k < min(n, first + 4); ++k)
            if (bytes[k] != 255) numbers[k] = bytes[k];
    }
}
