"""What a run file says of judges: do they exist, and can their tasks run (engine.md 1.6, 5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from oma_desktop.model.document_text import Path
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.task_graph import problem, unknown
from oma_desktop.model.team import TaskSpec, TeamConfig
from oma_desktop.model.view import Problem


def judge_rules(run_file: RunFile, team: TeamConfig, path: Path) -> Iterator[Problem]:
    """Yield judges nobody is called, and judged tasks that a rule would hold for a reviewer.

    `path` says where the tasks stand. A task with judges cannot be suspended before it starts, so
    such a run would stop in the middle; better it never begins.
    """
    names = [agent.name for agent in team.agents]
    coordinator = run_file.coordinator
    for at, judge in enumerate(coordinator.verify_judges if coordinator is not None else ()):
        if judge not in names:
            where = ("coordinator", "verifyJudges", at)
            yield unknown("RUNFILE_UNKNOWN_AGENT", where, judge, names)
    for index, task in enumerate(run_file.tasks or ()):
        if task.verify is None:
            continue
        place: Path = (*path, index, "verify")
        for at, judge in enumerate(task.verify.judges):
            if judge not in names:
                yield unknown("RUNFILE_UNKNOWN_AGENT", (*place, "judges", at), judge, names)
        if _is_held(run_file, task):
            yield problem("VERIFY_CANNOT_WAIT", place, title=task.title)


def _is_held(run_file: RunFile, task: TaskSpec) -> bool:
    approvals = run_file.approvals
    if approvals.rounds == "suspend":
        return True
    for rule in approvals.dispatch:
        conditions = (
            (rule.title, task.title),
            (rule.assignee, task.assignee or ""),
            (rule.role, task.role or ""),
        )
        if all(wanted is None or fnmatchcase(found, wanted) for wanted, found in conditions):
            return rule.action == "suspend"
    return False
