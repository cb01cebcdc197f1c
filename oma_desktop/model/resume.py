"""The resume plan: what a restore will keep, replay, ask, run, and what may happen twice.

Computed from checkpoint and approval rows before anything runs (ux.md C8; product.md 6,
`restore --plan-only`). Without a start log every uncommitted call of an open round is
"may run twice (cannot tell)", and "will run" is what has not begun (issue 2, deliver 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Effect, Problem

Evidence = Literal["checkpoint", "journal", "start_log", "cannot_tell", "approval_open", "none"]


@dataclass(frozen=True, slots=True)
class CallItem:
    """One tool call of an open round. `approved_by` is set where a decision covers a first run.

    `masked`: its saved input holds `[redacted]` and nobody approved it; it runs only when a person
    (or the run file, `checkpoint.maskedInputs`) says so.
    """

    task_id: str
    task_title: str
    agent: str
    call_id: str
    tool: str
    input: JsonObject
    effect: Effect
    evidence: Evidence
    approval_id: str | None = None
    approved_by: str | None = None
    masked: bool = False


@dataclass(frozen=True, slots=True)
class TaskItem:
    """One task line of the plan. `reason` is a code for `base.text`.

    `judges` judge its answer before it counts, as far as the snapshot knows. With the reason
    `judges` the line is about one of them, `agent`, who judges an answer that is saved already.
    """

    task_id: str
    task_title: str
    agent: str | None
    status: str
    reason: str
    judges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsYouItem:
    """An undecided request that holds (part of) the run."""

    approval_id: str
    scope: str
    task_id: str | None
    task_title: str | None
    tool: str | None


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """All lists of product.md 6; `tasks_run_again` are tasks without saved steps.

    `will_run` are tasks that have not begun; `calls_will_run` are calls that certainly have not:
    the attempt was suspended with every call at rest, and nothing was saved since.
    """

    run_id: str
    attempt: int
    next_attempt: int
    checkpoint_version: int
    kept: tuple[TaskItem, ...] = ()
    replayed: tuple[CallItem, ...] = ()
    asked: tuple[TaskItem, ...] = ()
    will_run: tuple[TaskItem, ...] = ()
    calls_will_run: tuple[CallItem, ...] = ()
    needs_you: tuple[NeedsYouItem, ...] = ()
    may_run_twice: tuple[CallItem, ...] = ()
    denied: tuple[CallItem, ...] = ()
    tasks_run_again: tuple[TaskItem, ...] = ()
    stay_failed: tuple[TaskItem, ...] = ()
    problems: tuple[Problem, ...] = ()
