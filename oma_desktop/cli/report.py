"""What `run`, `restore` and `demo` say: progress while it runs, the result at its end."""

from __future__ import annotations

from typing import Final, cast
from unicodedata import east_asian_width

from oma_desktop.base.sentences import catalogue
from oma_desktop.base.sentences.recovery import TOLD, with_cause
from oma_desktop.base.text import N_, ntr, tr
from oma_desktop.cli.output import Exit, Output, sentence_of
from oma_desktop.engine.bus import ProgressEvent
from oma_desktop.engine.coordination.coordinator import SYNTHESIS
from oma_desktop.engine.coordination.single import TASK_ID
from oma_desktop.engine.launching.freezing import Freezing
from oma_desktop.engine.launching.launch import Prepared
from oma_desktop.engine.operations.attempt_run import RUN_END_NOT_SAVED
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import TeamRunResult

REASON_LIMIT: Final = 300
ANSWER_LIMIT: Final = 2000
"""Characters of an answer that are shown; the store has all of it."""

_RUN_WORDS: Final = {
    "ok": N_("finished"),
    "suspended": N_("suspended"),
    "rejected": N_("rejected"),
    "cancelled": N_("cancelled"),
    "timeout": N_("timed out"),
    "budget_exhausted": N_("budget used up"),
}
_TASK_WORDS: Final = {
    "pending": N_("waiting"),
    "blocked": N_("blocked"),
    "in_progress": N_("in progress"),
    "completed": N_("done"),
    "failed": N_("failed"),
    "skipped": N_("skipped"),
}

_SPOKEN: Final = {
    "APPROVAL_STALE_DECISION": "APPROVED_CALL_STALE",
    "ROUTING_PROFILER_FAILED": "GOAL_ROUTED_BY_WORDING",
    "ROUTING_TIMEOUT": "GOAL_ROUTED_BY_WORDING",
    **TOLD,
}
"""Codes whose sentence is for whoever decides; a run that meets them says something else."""


def exit_code(result: TeamRunResult) -> Exit:
    """Map a status to the exit codes of product.md 5; a run whose end is not saved failed."""
    if RUN_END_NOT_SAVED in result.warnings:
        return Exit.FAILED
    return {"ok": Exit.OK, "suspended": Exit.SUSPENDED}.get(result.status.code, Exit.FAILED)


def say_endpoints(prepared: Prepared | Freezing, output: Output) -> None:
    """Tell where model calls will go, before the first one (engine.md 8.7)."""
    places = {(e.base_url, e.proxy or "") for e in prepared.endpoints if e.base_url}
    for place, proxy in sorted(places):
        if proxy:
            words = tr(
                "model calls go to {address} through the proxy {proxy}", address=place, proxy=proxy
            )
        else:
            words = tr("model calls go to {address}", address=place)
        output.note(words)


def print_result(result: TeamRunResult, document: JsonObject, output: Output) -> None:
    """Print the document, or a summary a person reads at a glance."""
    why = _why(result)
    if output.as_json:
        if why:
            document = {**document, "status": {**result.status.to_json(), "message": why}}
        output.document(document)
        return
    for task in result.tasks:
        output.line(
            f"  {task_column(task['status'])} {task['title']}  [{task.get('assignee', '-')}]"
            + repaired(cast("JsonObject", task))
        )
        if task["status"] == "failed" and task.get("result"):
            output.line(f"      {task.get('result', '')[:REASON_LIMIT]}")
    output.line(
        tr(
            "run {run}, attempt {attempt}: {status}",
            run=result.identity.run_id,
            attempt=result.identity.attempt,
            status=tr(_RUN_WORDS.get(result.status.code, N_("failed"))),
        )
    )
    if result.total_cost is not None:
        amount = f"{result.total_cost:.4f}"
        output.line(tr("cost so far: {amount}", amount=amount))
    if why:
        output.line(why)
    _print_answer(result, output)
    for request in result.pending_approvals:
        output.line(
            tr("waiting for a decision: {scope} {id}", scope=request["scope"], id=request["id"])
        )


