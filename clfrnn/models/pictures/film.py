"""Films: files into which the frames of a model are drawn."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import clfrnn

from ...host.foreign_warnings import ignored_warnings
from ...host.libraries import library
from ..frame import Drawn, Frame
from .canvas import Canvas, canvas

__all__ = ["animate"]

#: Takes a canvas, and the frame to be drawn on it.
Add = Callable[[Canvas, Frame], None]

#: Pixels of the longer side by the ending of the file: a GIF of few pixels stays small.
_SIZES = {".gif": 480, ".mp4": 720, ".png": 960}

#: Colors of each frame of a GIF: more make the file larger than the picture better.
_PALETTE = 64

#: The longest that a GIF can show a frame, in hundredths of a second.
_LONGEST = 65_535


def animate(
    model: Drawn,
    path: str | os.PathLike[str],
    frames: Iterator[Frame],
    *,
    fps: float,
    size: int | None,
    change: Callable[[Any], object] | None,
) -> None:
    """Draw the frames of a run to a file; see :meth:`clfrnn.models.Model.animate`."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in _SIZES:
        raise clfrnn.InvalidInputError(
            f"expected a name that ends in {', '.join(_SIZES)}, got {path.name!r}; change its ending", argument="path"
        )
    if not path.absolute().parent.is_dir():
        raise clfrnn.InvalidInputError(f"there is no folder {path.parent}; make it first", argument="path")
    film = {".gif": _gif, ".mp4": _video, ".png": _picture}[ending]
    easel = canvas(model, size or _SIZES[ending])  # what is missing is said before the first step
    whole = path.resolve()  # a link stays a link
    part = whole.with_name(f".{whole.stem}-{os.getpid()}.part{ending}")
    try:
        with film(part, fps) as add:
            for frame in frames:
                add(easel, frame)
                if change is not None:
                    change(model)
        part.replace(whole)  # a film that was there stays until the new one is whole
    finally:
        easel.close()
        part.unlink(missing_ok=True)


def _images() -> Any:
    return library("PIL.Image", "PIL", "A picture", "plot")


@contextlib.contextmanager
def _picture(path: Path, _: float) -> Iterator[Add]:
    """A function that takes frames, of which the last is drawn."""
    images = _images()
    last: dict[str, Any] = {}
    yield lambda easel, frame: last.update(easel=easel, frame=frame)
    easel = last["easel"]
    easel.draw(last["frame"])
    pixels = easel.pixels()
    with ignored_warnings():
        images.fromarray(pixels).save(path, optimize=True)


@contextlib.contextmanager
def _gif(path: Path, fps: float) -> Iterator[Add]:
    """A function that adds a frame to a GIF, which is written when all are there."""
    images = _images()
    found: list[Any] = []
    hundredths = max(2, round(min(100 / fps, 1e6)))  # the format's unit
    if hundredths > _LONGEST:
        raise clfrnn.InvalidInputError(
            f"expected at least {100 / _LONGEST:.2g} for a .gif, got {fps:g}; pass more, or write an .mp4",
            argument="fps",
        )

    def add(easel: Canvas, frame: Frame) -> None:
        easel.draw(frame)
        pixels = easel.pixels()
        with ignored_warnings():
            found.append(images.fromarray(pixels).quantize(_PALETTE, dither=images.Dither.NONE))

    yield add
    with ignored_warnings():
        found[0].save(path, save_all=True, append_images=found[1:], duration=10 * hundredths, loop=0, optimize=True)


@contextlib.contextmanager
def _video(path: Path, fps: float) -> Iterator[Add]:
    """A function that adds a frame to a video."""
    encoder = library("imageio_ffmpeg", "imageio_ffmpeg", "A video", "plot3d")
    writer: Any = None

    def add(easel: Canvas, frame: Frame) -> None:
        nonlocal writer
        easel.draw(frame)
        pixels = np.ascontiguousarray(easel.pixels())
        if writer is None:
            height, width = pixels.shape[:2]
            writer = encoder.write_frames(str(path), (width, height), fps=fps, ffmpeg_log_level="error")
            writer.send(None)
        writer.send(pixels)

    try:
        yield add
    finally:
        if writer is not None:
            writer.close()
