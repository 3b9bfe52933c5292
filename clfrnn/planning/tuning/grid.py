"""The numbers of grids: what cells of some sides cost, and when queries are sorted into cells."""

import dataclasses

from .section import Section, number

__all__ = ["GridTuning", "Prices"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prices(Section):
    """What parts of a step cost, in tests of one candidate, as the best sides do not depend on how long that takes."""

    #: what a point costs with any cells
    query: float = number(0.0)
    #: a row is looked up, and its run begun and ended
    row: float = number(0.0)
    #: a candidate from elsewhere that shares an address on a torus
    stranger: float = number(0.0)
    #: a cell is cleared, summed up and read
    cell: float = number(0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GridTuning(Section):
    """The sides of cells, and the order of queries.

    Prices are least squares over times of ``asv_benches.sides``, on an H200 and on a core of a server. On the latter a
    row is priced above these (21 and 16) and a cell below (13 and 16), so that no choice took 5 % longer than the best
    in an even cloud: tests of whole vectors are no straight line.
    """

    #: prices of floats in two dimensions
    prices_2d: Prices = number(  # noqa: RUF009 — frozen
        Prices(query=199.0, row=13.9, stranger=1.2, cell=8.6),
        cpu=Prices(query=270.0, row=26.0, stranger=0.8, cell=13.0),
    )
    #: prices of floats in three dimensions
    prices_3d: Prices = number(  # noqa: RUF009 — frozen
        Prices(query=134.0, row=11.7, stranger=2.6, cell=5.2),
        cpu=Prices(query=280.0, row=28.0, stranger=1.3, cell=10.0),
    )
    #: what a test of doubles costs, in tests of floats, beside what the rest of a step costs more (as prices)
    tests_of_double: float = number(1.8, cpu=1.4, least=0.1)
    #: sides of cells to choose from, along the strip and across it, in radii, of equals the first: whole parts, as
    #: items in step then have as many rows each (0.6 is slower than 0.5 and 1)
    sides_in_radii: tuple[tuple[float, float], ...] = number(
        ((1.0, 1.0), (1 / 2, 1.0), (1 / 3, 1.0), (1 / 4, 1.0), (1 / 2, 1 / 2), (1 / 4, 1 / 2)), least=1e-3
    )
    #: radii from which on the sides of cells with a point each are of any length: a radius is little beside them
    widest_in_radii: float = number(100.0, least=1)
    #: costs of sides that count as no higher than the cheapest, as a ratio, where these make cells too many
    as_cheap: float = number(1.05, least=1)
    #: times as long that cells may become along the strip, where all sides make cells too many
    longest_stretch: float = number(8.0, least=1)
    #: points of a run from which on a GPU waits for the bytes of candidates rather than for rows (H200)
    long_run: float = number(8.0)
    #: foreign queries from which on sorting them takes less than walking over cells anywhere (random ones, H200, two
    #: cores)
    many_queries: int = number(1 << 17, cpu=1 << 14, least=1)
    #: points and their neighbors together from which on foreign queries are sorted: no cache holds as many (two cores,
    #: 100,000 to 1,000,000 points with 0.4 to 49 neighbors)
    least_to_sort_for: float = number(0.0, cpu=3e6)
