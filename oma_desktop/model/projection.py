"""From one store file to its picture: a pure, total function (house.md 2.3, ux.md C2).

What a restore would refuse is shown all the same, with its problem: one unreadable checkpoint
never hides the others. Only `StoreView` leaves this module, no document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from oma_desktop.model.approval_views import (
    LedgerRow,
    approval_views,
    read_ledger,
    valid_rows,
)
from oma_desktop.model.call_ledger import calls_of_entry, calls_of_result, ledger
from oma_desktop.model.checkpoint import CheckpointSnapshot
from oma_desktop.model.checkpoint_loader import examine_snapshot
from oma_desktop.model.container import Container, ContainerEntry
from oma_desktop.model.effects import known_effects
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_text import STORE_DEPTH, parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.keys import is_checkpoint_key, is_reserved_key
from oma_desktop.model.lenient import (
    items_at,
    maybe_text_at,
    maybe_whole_at,
    moment_at,
    object_at,
    objects_at,
    text_at,
    texts_at,
    whole_at,
)
from oma_desktop.model.own_facts import answer_of, own_facts
from oma_desktop.model.preview import first_line, utf8_size
from oma_desktop.model.problem import problem_of
from oma_desktop.model.run_facts import RunFacts, agent_of, gather, run_id_of
from oma_desktop.model.run_states import has_work, run_state, task_state
from oma_desktop.model.view import (
    ApprovalView,
    Effect,
    Owner,
    OwnerKind,
    Problem,
    RunState,
    RunView,
    StoreView,
    TaskView,
    Usage,
)

LIVE_OWNERS: Final = frozenset({OwnerKind.THIS_APP, OwnerKind.OTHER_PROCESS})
DECIDERS: Final = frozenset({"approve", "reject", "review", "reviewer"})
"""Last words of what a lock calls its owner when it is held only to write a decision."""
_CLOCK_SLACK: Final = timedelta(minutes=1)
_ANSWER_LIMIT: Final = 4000


def project_store(
    container: Container,
    *,
    path: str,
    owner: Owner,
    read_at: datetime,
    modified_at: datetime | None,
    size: int,
    now: datetime,
    owners: Mapping[str, Owner] | None = None,
) -> StoreView:
    """Return the picture of one store.

    `owner` is what the lock file says; `owners`, for a database, what the lease of each run says;
    `read_at` when the bytes were read; `now` judges only whether times in the file lie in the
    future. Never raises on any container.
    """
    approvals_of_store = read_ledger(container)
    loaded = [
        _load(entry, approvals_of_store)
        for entry in container.entries
        if is_checkpoint_key(entry.key)
    ]
    loaded = _give_writer(loaded, owner) if owners is None else [_led(r, owners) for r in loaded]
    runs = {r.key: (r.facts, r.snapshot) for r in loaded if r.facts and r.snapshot}
    approvals = tuple(approval_views(approvals_of_store, runs))
    return StoreView(
        path=path,
        runs=tuple(_owned_run(r, owner, owners, approvals, now=now) for r in loaded),
        approvals=approvals,
        owner=owner,
        size=size,
        read_at=read_at,
        modified_at=modified_at,
        problems=container.problems,
        shared_memory_keys=tuple(e.key for e in container.entries if not is_reserved_key(e.key)),
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """One checkpoint as far as it could be read. Readable when `facts` is there."""

    key: str
    document: JsonObject
    snapshot: CheckpointSnapshot | None
    facts: RunFacts | None
    problems: tuple[Problem, ...]


def load_run(container: Container, key: str) -> Loaded | None:
    """Read the checkpoint under `key`; None when there is none."""
    entry = next((e for e in container.entries if e.key == key), None)
    return None if entry is None else _load(entry, read_ledger(container))


def _load(entry: ContainerEntry, approvals: Mapping[str, LedgerRow]) -> Loaded:
    document: JsonValue = None
    try:
        document = parse(entry.value, where=entry.key, max_depth=STORE_DEPTH)
        loaded = examine_snapshot(document, where=entry.key)
    except OmaError as error:
        problem = problem_of(error, entry.key)
        return Loaded(entry.key, object_at(document), None, None, (problem,))
    facts = gather(loaded.snapshot, valid_rows(approvals), live=False)
    return Loaded(entry.key, object_at(document), loaded.snapshot, facts, loaded.problems)


def _give_writer(loaded: list[Loaded], owner: Owner) -> list[Loaded]:
    """Tell which runs the living writer works on: the lock names the store, not the run.

    With one unfinished run it is that one; with several, those saved since the writer's process
    began. An older one beside them stays interrupted.
    """
    if owner.kind not in LIVE_OWNERS or (owner.app or "").rpartition(" ")[2] in DECIDERS:
        return loaded
    candidates = [r.key for r in loaded if r.facts and has_work(r.facts)]
    return [
        replace(r, facts=replace(r.facts, live=True))
        if r.facts and (candidates == [r.key] or _saved_since(r.facts, owner.since))
        else r
        for r in loaded
    ]


def _led(loaded: Loaded, owners: Mapping[str, Owner]) -> Loaded:
    """Tell whether a run has a living writer, where every run has a lease of its own."""
    owner = owners.get(loaded.key)
    if loaded.facts is None or owner is None or owner.kind not in LIVE_OWNERS:
        return loaded
    return replace(loaded, facts=replace(loaded.facts, live=True))


def _saved_since(facts: RunFacts, since: datetime | None) -> bool:
    saved_at = moment_at(facts.snapshot, "createdAt")
    return since is None or saved_at is None or saved_at >= since


def _owned_run(
    loaded: Loaded,
    owner: Owner,
    owners: Mapping[str, Owner] | None,
    approvals: tuple[ApprovalView, ...],
    *,
    now: datetime,
) -> RunView:
    if owners is None:
        return _run(loaded, owner, approvals, now=now)
    own = owners.get(loaded.key, owner)
    return replace(_run(loaded, own, approvals, now=now), owner=own)


def _run(
    loaded: Loaded, owner: Owner, approvals: tuple[ApprovalView, ...], *, now: datetime
) -> RunView:
    facts = loaded.facts
    if facts is None:
        return _unreadable(loaded)
    snapshot = facts.snapshot
    tasks = tuple(_tasks(facts))
    saved_at = moment_at(snapshot, "createdAt")
    starts = [t.created_at for t in tasks if t.created_at is not None]
    return RunView(
        key=loaded.key,
        run_id=facts.run_id,
        state=run_state(facts, owner.kind),
        version=whole_at(snapshot, "version"),
        mode=text_at(snapshot, "mode"),
        goal=maybe_text_at(snapshot, "goal"),
        answer=_answer(loaded.document),
        attempt=whole_at(object_at(snapshot, "identity"), "attempt") or 1,
        saved_at=saved_at,
        started_at=min(starts, default=None),
        tasks=tasks,
        usage=run_usage(snapshot),
        plan_revision=whole_at(object_at(snapshot, "queue"), "planRevision"),
        end=facts.end,
        n_open_approvals=sum(a.open and a.id in facts.open_ids for a in approvals),
        memory_keys=len(items_at(object_at(snapshot, "sharedMemory"), "entries")),
        problems=loaded.problems + tuple(_oddities(facts, saved_at, now)),
    )


def _unreadable(loaded: Loaded) -> RunView:
    document = loaded.document
    return RunView(
        key=loaded.key,
        run_id=run_id_of(document),
        state=RunState.UNKNOWN,
        readable=False,
        version=whole_at(document, "version"),
        mode=text_at(document, "mode"),
        goal=maybe_text_at(document, "goal"),
        saved_at=moment_at(document, "createdAt"),
        problems=loaded.problems,
    )


def _answer(snapshot: JsonObject) -> str:
    answer = answer_of(own_facts(snapshot)) or ""
    return answer if len(answer) <= _ANSWER_LIMIT else f"{answer[:_ANSWER_LIMIT]}\u2026"


def _oddities(facts: RunFacts, saved_at: datetime | None, now: datetime) -> Iterator[Problem]:
    for id_ in facts.tasks:
        if id_ in facts.doomed:
            title = text_at(facts.tasks[id_], "title")
            yield Problem("TASK_UNREACHABLE", "warning", id_, {"title": title})
    if saved_at is not None and saved_at - now > _CLOCK_SLACK:
        yield Problem("SAVED_IN_FUTURE", "warning", "$.createdAt")


def _tasks(facts: RunFacts) -> Iterator[TaskView]:
    results = {text_at(r, "taskId"): r for r in objects_at(facts.snapshot, "completedTaskResults")}
    effects = known_effects(facts.pending.values())
    added = _added_by(facts.snapshot)
    for id_, task in facts.tasks.items():
        view = _task(facts, id_, task, results.get(id_, {}), effects)
        yield replace(view, added_by=added[id_]) if id_ in added else view


def _added_by(snapshot: JsonObject) -> dict[str, int]:
    """Return which plan revision added a task, for those that one added (formats.md 7.5)."""
    return {
        id_: whole_at(revision, "version")
        for revision in objects_at(object_at(snapshot, "queue"), "planRevisions")
        for id_ in object_at(revision, "addedTasks").values()
        if isinstance(id_, str)
    }


def _task(
    facts: RunFacts,
    id_: str,
    task: JsonObject,
    result: JsonObject,
    effects: Mapping[str, Effect],
) -> TaskView:
    entry = facts.entries.get(id_)
    agent_result = object_at(result, "agentResult")
    calls = calls_of_result(agent_result) if entry is None else calls_of_entry(entry)
    source = agent_result if entry is None else entry
    messages = objects_at(source, "messages" if entry is None else "conversationMessages")
    output = maybe_text_at(result, "result") or text_at(task, "result")
    turns = sum(m.get("role") == "assistant" for m in messages)
    return TaskView(
        id=id_,
        title=text_at(task, "title"),
        description=text_at(task, "description"),
        status=text_at(task, "status"),
        state=task_state(task, facts),
        assignee=maybe_text_at(task, "assignee"),
        depends_on=texts_at(task, "dependsOn"),
        role=maybe_text_at(task, "role"),
        priority=maybe_text_at(task, "priority"),
        created_at=moment_at(task, "createdAt"),
        updated_at=moment_at(task, "updatedAt"),
        phase=maybe_text_at(entry, "phase"),
        turns=turns if entry is None else whole_at(entry, "turns"),
        usage=usage_at(source),
        calls=ledger(calls, facts, task_id=id_, agent=agent_of(facts, id_), effects=effects),
        result_preview=first_line(output),
        result_size=utf8_size(output),
        n_messages=len(messages),
        superseded_by=maybe_whole_at(task, "supersededByRevision"),
        recovered_by=maybe_whole_at(task, "recoveredByRevision"),
        has_state=entry is not None,
    )


def usage_at(source: JsonObject) -> Usage:
    """Return the tokens a result or in-flight entry reports."""
    usage = object_at(source, "tokenUsage")
    return Usage(
        whole_at(usage, "input_tokens"), whole_at(usage, "output_tokens"), known=bool(usage)
    )


def _cost(value: JsonValue) -> float | None:
    """An amount of money, or None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def run_usage(snapshot: JsonObject) -> Usage:
    """Return the tokens of the run: our own cumulative record, else what finished and active
    tasks sum up to (formats.md 2.12)."""
    own = object_at(own_facts(snapshot), "usage")
    if own:
        return replace(usage_at({"tokenUsage": own}), cost=_cost(own.get("cost")))
    parts = [
        usage_at(object_at(r, "agentResult")) for r in objects_at(snapshot, "completedTaskResults")
    ]
    parts += [usage_at(e) for e in objects_at(snapshot, "inFlightTasks")]
    return Usage(
        sum(p.input_tokens for p in parts),
        sum(p.output_tokens for p in parts),
        known=all(p.known for p in parts),
    )
