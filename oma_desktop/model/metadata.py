"""Validation of run and task metadata and of run ids (formats.md 2.10.4, 2.10.1).

Checks only: cutting and redacting happens where metadata enters a run, never to what a file holds.
"""

from __future__ import annotations

import math
import re
from typing import Final

from oma_desktop.model.js_text import cut_utf16, utf16_length
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.redaction import is_sensitive_name, redact_text

MAX_STRING: Final = 1024
_RUN_KEY: Final = re.compile(r"[a-z0-9_.]{1,64}", re.ASCII)
_TASK_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", re.ASCII)


def run_id_problem(run_id: str) -> str | None:
    """Return `length` when a run id has not 1 to 128 UTF-16 units, else None."""
    return None if 1 <= utf16_length(run_id) <= 128 else "length"


def run_metadata_problem(value: JsonValue) -> tuple[str, str] | None:
    """Return (key, reason) of the first violation, else None. Key is empty for the whole.

    Reasons: `not_object`, `too_many`, `key_form`, `key_reserved`, `value_type`, `array_mixed`.
    """
    if not isinstance(value, dict):
        return "", "not_object"
    if len(value) > 32:
        return "", "too_many"
    for key, item in value.items():
        reason = _run_key_reason(key) or _value_reason(item)
        if reason:
            return key, reason
    return None


def task_metadata_problem(value: JsonValue) -> tuple[str, str] | None:
    """Like `run_metadata_problem`; more reasons: `credential`, `too_long`, `array_long`."""
    if not isinstance(value, dict):
        return "", "not_object"
    if len(value) > 16:
        return "", "too_many"
    for key, item in value.items():
        reason = _task_key_reason(key) or _value_reason(item) or _task_value_reason(item)
        if reason:
            return key, reason
    return None


def clean_run_metadata(value: JsonObject) -> JsonObject:
    """Return valid run metadata as it is stored: strings cut to 1024 UTF-16 units."""
    return {k: cut_utf16(v, MAX_STRING) if isinstance(v, str) else v for k, v in value.items()}


def clean_task_metadata(value: JsonObject) -> JsonObject:
    """Return valid task metadata as it is stored: strings redacted (formats.md 1.5.4)."""
    return {k: _redacted(v) for k, v in value.items()}


def _redacted(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [redact_text(v) if isinstance(v, str) else v for v in value]
    return value


def _run_key_reason(key: str) -> str | None:
    if not _RUN_KEY.fullmatch(key):
        return "key_form"
    return "key_reserved" if key.startswith("oma.") or key == "_overridden" else None


def _task_key_reason(key: str) -> str | None:
    if not _TASK_KEY.fullmatch(key):
        return "key_form"
    if key.lower().startswith("oma."):
        return "key_reserved"
    return "credential" if is_sensitive_name(key) else None


def _value_reason(value: JsonValue) -> str | None:
    if not isinstance(value, list):
        return None if _scalar_kind(value) else "value_type"
    kinds = {_scalar_kind(item) for item in value}
    return "array_mixed" if None in kinds or len(kinds) > 1 else None


def _task_value_reason(value: JsonValue) -> str | None:
    items = value if isinstance(value, list) else [value]
    if len(items) > 16:
        return "array_long"
    too_long = any(isinstance(i, str) and utf16_length(i) > MAX_STRING for i in items)
    return "too_long" if too_long else None


def _scalar_kind(value: JsonValue) -> str | None:
    """Return the kind of a trace attribute value; None when it cannot be one."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number" if math.isfinite(value) else None
    return None
