"""Rules: the numbers by which cells of skin behave, and the kernels that apply them to a cell and its neighbors."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import clfrnn

from ...host.numbers import real_number, shown
from .philox import PHILOX

__all__ = ["COMMITTED", "CONTACTS", "ENERGY", "SIGNALS", "STEM", "TRANSIT", "Rules"]

#: The kinds, in the order in which a cell passes through them.
STEM, TRANSIT, COMMITTED = range(3)

#: Noise of the niche: its semi-axes are times 0.9 to 1.1, by a number of each cell's own.
_WIDEST_NICHE = 1.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
    """How cells behave. Lengths are in diameters of a cell, times in steps, forces in diameters a step.

    The numbers are those of the program that the paper measured, where it has them, for a diameter of 20 µm.

    Parameters
    ----------
    contact_reach : cells at up to this distance touch, adhere and are counted as contacts
    signal_reach : cells at up to this distance sense stem cells
    stem_cycle, transit_cycle : a stem cell and a transit-amplifying cell divide after growing for this number of steps
    most_contacts : a cell with more contacts neither grows nor walks; a wall of the dish counts as two
    most_lateral : from this number of contacts beside it on, a cell puts its daughter on top
    most_stem : a stem cell at the edge of its colony that senses more stem cells becomes transit-amplifying
    edge_contacts : a stem cell with no more contacts to stem cells than this is at the edge of its colony
    niche_across, niche_up : semi-axes of the ellipsoid in which a stem cell keeps a transit-amplifying one what it is
    patience : a transit-amplifying cell that has not grown for this number of steps becomes committed
    basement : below this height a cell is on the basement; a stem cell above it becomes transit-amplifying
    repulsion : force of two cells that overlap, for each diameter of overlap
    adhesion, weak_adhesion : force of two cells that touch, for each diameter between them: of two stem cells or two
        committed cells, and of all other pairs
    grip : on the basement, pushes are times this, by kind
    pull : the force down to the basement, by kind
    pull_height : up to this height cells are pulled down
    speed : the fastest walk of a transit-amplifying cell
    """

    contact_reach: float = 1.5
    signal_reach: float = 6.25
    stem_cycle: int = 120
    transit_cycle: int = 60
    most_contacts: int = 6
    most_lateral: int = 4
    most_stem: int = 20
    edge_contacts: int = 2
    niche_across: float = 5.0
    niche_up: float = 1.5
    patience: int = 300
    basement: float = 0.25
    repulsion: float = 0.2
    adhesion: float = 0.024
    weak_adhesion: float = 0.004
    grip: tuple[float, float, float] = (0.1, 0.6, 0.3)
    pull: tuple[float, float, float] = (0.015, 0.005, 0.01)
    pull_height: float = 1.5
    speed: float = 0.025

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check(field.name, field.default, getattr(self, field.name))
        if not 1 < self.contact_reach < math.inf:
            raise clfrnn.InvalidInputError(
                f"expected more than the diameter of a cell, 1, got {self.contact_reach:g}; cells could not adhere",
                argument="contact_reach",
            )
        if self.signal_reach < _WIDEST_NICHE * max(self.niche_across, self.niche_up):
            raise clfrnn.InvalidInputError(
                f"expected at least {_WIDEST_NICHE:g} times the longer semi-axis of the niche, "
                f"{_WIDEST_NICHE * max(self.niche_across, self.niche_up):g}, got {self.signal_reach:g}; lengthen it, "
                "or take a smaller niche",
                argument="signal_reach",
            )


def _check(name: str, default: object, value: Any) -> None:
    """Raise for what is not of the kind of a rule's default."""
    numbers: tuple[Any, ...] = (value,)
    expected = "a number"
    kinds: Any = (int, float)
    if isinstance(default, tuple):
        expected, numbers = "three finite numbers", value if isinstance(value, tuple) else ()
    elif isinstance(default, int):
        expected, kinds = "a whole number", (int,)
    fits = all(
        isinstance(each, kinds) and not isinstance(each, bool) and 0 <= real_number(each) < math.inf for each in numbers
    )
    if not fits or len(numbers) != (3 if isinstance(default, tuple) else 1):
        raise clfrnn.InvalidInputError(
            f"expected {expected} of at least 0, got {shown(value)}; leave it out for {default}", argument=name
        )


_KINDS = f"""
#define STEM {STEM}
#define TRANSIT {TRANSIT}
#define COMMITTED {COMMITTED}
#define OF_KIND(kind, three) ((kind) == STEM ? (three).s0 : (kind) == TRANSIT ? (three).s1 : (three).s2)
"""

