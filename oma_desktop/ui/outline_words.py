"""How rows and columns of the outline read (ux.md C5, C18)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, ntr, tr
from oma_desktop.model.view import CallState, RunState, TaskState
from oma_desktop.ui import words
from oma_desktop.ui.numbers import NONE, count_text, moment_text, time_text
from oma_desktop.viewmodel.outline_rows import Column, Kind, OutlineRow

_HEADS: Final[dict[int, str]] = {
    Column.TITLE: N_("Task"),
    Column.STATE: N_("State"),
    Column.AGENT: N_("Agent"),
    Column.TURNS: N_("Turns"),
    Column.CALLS: N_("Tool calls"),
    Column.TOKENS: N_("Tokens"),
    Column.SINCE: N_("Since"),
}


def head_text(column: int) -> str:
    """Return the name of a column."""
    return tr(_HEADS[column]) if column in _HEADS else ""


def cell_text(row: OutlineRow, column: int) -> str:
    """Return a cell as a person reads it; a dash for what is not known."""
    match column:
        case Column.TITLE:
            return tr("Turn {n}", n=row.number) if row.kind is Kind.TURN else row.title
        case Column.STATE:
            return state_word(row)
        case Column.AGENT:
            return (row.agent or NONE) if row.kind is Kind.TASK else ""
        case Column.TURNS:
            return str(row.number or 0) if row.kind in (Kind.RUN, Kind.TASK) else ""
        case Column.CALLS:
            return calls_text(row)
        case Column.TOKENS:
            if row.kind not in (Kind.RUN, Kind.TASK):
                return ""
            return NONE if row.tokens is None else count_text(row.tokens)
        case Column.SINCE:
            return time_text(row.since) if row.kind in (Kind.RUN, Kind.TASK) else ""
        case _:
            return ""


def state_word(row: OutlineRow) -> str:
    """Return the word of whatever state a row has."""
    match row.state:
        case TaskState():
            return words.task_word(row.state)
        case RunState():
            return words.run_word(row.state)
        case CallState():
            return words.call_word(row.state)
        case _:
            return ""


def calls_text(row: OutlineRow) -> str:
    """Return how many tool calls are saved and how many are not: "3 saved, 2 open"."""
    if row.kind is Kind.CALL:
        return ""
    if row.n_open and row.n_saved:
        return tr("{saved} saved, {open} open", saved=row.n_saved, open=row.n_open)
    if row.n_open:
        return tr("{open} open", open=row.n_open)
    return tr("{saved} saved", saved=row.n_saved) if row.n_saved else ""


def row_sentence(row: OutlineRow) -> str:
    """Return a whole row in words, for screen readers."""
    if row.kind is Kind.TASK and row.task is not None:
        return words.task_sentence(row.task, n_open=row.n_open)
    if row.kind is Kind.CALL and row.call is not None:
        return words.call_sentence(row.call)
    if row.kind is Kind.TURN:
        n = row.n_saved + row.n_open
        calls = ntr("{n} tool call", "{n} tool calls", n) if n else tr("no tool calls")
        return ", ".join((cell_text(row, Column.TITLE), calls))
    since = moment_text(row.since)
    return ", ".join((tr("Run {name}", name=row.title), state_word(row), since))
