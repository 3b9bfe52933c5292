"""``python -m clfrnn``."""

from .cli import main

main(prog_name="clfrnn")