#: What a cell becomes: `kinds` are read while `kinds_next` are written, as a cell's neighbors look at it meanwhile.
SIGNALS = clfrnn.NeighborFunction(
    preamble=_KINDS,
    arguments="""
        const real across, const real up, const real basement, const int most_stem, const int edge_contacts,
        const int patience, global const real *positions, global const real *noise, global const int *kinds,
        global const int *stem_contacts, global const int *resting, global int *kinds_next""",
    state="""
        const int kind = kinds[i], raised = positions[3 * i + 2] >= basement;
        const int edge = stem_contacts[i] <= edge_contacts;
        const real widest = noise[i] * noise[i];
        int stems = 0;
        // Committed cells sense nothing, and for some others it is decided already.
        if (kind == COMMITTED || (kind == STEM && (raised || !edge)) || (kind == TRANSIT && resting[i] >= patience))
            reach2 = -1;
    """,
    per_neighbor="""
        if (kinds[j] == STEM) {
            if (kind == STEM) ++stems;
            else if ((dx.s0 * dx.s0 + dx.s1 * dx.s1) / (across * across) + dx.s2 * dx.s2 / (up * up) <= widest) {
                stems = 1;
                reach2 = -1;
            }
        }
    """,
    finish="""
        int next = kind;
        if (kind == STEM && (raised || (edge && stems > most_stem))) next = TRANSIT;
        if (kind == TRANSIT && (stems == 0 || resting[i] >= patience)) next = COMMITTED;
        kinds_next[i] = next;
    """,
)

#: The force between two cells, `gap` diameters apart.
_STRENGTH = """
#define STRENGTH(gap, own, other) \\
    ((gap) < 0 ? repulsion : (own) == (other) && (own) != TRANSIT ? adhesion : weak_adhesion)
"""

#: Where a cell is pushed and walks, and how its clock goes on.
CONTACTS = clfrnn.NeighborFunction(
    preamble=PHILOX + _KINDS + _STRENGTH,
    arguments="""
        const int decides, const uint2 key, const uint now, const real side, const real basement, const real repulsion,
        const real adhesion, const real weak_adhesion, const real_vec grip, const real_vec pull, const real pull_height,
        const real speed, const int most_contacts, const int most_lateral, const int stem_cycle,
        const int transit_cycle, global const real *positions, global const real *motility, global const int *kinds,
        global real *headings, global int *ages, global int *resting, global int *stem_contacts, global int *dividing,
        global real *moved""",
    state="""
        const int kind = kinds[i];
        real_vec push = (real_vec)(0);
        int contacts = 0, lateral = 0, stems = 0;
    """,
    per_neighbor="""
        const int other = kinds[j];
        const real d = sqrt(d2), gap = d - 1;
        if (dx.s2 >= 0) {
            ++contacts;
            if (2 * dx.s2 <= 1) ++lateral;
        }
        if (other == STEM) ++stems;
        // Of two cells at one place, the one that came first goes up.
        const real_vec towards = d2 > 0 ? dx / d : (real_vec)(0, 0, j > i ? -1 : 1);
        push += STRENGTH(gap, kind, other) * gap * towards;
    """,
    finish="""
        const real_vec position = vload3(i, positions);
        real_vec step = position.s2 < basement ? OF_KIND(kind, grip) * push : push;
        if (position.s2 <= pull_height) step.s2 -= OF_KIND(kind, pull);
        if (position.s0 == 0 || position.s0 == side) contacts += 2;
        if (position.s1 == 0 || position.s1 == side) contacts += 2;
        if (decides) {
            const int grows = contacts <= most_contacts;
            const uint4 drawn = philox((uint4)(i, now, 0, 0), key);
            if (kind == TRANSIT && grows) {
                // In one step of ten it turns by up to a quarter of a half-turn to either side.
                real heading = headings[i];
                if (drawn.s0 < 0x1999999Au) heading += (2 * UNIT(drawn.s1) - 1) / 4;
                step.s0 += speed * motility[i] * cospi(heading);
                step.s1 += speed * motility[i] * sinpi(heading);
                // Who comes to a wall turns round.
                const real_vec ahead = position + step;
                if (ahead.s0 < 0 || ahead.s0 > side || ahead.s1 < 0 || ahead.s1 > side) heading += 1;
                headings[i] = heading > 1 ? heading - 2 : heading < -1 ? heading + 2 : heading;
            }
            const int age = grows ? ages[i] + 1 : ages[i], cycle = kind == STEM ? stem_cycle : transit_cycle;
            const int divides = kind != COMMITTED && age > cycle;
            ages[i] = divides ? (int)mul_hi(drawn.s2, (uint)(cycle / 4 + 1)) : age;
            resting[i] = grows ? 0 : resting[i] + 1;
            dividing[i] = !divides ? 0 : lateral >= most_lateral ? 2 : 1;
        }
        stem_contacts[i] = stems;
        const real_vec there = position + step;
        vstore2(clamp(there.s01, (real)0, side), 0, moved + 3 * i);
        moved[3 * i + 2] = fmax(there.s2, (real)0);
    """,
)

#: Half of the energy of each pair, and that of the pull, for each cell.
ENERGY = clfrnn.NeighborFunction(
    preamble=_KINDS + _STRENGTH,
    arguments="""
        const real repulsion, const real adhesion, const real weak_adhesion, const real contact_reach,
        const real pull_height, const real_vec pull, global const real *positions, global const int *kinds,
        global real *energies""",
    state="const int kind = kinds[i]; real energy = 0;",
    per_neighbor="""
        const int other = kinds[j];
        const real gap = sqrt(d2) - 1, widest = contact_reach - 1, bond = STRENGTH(0, kind, other);
        energy += (STRENGTH(gap, kind, other) * gap * gap - bond * widest * widest) / 4;
    """,
    finish="energies[i] = energy + OF_KIND(kind, pull) * fmin(positions[3 * i + 2], pull_height);",
)
