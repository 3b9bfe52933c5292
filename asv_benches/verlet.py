"""Where a list that lives pays: a step of a gas with a list that is made again each twentieth step, and without one.

Wall time of a step in a loop, in milliseconds; forces of 50 neighbors in a periodic box, points on the device.
"""

from __future__ import annotations

import clfrnn

from .benchmarks.common import LAP, SETTLING, Gas
from .tools.tables import command, head, row, say

#: Numbers of points on a GPU and on a CPU.
LARGE, SMALL = (65_536, 1_000_000), (65_536,)


@command
def main(device: str | None) -> None:
    """Print the table."""
    session = clfrnn.Session(device)
    say(session, "milliseconds for a step")
    head("points", "list:", "update + visit:", "list / visit:", "lists made:")
    for n in LARGE if session.profile.kind == "gpu" else SMALL:
        gas = Gas(session, n)
        searched, before = gas.seconds(gas.searched), gas.pairs.num_builds
        listed = gas.seconds(gas.listed)
        made = f"{gas.pairs.num_builds - before} in {SETTLING + LAP} steps"
        row(f"{n:,}", f"{1e3 * listed:.3f}", f"{1e3 * searched:.3f}", f"{listed / searched:.2f}", made)


if __name__ == "__main__":
    main()
