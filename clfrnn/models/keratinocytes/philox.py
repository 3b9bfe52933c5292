"""Philox: random numbers that depend on what they are drawn for and on nothing else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["PHILOX", "key_of"]

#: Philox4x32-10 in OpenCL C: four random words for a counter of four words and a key of two. `UNIT` makes a number in
#: [0, 1) of a word; 24 bits of it, so that float and double give the same number.
PHILOX = """
uint4 philox(uint4 c, uint2 k)
{
    for (int round = 0; round < 10; ++round) {
        const uint high0 = mul_hi(0xD2511F53u, c.s0), low0 = 0xD2511F53u * c.s0;
        const uint high1 = mul_hi(0xCD9E8D57u, c.s2), low1 = 0xCD9E8D57u * c.s2;
        c = (uint4)(high1 ^ c.s1 ^ k.s0, low1, high0 ^ c.s3 ^ k.s1, low0);
        k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}
#define UNIT(word) ldexp((real)((word) >> 8), -24)
"""


def key_of(seed: int) -> npt.NDArray[np.uint32]:
    """The key of a seed, (2,) uint32: seeds of any size, also those that differ by little, have unrelated keys."""
    return np.random.SeedSequence(seed).generate_state(2).astype(np.uint32)
