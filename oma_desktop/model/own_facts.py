"""Our own facts in a snapshot, key `omaDesktop` (formats.md 2.12); nothing may depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.lenient import object_at, objects_at, text_at, texts_at
from oma_desktop.model.loader_rules import COUNT, STRING, USAGE

OWN_KEY = "omaDesktop"


def own_facts(snapshot: Mapping[str, object]) -> JsonObject:
    """Return the facts that have their proper form; whatever else stands there is left out."""
    facts = cast("JsonValue", snapshot.get(OWN_KEY))
    if not isinstance(facts, dict):
        return {}
    return {name: value for name, value in facts.items() if _is_proper(name, value)}


def unsure_calls(own: JsonObject) -> frozenset[tuple[str, str]]:
    """Return (task id, call id) of the calls that may have started before a clean suspension.

    `own` is what `own_facts` returned; entries without their proper form are left out.
    """
    pairs = {
        (text_at(item, "taskId"), text_at(item, "toolCallId")) for item in objects_at(own, "unsure")
    }
    return frozenset(pair for pair in pairs if all(pair))


def judges_of(own: JsonObject, task_id: str) -> tuple[str, ...]:
    """Return who judges the answer of a task that is not completed yet (DEV-23)."""
    wish = object_at(object_at(own, "verify"), task_id)
    return texts_at(wish, "judges")


def answer_of(own: JsonObject) -> str | None:
    """Return the closing answer of a run of a goal, where one was written (P13)."""
    answer = own.get("answer")
    text = answer.get("text") if isinstance(answer, dict) else None
    return text if isinstance(text, str) else None


def _is_proper(name: str, value: JsonValue) -> bool:
    if name == "usage":
        return USAGE.test(value)
    if name == "unsure":
        return isinstance(value, list)
    if not isinstance(value, dict):
        return False
    if name == "answer":
        return STRING.test(value.get("text"))
    if name == "end":
        return all(STRING.test(value.get(part)) for part in ("status", "at", "by"))
    if name == "retries":
        return all(COUNT.test(count) for count in value.values())
    return True
