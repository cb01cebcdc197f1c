"""The one spelling of instants on disk. Apart from `clock` so that loop-free layers can use it."""

from __future__ import annotations

from datetime import UTC, datetime


def to_ms_iso(at: datetime) -> str:
    """Return `YYYY-MM-DDTHH:mm:ss.sssZ`, the form of JavaScript's toISOString (formats.md 0.2)."""
    utc = at.astimezone(UTC)
    return (
        f"{utc.year:04d}-{utc.month:02d}-{utc.day:02d}"
        f"T{utc.hour:02d}:{utc.minute:02d}:{utc.second:02d}.{utc.microsecond // 1000:03d}Z"
    )
