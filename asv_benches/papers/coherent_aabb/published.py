"""What the paper prints: its tables 1 and 2, and the figures in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["GROUP_RATES", "RADII", "REFITS", "Sphere", "Updates"]

#: (seconds of all points, of the nearest only; megabytes of all points, of the nearest only)
Sphere = tuple[float, float, float, float]

#: Table 1: 300k points and queries, by the radius as a share of the diagonal.
RADII: Mapping[float, Sphere] = {
    0.005: (0.101, 0.091, 18.33, 17.13),
    0.010: (0.155, 0.144, 31.34, 21.78),
    0.015: (0.233, 0.206, 60.47, 28.50),
    0.020: (0.335, 0.279, 112.7, 37.62),
    0.025: (0.475, 0.396, 194.7, 49.41),
    0.030: (0.660, 0.531, 312.9, 64.18),
    0.035: (0.871, 0.683, 473.9, 82.27),
    0.040: (1.133, 0.872, 683.5, 103.9),
    0.045: (1.449, 1.128, 947.5, 129.5),
    0.050: (1.848, 1.397, 1271.0, 158.9),
}

#: (seconds of a refit, of a rebuild of the voxel grid)
Updates = tuple[float, float]

#: Table 2, by the number of points.
REFITS: Mapping[int, Updates] = {
    100_000: (0.000624, 0.0185),
    200_000: (0.00116, 0.0206),
    300_000: (0.00178, 0.0243),
    400_000: (0.00234, 0.0267),
    500_000: (0.00292, 0.0319),
    600_000: (0.00356, 0.0358),
    700_000: (0.00418, 0.0396),
    800_000: (0.00471, 0.0414),
    900_000: (0.00530, 0.0453),
    1_000_000: (0.00589, 0.0488),
    2_000_000: (0.0132, 0.0804),
}

#: Section 7: frames a second with the tree and with the voxel grid, by the radius of the last group.
GROUP_RATES: Mapping[float, Sequence[float]] = {0.0025: (66.0, 21.0), 0.005: (62.0, 4.0), 0.01: (62.0, 0.4)}
