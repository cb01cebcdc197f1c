"""The known name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name` (case, `_` and `-` do not count), or None."""
    by_form = {_form(candidate): candidate for candidate in known}
    matches = get_close_matches(_form(name), list(by_form), n=1, cutoff=0.6)
    return by_form[matches[0]] if matches else None


def _form(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
