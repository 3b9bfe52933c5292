"""A model in a notebook: a picture that runs, with sliders and buttons for what may be changed."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

from ...host.foreign_warnings import ignored_warnings
from ...host.libraries import library
from ..controls import Action
from ..frame import Drawn
from .canvas import canvas

__all__ = ["show_in_notebook"]

#: Pixels of the longer side, and milliseconds from a picture to the next.
_SIZE, _PAUSE = 480, 60


def show_in_notebook(model: Drawn, *, steps: int, every: int) -> Any:
    """A box of widgets; see :meth:`clfrnn.models.Model.notebook`."""
    widgets = library("ipywidgets", "ipywidgets", "A model in a notebook", "notebook")
    easel, picture = canvas(model, _SIZE), widgets.Image(format="png", width=_SIZE)

    def draw() -> None:
        easel.draw(model.frame())
        picture.value = _png(easel.pixels())

    play = widgets.Play(min=0, max=-(-steps // every), interval=_PAUSE, description="steps")

    def advance(change: Any) -> None:
        if tick := change["new"]:  # 0 is the stop button
            model.step(min(every, steps - (tick - 1) * every))
            draw()

    play.observe(advance, "value")
    try:
        draw()
        return widgets.HBox([picture, widgets.VBox([play, *_inputs(widgets, model, draw)])])
    except BaseException:
        easel.close()  # no box holds it
        raise


def _inputs(widgets: Any, model: Drawn, draw: Callable[[], None]) -> list[Any]:
    """The sliders and buttons of a model's controls; what moves something draws."""
    controls = model.controls()
    found = [_slider(widgets, each.name, (each.low, each.high), each.value, each.change) for each in controls.sliders]
    for action in controls.actions:
        found.append(button := widgets.Button(description=action.name))
        button.on_click(functools.partial(_act, action, draw))
    if (handle := controls.handle) is not None:
        low, high = model.bounds
        place = list(handle.center)

        def move(axis: int, value: float) -> None:
            place[axis] = value
            handle.move(place)
            draw()

        for axis, name in enumerate("xyz"[: model.dim]):
            ends = float(low[axis]), float(high[axis])
            found.append(_slider(widgets, f"ball {name}", ends, place[axis], functools.partial(move, axis)))
    return found


def _act(action: Action, draw: Callable[[], None], _: Any) -> None:
    """What a button does; it is passed itself."""
    action.act()
    draw()


def _slider(widgets: Any, name: str, ends: tuple[float, float], value: float, change: Callable[[float], object]) -> Any:
    slider = widgets.FloatSlider(
        value=value, min=ends[0], max=ends[1], step=(ends[1] - ends[0]) / 200, description=name, readout_format=".3g"
    )
    slider.observe(lambda event: change(event["new"]), "value")
    return slider


def _png(pixels: Any) -> bytes:
    images = library("PIL.Image", "PIL", "A picture", "plot")
    held = io.BytesIO()
    with ignored_warnings():
        images.fromarray(pixels).save(held, "png")
    return held.getvalue()
