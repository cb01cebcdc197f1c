"""How old a fact is, as a number and a unit; the words are in `ui.words` (ux.md C2)."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple

QUIET_AFTER_S: Final = 60.0
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400


class AgeUnit(Enum):
    """Unit of an age; one unit is enough to judge by."""

    SECONDS = "s"
    MINUTES = "min"
    HOURS = "h"
    DAYS = "d"


class Age(NamedTuple):
    """A rounded age: `value` has one decimal below ten seconds, none above."""

    value: float
    unit: AgeUnit


def age_of(at: datetime | None, *, now: datetime) -> Age | None:
    """Return how long ago `at` was; a time in the future (clock jump) counts as now."""
    return None if at is None else age_from_seconds((now - at).total_seconds())


def age_from_seconds(seconds: float) -> Age:
    """Return an age, cut, never rounded up: data is never shown older than it is."""
    held = max(0.0, seconds)
    if held < 10:
        return Age(int(held * 10) / 10, AgeUnit.SECONDS)
    if held < _MINUTE:
        return Age(int(held), AgeUnit.SECONDS)
    if held < _HOUR:
        return Age(int(held // _MINUTE), AgeUnit.MINUTES)
    if held < _DAY:
        return Age(int(held // _HOUR), AgeUnit.HOURS)
    return Age(int(held // _DAY), AgeUnit.DAYS)


def clock_parts(seconds: float) -> tuple[int, int, int]:
    """Return hours, minutes, seconds of a duration."""
    whole = max(0, int(seconds))
    return whole // _HOUR, whole % _HOUR // _MINUTE, whole % _MINUTE


def quiet_for(last: datetime | None, *, now: datetime) -> Age | None:
    """Return how long nothing was heard, or None below 60 s ("quiet" is not a state, ux.md C6)."""
    if last is None or (now - last).total_seconds() < QUIET_AFTER_S:
        return None
    return age_from_seconds((now - last).total_seconds())
