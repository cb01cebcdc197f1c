"""What a run did, collected from its events: the `log` of product.md 6."""

from __future__ import annotations

from typing import Final

from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.tasks.judging import JUDGING
from oma_desktop.model.json_value import JsonObject, JsonValue

_NOTABLE: Final = frozenset(
    (
        "approval_pending",
        "budget_exceeded",
        "error",
        "plan_revision",
        "recovery_decision",
        "task_retry",
        "task_skipped",
        "warning",
    )
)


class RunLog:
    """Listens to one run. `close` stops listening; the lists stay readable."""

    def __init__(self, bus: EventBus) -> None:
        self.model_calls: list[str] = []
        self.tools: list[JsonObject] = []
        self.gates: list[JsonObject] = []
        self.notable: list[JsonObject] = []
        self._titles: dict[str | None, object] = {}
        self._forget = bus.subscribe(self._hear)

    def close(self) -> None:
        """Stop listening."""
        self._forget()

    def to_json(self) -> JsonObject:
        """The `log` document."""
        return {
            "modelCalls": list(self.model_calls),
            "toolCallsExecuted": list(self.tools),
            "gateCalls": list(self.gates),
            "notableEvents": list(self.notable),
        }

    def _hear(self, event: ProgressEvent) -> None:
        match event.type:
            case "task_start":
                self._titles[event.task] = event.data.get("title")
            case "model_call":
                task, turn = _own_task(event.task), event.data["turn"]
                title = self._titles.get(task, _taskless(task))
                what = "summary before turn" if event.data.get("phase") == "summary" else "turn"
                self.model_calls.append(f"{event.agent} | {title} | {what} {turn}")
            case "tool_start":
                self.tools.append(
                    {
                        "id": _text(event.data.get("toolCallId")),
                        "name": _text(event.data.get("tool")),
                        "agent": event.agent,
                    }
                )
            case "gate_call":
                self.gates.append({k: _plain(v) for k, v in event.data.items()})
            case name if name in _NOTABLE:
                self.notable.append(_notable(event))


def _own_task(task: str | None) -> str | None:
    """The task itself, also for what its judges do."""
    return None if task is None else task.partition(JUDGING)[0]


def _taskless(task: str | None) -> str:
    """The name of work that is no task: the coordinator's questions, else one agent alone."""
    return task if task is not None and task.startswith("@") else "@other"


def _notable(event: ProgressEvent) -> JsonObject:
    doc: JsonObject = {"type": event.type}
    if event.task is not None:
        doc["task"] = event.task
    for key in ("kind", "code", "decision", "problem", "error"):
        if isinstance(event.data.get(key), str):
            doc[key] = _text(event.data[key])
    info = event.data.get("errorInfo")
    if event.type == "error" and isinstance(info, dict):
        doc["error"] = _text(info.get("message") or info.get("code") or "")
    return doc


def _text(value: object) -> JsonValue:
    return value if isinstance(value, str) else str(value)


def _plain(value: object) -> JsonValue:
    return [_text(item) for item in value] if isinstance(value, list) else _text(value)
