"""Canonical JSON for hashes and for dependency payloads (formats.md 3.2.1, 3.2.1a)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Final

from oma_desktop.model.errors import ApprovalInvalid, InvalidInput
from oma_desktop.model.js_text import MAX_SAFE_INTEGER, has_halves, replace_halves, utf16_order
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.json_writer import index_of, is_plain, number_or_null, pieces

_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")


class _NotFiniteError(ValueError):
    """NaN or Infinity, which has no canonical spelling."""


def canonical(value: JsonValue) -> str:
    """Return the text whose SHA-256 is an approval's hash: keys by UTF-16 units, no spaces.

    Raises ApprovalInvalid `APPROVAL_VALIDATION_ERROR` (`reason`: `non_finite`, `cycle` or
    `not_json`) on what has no canonical form (formats.md 3.2.1).
    """
    if is_plain(value):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        if text.isascii() or not (has_halves(text) or _ASTRAL.search(text)):
            return text
    try:
        return "".join(pieces(value, members=_by_code_unit, number=_finite))
    except _NotFiniteError:
        reason = "non_finite"
    except ValueError:
        reason = "cycle"
    except TypeError:
        reason = "not_json"
    raise ApprovalInvalid("APPROVAL_VALIDATION_ERROR", reason=reason)


def dependency_payload(value: JsonValue) -> str:
    """Return the text of a structured result in a prompt (formats.md 3.2.1a).

    Keys are sorted, integer-like ones first by number; non-finite numbers are null. Raises
    InvalidInput `DEPENDENCY_PAYLOAD_INVALID` on what JSON cannot express.
    """
    try:
        return "".join(pieces(value, members=_indices_first, number=number_or_null))
    except (ValueError, TypeError) as error:
        raise InvalidInput("DEPENDENCY_PAYLOAD_INVALID", found=str(error)) from None


def _by_code_unit(members: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    return ((k, members[k]) for k in sorted(members, key=utf16_order))


def _indices_first(members: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    indices = {k: i for k in members if (i := index_of(k)) is not None}
    yield from ((k, members[k]) for k in sorted(indices, key=indices.__getitem__))
    names = (k for k in members if k not in indices)
    yield from ((k, members[k]) for k in sorted(names, key=utf16_order))


def _finite(number: float) -> str:
    spelled = number_or_null(number)
    if spelled == "null":
        raise _NotFiniteError
    return spelled


def sha256_hex(text: str) -> str:
    """SHA-256 of the UTF-8 bytes; a lone surrogate counts as U+FFFD, as in JS (formats.md 9)."""
    return hashlib.sha256(replace_halves(text).encode()).hexdigest()


def is_exact(value: JsonValue) -> bool:
    """Whether every number is one that JS holds exactly, so that what is hashed is what was meant.

    False with an integral number beyond 2^53 - 1 (it may have been rounded on the way) or a
    non-finite one: such a value must not be put before a reviewer (cases s20).
    """
    level: list[JsonValue] = [value]
    while level:
        below: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, int | float) and not _is_exact_number(item):
                return False
        level = below
    return True


def _is_exact_number(number: float) -> bool:
    if isinstance(number, float) and not (math.isfinite(number) and number.is_integer()):
        return math.isfinite(number)
    return -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER
