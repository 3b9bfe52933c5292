## Which points a sample takes.
// Number k of a sample that takes one point of each `apart`, any of them: every apart-th would go in step with points that come
// in rows of a lattice.
uint place_of(const int k, const int apart)
{
    uint hash = k;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    hash ^= hash >> 16;
    return (uint)k * apart + mul_hi(hash, (uint)apart);
}
