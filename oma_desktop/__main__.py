"""Entry point: chooses between the command line and the window."""

from __future__ import annotations

import sys


def main() -> int:
    """Run `oma-desktop`; returns the exit code (product.md 5)."""
    from oma_desktop.cli.main import run  # noqa: PLC0415 - keeps Qt out of commands

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
