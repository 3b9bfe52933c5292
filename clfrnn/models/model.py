"""What all models have in common: steps, and frames of a run."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..host.progress import progress_bar
from .arguments import positive, whole
from .controls import Controls
from .frame import Frame

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Model"]


class Model(abc.ABC):
    """Particles that move step by step, with an index that finds the neighbors of each.

    Attributes
    ----------
    n, dim : int
        The number of particles, and that of dimensions.
    dtype : numpy.dtype
        float32 or float64, of all numbers on the device.
    session : clfrnn.Session
        Where the model runs.
    index : clfrnn.Index
        The index over the current positions.
    dt : float
        The simulated time of a step; 1 in models that have no unit of time.
    steps_done : int
        The number of steps since the start.
    """

    n: int
    dim: int
    dtype: np.dtype[Any]
    session: clfrnn.Session
    index: clfrnn.Index
    dt: float = 1.0
    steps_done: int = 0
    #: matplotlib's name of the colors that a picture gives to the numbers of :meth:`_colors`
    _colormap: str = "viridis"
    #: the numbers of :meth:`_colors` that have the first and the last color; None for those of the frames so far
    _color_ends: tuple[float, float] | None = None

    @property
    @abc.abstractmethod
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, dim) device array: the current positions. A later step overwrites it."""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner, of shape (dim,), of what a picture shows."""

    @property
    def time(self) -> float:
        """The simulated time since the start."""
        return self.steps_done * self.dt

    @property
    def _lock(self) -> AbstractContextManager[Any]:
        """Held while a call of one thread uses the device, for which others wait."""
        return self.session.lock

    def controls(self) -> Controls:
        """What may be changed while the model runs; a window and a notebook show it. Most models have nothing."""
        return Controls()

    @abc.abstractmethod
    def _advance(self) -> None:
        """Take one step, not waited for; :meth:`step` counts it."""

    def _colors(self) -> Any:
        """(n,) host or device array of numbers by which a picture colors the particles, or None."""
        return None

    def _drawn_radius(self) -> float:
        """The radius at which a picture draws each particle, in the unit of the positions."""
        low, high = (np.asarray(corner, float) for corner in self.bounds)
        return float(0.2 * (np.prod(high - low) / self.n) ** (1 / self.dim))

    def _balls(self) -> Sequence[tuple[Sequence[float], float]]:
        """Center and radius of the balls that a picture shows beside the particles."""
        return ()

    def _walls(self) -> npt.NDArray[Any]:
        """(m, 2, dim): the two ends of segments that a picture shows beside the particles."""
        return np.empty((0, 2, self.dim))

    def step(self, n: int = 1) -> None:
        """Take `n` steps; the call does not wait for the device.

        Parameters
        ----------
        n : whole number of at least 0

        Raises
        ------
        InvalidInputError
            `n` is not such a number.
        """
        for _ in range(whole(n, "n", least=0, advice="pass the number of steps")):
            with self._lock:  # the halves of a step belong together
                self._advance()
                self.steps_done += 1

    def run(self, steps: int, *, every: int = 1, progress: bool = True) -> Iterator[Frame]:
        """Take steps, and yield the model as it is now and after each `every` steps.

        Parameters
        ----------
        steps : whole number of at least 0
        every : whole number of at least 1: the steps from a frame to the next; where it does not divide `steps`, the
            last frame comes after fewer
        progress : whether a terminal shows a progress bar on standard error

        Returns
        -------
        An iterator of :class:`Frame`. Steps are taken when the next frame is asked for, so between two frames a program
        may change the model.

        Raises
        ------
        InvalidInputError
            `steps` or `every` is not such a number.

        Notes
        -----
        Cost: that of the steps, and of :meth:`frame` for each frame.
        """
        steps = whole(steps, "steps", least=0, advice="pass the number of steps in all")
        every = whole(every, "every", least=1, advice="pass the number of steps from a frame to the next")
        return self._frames(steps, every, shown=bool(progress))

    def animate(
        self,
        path: str | os.PathLike[str],
        *,
        steps: int = 300,
        every: int = 3,
        fps: float = 25.0,
        size: int | None = None,
        change: Callable[[Self], object] | None = None,
        progress: bool = True,
    ) -> None:
        """Take steps and draw them to a file.

        Parameters
        ----------
        path : its ending says what is written: ``.gif`` or ``.mp4``, an animation of the frames of :meth:`run`, the
            start included; ``.png``, a picture of the last frame alone
        steps, every, progress : as for :meth:`run`
        fps : frames per second of the animation; a ``.gif`` shows each frame for whole hundredths of a second, two or
            more

        size : pixels of the longer side, rounded to multiples of 16; by default 480 for ``.gif``, 720 for ``.mp4``, and
            960 for ``.png``
        change : a function that is called with the model after each frame, and may change it before the next

        Raises
        ------
        InvalidInputError
            An argument is invalid, or the folder of the file does not exist.
        ClfrnnError
            A library is missing: matplotlib for two dimensions, pyvista for three, imageio-ffmpeg for ``.mp4``. The
            message names the extra that installs it.

        Notes
        -----
        Cost: that of :meth:`run`, and drawing, which without a GPU takes about a tenth of a second for 10,000
        particles in three dimensions. No display is needed.
        """
        from .pictures import animate  # noqa: PLC0415 - models that are not drawn do without it

        fps = positive(fps, "fps", np.float64, "pass the frames per second, as 25")
        size = None if size is None else whole(size, "size", least=16, advice="pass pixels, or leave it out")
        frames = self.run(steps, every=every, progress=progress)
        animate(self, path, frames, fps=fps, size=size, change=change)

    def notebook(self, *, steps: int = 1_500, every: int = 25) -> Any:
        """Show the model in a notebook, with a play button and what :meth:`controls` offers.

        Parameters
        ----------
        steps : whole number of at least 1, how many steps the play button takes; it may be pressed again
        every : whole number of at least 1, the steps from a picture to the next; where it does not divide `steps`, the
            last picture comes after fewer

        Returns
        -------
        A box of ipywidgets, which a cell shows when it is the last value: a picture, a play button, a slider for each
        number and for each coordinate of a ball that is dragged, and a button for each action.

        Raises
        ------
        InvalidInputError
            `steps` or `every` is not such a number.
        ClfrnnError
            A library is missing: ipywidgets, matplotlib for two dimensions, or pyvista for three. The message names the
            extra that installs it.
        """
        from .pictures import show_in_notebook  # noqa: PLC0415 - models that are not drawn do without it

        steps = whole(steps, "steps", least=1, advice="pass the number of steps that the play button takes")
        every = whole(every, "every", least=1, advice="pass the number of steps from a picture to the next")
        return show_in_notebook(self, steps=steps, every=every)

    def _frames(self, steps: int, every: int, *, shown: bool) -> Iterator[Frame]:
        with progress_bar(type(self).__name__.lower(), steps, shown=shown) as done:
            yield self.frame()
            for start in range(0, steps, every):
                taken = min(every, steps - start)
                self.step(taken)
                yield self.frame()
                done(taken)

    def frame(self) -> Frame:
        """Copy what a picture shows to the host.

        Notes
        -----
        Cost: a copy of the positions and of the colors, and a wait for them.
        """
        with self._lock:
            colors = self._colors()
            return Frame(
                step=self.steps_done,
                time=self.time,
                positions=_in_host_memory(self.positions),
                colors=None if colors is None else _in_host_memory(colors),
                balls=self._balls(),
            )


def _in_host_memory(array: Any) -> npt.NDArray[Any]:
    return np.asarray(array.get() if hasattr(array, "get") else array)
