"""The numbers of grids: the cost of cells of some sides, and when queries are sorted into cells."""

import dataclasses

from .section import Section, number

__all__ = ["GridTuning", "Prices"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prices(Section):
    """Costs of the parts of a step in tests of one candidate, so that they do not depend on how long a test takes."""

    #: the cost of a point, whatever the cells
    query: float = number(0.0)
    #: the cost of looking up a row, and of beginning and ending its run
    row: float = number(0.0)
    #: the cost of a candidate that lies elsewhere and shares an address on a torus
    stranger: float = number(0.0)
    #: the cost of clearing, summing and reading a cell
    cell: float = number(0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GridTuning(Section):
    """The sides of cells, and the order of queries.

    Prices are least squares over times of ``asv_benches.tools.sides``, on an H200 and on a core of a server. For the
    CPU the price of a row is higher (21 and 16 were fitted) and that of a cell lower (13 and 16 were fitted), so that
    no choice took 5 % longer than the best one in an even cloud: tests of whole vectors do not follow a straight line.
    """

    #: prices in float, in two dimensions
    prices_2d: Prices = number(  # noqa: RUF009 — frozen
        Prices(query=199.0, row=13.9, stranger=1.2, cell=8.6),
        cpu=Prices(query=270.0, row=26.0, stranger=0.8, cell=13.0),
    )
    #: prices in float, in three dimensions
    prices_3d: Prices = number(  # noqa: RUF009 — frozen
        Prices(query=134.0, row=11.7, stranger=2.6, cell=5.2),
        cpu=Prices(query=280.0, row=28.0, stranger=1.3, cell=10.0),
    )
    #: the cost of a test in double, in tests in float, relative to the cost of the rest of a step (as prices)
    tests_of_double: float = number(1.8, cpu=1.4, least=0.1)
    #: sides of cells to choose from, along the strip and across it, in radii; of equal costs the first. They divide the
    #: radius, so that work-items in lockstep have the same number of rows (0.6 is slower than 0.5 and 1)
    sides_in_radii: tuple[tuple[float, float], ...] = number(
        ((1.0, 1.0), (1 / 2, 1.0), (1 / 3, 1.0), (1 / 4, 1.0), (1 / 2, 1 / 2), (1 / 4, 1 / 2)), least=1e-3
    )
    #: side of a cell with one point, in radii, from which on its length is arbitrary, as a radius is short beside it
    widest_in_radii: float = number(100.0, least=1)
    #: ratio of a cost to the least one up to which sides are considered where the cheapest sides make too many cells
    as_cheap: float = number(1.05, least=1)
    #: largest factor by which cells are lengthened along the strip where all sides make too many cells
    longest_stretch: float = number(8.0, least=1)
    #: points of a run from which on a GPU waits for the bytes of candidates rather than for rows (H200)
    long_run: float = number(8.0)
    #: foreign queries from which on sorting them costs less than walking over cells in any order (random queries, H200,
    #: two cores)
    many_queries: int = number(1 << 17, cpu=1 << 14, least=1)
    #: sum of points and their neighbors from which on foreign queries are sorted, as caches do not hold as many (two
    #: cores, 100,000 to 1,000,000 points with 0.4 to 49 neighbors)
    least_to_sort_for: float = number(0.0, cpu=3e6)
