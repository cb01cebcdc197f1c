"""Patterns for file names, matched in steps bounded by pattern times name: no backtracking.

`*` and `?` stay inside a name, `**` stands for any folders, `{a,b}` for either; letter case does
not count. A pattern without a slash fits the name in whatever folder (engine.md 9.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oma_desktop.engine.tools.builtin.refusal import Refusal

MAX_ALTERNATIVES: Final = 64
_ANY: Final = "**"


class GlobPattern:
    """One pattern, ready to match. Raises Refusal PATTERN_INVALID."""

    def __init__(self, pattern: str) -> None:
        if not pattern.strip("/"):
            raise Refusal("PATTERN_INVALID", "The pattern is empty.")
        self._choices = [_steps(choice) for choice in _alternatives(pattern.casefold())]

    def fits(self, steps: Sequence[str]) -> bool:
        """Whether a relative path, given by its steps, fits."""
        folded = [step.casefold() for step in steps]
        return any(_fits(choice, folded) for choice in self._choices)


def _alternatives(pattern: str) -> list[str]:
    """Spell out braces; what does not close is taken as it stands."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        close = text.find("}")
        open_ = text.rfind("{", 0, close) if close >= 0 else -1
        if open_ < 0:
            done.append(text)
        else:
            inner = text[open_ + 1 : close].split(",")
            waiting += [text[:open_] + one + text[close + 1 :] for one in reversed(inner)]
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            why = f"The pattern has more than {MAX_ALTERNATIVES} alternatives."
            raise Refusal("PATTERN_INVALID", why)
    return done


def _steps(pattern: str) -> list[str]:
    steps = [step for step in pattern.split("/") if step not in {"", "."}]
    anywhere = "/" not in pattern.strip("/")
    return [_ANY, *steps] if anywhere else steps


def _fits(pattern: Sequence[str], steps: Sequence[str]) -> bool:
    """Match folder by folder: `reached[i]` says that the first `i` steps fit the pattern so far."""
    reached = [True] + [False] * len(steps)
    for part in pattern:
        if part == _ANY:
            first = reached.index(True) if True in reached else len(reached)
            reached = [at >= first for at in range(len(reached))]
        else:
            reached = [False] + [
                was and name_fits(part, step) for was, step in zip(reached, steps, strict=False)
            ]
    return reached[-1]


def name_fits(pattern: str, name: str) -> bool:
    """Match one name against `*` and `?`, going back to the last `*` only."""
    at = i = mark = 0
    star = -1
    while i < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, i
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[i]):
            at, i = at + 1, i + 1
        elif star >= 0:
            mark += 1
            at, i = star + 1, mark
        else:
            return False
    return all(char == "*" for char in pattern[at:])
