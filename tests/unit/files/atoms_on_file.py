"""Files of atoms as programs write them, with what they say, and the same files damaged; see test_atoms_fuzz.py."""

import dataclasses
import re

import numpy as np


@dataclasses.dataclass
class Written:
    """The text of a file, its name, and what must be read of it."""

    name: str
    text: str
    points: np.ndarray
    cell: np.ndarray | None
    periodic: tuple = (True, True, True)
    species: list | None = None


def skewed(random):
    """A cell of either hand."""
    while True:
        cell = np.round(random.normal(0, 4, (3, 3)) + np.diag(random.uniform(3, 9, 3)), 4)
        if abs(np.linalg.det(cell)) > 5:
            return cell[random.permutation(3)]


def gro(random):
    """A .gro file of any number of decimals; of its atoms some have velocities."""
    n, decimals = int(random.integers(0, 12)), int(random.integers(1, 9))
    points = np.round(random.uniform(-99, 999 if random.random() < 0.3 else 9, (n, 3)), decimals)
    width, with_velocity = decimals + 5, random.random(n) < random.choice([0, 0.5, 1])
    start = int(random.choice([1, 99_990]))
    rows = []
    for k, point in enumerate(points):
        row = f"{(k + start) % 100_000:5d}{'SOL':<5s}{random.choice(['OW', 'HW1', 'C12.5', '1.H2.']):>5s}"
        row += f"{(k + start) % 100_000:5d}" + "".join(f"{x:{width}.{decimals}f}" for x in point)
        if with_velocity[k]:
            row += "".join(f"{x:{width}.{decimals + 1}f}" for x in random.normal(0, 20, 3))
        rows.append(row + " " * int(random.integers(0, 3)))
    lengths, others = random.uniform(1, 9, 3).round(5), random.uniform(-1, 1, 6).round(5)
    kind = random.choice(["box", "triclinic", "none", "slab"])
    cell = np.diag(lengths) if kind != "slab" else np.diag([*lengths[:2], 0.0])
    box = " ".join(f"{x:9.5f}" for x in np.diag(cell))
    if kind == "triclinic":
        cell = np.array([[lengths[0], *others[:2]], [others[2], lengths[1], others[3]], [*others[4:], lengths[2]]])
        box += " " + " ".join(f"{x:9.5f}" for x in others)
    elif kind == "none":
        cell, box = None, "0.0 0.0 0.0"
    title = str(random.choice(["water t= 1.0", "", "Größe Å 12", "1 2 3", "5"]))
    text = "\n".join([title, f"{n:{random.integers(1, 8)}d}", *rows, box]) + "\n" * int(random.integers(0, 4))
    flags = {"none": (False,) * 3, "slab": (True, True, False)}.get(kind, (True,) * 3)
    return Written("a.gro", text, points, cell, flags)


def poscar(random):
    """A POSCAR file with or without species, of either hand, with all kinds of scales and modes."""
    cell, counts = skewed(random), [int(x) for x in random.integers(0, 4, random.integers(1, 4))]
    n = sum(counts)
    fractions, place = np.round(random.uniform(-0.5, 1.5, (n, 3)), 5), np.round(random.uniform(-9, 9, (n, 3)), 4)
    number = lambda x: str(random.choice([repr(float(x)), f"{x:.16f}", f"{x:.16E}", f"{x:.16E}".replace("E", "d")]))  # noqa: E731
    kind = random.choice(["one", "volume", "three"])
    scale, said = np.full(3, 1.25), "1.25"
    if kind == "volume":
        scale, said = np.full(3, (70 / abs(np.linalg.det(cell))) ** (1 / 3)), "-70.0"
    elif kind == "three":
        scale, said = np.array([1.1, 0.9, 1.3]), "1.1 0.9  1.3"
    named = random.random() < 0.6
    elements = [str(x) for x in random.choice(["Na", "Cl", "O", "Si_pv", "Fe/ab12cd"], len(counts))]
    cartesian = random.random() < 0.5
    mode = str(random.choice(["Cartesian", "cart", "Kartesian", "k"] if cartesian else ["Direct", "direct", "D", ""]))
    selective = random.random() < 0.3
    behind = " T F T" if selective else str(random.choice(["", "  Na", " ! an atom", "\t"]))
    given = place if cartesian else fractions
    lines = [str(random.choice(["Na Cl", "", "12 3", "POSCAR@600K"])), said]
    lines += [" ".join(map(number, row)) for row in cell]
    lines += [" ".join(elements)] * bool(named) + [
        "  ".join(map(str, counts)) + str(random.choice(["", " ", " ! each"]))
    ]
    lines += ["Selective dynamics"] * selective + [mode]
    lines += [" ".join(map(number, row)) + behind for row in given]
    tail = [[], [""], ["", *(" ".join(map(str, row)) for row in place)], ["Cartesian", *map(str, range(3))]]
    lines += tail[random.integers(0, len(tail))]
    whole = cell * scale
    name = str(
        random.choice(["POSCAR", "CONTCAR", "a.vasp", "a@b.poscar", "POSCAR@600K", "CONTCAR.relaxed", "poscar_2"])
    )
    species = [each.split("_")[0].split("/")[0] for each in elements]
    return Written(
        name,
        "\n".join(lines) + "\n",
        place * scale if cartesian else fractions @ whole,
        whole,
        species=list(np.repeat(species, counts)) if named else None,
    )


