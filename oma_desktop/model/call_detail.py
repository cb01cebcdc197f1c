"""Whole input and output of one tool call, read on demand (ux.md C5, Inspector)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from oma_desktop.model.call_ledger import RoundCall, calls_of_entry, calls_of_result
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import object_at, objects_at
from oma_desktop.model.media import content_text


@dataclass(frozen=True, slots=True)
class CallDetail:
    """Whole input and output of one tool call, as text; `input` is JSON text."""

    task_id: str
    call_id: str
    tool: str
    input: str
    output: str | None
    is_error: bool = False


def call_detail(
    snapshot: CheckpointSnapshot, task_id: str, call_id: str, *, round_: int | None = None
) -> CallDetail | None:
    """Return one call, the newest with this id unless `round_` names its turn; None if unknown."""
    found = [
        c
        for c in _calls(cast("JsonObject", snapshot), task_id)
        if c.id == call_id and round_ in (None, c.round)
    ]
    if not found:
        return None
    call = found[-1]
    result = call.result
    return CallDetail(
        task_id,
        call_id,
        call.tool,
        stringify(call.call.get("input")),
        None if result is None else content_text(result.get("content")),
        is_error=result is not None and result.get("is_error") is True,
    )


def _calls(snapshot: JsonObject, task_id: str) -> Iterator[RoundCall]:
    for item in objects_at(snapshot, "completedTaskResults"):
        if item.get("taskId") == task_id:
            yield from calls_of_result(object_at(item, "agentResult"))
    for entry in objects_at(snapshot, "inFlightTasks"):
        if entry.get("taskId") == task_id:
            yield from calls_of_entry(entry)
