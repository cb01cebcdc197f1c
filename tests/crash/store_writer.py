"""A writer to be killed: saves a growing store as fast as it can and reports what was saved."""

from __future__ import annotations

import sys
from pathlib import Path

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.writers import open_for_writing


def main() -> None:
    """Save round after round; a line on stdout follows each finished save."""
    with open_for_writing(Path(sys.argv[1]), app="victim", clock=SystemClock()) as opened:
        last = opened.store.get("round")
        n = int(last.value) if last else 0
        while True:
            n += 1
            with opened.store.batch():
                opened.store.set("round", str(n))
                opened.store.set("weight", f"{n} " * 40_000)
            sys.stdout.write(f"{n}\n")
            sys.stdout.flush()


main()
