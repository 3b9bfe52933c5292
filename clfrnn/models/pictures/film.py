"""Films: files into which the frames of a model are drawn."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import clfrnn

from .canvas import canvas, library

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["animate"]

Pixels = npt.NDArray[np.uint8]

#: Pixels of the longer side by the ending of the file: a GIF of few pixels stays small.
_SIZES = {".gif": 480, ".mp4": 720, ".png": 960}

#: Colors of each frame of a GIF: more make the file larger than the picture better.
_PALETTE = 64


def animate(
    model: Model, path: str | os.PathLike[str], *, steps: int, every: int, fps: float, size: int | None, progress: bool
) -> None:
    """See :meth:`clfrnn.models.Model.animate`, which has checked the numbers."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in _SIZES:
        raise clfrnn.InvalidInputError(
            f"path: expected a name that ends in {', '.join(_SIZES)}, got {path.name!r}; change its ending"
        )
    if not path.absolute().parent.is_dir():
        raise clfrnn.InvalidInputError(f"path: there is no folder {path.parent}; make it first")
    easel = canvas(model, size or _SIZES[ending])  # what is missing is said before the first step
    try:
        if ending == ".png":
            *_, last = model.run(steps, every=max(1, steps), progress=progress)
            easel.draw(last)
            _images().fromarray(easel.pixels()).save(path, optimize=True)
            return
        with (_gif if ending == ".gif" else _video)(path, fps) as add:
            for frame in model.run(steps, every=every, progress=progress):
                easel.draw(frame)
                add(easel.pixels())
    finally:
        easel.close()


def _images() -> Any:
    return library("PIL.Image", "A picture", "plot")


@contextlib.contextmanager
def _gif(path: Path, fps: float) -> Iterator[Callable[[Pixels], None]]:
    """A function that adds a picture to a GIF, which is written when all are there."""
    images: Any = _images()
    frames: list[Any] = []
    yield lambda pixels: frames.append(images.fromarray(pixels).quantize(_PALETTE, dither=images.Dither.NONE))
    # The format counts in hundredths of a second.
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=max(20, round(100 / fps) * 10), loop=0, optimize=True
    )


@contextlib.contextmanager
def _video(path: Path, fps: float) -> Iterator[Callable[[Pixels], None]]:
    """A function that adds a picture to a video; where not all come, no file stays behind."""
    encoder: Any = library("imageio_ffmpeg", "A video", "plot3d")
    writer: Any = None

    def add(pixels: Pixels) -> None:
        nonlocal writer
        if writer is None:
            height, width = pixels.shape[:2]
            writer = encoder.write_frames(str(path), (width, height), fps=fps, ffmpeg_log_level="error")
            writer.send(None)
        writer.send(np.ascontiguousarray(pixels))

    try:
        yield add
    except BaseException:
        if writer is not None:
            writer.close()
            path.unlink(missing_ok=True)
        raise
    writer.close()
