"""What the Inspector says about a task or a run, as facts; pure functions over views."""

from __future__ import annotations

from datetime import datetime

from oma_desktop.base.sentences import describe
from oma_desktop.base.text import ntr, paragraph, tr
from oma_desktop.model.view import Problem, RunView, StoreView, TaskState, TaskView, Usage
from oma_desktop.ui import states, words
from oma_desktop.ui.facts import Fact
from oma_desktop.ui.numbers import (
    NONE,
    age_text,
    count_text,
    elapsed_text,
    moment_text,
    size_text,
    time_text,
)
from oma_desktop.viewmodel.ages import age_of
from oma_desktop.viewmodel.runs import RunRow

_MAX_PROBLEMS = 3


def task_facts(task: TaskView, run: RunView, store: StoreView, *, now: datetime) -> list[Fact]:
    """Return the facts of a task, each with its source (ux.md C2)."""
    facts = [
        Fact(tr("State"), _since(task), states.text_role(task.state.value)),
        source_fact(run, store, now=now),
        Fact(tr("Agent"), task.assignee or tr("not assigned")),
    ]
    if task.turns:
        facts.append(Fact(tr("Turn"), str(task.turns)))
    facts.append(Fact(tr("Tokens"), usage_text(task.usage)))
    if task.role:
        facts.append(Fact(tr("Role"), task.role))
    if task.priority:
        facts.append(Fact(tr("Priority"), task.priority))
    if task.n_messages:
        facts.append(Fact(tr("Messages"), str(task.n_messages)))
    if task.live_activity:
        facts.append(Fact(tr("Now"), task.live_activity, "text.2"))
    if task.result_preview:
        size = size_text(task.result_size)
        facts.append(Fact(tr("Result"), tr("{size}: {text}", size=size, text=task.result_preview)))
    return facts


def run_facts(
    row: RunRow,
    run: RunView,
    store: StoreView,
    *,
    now: datetime,
    answering_since: datetime | None = None,
) -> list[Fact]:
    """Return the facts of a run when no task is selected."""
    facts = [
        Fact(tr("State"), words.run_word(row.state), states.text_role(row.state.value)),
        source_fact(run, store, now=now),
        Fact(tr("Writer"), words.owner_sentence(store.owner_of(run.key))),
        Fact(tr("Attempt"), str(run.attempt)),
        Fact(tr("Tasks"), tr("{done} of {total} done", done=row.n_done, total=len(row.tasks))),
        Fact(tr("Tokens"), usage_text(run.usage)),
        Fact(tr("Cost"), cost_text(run.usage), tip=tr("in the unit of the run file's prices")),
        Fact(tr("Started"), moment_text(run.started_at)),
    ]
    facts += [problem_fact(problem) for problem in run.problems[:_MAX_PROBLEMS]]
    if answering_since is not None:
        doing = tr(
            "the coordinator makes the answer, {time}", time=elapsed_text(answering_since, now)
        )
        facts.append(Fact(tr("Now"), doing, "text.2"))
    if run.plan_revision:
        facts.append(Fact(tr("Plan"), tr("revision {n}", n=run.plan_revision)))
    if run.goal:
        facts.append(Fact(tr("Goal"), run.goal))
    if run.answer:
        facts.append(Fact(tr("Answer"), run.answer))
    facts += [
        Fact(tr("Run id"), run.run_id or NONE),
        Fact(
            tr("File"),
            tr("{path}, {size}", path=store.path, size=size_text(store.size)),
            "text.2",
        ),
    ]
    return facts


def problem_fact(problem: Problem) -> Fact:
    """Return what is wrong with a run as a fact: title and hint; the code is in the tip."""
    sentence = describe(problem.code, {"where": problem.where, **problem.facts})
    text = paragraph((sentence.title, sentence.hint))
    role = "danger.text" if problem.severity == "error" else "warning.text"
    return Fact(tr("Problem"), text, role, tip=f"{problem.code} {problem.where}".strip())


def source_fact(run: RunView, store: StoreView, *, now: datetime) -> Fact:
    """Return where these facts come from and how old they are."""
    if not store.readable:
        text = tr(
            "last good picture; the file cannot be read since {time}",
            time=time_text(store.unreadable_since),
        )
        return Fact(tr("Source"), text, "warning.text")
    if run.readable and run.saved_at is None and not run.version:
        return Fact(tr("Source"), tr("nothing saved yet"), "text.2")
    age = age_text(age_of(run.saved_at, now=now))
    version = run.version or NONE
    return Fact(
        tr("Source"),
        tr("checkpoint v{version}, {age} old", version=version, age=age),
        tip=tr("saved {moment}", moment=moment_text(run.saved_at)),
    )


def usage_text(usage: Usage) -> str:
    """Return tokens in and out; a provider that reports none is not shown as zero."""
    if not usage.known and not usage.total:
        return tr("not reported")
    return tr(
        "{n_in} in, {n_out} out",
        n_in=count_text(usage.input_tokens),
        n_out=count_text(usage.output_tokens),
    )


def cost_text(usage: Usage) -> str:
    """Return what a run cost; without prices nobody knows, and that is not zero."""
    if usage.cost is None:
        return tr("unknown")
    return f"{usage.cost:.4f}" if usage.cost >= 0.0001 or not usage.cost else "< 0.0001"


def _since(task: TaskView) -> str:
    word = words.task_word(task.state)
    if task.state is TaskState.WAITING and task.depends_on:
        waits = ntr("needs {n} task", "needs {n} tasks", len(task.depends_on))
        return tr("{state}, {detail}", state=word, detail=waits)
    if task.updated_at is None:
        return word
    if task.state is TaskState.UNKNOWN:
        return tr("{state}, last seen {time}", state=word, time=time_text(task.updated_at))
    return tr("{state} since {time}", state=word, time=time_text(task.updated_at))
