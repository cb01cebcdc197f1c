"""How often the interpreter looks for garbage, set by programs that run or show runs."""

from __future__ import annotations

import gc
from typing import Final

THRESHOLDS: Final = (10_000, 20, 50)


def collect_less() -> None:
    """Look for garbage in larger lots; young objects are still found.

    The documents of a run are kept, not garbage, and there are more of them the longer it runs.
    With the interpreter's own settings a task of 5,000 cost 1.7 times one of 100, for nothing but
    looking through them again and again; with these 1.15.
    """
    gc.set_threshold(*THRESHOLDS)


def calm_collector() -> None:
    """Call once, when what stays for good is loaded: it is not looked through again.

    A full collection with a run of 1,800 tasks took 60 ms of the window's time, now 5 to 10.
    """
    gc.collect()
    gc.freeze()
    collect_less()
