"""``python -m clfrnn``, and the command ``clfrnn``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly also while it is loaded."""
    try:
        from .cli import main as command  # noqa: PLC0415

        command(prog_name="clfrnn")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
