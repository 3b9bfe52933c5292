"""Canvases: they draw the frames of a model, in 2D by matplotlib, in 3D by pyvista."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import clfrnn

from ...host.foreign_warnings import ignored_warnings
from ...host.libraries import library
from ..controls import Controls
from ..frame import Drawn, Frame

__all__ = ["Canvas", "canvas"]

#: Width and height of a picture are multiples of this, as encoders of videos want them.
_STEP = 16

#: White around a rectangle, in its longer side: particles at the border are seen whole.
_MARGIN = 0.02

_PLAIN = "#0072B2"
_BALL = "#D55E00"


class Canvas(Protocol):
    """Draws frames one after the other."""

    def draw(self, frame: Frame) -> None:
        """Draw the particles and the balls of a frame."""

    def pixels(self) -> npt.NDArray[np.uint8]:
        """The last drawn frame, (height, width, 3)."""

    def show(self) -> bool:
        """Bring the last drawn frame into the window; False where its user has closed it."""

    def offer(self, controls: Controls) -> None:
        """Show sliders, listen to keys, and let a ball be dragged; what is done between two calls of `show` counts."""

    def close(self) -> None:
        """Close the window, and give the memory back."""


def canvas(model: Drawn, size: int, *, window: bool = False) -> Canvas:
    """A canvas for the model.

    Parameters
    ----------
    size : pixels of the longer side
    window : whether frames appear in a window; otherwise they are drawn without a display

    Raises
    ------
    ClfrnnError
        A library is missing.
    """
    return Flat(model, size, window=window) if model.dim == 2 else Solid(model, size, window=window)


def _keys(controls: Controls) -> str:
    """What the keys do, in a line."""
    return "   ".join(f"{each.key}: {each.name}" for each in controls.actions)


class _Shades:
    """The numbers at both ends of the colors: the model's, or of all frames so far, so that colors do not flicker."""

    def __init__(self, ends: tuple[float, float] | None) -> None:
        self._fixed = ends is not None
        self.low, self.high = ends or (np.inf, -np.inf)

    def widen(self, colors: npt.NDArray[Any]) -> tuple[float, float]:
        """The ends after these numbers; a hundredth on either side does not count, as a few extremes would dim all."""
        if len(colors) and not self._fixed:
            low, high = np.percentile(colors, (1, 99))
            self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        return self.low, max(self.high, self.low + 1e-30)


class Flat:
    """Disks in a rectangle, drawn by matplotlib."""

    @ignored_warnings()
    def __init__(self, model: Drawn, size: int, *, window: bool) -> None:
        figures = library("matplotlib.figure", "matplotlib", "A picture of two dimensions", "plot")
        self._circles = library("matplotlib.patches", "matplotlib", "A picture of two dimensions", "plot").Circle
        self._model, self._shades, self._colormap = model, _Shades(model._color_ends), model._colormap  # noqa: SLF001
        low, high = (np.asarray(corner, float) for corner in model.bounds)
        margin = _MARGIN * max(high - low)
        extent = np.maximum(high - low, 1e-30) + 2 * margin
        width, height = (max(_STEP, round(side * size / extent.max() / _STEP) * _STEP) for side in extent)
        shape = {"figsize": (width / 100, height / 100), "dpi": 100}
        self._windows: Any = None
        if window:
            self._windows = library("matplotlib.pyplot", "matplotlib", "A window", "plot")
            if self._windows.get_backend().lower() == "agg":  # what matplotlib takes where there is no other
                raise clfrnn.ClfrnnError(
                    "A window of two dimensions needs tkinter or another toolkit of matplotlib's windows, and none is "
                    "installed; install python3-tk, or pip install PyQt6, or write an animation instead"
                )
            self._figure = self._windows.figure(**shape)
            self._windows.show(block=False)
        else:
            self._figure = figures.Figure(**shape)
            library("matplotlib.backends.backend_agg", "matplotlib", "A picture", "plot").FigureCanvasAgg(self._figure)
        axes = self._axes = self._figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin), aspect="equal")
        axes.set_axis_off()
        for wall in self._model._walls():  # noqa: SLF001
            axes.plot(*np.asarray(wall, float).T, color="black", linewidth=2, solid_capstyle="round", zorder=3)
        axes.plot(*np.array([low, (high[0], low[1]), high, (low[0], high[1]), low]).T, color="grey", linewidth=1)
        # Areas are in square points, of which an inch has 72 along each side.
        self._points_per_unit = 72 / 100 * width / extent[0]
        self._dots: Any = None
        self._balls: list[Any] = []
        self._offered: list[Any] = []  # matplotlib lets widgets go that nothing holds

    @ignored_warnings()
    def draw(self, frame: Frame) -> None:
        if self._dots is not None:
            self._dots.remove()
        for ball in self._balls:
            ball.remove()
        radius = self._model._drawn_radius() * self._points_per_unit  # noqa: SLF001
        kind = {"c": _PLAIN} if frame.colors is None else {"c": frame.colors, "cmap": self._colormap}
        self._dots = self._axes.scatter(*frame.positions.T, s=max(0.5, (2 * radius) ** 2), linewidths=0, **kind)
        if frame.colors is not None:
            self._dots.set_clim(*self._shades.widen(frame.colors))
        self._balls = [
            self._axes.add_patch(self._circles(tuple(center), reach, color=_BALL)) for center, reach in frame.balls
        ]
        self._figure.canvas.draw()

    @ignored_warnings()
    def pixels(self) -> npt.NDArray[np.uint8]:
        return np.asarray(self._figure.canvas.buffer_rgba())[..., :3].copy()

    @ignored_warnings()
    def show(self) -> bool:
        if not self._windows.fignum_exists(self._figure.number):
            return False
        self._figure.canvas.flush_events()  # where the user may close it
        return bool(self._windows.fignum_exists(self._figure.number))

    @ignored_warnings()
    def offer(self, controls: Controls) -> None:
        widgets = library("matplotlib.widgets", "matplotlib", "A window", "plot")
        connect = self._figure.canvas.mpl_connect
        for k, each in enumerate(controls.sliders):
            axes = self._figure.add_axes((0.3, 0.96 - 0.035 * k, 0.4, 0.03))
            slider = widgets.Slider(axes, each.name, each.low, each.high, valinit=each.value)
            slider.on_changed(each.change)
            self._offered.append(slider)
        acts = {each.key: each.act for each in controls.actions}
        connect("key_press_event", lambda event: acts.get(event.key, lambda: None)())
        self._axes.text(0.5, 0.01, _keys(controls), transform=self._axes.transAxes, ha="center", fontsize=8)
        if (handle := controls.handle) is not None:

            def drag(event: Any) -> None:
                if event.button == 1 and event.inaxes is self._axes:
                    handle.move((event.xdata, event.ydata))

            connect("motion_notify_event", drag)

    @ignored_warnings()
    def close(self) -> None:
        if self._windows is not None:
            self._windows.close(self._figure)


