"""What a node of the map says in words: lines, hint, sentence (look.md 7, ux.md C18)."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import NamedTuple

from oma_desktop.base.text import listed, ntr, tr
from oma_desktop.model.view import CallState, TaskState, TaskView
from oma_desktop.ui import words
from oma_desktop.ui.numbers import age_text, elapsed_text
from oma_desktop.viewmodel.ages import age_of
from oma_desktop.viewmodel.graph import Heard
from oma_desktop.viewmodel.graph_nodes import MapNode
from oma_desktop.viewmodel.tools import n_open


class NodeText(NamedTuple):
    """The lines of a near node. `is_live`: the last one is in no file yet."""

    name: str
    second: str
    third: str
    is_live: bool = False


def node_text(node: MapNode, heard: Heard | None, now: datetime) -> NodeText:
    """Return what a node says at this moment."""
    task = node.task
    if node.is_stack:
        return NodeText(stack_name(node), "", "")
    live = live_text(heard, now) if task.state is TaskState.RUNNING and heard else ""
    third = live or third_line(node, now)
    return NodeText(task.title, second_line(task, now), third, bool(live))


def second_line(task: TaskView, now: datetime) -> str:
    """Return agent and, while it works, for how long; of replaced tasks what took their place.

    For how long a finished task worked is in no file: only when it changed last.
    """
    if task.state is TaskState.REPLACED:
        number = task.recovered_by or task.superseded_by
        return tr("replaced by revision {n}", n=number) if number else tr("replaced")
    agent = task.assignee or tr("no agent yet")
    if task.state is TaskState.RUNNING and task.updated_at is not None:
        return dotted(agent, elapsed_text(task.updated_at, now))
    return agent


def third_line(node: MapNode, now: datetime) -> str:
    """Return tool in use, result or reason: what the file says."""
    task = node.task
    match task.state:
        case TaskState.RUNNING:
            turn = tr("turn {n}", n=task.turns) if task.turns else ""
            return _tool_in_use(task) or turn
        case TaskState.NEEDS_YOU:
            age = age_of(node.asked_at, now=now)
            word = words.task_word(task.state)
            return dotted(word, age_text(age)) if age else word
        case TaskState.FAILED:
            return dotted(words.task_word(task.state), task.result_preview)
        case TaskState.WAITING | TaskState.BLOCKED:
            return _waiting_line(node)
        case TaskState.UNKNOWN:
            age = age_of(task.updated_at, now=now)
            return tr("Seen {age} ago", age=age_text(age)) if age else words.task_word(task.state)
        case _:
            return task.result_preview


def _waiting_line(node: MapNode) -> str:
    if node.blocked_by is not None and node.state is TaskState.BLOCKED:
        return tr("Blocked by {title}", title=node.blocked_by)
    if node.n_unmet:
        return tr("Waiting for {n}", n=node.n_unmet)
    if node.asked_at is not None:
        return tr("Waits for your review")
    if node.task.has_state:
        return tr("Stopped at turn {n}", n=node.task.turns)
    return tr("Ready to start")


def _tool_in_use(task: TaskView) -> str:
    running = [c.tool for c in task.calls if c.state is CallState.RUNNING]
    return running[-1] if running else ""


def live_text(heard: Heard, now: datetime) -> str:
    """Return what an embedded run does in a task now, and who where it is not the task's agent."""
    if heard.judging:
        return tr("judged by {agent}", agent=heard.agent or "?")
    return dotted(heard.agent or "", _doing(heard, now))


def _doing(heard: Heard, now: datetime) -> str:
    if heard.kind == "tool" and heard.text:
        return dotted(heard.text, elapsed_text(heard.at, now))
    if heard.kind == "text":
        return tr("writing")
    if heard.kind == "model":
        if heard.turn is not None:
            return dotted(tr("model"), tr("turn {n}", n=heard.turn))
        return dotted(tr("model"), elapsed_text(heard.at, now))
    return ""


def dotted(first: str, second: str) -> str:
    """Return two facts on one line."""
    return f"{first} · {second}" if first and second else first or second


def stack_name(node: MapNode) -> str:
    """Return the name of a stack: what its members' titles begin with, in whole words."""
    titles = [t.title for t in node.tasks]
    first, last = min(titles), max(titles)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    common = first[:same].rstrip("0123456789").strip(" -:,.#(/（：，、")
    return common or node.task.role or node.task.assignee or titles[0]


def node_hint(node: MapNode, heard: Heard | None, now: datetime) -> str:
    """Return the hint of a node. Everything from a file is escaped: it is text, never markup."""
    name, *rest = hint_lines(node, heard, now)
    return f"<p><b>{escape(name)}</b><br>{'<br>'.join(map(escape, rest))}</p>"


def hint_lines(node: MapNode, heard: Heard | None, now: datetime) -> list[str]:
    """Return name, state and what a near node says, uncut."""
    text = node_text(node, heard, now)
    if node.is_stack:
        counts = [tr("{state}: {n}", state=words.task_word(s), n=n) for s, n in node.counts()]
        return [text.name, *counts]
    state = words.task_word(node.state)
    lines = [text.name, dotted(state, text.second), text.third.removeprefix(f"{state} · ")]
    if node.task.added_by is not None:
        lines.append(tr("added by revision {n}", n=node.task.added_by))
    return [line for line in lines if line and line != state]


def node_sentence(node: MapNode) -> str:
    """Return a node in words, for screen readers."""
    if node.is_stack:
        many = ntr("Stack of {n} task", "Stack of {n} tasks", len(node.tasks))
        counts = [tr("{state}: {n}", state=words.task_word(s), n=n) for s, n in node.counts()]
        return listed([many, stack_name(node), *counts])
    return words.task_sentence(node.task, n_open=n_open(node.task))


def map_sentence(n_tasks: int) -> str:
    """Return the name of the map itself (ux.md C18)."""
    return ntr(
        "Map, {n} task; press Ctrl+5 for the list",
        "Map, {n} tasks; press Ctrl+5 for the list",
        n_tasks,
    )


def hidden_text(n_tasks: int, n_hidden: int) -> str:
    """Return the count of the view bar: "14 tasks, none hidden"."""
    if not n_hidden:
        return ntr("{n} task, none hidden", "{n} tasks, none hidden", n_tasks)
    return ntr("{n} task, {hidden} hidden", "{n} tasks, {hidden} hidden", n_tasks, hidden=n_hidden)
