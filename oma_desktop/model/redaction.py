"""Replacing secrets in text and values (formats.md 1.5).

The expressions mirror JavaScript ones: word characters and case folding are ASCII only, white
space is JavaScript's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

REDACTED: Final = "[redacted]"

_FLAGS: Final = re.IGNORECASE | re.ASCII
_S: Final = "[\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]*"
_SENSITIVE: Final = re.compile(
    r"api[_-]?key|secret|password|passwd|pwd|private[_-]?key|access[_-]?key|accessToken|refreshToken"
    r"|idToken|githubToken|authorization|auth[_-]?token|cookie|session|credential|bearer"
    r"|\Atoken\Z|[_-]token\Z|\Atoken[_-]",
    _FLAGS,
)
_PEM: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)
_AUTHORIZATION: Final = re.compile(
    rf"(\bAuthorization{_S}*:{_S}*)(?:Bearer{_S}+)?[^\n\r,;}}]+", _FLAGS
)
_BEARER: Final = re.compile(rf"\bBearer{_S}+[A-Za-z0-9._~+/=-]{{8,}}", _FLAGS)
_QUOTED: Final = re.compile(
    rf"(?P<head>(?P<kq>[\"']?)(?P<name>{_NAME})(?P=kq){_S}*[:=]{_S}*(?P<q>[\"']))(?P<value>.*?)(?P=q)",
    re.ASCII | re.DOTALL,
)
_UNQUOTED: Final = re.compile(
    rf"(?P<head>(?P<kq>[\"']?)(?P<name>{_NAME})(?P=kq){_S}*[:=]{_S}*)"
    rf"(?P<value>(?!{_S})[^\"',;}}\]][^,;}}\]\n\r]*)",
    re.ASCII,
)
_LITERALS: Final = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|AKIA[0-9A-Z]{16}|xox[baprs]-[A-Za-z0-9-]{10,})\b",
    re.ASCII,
)


def is_sensitive_name(name: str) -> bool:
    """Whether a member or variable of this name holds a secret (formats.md 1.5.3)."""
    return _SENSITIVE.search(name) is not None


def redact_text(text: str) -> str:
    """Replace what looks like a secret in free text (formats.md 1.5.4)."""
    if not text:
        return text
    text = _PEM.sub(REDACTED, text)
    text = _AUTHORIZATION.sub(rf"\1{REDACTED}", text)
    text = _BEARER.sub(f"Bearer {REDACTED}", text)
    text = _QUOTED.sub(_assignment(quoted=True), text)
    text = _UNQUOTED.sub(_assignment(quoted=False), text)
    return _LITERALS.sub(REDACTED, text)


def _assignment(*, quoted: bool) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if not is_sensitive_name(match["name"]):
            return match[0]
        if quoted:
            return f"{match['head']}{REDACTED}{match['q']}"
        if match["value"].startswith("[redacted"):
            return match[0]
        return match["head"] + REDACTED

    return replace
