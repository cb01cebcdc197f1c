"""Which characters of a text have been on screen (ux.md C7: all content, to its end)."""

from __future__ import annotations


class Shown:
    """The union of character ranges that have been on screen."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> bool:
        """Add the half-open range; touching ranges melt together. False: it was there already."""
        if any(a <= start and b >= end for a, b in self._ranges):
            return False
        kept: list[tuple[int, int]] = []
        for a, b in self._ranges:
            if b < start or a > end:
                kept.append((a, b))
            else:
                start, end = min(a, start), max(b, end)
        self._ranges = sorted([*kept, (start, end)])
        return True

    def covers(self, end: int) -> bool:
        """Say whether everything from 0 to `end` was shown."""
        return end <= 0 or any(a <= 0 and b >= end for a, b in self._ranges)

    def first_gap(self, end: int) -> int | None:
        """Return where the first part that was not shown begins."""
        if self.covers(end):
            return None
        if not self._ranges or self._ranges[0][0] > 0:
            return 0
        return self._ranges[0][1]
