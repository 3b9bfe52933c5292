"""Steps of boids: a visit that reads the velocity of each neighbor, and an update, in a periodic box."""

from __future__ import annotations

from clfrnn.models import Boids

from .common import PLATFORMS, device_seconds, session

#: The neighbors of an even cloud in the program of Chisholm et al.: 262,144 boids that see 0.1 far in a cube of side 5.
NEIGHBORS = 8.78

#: Steps after which boids have gathered in flocks, and see four to five times as many.
GATHERING = 400


class Flock:
    """``Boids.step`` at the even start, and of flocks."""

    params = (list(PLATFORMS), ["strips", "uniform_grid"], [65_536, 262_144])
    param_names = ("device", "method", "n")
    timeout = 300
    flock: Boids

    def setup(self, device: str, method: str, n: int) -> None:
        """Boids at the start."""
        self.flock = Boids(n, neighbors=NEIGHBORS, method=method, session=session(device))

    def track_start(self, *_: object) -> float:
        """Device time of a step, soon after the start."""
        return device_seconds(self.flock.session, self.flock.step)

    def track_flocks(self, *_: object) -> float:
        """Device time of a step of flocks."""
        self.flock.step(GATHERING)
        return device_seconds(self.flock.session, self.flock.step)

    track_start.unit = "seconds"  # type: ignore[attr-defined]
    track_flocks.unit = "seconds"  # type: ignore[attr-defined]
