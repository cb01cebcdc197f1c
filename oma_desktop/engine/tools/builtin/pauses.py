"""How long to wait between looks at a child: briefly first, never long.

Looking is what works on every event loop and system alike; watchers of children need threads or
signals on some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_FIRST_S: Final = 0.002
_LONGEST_S: Final = 0.05


def pauses() -> Iterator[float]:
    """Yield pauses in seconds, for ever."""
    pause = _FIRST_S
    while True:
        yield pause
        pause = min(pause * 1.5, _LONGEST_S)
