"""The resume plan as `restore --plan-only` prints it (product.md 6)."""

from __future__ import annotations

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.resume import CallItem, NeedsYouItem, ResumePlan, TaskItem
from oma_desktop.model.view import Problem


def journal_facts(plan: ResumePlan) -> JsonObject:
    """Return the `journal` member of the document: no tail is read yet."""
    reason = "journal_not_read" if plan.checkpoint_version >= 5 else "no_journal"
    return {"used": False, "tail": 0, "reason": reason}


def plan_document(plan: ResumePlan) -> JsonObject:
    """Return what `restore --plan-only` prints (product.md 6)."""
    will_run: list[JsonValue] = [*map(call_document, plan.calls_will_run)]
    will_run += map(task_document, plan.will_run)
    return {
        "runId": plan.run_id,
        "attempt": plan.attempt,
        "nextAttempt": plan.next_attempt,
        "checkpointVersion": plan.checkpoint_version,
        "journal": journal_facts(plan),
        "kept": [*map(task_document, plan.kept)],
        "replayed": [*map(call_document, plan.replayed)],
        "asked": [*map(task_document, plan.asked)],
        "willRun": will_run,
        "needsYou": [*map(needs_you_document, plan.needs_you)],
        "mayRunTwice": [*map(call_document, plan.may_run_twice)],
        "tasksRunAgain": [*map(task_document, plan.tasks_run_again)],
        "problems": [*map(problem_document, plan.problems)],
    }


def call_document(item: CallItem) -> JsonObject:
    """Return a tool call item of product.md 6."""
    document: JsonObject = {
        "taskId": item.task_id,
        "taskTitle": item.task_title,
        "agent": item.agent,
        "toolCallId": item.call_id,
        "tool": item.tool,
        "input": item.input,
        "effect": item.effect.value,
        "evidence": item.evidence,
    }
    if item.approval_id is not None:
        document["approvalId"] = item.approval_id
    if item.approved_by is not None:
        document["approvedBy"] = item.approved_by
    if item.masked:
        document["masked"] = True
    return document


def task_document(item: TaskItem) -> JsonObject:
    """Return a task item: `reason` says why it stands in its list."""
    document: JsonObject = {
        "taskId": item.task_id,
        "taskTitle": item.task_title,
        "agent": item.agent,
        "status": item.status,
        "reason": item.reason,
    }
    if item.judges:
        document["judges"] = list(item.judges)
    return document


def needs_you_document(item: NeedsYouItem) -> JsonObject:
    """Return an undecided request."""
    return {
        "approvalId": item.approval_id,
        "scope": item.scope,
        "taskId": item.task_id,
        "taskTitle": item.task_title,
        "tool": item.tool,
    }


def problem_document(problem: Problem) -> JsonObject:
    """Return a problem as `{where, code, severity, facts}`; callers add the sentence."""
    return {
        "where": problem.where,
        "code": problem.code,
        "severity": problem.severity,
        "facts": problem.facts,
    }
