"""From a saved run to one that can go on (formats.md 2.4; engine.md 7.7).

Everything is validated before anything is changed (W9): the loader checks the snapshot itself,
`refuse_missing_agents` the team, then `revive` builds the live state. Approvals: `reconciliation`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, cast

from oma_desktop.engine.budget import RunBudget, settled_at_restore
from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.queueing.nested_usage import entry_usage
from oma_desktop.engine.queueing.queue import TERMINAL, TaskQueue
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.tasks.planning import UNRESOLVED
from oma_desktop.model.checkpoint import (
    CheckpointSnapshot,
    CompletedTaskResult,
    InFlightEntry,
    TaskSnapshot,
)
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.lenient import text_at
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.own_facts import answer_of, unsure_calls
from oma_desktop.model.result import RunIdentity, no_usage

_KNOWN: Final = frozenset(CheckpointSnapshot.__annotations__)
_OF_A_JOURNAL: Final = frozenset(("conversationLineage", "journalSeq"))
_OWN_LIVE: Final = frozenset(("usage", "end", "retries", "unsure", "verify", "answer"))


def refuse_missing_agents(snapshot: CheckpointSnapshot, agents: Collection[str]) -> None:
    """Raise InvalidInput RESTORE_AGENTS_MISSING before anything runs (DEV-29)."""
    missing = sorted(
        {
            t["assignee"]
            for t in snapshot["queue"]["tasks"]
            if t["status"] not in TERMINAL and "assignee" in t and t["assignee"] not in agents
        }
    )
    if missing:
        raise InvalidInput("RESTORE_AGENTS_MISSING", agents=missing)


def revive(
    snapshot: CheckpointSnapshot,
    identity: RunIdentity,
    *,
    own: JsonObject,
    budget_limit: int | None,
    now: Callable[[], str],
    new_id: Callable[[], str],
    queue_listener: Callable[[str, str], None],
    retry_failed: bool,
) -> RunState:
    """Build the live state of the next attempt. `own` are our own facts of the snapshot."""
    saved_tasks = snapshot["queue"]["tasks"]
    entries = {e["taskId"]: _unjournaled(e) for e in snapshot.get("inFlightTasks", [])}
    if retry_failed:
        saved_tasks = reopened(saved_tasks, now())
    queue = TaskQueue(now=now, listener=queue_listener)
    queue.load(reset_for_resume(saved_tasks, now=now()))
    completed = {r["taskId"]: with_result(r, t) for r, t in _results(snapshot)}
    messages = MessageBus(now=now, new_id=new_id)
    if "messageBus" in snapshot:
        messages.restore(snapshot["messageBus"])
    usage = settled_at_restore(
        cast("TokenUsage | None", own.get("usage")),
        [usage_of(r) for r in completed.values()],
        [entry_usage(e) for e in entries.values()],
    )
    state = RunState(
        mode=snapshot["mode"],
        identity=identity,
        queue=queue,
        messages=messages,
        budget=RunBudget(budget_limit, settled=usage),
        goal=snapshot.get("goal"),
        metadata=snapshot.get("metadata"),
        completed=completed,
        entries=entries,
        dispatched=set(entries),
        retries=_retries(own, queue),
        own_extra={k: v for k, v in own.items() if k not in _OWN_LIVE},
        snapshot_extra=cast("JsonObject", {k: v for k, v in snapshot.items() if k not in _KNOWN}),
        queue_extra=snapshot["queue"],
    )
    if queue.complete:  # whatever runs from now on, the answer of before no longer fits
        state.coordination.answer = answer_of(own)
    state.carried = {t["id"]: carried_task(t) for t in saved_tasks if t["id"] in entries}
    return state


def doubt(state: RunState, own: JsonObject) -> None:
    """Note which open calls an earlier attempt may have started; decisions are adopted already.

    After our own suspension those noted before, after anything else every call that could run.
    """
    opened = {pair for task_id in state.entries for pair in state.open_calls(task_id)}
    state.unsure = opened & unsure_calls(own)
    if text_at(own.get("end"), "status") != "suspended":
        for task_id in state.entries:
            state.unsure |= state.open_calls(task_id, waiting=False)


def reset_for_resume(tasks: list[TaskSnapshot], *, now: str) -> list[TaskSnapshot]:
    """Tasks in progress become pending, then readiness decides (formats.md 2.6.4)."""
    done = {t["id"] for t in tasks if t["status"] == "completed"}
    return [_reset(t, done, now) for t in tasks]


def _reset(task: TaskSnapshot, done: set[str], now: str) -> TaskSnapshot:
    if task["status"] in TERMINAL:
        return task
    status = "pending" if done.issuperset(task.get("dependsOn", ())) else "blocked"
    if task["status"] == status:
        return task
    return cast("TaskSnapshot", {**task, "status": status, "updatedAt": now})


def carried_task(task: TaskSnapshot) -> TaskSnapshot:
    """The task as the file shows it until it starts again: in progress (W2)."""
    return cast("TaskSnapshot", {**task, "status": "in_progress"})


def reopenable(tasks: Sequence[TaskSnapshot]) -> set[str]:
    """The ids `retry_failed` opens: failed tasks, and those skipped behind a skipped one.

    What waits for a task that stays failed or skipped stays as it is, too: it could never begin.
    """
    wanted = {t["id"] for t in tasks if _may_reopen(t)}
    waiting: dict[str, list[str]] = {}
    for task in tasks:
        for dep in task.get("dependsOn", ()):
            waiting.setdefault(dep, []).append(task["id"])
    shut = [
        t["id"] for t in tasks if t["status"] in {"failed", "skipped"} and t["id"] not in wanted
    ]
    while shut:
        behind = wanted.intersection(waiting.get(shut.pop(), ()))
        wanted -= behind
        shut.extend(behind)
    return wanted


def _may_reopen(task: TaskSnapshot) -> bool:
    """A task with a dependency that does not exist is never run as if it had none (P15)."""
    if "supersededByRevision" in task or "recoveredByRevision" in task:
        return False
    why = task.get("result", "")
    if task["status"] == "failed":
        return not why.startswith(UNRESOLVED)
    return task["status"] == "skipped" and why.startswith("Skipped: dependency ")


def reopened(tasks: Sequence[TaskSnapshot], now: str) -> list[TaskSnapshot]:
    """The tasks, those that may be tried again as if they had not run (`retry_failed`)."""
    opened = reopenable(tasks)
    return [_unrun(t, now) if t["id"] in opened else t for t in tasks]


def _unrun(task: TaskSnapshot, now: str) -> TaskSnapshot:
    """The task as if it had not run; its dependencies decide whether it is ready."""
    copy = {k: v for k, v in task.items() if k != "result"}
    return cast("TaskSnapshot", {**copy, "status": "pending", "updatedAt": now})


def _unjournaled(entry: InFlightEntry) -> InFlightEntry:
    """The entry without its marks of a run journal: without one, v4 is written (formats.md 2.3)."""
    kept = {k: v for k, v in entry.items() if k not in _OF_A_JOURNAL}
    return cast("InFlightEntry", kept)


def _results(
    snapshot: CheckpointSnapshot,
) -> Iterator[tuple[CompletedTaskResult, TaskSnapshot]]:
    tasks = {t["id"]: t for t in snapshot["queue"]["tasks"]}
    known: set[str] = set()
    for result in snapshot["completedTaskResults"]:
        if result["taskId"] in tasks:
            known.add(result["taskId"])
            yield result, tasks[result["taskId"]]
    for task in tasks.values():
        if task["status"] == "completed" and task["id"] not in known:
            yield {"taskId": task["id"]}, task


def with_result(result: CompletedTaskResult, task: TaskSnapshot) -> CompletedTaskResult:
    """The record with an AgentRunResult; where only text survived, a minimal success (2.7)."""
    if "agentResult" in result:
        return result
    text = result.get("result", task.get("result", ""))
    minimal: JsonObject = {
        "success": True,
        "output": text,
        "messages": [],
        "tokenUsage": cast("JsonValue", no_usage()),
        "toolCalls": [],
    }
    return cast("CompletedTaskResult", {**result, "agentResult": minimal})


def usage_of(result: CompletedTaskResult) -> TokenUsage:
    """The usage of a completed result; what is missing or unusable counts as zero."""
    found = result.get("agentResult", {}).get("tokenUsage")
    numbers = found if isinstance(found, dict) else {}
    return {
        "input_tokens": _count(numbers.get("input_tokens")),
        "output_tokens": _count(numbers.get("output_tokens")),
    }


def _count(value: JsonValue) -> int:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return int(value) if usable and value < 2**53 else 0  # type: ignore[arg-type, operator]


def _retries(own: JsonObject, queue: TaskQueue) -> dict[str, int]:
    saved = own.get("retries")
    if not isinstance(saved, dict):
        return {}
    return {
        task_id: int(n)
        for task_id, n in saved.items()
        if task_id in queue
        and queue.status(task_id) not in TERMINAL
        and isinstance(n, int)
        and not isinstance(n, bool)
        and n > 0
    }