class Solid:
    """Shaded spheres in a box, drawn by pyvista."""

    @ignored_warnings()
    def __init__(self, model: Drawn, size: int, *, window: bool) -> None:
        self._pyvista = pyvista = library("pyvista", "pyvista", "A picture of three dimensions", "plot3d")
        self._model, self._shades, self._open = model, _Shades(model._color_ends), False  # noqa: SLF001
        self._colormap = model._colormap  # noqa: SLF001
        low, high = (np.asarray(corner, float) for corner in model.bounds)
        with pyvista.vtk_verbosity("off"):  # else it says that there is no display
            side = max(_STEP, size // _STEP * _STEP)
            self.plotter = pyvista.Plotter(off_screen=not window, window_size=(side, side))
            self.plotter.set_background("white")
            self.plotter.add_mesh(
                pyvista.Box(np.stack([low, high], axis=1).ravel()), style="wireframe", color="grey", line_width=1
            )
            # A flat box takes as much of the width as a cube.
            middle, across = (low + high) / 2, max(float(np.linalg.norm(high - low)), 1.65 * float(max(high - low)))
            eye = middle + across * np.array([0.75, -1.6, 0.55])
            self.plotter.camera_position = [tuple(eye), tuple(middle), (0, 0, 1)]
            self.plotter.camera.zoom(1.0)

    @ignored_warnings()
    def draw(self, frame: Frame) -> None:
        pyvista = self._pyvista
        cloud = pyvista.PolyData(np.asarray(frame.positions, np.float32))
        kind: dict[str, Any] = {"color": _PLAIN}
        if frame.colors is not None:
            cloud["colors"] = frame.colors
            kind = {"scalars": "colors", "cmap": self._colormap, "clim": self._shades.widen(frame.colors)}
        with pyvista.vtk_verbosity("off"):
            spheres = self.plotter.add_mesh(
                cloud,
                name="particles",  # takes the place of the last frame's
                style="points_gaussian",
                render_points_as_spheres=True,
                emissive=False,
                show_scalar_bar=False,
                reset_camera=False,
                render=False,
                **kind,
            )
            spheres.mapper.scale_factor = self._model._drawn_radius()  # noqa: SLF001
            for number, (center, reach) in enumerate(frame.balls):
                ball = pyvista.Sphere(radius=reach, center=center, theta_resolution=48, phi_resolution=48)
                self.plotter.add_mesh(ball, name=f"ball {number}", color=_BALL, reset_camera=False, render=False)

    @ignored_warnings()
    def pixels(self) -> npt.NDArray[np.uint8]:
        with self._pyvista.vtk_verbosity("off"):
            self.plotter.render()
            return np.asarray(self.plotter.screenshot(return_img=True))[..., :3]

    @ignored_warnings()
    def show(self) -> bool:
        try:
            if not self._open:
                self._open = True
                self.plotter.show(interactive_update=True, auto_close=False)
            self.plotter.update()
        except RuntimeError as error:  # pyvista draws without a window where the display does not open
            shown = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
            raise clfrnn.ClfrnnError(
                f"a window needs a display that opens, and {shown!r}, which the environment names, does not; unset "
                "DISPLAY and WAYLAND_DISPLAY to run without a window, or draw to a file"
            ) from error
        return not self.plotter.iren.interactor.GetDone()

    @ignored_warnings()
    def offer(self, controls: Controls) -> None:
        with self._pyvista.vtk_verbosity("off"):
            for k, each in enumerate(controls.sliders):
                height = 0.95 - 0.09 * k
                self.plotter.add_slider_widget(
                    each.change,
                    (each.low, each.high),
                    value=each.value,
                    title=each.name,
                    pointa=(0.02, height),
                    pointb=(0.25, height),
                    title_height=0.02,
                    tube_width=0.003,
                    slider_width=0.012,
                    color="black",
                    interaction_event="always",
                )
            for action in controls.actions:
                self.plotter.add_key_event(action.key, action.act)
            if controls.actions:
                self.plotter.add_text(_keys(controls), position="lower_left", font_size=8, color="black")
            if (handle := controls.handle) is not None:
                self.plotter.add_sphere_widget(
                    handle.move,
                    center=tuple(handle.center),
                    radius=handle.radius,
                    color=_BALL,
                    style="wireframe",
                    interaction_event="always",
                )

    @ignored_warnings()
    def close(self) -> None:
        self.plotter.close()
