"""A run of any size for the benches: tasks, results with conversations, one entry in flight."""

from __future__ import annotations

from typing import Any

from oma_desktop.engine.budget import RunBudget
from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.queueing.queue import TaskQueue
from oma_desktop.engine.run_state import RunState
from oma_desktop.model.result import RunIdentity

AT = "2026-01-01T00:00:00.000Z"
SAYING = '结果 ok, see "log" of C:\\temp\n'  # quoting twice makes some of it longer
CHANGED = 22_000  # bytes of the messages that are new at each save, twice in the file


class BigRun:
    """`state`, and `change`, which gives the entry in flight a new message, as a real turn does."""

    def __init__(self, state: RunState) -> None:
        self.state = state

    def change(self, n: int) -> None:
        message = saying(n, CHANGED)
        self.state.entries["flying"] = {
            "taskId": "flying",
            "assignee": "a",
            "phase": "awaiting_model",
            "conversationMessages": [message],
            "messages": [message],
            "tokenUsage": {"input_tokens": n, "output_tokens": n},
            "toolCalls": [],
            "turns": n,
        }


def saying(n: int, size: int) -> Any:
    text = f"{n} " + SAYING * max(1, size // len(SAYING.encode()))
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def big_run(*, tasks: int, done: int, megabytes: float) -> BigRun:
    """A run of so many tasks, `done` of them completed, whose snapshot has about that size."""
    queue = TaskQueue(now=lambda: AT)
    bus = MessageBus(now=lambda: AT, new_id=lambda: "m")
    identity = RunIdentity("bench", 1, "0" * 31 + "1", "0" * 15 + "1")
    state = RunState("runTasks", identity, queue, bus, RunBudget(None))
    each = int(megabytes * 1e6 / 1.3 / max(done, 1)) - 600
    for n in range(tasks):
        queue.load([task(f"t{n}", "completed" if n < done else "blocked")])
        if n < done:
            state.completed[f"t{n}"] = result(n, max(each, 10))
    queue.load([task("flying", "in_progress")])
    run = BigRun(state)
    run.change(-1)
    return run


def task(task_id: str, status: str) -> Any:
    return {
        "id": task_id,
        "title": f"Task {task_id}",
        "description": "Do it.",
        "status": status,
        "assignee": "a",
        "dependsOn": [],
        "createdAt": AT,
        "updatedAt": AT,
    }


def result(n: int, size: int) -> Any:
    messages = [saying(n, size // 4) for _ in range(4)]
    return {
        "taskId": f"t{n}",
        "assignee": "a",
        "result": "done",
        "agentResult": {
            "success": True,
            "output": "done",
            "messages": messages,
            "tokenUsage": {"input_tokens": 1, "output_tokens": 2},
            "toolCalls": [],
        },
    }
