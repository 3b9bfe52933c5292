"""Files that are damaged, or that were made to do harm; see test_hostile.py."""

import bz2
import functools
import gzip
import io
import lzma
import struct
import zipfile
import zlib

import numpy as np

POINTS = np.random.default_rng(3).random((40, 3))

#: For the counts in headers.
HUGE = (10**12, 10**15, 2**62, 2**63, 2**64, 10**30)
LONG = "9" * 5000


def npy(points=POINTS):
    stream = io.BytesIO()
    np.save(stream, points)
    return stream.getvalue()


def headed(header, data=b"\0" * 64, version=(1, 0)):
    """A .npy file with this header."""
    text = (header.encode() if isinstance(header, str) else header) + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def announced(shape, dtype="<f8", order="False"):
    return headed(f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}")


def npz(members=None, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in (members or {"points.npy": npy()}).items():
            archive.writestr(name, content)
    return stream.getvalue()


def patched(raw, offset, value, *, of):
    """An archive with other bytes at `offset` of its local and central headers."""
    start = raw.index(of)
    return raw[: start + offset] + value + raw[start + offset + len(value) :]


def ply(header, data=b"", ending="\n"):
    return ending.join(["ply", *header, "end_header", ""]).encode() + data


VERTICES = ["property float x", "property float y", "property float z"]


def plies():
    data = POINTS.astype("<f4").tobytes()
    text = "\n".join(" ".join(map(repr, row)) for row in POINTS.tolist()).encode() + b"\n"
    yield "good", ply(["format binary_little_endian 1.0", "element vertex 40", *VERTICES], data)
    yield "good text", ply(["format ascii 1.0", "element vertex 40", *VERTICES], text)
    for kind in ("ascii", "binary_little_endian", "binary_big_endian"):
        form = [f"format {kind} 1.0"]
        for count in (*HUGE, LONG, "²", "-1", "1e9", "", "1 2"):
            yield f"{kind} {count}"[:40], ply([*form, f"element vertex {count}", *VERTICES], data)
            yield f"{kind} bare {count}"[:40], ply([*form, f"element vertex {count}"], data)
            yield (
                f"{kind} faces {count}"[:40],
                ply([*form, f"element face {count}", "property list uint float64 v", "element vertex 40", *VERTICES]),
            )
        yield (
            f"{kind} long lists",
            ply([*form, "element face 2", "property list uint double v", "element vertex 4", *VERTICES], b"\xff" * 300),
        )
        yield f"{kind} kinds", ply([*form, "element vertex 40", "property quad x", *VERTICES[1:]], data)
        yield f"{kind} lists", ply([*form, "element vertex 2", "property list uchar float x", *VERTICES[1:]], data)
        yield f"{kind} twice", ply([*form, "element vertex 2", "element vertex 40", *VERTICES], data)
        yield f"{kind} no y", ply([*form, "element vertex 40", VERTICES[0]], data)
        yield f"{kind} no vertices", ply([*form], data)
    yield "no end", b"ply\nformat ascii 1.0\n" + b"comment \n" * 50_000
    yield "no format", ply(["element vertex 40", *VERTICES], data)
    yield "signs", ply(["format ascii 1.0", "comment grün", "element vertex 1", *VERTICES], b"1 2 3\n")


def arrays():
    yield "good", npy()
    yield "empty", npy(np.empty((0, 3)))
    yield "nothing", b""
    for count in HUGE:
        for shape in (f"({count}, 3)", f"({count}, {count})", f"({count}, 0)", f"(0, {count})", f"({count},)"):
            for dtype in ("<f8", "|u1", "|V0", "<U0", "|S99999999"):
                yield f"{shape} {dtype}", announced(shape, dtype)
    for shape in (
        "(-1, 3)",
        "(-1, -3)",
        "(2.0, 3)",
        "(True, 3)",
        "3",
        "None",
        "'aa'",
        f"({LONG}, 3)",
        "()",
        "(2, 3) * 9",
    ):
        yield f"shape {shape}"[:40], announced(shape)
    for dtype in (
        "|O",
        "<f7",
        "<c16",
        "<M8[s]",
        "|b1",
        "nonsense",
        ",,,",
        "f8,f8",
        "<f16",
        "<f2",
        "'",
        "(99999999,)f8",
    ):
        yield f"dtype {dtype}", announced("(2, 3)", dtype)
    for header in (
        "",
        "{",
        "(" * 5000,
        "-" * 9000 + "1",
        "[" * 190,
        "{}",
        "{'descr': '<f8'}",
        "9" * 9000,
        "\x00",
        "L" * 9990,
    ):
        yield f"header {header}"[:40], headed(header)
    for version in ((1, 0), (2, 0), (3, 0), (4, 0), (0, 0), (255, 255)):
        yield f"version {version}", headed("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", version=version)
    yield "long header", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"
    yield "two arrays", npy() + npy()
    yield "fields", npy(np.zeros(3, [("x", "f4"), ("grün", "f4")]))


def archives():
    yield "good", npz()
    for kind, method in (("stored", 0), ("deflate", 8), ("bzip2", 12), ("lzma", 14)):
        raw = npz(compression=method)
        local, central = b"PK\x03\x04", b"PK\x01\x02"
        yield kind, raw
        for cut in (1, 10, 22, 60, 100, len(raw) // 2, len(raw) - 5):
            yield f"{kind} without {cut}", raw[:-cut]
        for flag in (1, 0x21, 0x41, 0x2000, 0x20):
            changed = patched(
                patched(raw, 6, struct.pack("<H", flag), of=local), 8, struct.pack("<H", flag), of=central
            )
            yield f"{kind} flags {flag:x}", changed
        for other in (1, 6, 9, 14, 12, 8, 0, 93, 95, 99, 65535):
            code = struct.pack("<H", other)
            yield f"{kind} as {other}", patched(patched(raw, 8, code, of=local), 10, code, of=central)
        yield f"{kind} checksum", patched(patched(raw, 14, b"abcd", of=local), 16, b"abcd", of=central)
        for size in (0, 1, 2**31, 2**32 - 2, 2**32 - 1):
            number = struct.pack("<I", size)
            yield f"{kind} announces {size}", patched(raw, 24, number, of=central)
            yield f"{kind} holds {size}", patched(raw, 20, number, of=central)
            yield f"{kind} at {size}", patched(raw, 42, number, of=central)
        start = raw.index(b"points.npy") + 10
        for place in range(start, start + 60, 7):
            yield f"{kind} stream {place}", raw[:place] + b"\xff\x00\xff" + raw[place + 3 :]
    yield "nothing in it", npz({"a": b""})
    yield "no member", b"PK\x05\x06" + b"\0" * 18
    yield "not an array", npz({"points.npy": b"1 2 3"})
    yield "two", npz({"a.npy": npy(), "b.npy": npy()})
    yield "an object", npz({"points.npy": announced("(2, 3)", "|O")})
    yield "terabytes", npz({"points.npy": announced(f"({10**12}, 3)")}, 8)
    yield "a bomb", npz({"points.npy": announced("(9000000, 3)") + b"\0" * (40 << 20)}, 8)
    yield "a name", npz({"\x1b[31m\n.npy": npy(), "b\u202e": npy()})
    yield "a folder", npz({"points.npy/": b""})
    yield "text", b"1 2 3\n"


def texts():
    rows = "\n".join(",".join(map(repr, row)) for row in POINTS.tolist())
    yield "good", rows.encode()
    for content in (
        "", "\n", ",", '"', '""', '","', '"\n"', "#", "//", ";", "\0", "\ufeff", "\ufeff\ufeff1,2", "x", "x,y,z", "1",
        "\u0661,\u0662,\u0663",
        "²,³,¹", "1,2,3\n²,³,¹", "0x1p3,2,3", "1,2,3\n0x10,2,3", "1e5000,1,1", "nan,nan,nan", f"{LONG},1,2",
        "1," * 100_000, "1 " * 100_000,
        '"' * 200_000, "x" * 300_000, '"' + "a,b" * 90_000 + '",1,2', "\x1b]0;title\x07,1",
        "1,2,3\n" + '"1,2,3', "1\u20282\u20283", "1\u00a02\u00a03", "1,2\u202e,3x", "\ud7ff,1", "1__0,2,3", "--1,2,3",
        "x,y\n1,2\n" * 3, "x,x,y\n1,2,3", ",,,\n1,2,3,4", "1,2,3\n\n\n4,5", "1,2,3,#\n4,5,6,#", "a" * 50 + ",1\n1,2",
    ):  # fmt: skip
        yield repr(content[:12]), content.encode("utf-8", "surrogatepass")
    yield from (
        ("latin", "ä,ö\n1,2".encode("latin-1")),
        ("utf-16", rows.encode("utf-16")),
        ("bytes", bytes(range(256))),
    )
    yield "surrogate", b"\xed\xa0\x80,1,2\n"


def tabs():
    for name, raw in texts():
        yield name, raw.replace(b",", b"\t")


def atoms():
    rows = "\n".join("H " + " ".join(map(repr, row)) for row in POINTS.tolist())
    yield "good", f"40\n\n{rows}\n".encode()
    for count in (
        "0",
        "00",
        *map(str, HUGE),
        LONG,
        "0" * 5000,
        "²",
        "\u0663",
        "-1",
        "1.0",
        "+1",
        "1e3",
        "40 40",
        "",
        "4_0",
    ):
        for comment in ("", "Properties=" + "a:R:1:" * 20_000, f"Properties=a:I:{LONG}:pos:R:3", "Properties=pos:R:3"):
            yield f"{count} {comment}"[:40], f"{count}\n{comment}\n{rows}\n".encode()
        yield f"{count} alone"[:40], str(count).encode()
    yield "short", b"2\n\nH 1 2\nH 1 2 3\n"
    yield "other columns", b"1\nProperties=a:I:999:pos:R:3\nH 1 2 3\n"


def packed():
    raw = b"1,2,3\n" * 100
    whole = gzip.compress(raw)
    yield "good", whole
    for cut in (1, 4, 8, 12, 30):
        yield f"without {cut}", whole[:-cut]
    for place in range(len(whole)):
        yield f"byte {place}", whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
    yield "bomb", gzip.compress(b"\0" * (400 << 20), 1)
    yield "rows without end", gzip.compress(b"1,2,3\n" * (30 << 20), 1)
    yield "other packers", bz2.compress(raw)
    yield "xz", lzma.compress(raw)
    yield "zlib", zlib.compress(raw)
    yield "nothing", b""
    yield "two", whole + whole
    yield "a tail", whole + b"abc"


def pcd(points, data, lines="ascii", width=None, **changed):
    """A .pcd file with lines of its header changed, or left out where they are None."""
    header = {"VERSION": ".7", "FIELDS": "x y z", "SIZE": "4 4 4", "TYPE": "F F F", "COUNT": "1 1 1"}
    header |= {"WIDTH": width or points, "HEIGHT": 1, "POINTS": points} | changed
    said = [f"{name} {value}" for name, value in header.items() if value is not None]
    return "\n".join(["# .PCD v.7", *said, f"DATA {lines}", ""]).encode() + data


def pcds():
    data = POINTS.astype("<f4").tobytes()
    text = "\n".join(" ".join(map(repr, row)) for row in POINTS.tolist()).encode() + b"\n"
    yield "good", pcd(40, data, "binary")
    yield "good text", pcd(40, text)
    for lines, content in (("ascii", text), ("binary", data), ("binary_compressed", data), ("other", data)):
        for count in (*HUGE, LONG, "²", "-1", "1e9", "", "1 2", 0, 39, 41):
            yield f"{lines} {count}"[:40], pcd(count, content, lines)
            yield f"{lines} counts {count}"[:40], pcd(40, content, lines, COUNT=f"1 {count} 1")
            yield f"{lines} size {count}"[:40], pcd(40, content, lines, SIZE=f"4 {count} 4")
        for name in ("FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "POINTS"):
            yield f"{lines} no {name}", pcd(40, content, lines, **{name: None})
            yield f"{lines} empty {name}", pcd(40, content, lines, **{name: ""})
        yield f"{lines} twice", pcd(40, content, lines, FIELDS="x x z")
        yield f"{lines} no z", pcd(40, content, lines, FIELDS="x y w")
        yield f"{lines} kinds", pcd(40, content, lines, TYPE="F Q F")
        yield f"{lines} halves", pcd(40, content, lines, SIZE="4 2 4")
        yield f"{lines} a grid of another size", pcd(40, content, lines, width=4)
        yield f"{lines} nothing", pcd(40, b"", lines)
    yield "no end", b"# .PCD\n" * 50_000
    yield "no data", b"FIELDS x y z\n"
    yield "signs", b"# gr\xc3\xbcn\n" + pcd(40, text)
    yield "nan", pcd(2, b"1 2 3\nnan nan nan\n")
    yield "short", pcd(2, b"1 2 3\n1 2\n")


def las(*, packed=False, points=POINTS):
    import laspy

    header = laspy.LasHeader(version="1.2", point_format=3)
    header.scales, header.offsets = [1e-4] * 3, [0.5, 0, -1]
    scan = laspy.LasData(header)
    scan.xyz = points
    stream = io.BytesIO()
    scan.write(stream, do_compress=packed)
    return stream.getvalue()


def scans(*, packed=False):
    raw = las(packed=packed)
    yield "good", raw
    for size in (0, 3, 100, 226, 227, 300, len(raw) - 1):
        yield f"{size} bytes", raw[:size]
    # The records before the points, their place, their size, their number, and the size of the header.
    for place, kind in ((100, "<I"), (96, "<I"), (105, "<H"), (107, "<I"), (94, "<H"), (104, "<B"), (25, "<B")):
        most = 256 ** struct.calcsize(kind) - 1
        for value in (0, 1, most // 2, most):
            yield f"{value} at {place}", raw[:place] + struct.pack(kind, value) + raw[place + struct.calcsize(kind) :]


#: Generators of (name, content) for each ending.
KINDS = {".npy": arrays, ".npz": archives, ".ply": plies, ".csv": texts, ".txt": texts, ".tsv": tabs, ".xyz": atoms}
KINDS |= {".csv.gz": packed, ".pcd": pcds, ".las": scans, ".laz": functools.partial(scans, packed=True)}
#: The packages that readers need.
NEEDED = {".ply": ("plyfile",), ".las": ("laspy",), ".laz": ("laspy", "lazrs")}


def spoilt(raw, random, count):
    """Copies of a valid file with flipped, cut, doubled and inserted bytes."""
    for _ in range(count):
        changed = bytearray(raw)
        # Headers are where most can go wrong.
        span = len(changed) if random.random() < 0.5 else min(len(changed), 160)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(max(1, span))
            way = random.randrange(5)
            if way == 0 and changed:
                changed[place % len(changed)] ^= 1 << random.randrange(8)
            elif way == 1 and changed:
                changed[place % len(changed)] = random.choice(b"\0\xff0919-+.,;\n\r\t \"'#xe\x80")
            elif way == 2:
                del changed[place:]
            elif way == 3:
                changed[place:place] = changed[place : place + random.randrange(40)]
            else:
                del changed[place : place + random.randrange(9)]
        yield bytes(changed)
