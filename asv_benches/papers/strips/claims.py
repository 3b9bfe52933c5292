"""What the text of the paper says in numbers, beside the same of a run."""

from __future__ import annotations

from ..paper import Measurement, Results, Section, Table, range_text
from .configurations import CROWDS, DIMS, Axes, case

__all__ = ["MS", "claims", "saved", "share"]

MS = 1e3


def claims(results: Results, axes: Axes) -> Section:
    """The section of the claims."""
    rows = [row for dim in DIMS for row in _rows(results, axes, dim)]
    return Section(
        title="The paper's claims and this run",
        note=(
            "Where the paper gives a range over all densities or populations, so does this table. Speed-ups are ratios "
            "of mean query times: the paper's 27 % is 1.27x. Its section 6.3 has these 27 % of strips 0.5 in 3D over "
            "*the original implementation*; they are read here as over strips 1, as section 7 sets 15 % and 27 % side "
            "by side for 2D and 3D, and both changes together at 1.27x and 1.34x."
        ),
        tables=[Table(header=("claim", "paper, Titan X (Pascal)", "this run"), rows=rows, words=2)],
    )


def _rows(results: Results, axes: Axes, dim: int) -> list[tuple[str, str, str]]:
    densities, populations = axes.densities[dim], axes.populations

    def ratios(slow: str, fast: str) -> list[float | None]:
        pairs = [(case(axes, dim, k, slow), case(axes, dim, k, fast)) for k in densities]
        return [results.ratio("query", *pair) for pair in pairs]

    spared = [saved(results, axes, dim, k) for k in densities]
    shares = [share(results, case(axes, dim, k, way)) for k in densities for way in ("original", "strips 0.5")]
    scaled = [
        results.ratio("query", *(case(axes, dim, CROWDS[dim], way, n) for way in ("original", "strips 0.5")))
        for n in populations
    ]
    paper = {
        2: ("1 to 1.2 ms", "about 1.15x throughout", "1.27x at the most", "1.23x to 1.33x"),
        3: ("2.3 to 3.5 ms", "1.27x at the highest density", "1.34x at the most", "1.18x to 1.22x"),
    }[dim]
    rows = [
        (f"{dim}D: strips 1 saves in a query", paper[0], range_text(spared, ".3f", " ms")),
        (f"{dim}D: strips 0.5 over strips 1", paper[1], range_text(ratios("strips 1", "strips 0.5"), ".2f", "x")),
        (f"{dim}D: strips 0.5 over the original", paper[2], range_text(ratios("original", "strips 0.5"), ".2f", "x")),
        (f"{dim}D: construction's share of a step", "3 % or less", range_text(shares, ".1f", " %")),
        (f"{dim}D: strips 0.5 over the original, by population", paper[3], range_text(scaled, ".2f", "x")),
        (
            f"{dim}D: default over the original",
            "not in the paper",
            range_text(ratios("original", "default"), ".2f", "x"),
        ),
    ]
    if dim == 2 and 52 in densities:
        at = results.ratio("query", *(case(axes, 2, 52, way) for way in ("original", "strips 1")))
        rows.insert(1, ("2D: strips 1 over the original at 52 neighbors", "1.22x", range_text([at], ".2f", "x")))
    return rows


def saved(results: Results, axes: Axes, dim: int, neighbors: int) -> float | None:
    """Milliseconds that strips of width 1 save in a query."""
    original, strips = (results.number(case(axes, dim, neighbors, way), "query") for way in ("original", "strips 1"))
    return None if original is None or strips is None else MS * (original - strips)


def share(results: Results, measurement: Measurement) -> float | None:
    """The construction in percent of construction and query."""
    construction, query = (results.number(measurement, name) for name in ("construction", "query"))
    return None if construction is None or query is None else 100 * construction / (construction + query)
