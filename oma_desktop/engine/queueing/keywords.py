"""Words of a text for matching tasks with agents (engine.md 2.6).

Without a word segmenter, runs of Han, Kana and Hangul give their character bigrams; scores may
therefore differ from the peer's.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_RUN: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
# fmt: off
_COMMON: Final = frozenset((
    "about", "also", "been", "before", "does", "each", "from", "have", "into", "just", "made",
    "make", "more", "most", "must", "only", "other", "over", "same", "should", "some", "such",
    "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "through",
    "under", "very", "were", "what", "when", "where", "which", "while", "will", "with", "would",
    "your",
))
# fmt: on


def keywords(text: str) -> frozenset[str]:
    """Lower-case words longer than three letters that are not common, and CJK bigrams."""
    found: set[str] = set()
    for run in _RUN.findall(text.lower()):
        if run[0] >= "\u3040" and re.match(f"[{_CJK}]", run):
            found.update(a + b for a, b in pairwise(run))
        elif len(run) > 3 and run not in _COMMON:
            found.add(run)
    return frozenset(found)
