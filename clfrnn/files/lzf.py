"""LZF: the packing of compressed .pcd files."""

from __future__ import annotations

__all__ = ["unpack"]

#: Control bytes below this stand before as many bytes and one more; larger ones refer back.
_LITERALS = 32

#: Three bits of a control byte, when all are set, say that another byte is added to a length.
_LONG = 7


def unpack(packed: bytes, size: int) -> bytes:
    """Unpack bytes that PCL has packed by LibLZF.

    Parameters
    ----------
    packed : what LibLZF wrote
    size : how many bytes that is unpacked

    Raises
    ------
    ValueError
        It is damaged, or another number of bytes.
    """
    found, at = bytearray(), 0
    try:
        while at < len(packed):
            control, at = packed[at], at + 1
            if control < _LITERALS:
                some = packed[at : at + control + 1]
                if len(some) <= control:
                    raise ValueError("bytes that end too early")
                found += some
                at += control + 1
            else:
                length = control >> 5
                if length == _LONG:
                    length, at = length + packed[at], at + 1
                back, at = ((control & 31) << 8 | packed[at]) + 1, at + 1
                if back > len(found):
                    raise ValueError("bytes that refer to others before the beginning")
                length += 2
                repeated = found[len(found) - back :][:length]
                found += (repeated * (length // len(repeated) + 1))[:length]
            if len(found) > size:
                break
    except IndexError:
        raise ValueError("bytes that end too early") from None
    if len(found) != size:
        raise ValueError(f"{len(found):,} bytes where {size:,} are announced")
    return bytes(found)