def xyz(random):
    """An extended .xyz file, whose comment has other keys, and columns in some order."""
    n, cell = int(random.integers(1, 9)), skewed(random)
    points, species = (
        np.round(random.normal(0, 5, (n, 3)), 6),
        [str(x) for x in random.choice(["O", "H", "6", "X1"], n)],
    )
    text = [repr(float(x)) for x in cell.ravel()]
    lattice = random.choice(["quoted", "single", "braces", "nested", "none"])
    value = {
        "quoted": f'Lattice="{" ".join(text)}"',
        "single": f"Lattice = '{'  '.join(text)}'",
        "braces": f"Lattice={{{','.join(text)}}}",
        "nested": f"Lattice=[[{','.join(text[:3])}], [{', '.join(text[3:6])}],[{','.join(text[6:])}]]",
        "none": "",
    }[lattice]
    flags, pbc = (True, True, True), ""
    if lattice != "none" and random.random() < 0.6:
        flags = tuple(bool(x) for x in random.random(3) < 0.6)
        words = ["T" if flag else "F" for flag in flags]
        pbc = str(random.choice([f'pbc="{" ".join(words)}"', f"pbc=[{', '.join(words)}]", f"pbc='{','.join(words)}'"]))
    plain = lattice == "none" and random.random() < 0.5
    layouts = [
        ("species:S:1:pos:R:3", "sp"),
        ("id:I:1:species:S:1:pos:R:3:f:R:2", "ispff"),
        ("pos:R:3:species:S:1", "ps"),
    ]
    properties, order = layouts[random.integers(0, 3)] if not plain else ("", str(random.choice(["sp", "spff"])))
    others = [
        'initial-Lattice="9 0 0 0 9 0 0 0 9"', "my_pbc=F", 'note="Lattice={1 2 3} pbc=F F F"', "energy=-1.5", "flag",
        "relaxed.Properties=none", 'Lattices="a b"', 'stress="1 2 3 4 5 6 7 8 9"', "é=ü", r'q="a \" b"', "lattice=fcc",
    ]  # fmt: skip
    keys = [*random.choice(others, random.integers(0, 5), replace=False), value, pbc]
    keys += [f"Properties={properties}"] if properties else []
    comment = "  ".join(str(keys[k]) for k in random.permutation(len(keys)) if keys[k])
    rows = []
    for k, point in enumerate(points):
        parts = {"s": species[k], "p": " ".join(map(repr, point.tolist())), "i": str(k), "f": "0.5"}
        rows.append("  ".join(parts[letter] for letter in order))
    name = str(random.choice(["a.xyz", "a.extxyz", "a@1.xyz"]))
    body = "\n".join([str(n), comment, *rows]) + "\n" * int(random.integers(0, 3))
    found = None if lattice == "none" else cell
    return Written(name, body, points, found, (False,) * 3 if found is None else flags, species)