def _print_answer(result: TeamRunResult, output: Output) -> None:
    """Print the closing answer of a goal as it is, and where it came from if nothing was saved.

    Without one, print the answers nobody else waits for: what a list of tasks was run for.
    """
    if result.final_answer is None:
        _print_last_answers(result, output)
        return
    output.line()
    for line in result.final_answer.splitlines():
        output.line(line)
    if [task["id"] for task in result.tasks] == [TASK_ID]:
        output.note(tr("One agent took the goal as it is; nothing was saved."))


def _print_last_answers(result: TeamRunResult, output: Output) -> None:
    used = {needed for task in result.tasks for needed in task.get("dependsOn", ())}
    for task in result.tasks:
        text = task.get("result", "") if task["status"] == "completed" else ""
        if task["id"] in used or not text:
            continue
        output.line()
        output.line(tr("{title}:", title=task["title"]))
        for line in text[:ANSWER_LIMIT].splitlines():
            output.line(f"  {line}")
        if len(text) > ANSWER_LIMIT:
            left = len(text) - ANSWER_LIMIT
            output.line("  " + ntr("... {n} more character", "... {n} more characters", left))


def repaired(task: JsonObject) -> str:
    """Return that a plan revision took the place of a task, where one did."""
    for name in ("recoveredByRevision", "supersededByRevision"):
        if name in task and task.get("status") != "completed":
            return "  " + tr("replaced by plan revision {n}", n=task[name])
    return ""


def task_word(status: str) -> str:
    """Return the status of a task as a word for people."""
    return tr(_TASK_WORDS.get(status, status))


def task_column(status: str) -> str:
    """Return the word in a column of 12 cells; a Chinese character takes two."""
    word = task_word(status)
    cells = sum(2 if east_asian_width(c) in "WF" else 1 for c in word)
    return word + " " * (12 - cells)


def _why(result: TeamRunResult) -> str:
    """Return why the run did not just finish, as a sentence; the engine speaks in codes."""
    said = result.status.message
    if said is None and result.error_info is not None:
        said = result.error_info.message or result.error_info.code
    if said is None and result.status.code == "timeout":
        said = "RUN_TIMED_OUT"
    if said is None:
        return ""
    if said == "TOKEN_BUDGET_EXCEEDED" and result.status.code == "budget_exhausted":
        said = "RUN_BUDGET_USED_UP"  # an agent's own budget is told with the task
    cause = result.error_info.message if result.error_info else said
    if said not in catalogue():
        return said
    text = sentence_of(said, {"error": cause, "issues": cause})
    # a sentence with a place we know nothing for was filled where the error was
    return cause if "{" in text and cause else text


class Progress:
    """Tells on stderr what happens, one line per event worth a line; no message contents."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._titles: dict[str, str] = {}

    def __call__(self, event: ProgressEvent) -> None:
        """Hear one event of the run."""
        if event.type == "task_start" and event.task is not None:
            self._titles[event.task] = str(event.data.get("title", event.task))
        line = self._line(event, self._titles.get(event.task or "", event.task or ""))
        if line:
            self._output.note(line)

    def _line(self, event: ProgressEvent, task: str) -> str:
        match event.type:
            case "agent_start" if event.data.get("phase") == "decomposition":
                return tr("plan    the coordinator divides the goal")
            case "agent_start" if event.data.get("phase") == "routing":
                return tr("look    a model looks at the goal")
            case "model_call" if event.task == SYNTHESIS and event.data.get("turn") == 0:
                return tr("answer  the coordinator sums up")
            case "task_start":
                return tr("start   {task}  [{agent}]", task=task, agent=event.agent or "-")
            case "task_complete":
                return tr("done    {task}", task=task)
            case "task_failed" if event.task in self._titles:
                return tr("failed  {task}", task=task)
            case "task_retry":
                return tr("retry   {task}", task=task)
            case "tool_start":
                return tr("tool    {task}: {tool}", task=task, tool=event.data.get("tool"))
            case "approval_pending":
                return tr("asks    a decision is needed: {id}", id=event.data.get("id"))
            case "plan_revision":
                return tr("repair  {task}: {reason}", task=task, reason=event.data.get("reason"))
            case "error" if event.task is not None and event.data.get("kind") not in _SPOKEN:
                return ""
            case "warning" | "error":
                found = str(event.data.get("code") or event.data.get("kind"))
                code = _SPOKEN.get(found, found)
                return sentence_of(code, with_cause(event.data)) if code in catalogue() else ""
            case _:
                return ""
