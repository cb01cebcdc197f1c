"""Entry point: chooses between the command line and the window."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper


def main() -> int:
    """Run `oma-desktop`; returns the exit code (product.md 5)."""
    _open_closed_streams()
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Ctrl-C while the modules load or the interpreter ends: over at once, without a traceback.
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from oma_desktop.cli.late_signals import own_process  # noqa: PLC0415 - as the next
    from oma_desktop.cli.main import run  # noqa: PLC0415 - keeps Qt out of commands
    from oma_desktop.cli.output import Exit, silence  # noqa: PLC0415

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        own_process((signal.SIGINT, signal.SIGTERM) if ours else (signal.SIGTERM,))
        code = run(sys.argv[1:])
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:  # between the boundary of `run` and these lines
        return Exit.STOPPED
    try:
        sys.stdout.flush()  # `--help | head`: what argparse printed is still held here
    except OSError:
        silence(sys.stdout)
    return code


def _open_closed_streams() -> None:
    """Started without stdin, stdout or stderr (`>&-`), use the null device in its place.

    Else the store or its lock would get that number, and what a library prints to "stderr" would
    go into the file; and `sys.stdout` would be None.
    """
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
            continue
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number, so this one
        stream = TextIOWrapper(open(opened, f"{mode}b", closefd=False), encoding="utf-8")  # noqa: SIM115
        setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


if __name__ == "__main__":
    sys.exit(main())
