"""How the interpreter shares its time between the loop and everything else."""

from __future__ import annotations

import sys
from typing import Final

from oma_desktop.base.collector import calm_collector

SWITCH_S: Final = 0.0005


def favour_loop() -> None:
    """Call once, when the window stands.

    A lane that computes gives way to the loop after half a millisecond, not after five (measured:
    silence of the loop 28 ms before, 13 after; feasibility.md 3).
    """
    sys.setswitchinterval(SWITCH_S)
    calm_collector()