def cif(random):
    """A .cif file without symmetry, whose sites may lie close together, or have images by an inversion."""
    n, lengths = int(random.integers(1, 7)), random.uniform(4, 30, 3).round(3)
    angles = random.choice([np.full(3, 90.0), random.uniform(70, 110, 3).round(2)])
    sites = random.uniform(0.01, 0.45, (n, 3)).round(5)
    if n > 1 and random.random() < 0.5:
        sites[1] = (sites[0] + [0.0004, 0, 0]).round(5)
    inverted = random.random() < 0.4
    symmetry = {
        False: ["", "_symmetry_space_group_name_H-M 'P 1'\n", "_symmetry_Int_Tables_number '1'\n",
                "_space_group_symop_operation_xyz 'x, y, z'\n", "_space_group_name_Hall 'P 1'\n"],
        True: ["_symmetry_space_group_name_H-M 'P -1'\n", "_space_group_IT_number 2\n",
               "_space_group_name_Hall '-P 1'\n",
               "loop_\n_space_group_symop_id\n_space_group_symop_operation_xyz\n1 'x,y,z'\n2 -x,-y,-z\n",
               "_symmetry_space_group_name_H-M P_-1\n"],
    }[inverted]  # fmt: skip
    esd = str(random.choice(["", "(3)"]))
    tags = "".join(f"_cell_length_{axis} {x}{esd}\n" for axis, x in zip("abc", lengths, strict=True))
    tags += "".join(f"_cell_angle_{name} {x}\n" for name, x in zip(("alpha", "beta", "gamma"), angles, strict=True))
    columns = ["label", "type_symbol", "fract_x", "fract_y", "fract_z"]
    order = random.permutation(5)
    rows = [[f"O{k}", "O", *(f"{x:.5f}{esd}" for x in site)] for k, site in enumerate(sites)]
    loop = "loop_\n" + "".join(f"_atom_site_{columns[k]}\n" for k in order)
    loop += "".join(" ".join(row[k] for k in order) + "\n" for row in rows)
    parts = [tags, str(random.choice(symmetry)), loop, "_publ_author_name 'Müller'\n"]
    text = "data_a\n" + "".join(parts[k] for k in random.permutation(4))
    alpha, beta, gamma = np.radians(angles)
    along = (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / np.sin(gamma)
    cell = np.array([
        [1, 0, 0], [np.cos(gamma), np.sin(gamma), 0],
        [np.cos(beta), along, np.sqrt(1 - np.cos(beta) ** 2 - along**2)],
    ]) * lengths[:, None]  # fmt: skip
    every = np.concatenate([[site, 1 - site] for site in sites]) if inverted else sites
    return Written("a.cif", text, every @ cell, cell, species=["O"] * len(every))


KINDS = {"gro": gro, "poscar": poscar, "xyz": xyz, "cif": cif}


def odd(random, written):
    """The bytes of a file with other ends of lines, a mark at its beginning, or other signs; it says the same."""
    text = written.text
    if random.random() < 0.4:
        text = text.replace("\n", str(random.choice(["\r\n", "\r"])))
    raw = text.encode("utf-8")
    return b"\xef\xbb\xbf" + raw if random.random() < 0.2 else raw


def damaged(random, written):
    """Names of damages, and texts that must be refused: what they say is not what they hold."""
    lines = written.text.rstrip("\n").split("\n")
    kind = {".gro": "gro", ".cif": "cif", ".xyz": "xyz", ".extxyz": "xyz"}.get(re.sub(r".*(?=\.)", "", written.name))
    kind = kind or "poscar"
    n = len(written.points)
    if kind == "gro":
        yield from _damaged_gro(random, lines, n)
    elif kind == "poscar":
        yield from _damaged_poscar(random, lines, n)
    elif kind == "xyz":
        yield "cut", [*lines[: len(lines) - 1]]
        for count in (n + 1, n - 1, -n, 10**12, "1e3", f"{n}.0", "", "nan"):
            yield f"count {count}", [str(count), *lines[1:]]
        row = int(random.integers(2, len(lines)))
        yield "nan", [*lines[:row], re.sub(r"-?\d+\.\d+", "nan", lines[row], count=1), *lines[row + 1 :]]
        yield "shifted", [*lines[:row], " ".join(lines[row].split()[:-1][:3]), *lines[row + 1 :]]
        if written.cell is not None:
            yield "lattice", [lines[0], re.sub(r"(?<![\w.-])Lattice(\s*=\s*.)", r"Lattice\1x ", lines[1]), *lines[2:]]
        yield "frame cut off", [*lines, *lines[:-1]]
    else:
        for tag in ("_cell_length_b", "_cell_angle_alpha", "_atom_site_fract_y"):
            yield f"no {tag}", [line for line in lines if not line.startswith(tag)]
        yield "no end", [line.replace("'", "", 1) if "Müller" in line else line for line in lines]
        yield (
            "nan",
            [
                re.sub(r"0\.\d{5}(\(3\))?", "nan", line, count=1) if re.search("^O|O\\d", line) else line
                for line in lines
            ],
        )
        yield "length", [re.sub(r"(_cell_length_c) .*", r"\1 -3", line) for line in lines]
        yield "angle", [re.sub(r"(_cell_angle_beta) .*", r"\1 200", line) for line in lines]
        yield "group", ["data_a", "_space_group_symop_operation_xyz 'x,y,z+'", *lines[1:]]
        yield "two", [*lines, *["data_b", *lines[1:]]]


def _damaged_gro(random, lines, n):
    yield "cut", lines[:-1]
    for count in (n + 1, n - 1, -1, 10**12, "nan", "1e3", "", f"{n} {n}"):
        yield f"count {count}", [lines[0], str(count), *lines[2:]]
    yield "box", [*lines[:-1], "1.0 2.0"]
    yield "box of words", [*lines[:-1], "1.0 2.0 three"]
    yield "frame cut off", [*lines, *lines[:-1]]
    if n:
        row = int(random.integers(2, 2 + n))
        text = lines[row]
        yield "short", [*lines[:row], text[:22], *lines[row + 1 :]]
        yield "shifted", [*lines[:row], text[:20] + " " + text[20:], *lines[row + 1 :]]
        yield "shifted back", [*lines[:row], text[:19] + text[20:], *lines[row + 1 :]]
        yield "blank", [*lines[:row], "", *lines[row + 1 :]]
        yield "letter", [*lines[:row], text[:23] + "x" + text[24:], *lines[row + 1 :]]
        yield "stars", [*lines[:row], text[:20] + "*" * (len(text) - 20), *lines[row + 1 :]]


def _damaged_poscar(random, lines, n):
    for scale in ("0", "x", "1 2", "-1 -1 -1", "nan", "1e999", ""):
        yield f"scale {scale}", [lines[0], scale, *lines[2:]]
    yield "flat", [*lines[:3], lines[2], *lines[4:]]
    yield "short vector", [*lines[:2], "1 2", *lines[3:]]
    at = next(k for k in range(5, len(lines)) if re.match(r"\s*\d+(\s|$)", lines[k]))
    counts = [int(word) for word in re.findall(r"\d+", lines[at])]
    for changed in (
        [counts[0] + 30_000_000, *counts[1:]],
        [-1, *counts[1:]],
        [0.5, *counts[1:]],
        [10**30, *counts[1:]],
    ):
        yield f"counts {changed}", [*lines[:at], " ".join(map(str, changed)), *lines[at + 1 :]]
    if at == 6:
        yield "one count too many", [*lines[:at], lines[at].split("!")[0] + " 1", *lines[at + 1 :]]
    if n:
        first = at + 2 + lines[at + 1].startswith("S")
        yield "no mode", [*lines[: first - 1], *lines[first:]]
        yield "cut", lines[: first + n - 1]
        row = int(random.integers(first, first + n))
        words = lines[row].split()
        yield "short row", [*lines[:row], " ".join(words[:2]), *lines[row + 1 :]]
        yield "long row", [*lines[:row], " ".join(["1.5", *words]), *lines[row + 1 :]]
        yield "nan", [*lines[:row], " ".join(["nan", *words[1:]]), *lines[row + 1 :]]
        yield "a row too many", [*lines[:row], "0.1 0.2 0.3", *lines[row:]]
