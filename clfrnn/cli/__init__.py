"""The command line: parses arguments, calls the API, prints results."""

from __future__ import annotations

import errno
import warnings
from typing import Any

import click

from ..errors import ClfrnnError
from ..host.printable import printable
from ..version import __version__
from .arguments import Failure, explained
from .demo import demo
from .devices import devices
from .exactness.verify import verify
from .geometry.clean import clean
from .geometry.normals import normals
from .geometry.surface import surface
from .search import search
from .source import source
from .tune import tune

__all__ = ["main"]


#: Exit status of a program that Ctrl-C ended, as shells count signals.
_INTERRUPTED = 130


class _Group(click.Group):
    """Commands whose library errors are messages, not tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show  # type: ignore[assignment]  # it needs the message alone
                return super().invoke(ctx)
        except click.UsageError as error:
            raise explained(error) from error
        except ClfrnnError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of the output has ended, which click takes care of
                raise
            what = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
            raise Failure(what) from error
        except MemoryError as error:
            raise Failure("the memory of this machine is used up; search fewer points, or count by --count") from error
        except KeyboardInterrupt:
            click.echo("clfrnn: interrupted; results that were not whole were not written", err=True)
            ctx.exit(_INTERRUPTED)


def _show(message: Warning | str, *_: Any) -> None:
    """Print a warning in the form of errors: users of the command line have no line of code to look at."""
    click.echo(f"clfrnn: warning: {printable(str(message))}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clfrnn")
def main() -> None:
    """Exact fixed-radius near-neighbor search on OpenCL devices."""


for _command in (clean, demo, devices, normals, search, source, surface, tune, verify):
    main.add_command(_command)
