"""The final answer as JSON that fits a schema (engine.md 3.10). Finding and judging, no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from oma_desktop.engine.tools.schema import ArgumentSchema
from oma_desktop.model.errors import Corrupt
from oma_desktop.model.json_text import parse, stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import Message

REPAIR_START: Final = "Your last answer could not be used as the required JSON."
_JSON_FENCE: Final = re.compile(r"```json[ \t]*\r?\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ANY_FENCE: Final = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)


Check: TypeAlias = Callable[[JsonValue], str | None]


@dataclass(frozen=True, slots=True)
class Judged:
    """A validated value, or the problem that keeps the answer from being used."""

    value: JsonValue = None
    problem: str | None = None


def instruction(schema: JsonObject) -> str:
    """What is added to the system prompt of an agent with an output schema."""
    return (
        "Your final answer must be one JSON value and nothing else. It must fit this JSON Schema:\n"
        f"{stringify(schema)}"
    )


def feedback(problem: str) -> str:
    """The one repair message after an unusable answer."""
    return f"{REPAIR_START}\n\n{problem}\n\nAnswer again with the JSON value only."


def was_repaired(messages: list[Message]) -> bool:
    """Whether the one repair was used already, also before a restore (DEV-08)."""
    return any(
        block["type"] == "text" and block["text"].startswith(REPAIR_START)
        for message in messages
        if message["role"] == "user"
        for block in message["content"]
    )


def judge(text: str, schema: JsonObject, check: Check | None = None) -> Judged:
    """Take the first readable JSON that fits; otherwise tell what is wrong with the first one.

    Looked at in this order: the whole text, a json fence, any fence, outermost braces, brackets.
    `check` has the last word on a value that fits the schema.
    """
    checker = ArgumentSchema(schema)
    problem: str | None = None
    for candidate in _candidates(text):
        try:
            value = parse(candidate)
        except Corrupt:
            continue
        checked = checker.check(value)
        if not checked.issues:
            wrong = check(checked.value) if check is not None else None
            return Judged(checked.value) if wrong is None else Judged(problem=wrong)
        problem = problem or "\n".join(checked.issues)
    return Judged(problem=problem or f"No JSON was found. The answer began with: {text[:200]!r}")


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    for pattern in (_JSON_FENCE, _ANY_FENCE):
        for match in pattern.finditer(text):
            yield match[1].strip()
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]
