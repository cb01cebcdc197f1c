"""From what an endpoint says to a ProviderError: status, text without secrets, how long to wait."""

from __future__ import annotations

import json
from typing import Final, cast

from oma_desktop.model.errors import (
    BadReply,
    OmaError,
    ProviderError,
    RateLimited,
    Refused,
    Unreachable,
)
from oma_desktop.model.message import TokenUsage

RETRYABLE_4XX: Final = frozenset({408, 409, 429})
MESSAGE_LIMIT: Final = 500

# The words providers use where they send no number (case s34).
_STATUS_OF_TYPE: Final = {
    "overloaded_error": 529,
    "overloaded": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
}


def is_retryable_status(status: int) -> bool:
    """Say whether a repeat may help (engine.md 8.6); 529 is one of the 5xx."""
    return status in RETRYABLE_4XX or status >= 500


def from_status(
    status: int, *, provider: str, message: str = "", retry_after_s: float | None = None
) -> ProviderError:
    """Return the error for an HTTP status (4xx, 5xx) with the facts status, provider, message,
    retryable and, when known, retry_after_s.
    """
    kind, code = _kind(status, retry_after_s)
    facts: dict[str, object] = {
        "status": status,
        "provider": provider,
        "message": message,
        "retryable": is_retryable_status(status),
    }
    if retry_after_s is not None:
        facts["retry_after_s"] = retry_after_s
    return kind(code, **facts)


def _kind(status: int, retry_after_s: float | None) -> tuple[type[ProviderError], str]:
    if status in {401, 403}:
        return Refused, "LLM_UNAUTHORIZED"
    if status == 404:
        return Refused, "LLM_NOT_FOUND"
    if status == 429:
        return RateLimited, "LLM_RATE_LIMITED"
    if status == 529 or (status == 503 and retry_after_s is not None):
        return RateLimited, "LLM_OVERLOADED"
    if is_retryable_status(status):
        return Unreachable, "LLM_SERVER_ERROR"
    return Refused, "LLM_REFUSED"


def from_stream_error(error: object, provider: str) -> ProviderError:
    """Return the error for an error object sent inside a stream that began with HTTP 200."""
    message = message_of({"error": error})
    status = _status_in(error)
    if status is None:
        facts = {"provider": provider, "message": message, "retryable": True}
        return BadReply("LLM_STREAM_ERROR", **facts)
    return from_status(status, provider=provider, message=message)


def _status_in(error: object) -> int | None:
    if not isinstance(error, dict):
        return None
    for key in ("status", "status_code", "code"):
        value = error.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    for key in ("type", "code"):
        value = error.get(key)
        if isinstance(value, str) and value in _STATUS_OF_TYPE:
            return _STATUS_OF_TYPE[value]
    return None


def message_of(document: object) -> str:
    """Return what the endpoint says went wrong, in one short line; empty when it says nothing."""
    if isinstance(document, list):
        document = document[0] if document else None
    if isinstance(document, dict):
        for key in ("error", "message", "detail", "msg"):
            if document.get(key):
                return message_of(document[key])
        return message_of(json.dumps(document, ensure_ascii=False)) if document else ""
    return " ".join(document.split())[:MESSAGE_LIMIT] if isinstance(document, str) else ""


def message_in(body: bytes) -> str:
    """Return the message of an error response; HTML and other pages are shortened."""
    text = body.decode("utf-8", "replace")
    try:
        return message_of(json.loads(text))
    except (ValueError, RecursionError):
        return message_of(text)


def usage_in(error: OmaError) -> TokenUsage | None:
    """Return what a failed call had used by then, where the service said so: it is paid for."""
    return cast("TokenUsage | None", error.facts.get("usage"))


def redacted(text: str, key: str | None) -> str:
    """Return `text` without the key: some endpoints quote it when they refuse it."""
    return text.replace(key, "***") if key and len(key) >= 4 else text
