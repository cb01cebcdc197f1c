"""Reading dates as leniently as JavaScript's `Date` (formats.md 1.4.2, T17).

Writing is always ms-ISO: `base.clock.to_ms_iso`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

_ISO: Final = re.compile(
    r"(?P<year>\d{4}|[+-]\d{6})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_RFC: Final = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
    r"(?:(?P<day>\d{1,2})[\s-]+(?P<month>[a-z]{3,9})\.?|(?P<month2>[a-z]{3,9})\.?\s+(?P<day2>\d{1,2}))"
    r",?[\s-]+(?P<year>\d{4})"
    r"(?:\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?"
    r"\s*(?P<zone>(?:GMT|UTC|Z)?\s*(?:[+-]\d{4}|[+-]\d{2}:\d{2})|GMT|UTC|UT|Z|[ECMP][SD]T)?"
    r"(?:\s*\([^()]*\))?",
    re.ASCII | re.IGNORECASE,
)
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_US_ZONES: Final = {"E": -5, "C": -6, "M": -7, "P": -8}


def parse_js_date(text: str) -> datetime | None:
    """Return the instant `new Date(text)` means, aware UTC, cut to milliseconds; None if invalid.

    ISO with any fraction and offset, date-only (UTC), date-time without offset (local time),
    RFC 2822 and the form of `Date.toString`; days roll over as in JS (30 February is 2 March).
    """
    bare = text.strip()
    iso = _ISO.fullmatch(bare)
    if iso:
        return _from_iso(iso)
    rfc = _RFC.fullmatch(bare)
    return _from_rfc(rfc) if rfc else None


def _from_iso(match: re.Match[str]) -> datetime | None:
    part = match.groupdict()
    hour, minute, second = (int(part[k] or 0) for k in ("hour", "minute", "second"))
    month, day = int(part["month"] or 1), int(part["day"] or 1)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    zone = _zone(part["zone"]) if part["zone"] else (None if part["hour"] else UTC)
    fraction = int((part["fraction"] or "0").ljust(3, "0")[:3])
    return _instant(int(part["year"]), month, day, (hour, minute, second, fraction), zone)


def _from_rfc(match: re.Match[str]) -> datetime | None:
    part = match.groupdict()
    name = (part["month"] or part["month2"]).lower()
    if name[:3] not in _MONTHS:
        return None
    day = int(part["day"] or part["day2"])
    hour, minute, second = (int(part[k] or 0) for k in ("hour", "minute", "second"))
    zone = _zone(part["zone"]) if part["zone"] else None
    month = _MONTHS.index(name[:3]) + 1
    return _instant(int(part["year"]), month, day, (hour, minute, second, 0), zone)


def _zone(text: str) -> timezone:
    spelled = text.upper().replace(" ", "")
    if spelled[-2:] in ("ST", "DT") and spelled[0] in _US_ZONES:
        return timezone(timedelta(hours=_US_ZONES[spelled[0]] + (spelled[1] == "D")))
    offset = re.search(r"([+-])(\d{2}):?(\d{2})$", spelled)
    if offset is None:
        return UTC
    minutes = int(offset[2]) * 60 + int(offset[3])
    bounded = min(minutes, 24 * 60 - 1)
    return timezone(timedelta(minutes=-bounded if offset[1] == "-" else bounded))


def _instant(
    year: int, month: int, day: int, time: tuple[int, int, int, int], zone: timezone | None
) -> datetime | None:
    """Compose with overflowing days; None outside what both JS and Python can express."""
    hour, minute, second, millisecond = time
    is_midnight_24 = time == (24, 0, 0, 0)
    if (hour > 23 and not is_midnight_24) or minute > 59 or second > 59:
        return None
    if not 1 <= day <= 31:
        return None
    span = timedelta(
        days=day - 1, hours=hour, minutes=minute, seconds=second, milliseconds=millisecond
    )
    try:
        return (datetime(year, month, 1, tzinfo=zone) + span).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
