"""Replacing secrets in text and values (formats.md 1.5).

Two readings of the same rules. `PEER` is what the peer's functions do, byte for byte. `Redactor`
with `strict` (what a redacting store uses) finds everything the peer finds and more: secrets that
are malformed or inside other values (peer-defects.md P18), and JSON inside a string as JSON (W15).
Linear in the size of the text; no call keeps other threads waiting for long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from oma_desktop.model import redaction_assignments as assignments
from oma_desktop.model import redaction_finds as finds
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.redaction_finds import REDACTED, replace_hits
from oma_desktop.model.redaction_names import is_sensitive_name, mentions

__all__ = ["REDACTED", "TextRules", "compile_patterns", "is_sensitive_name", "redact_text"]

_LITERAL_STARTS: Final = ("sk-", "hp_", "ho_", "hu_", "hs_", "hr_", "github_pat_", "AKIA", "xox")
_KEY: Final = "PRIVATE KEY"
_REACH: Final = 16
"""Longer than any of these."""


def compile_patterns(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Return a caller's own expressions, applied after all rules (formats.md 1.5.4 row 7).

    Raises InvalidInput REDACT_PATTERN_INVALID with `pattern`, `problem`, `index`.
    """
    compiled = []
    for index, pattern in enumerate(patterns):
        try:
            compiled.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidInput(
                "REDACT_PATTERN_INVALID", pattern=pattern, problem=str(error), index=index
            ) from None
    return tuple(compiled)


class TextRules:
    """The rules for free text, with a caller's own expressions behind them."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = (), *, strict: bool = False) -> None:
        self._patterns = tuple(patterns)
        self._strict = strict

    def __call__(self, text: str) -> str:
        """Replace what looks like a secret."""
        if not text:
            return text
        text = self._key_blocks(text)
        if found := mentions(text):
            if "authorization" in found:
                text = replace_hits(text, finds.authorization(text))
            if "bearer" in found:
                text = replace_hits(text, finds.bearer(text))
            text = self._assignments(text)
        if _has_any(text, _LITERAL_STARTS):
            text = replace_hits(text, finds.token_literals(text))
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def may_change(self, text: str) -> bool:
        """Whether there is anything in the text that a rule looks for: a cheap test.

        What is true of a text is true of its parts.
        """
        if self._patterns or _has_any(text, (_KEY, *_LITERAL_STARTS)):
            return bool(text)
        return bool(mentions(text))

    def _key_blocks(self, text: str) -> str:
        if not _has_any(text, (_KEY,)):
            return text
        blocks = finds.damaged_key_blocks if self._strict else finds.key_blocks
        return replace_hits(text, blocks(text))

    def _assignments(self, text: str) -> str:
        if self._strict:
            text = replace_hits(text, assignments.quoted_strict(text))
            return replace_hits(text, assignments.unquoted_strict(text))
        text = replace_hits(text, assignments.quoted(text))
        return replace_hits(text, assignments.unquoted(text))


def _has_any(text: str, words: Sequence[str]) -> bool:
    """Whether one of the words stands in the text; looked for in windows."""
    if len(text) <= finds.WINDOW:
        return any(word in text for word in words)
    return any(
        word in piece
        for at in range(0, len(text), finds.WINDOW)
        for piece in (text[at : at + finds.WINDOW + _REACH],)
        for word in words
    )


_PEER: Final = TextRules()


def redact_text(text: str, patterns: Sequence[re.Pattern[str]] = ()) -> str:
    """Replace what looks like a secret in free text, exactly as the peer (formats.md 1.5.4)."""
    return TextRules(patterns)(text) if patterns else _PEER(text)
