"""What stores need of a clock. `base.clock` itself belongs to the loop, stores do not."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class WallClock(Protocol):
    """Every `base.clock.Clock` is one."""

    def now(self) -> datetime:
        """Aware UTC, cut to milliseconds (formats.md 0.2: ms-ISO)."""
        ...
