"""Is the process that left this file still there? Told by pid and start time (formats.md 1.7)."""

from __future__ import annotations

from datetime import UTC, datetime

import psutil


def process_started_at(pid: int) -> datetime | None:
    """Return when the living process with this pid began, None when there is none.

    A zombie counts as dead: it writes nothing any more. Follows steps of the system clock, so
    compare with a tolerance and only with values that are refreshed.
    Raises psutil.AccessDenied when it lives but its start cannot be read.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return datetime.fromtimestamp(process.create_time(), UTC)
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return None


def lives(pid: int, *, started_at: datetime, tolerance_s: float) -> bool:
    """Tell whether that very process lives: the pid, begun at that time (cases s09)."""
    try:
        found = process_started_at(pid)
    except psutil.AccessDenied:
        return True  # it is there and cannot be told apart from the owner: never steal
    if found is None:
        return False
    return abs((found - started_at).total_seconds()) <= tolerance_s


def lived_at(pid: int, *, moment_s: float, tolerance_s: float) -> bool:
    """Tell whether the process with this pid lives and had begun by `moment_s` (epoch seconds)."""
    try:
        found = process_started_at(pid)
    except psutil.AccessDenied:
        return True
    return found is not None and found.timestamp() <= moment_s + tolerance_s
