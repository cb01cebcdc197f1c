"""Whether one agent is enough for a goal, from its wording alone (engine.md 4.2).

A goal is simple when it says little and asks for no division of work. Questions about work ("how do
teams work together?") are no orders to divide it, so what is only hinted at counts in orders only.
"""

from __future__ import annotations

import math
import re
from typing import Final

from oma_desktop.engine.coordination import goal_words as words

SIMPLE_LIMIT: Final = 200
WORD_WEIGHT: Final = 4
LONG_RUN: Final = 32
CJK_WEIGHT: Final = 2.25

_LATIN: Final = "A-Za-z0-9\u00c0-\u024f"
_CJK: Final = (
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_PIECES: Final = re.compile(rf"(?P<run>[{_LATIN}]+)|(?P<cjk>[{_CJK}])|(?P<other>\S)")


def is_simple(goal: str) -> bool:
    """Say whether one agent may take the goal as it is."""
    return estimate(goal) <= SIMPLE_LIMIT and complexity(goal) is None


def estimate(goal: str) -> int:
    """How much a goal says: words count up to 4, endless runs by length, a CJK character 2.25."""
    total = 0.0
    for piece in _PIECES.finditer(goal):
        if run := piece["run"]:
            total += len(run) if len(run) > LONG_RUN else min(len(run), WORD_WEIGHT)
        else:
            total += CJK_WEIGHT if piece["cjk"] else 1
    return math.ceil(total)


def complexity(goal: str) -> str | None:
    """Return the name of the first sign that work should be divided; None when there is none."""
    for name, pattern in words.PLAIN_SIGNS:
        if pattern.search(goal):
            return name
    if _numbered(goal):
        return "numbered list"
    if goal.count("\u3001") >= words.DENSE:
        return "dense enumeration"
    if _joined_clauses(goal):
        return "joined clauses"
    if _two_orders(goal):
        return "two orders"
    return None if words.ABOUT.search(goal) else _hint(goal)


def _hint(goal: str) -> str | None:
    return next((name for name, pattern in words.HINTS if pattern.search(goal)), None)


def _numbered(goal: str) -> bool:
    """Two or more numbered items, or two different numbers of steps, phases or stages."""
    items = {m[1] for m in words.LIST_ITEM.finditer(goal)}
    steps = {m[1] for m in words.STEP.finditer(goal)}
    return len(items) > 1 or len(steps) > 1


def _joined_clauses(goal: str) -> bool:
    """Semicolons between parts that each say something."""
    parts = re.split("[;\uff1b]", goal)
    return sum(estimate(part) >= words.CLAUSE for part in parts) > 1


def _two_orders(goal: str) -> bool:
    """An order, and another one after a connective: `research the market and write a report`.

    A pair inside an infinitive (`a form to add and edit users`) is one thing that is described.
    """
    first = words.ORDER.match(goal)
    if first is None:
        return False
    for second in words.NEXT_ORDER.finditer(goal, first.end()):
        if not words.INFINITIVE.search(goal[: second.start()]):
            return True
    return False
