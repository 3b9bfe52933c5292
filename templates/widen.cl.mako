<%include file="contract.cl.mako"/>
// Numbers from the bytes that they were written as: of these, caches hold four times as many while they come in any order. A
// number that no byte holds stands in its place already, and its byte is full.
// Launch: one work-item for each four, groups of ${work_group_size}. In: bytes (n,). In and out: numbers (n,).
kernel __attribute__((reqd_work_group_size(${work_group_size}, 1, 1)))
void widen(const int n, global const uchar *restrict bytes, global int *restrict numbers)
{
    const int four = get_global_id(0), first = 4 * four;
    if (four >= n / 4 + (n % 4 > 0)) return;
    if (n - first >= 4) {
        const uchar4 some = ((global const uchar4 *)bytes)[four];
        if (all(some != (uchar4)255)) {
            ((global int4 *)numbers)[four] = convert_int4(some);
            return;
        }
    }
    for (int k = first; k < min(n, first + 4); ++k)
        if (bytes[k] != 255) numbers[k] = bytes[k];
}
