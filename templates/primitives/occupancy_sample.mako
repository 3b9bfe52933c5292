## Defines, where it is included, which points belong to a sample. Nothing must be in scope.
// The number of the k-th point of a sample that takes one point out of every `apart`, chosen by a hash of k. Every
// apart-th point would follow the rows of points that come from a lattice.
uint sampled_point(const int k, const int apart)
{
    uint hash = k;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    hash ^= hash >> 16;
    return (uint)k * apart + mul_hi(hash, (uint)apart);
}
