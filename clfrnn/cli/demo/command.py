"""The command: makes a model, runs it, and shows it in a window or a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..arguments import DEVICE, METHOD, MethodName, check_new
from ..progress import opened
from .registry import DEMOS

if TYPE_CHECKING:
    from ...models import Model

__all__ = ["demo"]

#: Frames of a run, the start apart.
_FRAMES = 60

_NAMES = "; ".join(f"{name}: {each.about}" for name, each in DEMOS.items())


class _ModelName(click.ParamType):  # type: ignore[type-arg]
    """The name of a model."""

    name = "model"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """`value` when it names a model."""
        if value not in DEMOS:
            self.fail(f"{value!r} is not one of {', '.join(DEMOS)}", param, ctx)
        return str(value)


@click.command(epilog=f"Models: {_NAMES}.")
@click.argument("name", type=_ModelName())
@click.option(
    "--animate",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write an animation instead of opening a window: .gif or .mp4; or .png, a picture of the end.",
)
@click.option("-n", type=click.IntRange(min=1), help="Number of particles.")
@click.option("--steps", type=click.IntRange(min=1), help="Number of steps.")
@click.option("--device", help=DEVICE)
@click.option("--method", type=MethodName(), help=METHOD)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random numbers that the model starts with.")
def demo(
    *,
    name: str,
    output: Path | None,
    n: int | None,
    steps: int | None,
    device: str | None,
    method: str | None,
    seed: int | None,
) -> None:
    """Run the particle model NAME, and show it.

    With --animate it is drawn to a file. Otherwise a window opens, until it is closed or all steps are taken; where
    there is no display, the steps are taken and timed, and nothing is drawn.
    """
    if output is not None:
        check_new("--animate", output)
    session = opened(device)
    DEMOS[name].make(n, method=method, seed=seed, session=session).step()  # compiled now, in no one's time
    model = DEMOS[name].make(n, method=method, seed=seed, session=session)
    click.echo(f"model    {type(model).__name__}, {model.n:,} particles in {model.dim}D, {model.dtype}")
    click.echo(f"method   {model.index.method}")
    click.echo(f"device   {session.profile.name} ({session.profile.platform})")
    _show(model, output, steps or DEMOS[name].steps)


def _show(model: Model, output: Path | None, steps: int) -> None:
    """Run the model in front of the user, and say how fast it was."""
    from ...models.pictures import has_display, show_in_window

    every = max(1, steps // _FRAMES)
    began = time.perf_counter()
    drawn = "drawing included"
    if output is not None:
        model.animate(output, steps=steps, every=every)
        click.echo(f"written  {output}: {output.stat().st_size / 1000:,.0f} kB")
    elif has_display():
        show_in_window(model, steps=steps, every=every)
    else:
        click.echo("clfrnn: there is no display here, and nothing is drawn; --animate out.gif writes a file", err=True)
        drawn = "nothing drawn"
        for _ in model.run(steps, every=every):
            pass
    seconds = time.perf_counter() - began
    frames = 1 + -(-model.steps_done // every)
    click.echo(
        f"speed    {frames / seconds:.1f} frames per second, {model.steps_done / seconds:,.0f} steps per second; "
        f"{model.steps_done:,} steps in {seconds:.1f} s, {drawn}"
    )
