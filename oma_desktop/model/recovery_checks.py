"""Rules over the `recovery` of a run file: it names tasks and agents that exist, and can work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from oma_desktop.model.document_text import Path
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.metadata import task_metadata_problem
from oma_desktop.model.plan_patch import AddedTask
from oma_desktop.model.recovery_rules import Recovery, RecoveryRule
from oma_desktop.model.task_graph import problem, title_key, unknown
from oma_desktop.model.view import Problem

PLACE: Path = ("recovery",)


def check_recovery(
    recovery: Recovery, *, agents: Collection[str] | None, titles: Collection[str] | None
) -> Iterator[Problem]:
    """Return every violation; None where roster or tasks are not known yet."""
    if not recovery.wanted:
        if recovery.rules or recovery.replanner is not None:
            yield problem("RUNFILE_RECOVERY_FIXED", (*PLACE, "mode"))
        return
    if recovery.rules and recovery.replanner is not None:
        yield problem("RUNFILE_RECOVERY_TWICE", (*PLACE, "replanner"))
    if not recovery.rules and recovery.replanner is None:
        yield problem("RUNFILE_RECOVERY_NOBODY", (*PLACE, "mode"))
    if agents is not None and recovery.replanner is not None and recovery.replanner not in agents:
        yield unknown("RUNFILE_UNKNOWN_AGENT", (*PLACE, "replanner"), recovery.replanner, agents)
    known = None if titles is None else {title_key(t) for t in _all_titles(recovery, titles)}
    for index, rule in enumerate(recovery.rules):
        place = (*PLACE, "rules", index)
        yield from _does_something(rule, place)
        yield from _agents(rule, place, agents or (), check=agents is not None)
        if known is not None and titles is not None:
            yield from _tasks(rule, place, known, list(_all_titles(recovery, titles)))


def _all_titles(recovery: Recovery, titles: Collection[str]) -> Iterator[str]:
    """Titles of the file, and of tasks another rule may have added."""
    yield from titles
    for rule in recovery.rules:
        yield from (task.title for task in rule.add_tasks)


def _does_something(rule: RecoveryRule, place: Path) -> Iterator[Problem]:
    repairs = [trigger for trigger in rule.on if trigger != "success"]
    if repairs and not rule.add_tasks:
        yield problem("RUNFILE_RULE_NEEDS_TASKS", (*place, "addTasks"))
    elif not (rule.add_tasks or rule.supersede or rule.retarget or rule.supersede_dependents):
        yield problem("RUNFILE_RULE_EMPTY", place)
    seen: set[str] = set()
    for index, task in enumerate(rule.add_tasks):
        key = js_trim(task.key)
        if not key or key in seen:
            yield problem("RUNFILE_RULE_KEY", (*place, "addTasks", index, "key"), name=key)
        seen.add(key)
        wrong = task_metadata_problem(task.metadata) if task.metadata is not None else None
        if wrong is not None:
            where = (*place, "addTasks", index, "metadata", *filter(None, wrong[:1]))
            yield problem("RUNFILE_TASK_METADATA", where, name=wrong[0], reason=wrong[1])


def _agents(
    rule: RecoveryRule, place: Path, agents: Iterable[str], *, check: bool
) -> Iterator[Problem]:
    roster = list(agents)
    named: list[tuple[Path, str]] = [
        ((*place, "retarget", index, "assignee"), wish.assignee)
        for index, wish in enumerate(rule.retarget)
    ]
    for index, task in enumerate(rule.add_tasks):
        path = (*place, "addTasks", index)
        if task.assignee is not None:
            named.append(((*path, "assignee"), task.assignee))
        if task.verify is not None:
            judges = enumerate(task.verify.judges)
            named += [((*path, "verify", "judges", at), judge) for at, judge in judges]
    for path, name in named:
        if check and name not in roster:
            yield unknown("RUNFILE_UNKNOWN_AGENT", path, name, roster)


def _tasks(
    rule: RecoveryRule, place: Path, known: Collection[str], titles: list[str]
) -> Iterator[Problem]:
    named: list[tuple[Path, str]] = [
        ((*place, "supersede", index), title) for index, title in enumerate(rule.supersede)
    ]
    named += [
        ((*place, "retarget", index, "title"), wish.title)
        for index, wish in enumerate(rule.retarget)
    ]
    for index, task in enumerate(rule.add_tasks):
        named += [
            ((*place, "addTasks", index, "dependsOn", at), name)
            for at, name in _outside(task, rule.add_tasks)
        ]
    for path, name in named:
        if title_key(name) not in known:
            yield unknown("RUNFILE_UNKNOWN_TASK", path, name, titles)


def _outside(task: AddedTask, siblings: Iterable[AddedTask]) -> Iterator[tuple[int, str]]:
    """What a new task waits for beside its siblings."""
    keys = {js_trim(sibling.key) for sibling in siblings}
    for at, name in enumerate(task.depends_on):
        if name not in keys:
            yield at, name
