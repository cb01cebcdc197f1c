"""Numbers as people read them: ages, durations, sizes, counts, times of day (ux.md C19)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from oma_desktop.base.text import tr
from oma_desktop.viewmodel.ages import Age, AgeUnit, clock_parts

NONE: Final = "–"
_KB: Final = 1024


def age_text(age: Age | None) -> str:
    """Return an age as in "0.4 s" or "6 min"; a dash when it is not known."""
    if age is None:
        return NONE
    value = f"{age.value:.1f}" if isinstance(age.value, float) else str(age.value)
    match age.unit:
        case AgeUnit.SECONDS:
            return tr("{n} s", n=value)
        case AgeUnit.MINUTES:
            return tr("{n} min", n=value)
        case AgeUnit.HOURS:
            return tr("{n} h", n=value)
        case AgeUnit.DAYS:
            return tr("{n} d", n=value)


def elapsed_text(since: datetime | None, until: datetime) -> str:
    """Return a duration as in "47:12" or "1:08:31"; a dash when the start is not known."""
    if since is None:
        return NONE
    hours, minutes, seconds = clock_parts((until - since).total_seconds())
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"


def size_text(n_bytes: int) -> str:
    """Return a size as in "212 B", "9.1 KB", "18 KB", "1.9 MB"."""
    if n_bytes < _KB:
        return tr("{n} B", n=n_bytes)
    value = n_bytes / _KB
    if value < _KB:
        return tr("{n} KB", n=_short(value))
    return tr("{n} MB", n=_short(value / _KB))


def count_text(n: int) -> str:
    """Return a count as in "812", "9.4k", "412k", "1.2M"; never rounded up."""
    if n < 1000:
        return str(n)
    if n < 1_000_000:
        return f"{_short(n / 1000)}k"
    return f"{_short(n / 1_000_000)}M"


def _short(value: float) -> str:
    cut = int(value * 10) / 10
    return f"{cut:.1f}" if cut < 10 and cut != int(cut) else str(int(cut))


def time_text(at: datetime | None) -> str:
    """Return the local time of day."""
    if at is None:
        return NONE
    return f"{at.astimezone():%H:%M:%S}"


def moment_text(at: datetime | None) -> str:
    """Return local date and time."""
    if at is None:
        return NONE
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
