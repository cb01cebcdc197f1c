"""Rules over several keys of a run file: names, references, roster (W12, W13, W35, DEV-20)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from oma_desktop.model.document_text import Path
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.goal_rules import goal_rules
from oma_desktop.model.json_text import js_trim
from oma_desktop.model.judge_rules import judge_rules
from oma_desktop.model.metadata import task_metadata_problem
from oma_desktop.model.plan import PlanArtifact, PlanTask
from oma_desktop.model.recovery_checks import check_recovery
from oma_desktop.model.redaction import compile_patterns
from oma_desktop.model.runfile import Redaction, RunFile
from oma_desktop.model.task_graph import Node, check_assignees, check_graph, problem, unknown
from oma_desktop.model.team import TaskSpec, TeamConfig
from oma_desktop.model.view import Problem

RESERVED_PREFIX: Final = "__oma_"


def check_rules(
    run_file: RunFile, *, team_path: Path = ("team",), tasks_path: Path = ("tasks",)
) -> list[Problem]:
    """Return every violation; the paths say where team and tasks stand in what was written."""
    found: list[Problem] = []
    team = run_file.team
    if team is not None:
        found += check_roster(team, team_path)
    nodes = task_nodes(run_file, tasks_path)
    if isinstance(run_file.plan, PlanArtifact):
        found += check_plan(run_file.plan, ("plan",))
    else:
        found += check_graph(nodes)
    if team is not None:
        found += check_assignees(nodes, [agent.name for agent in team.agents])
        found += judge_rules(run_file, team, tasks_path)
    found += _task_metadata(run_file.tasks or (), tasks_path)
    found += _one_kind_of_work(run_file)
    found += check_plan_mode(run_file)
    found += _gate_rules(run_file)
    found += _recovery_rules(run_file)
    found += _provider_rules(run_file)
    found += _redaction_rules(run_file)
    found += _cost_rules(run_file)
    found += _routing_rules(run_file)
    found += goal_rules(run_file)
    return found


def check_roster(team: TeamConfig, path: Path) -> list[Problem]:
    """Return names that would break keys and prefixes, and names used twice."""
    found: list[Problem] = []
    seen: set[str] = set()
    if not team.agents:
        found.append(problem("RUNFILE_NO_AGENTS", (*path, "agents")))
    for index, agent in enumerate(team.agents):
        place = (*path, "agents", index, "name")
        if not is_good_agent_name(agent.name):
            found.append(problem("RUNFILE_BAD_AGENT_NAME", place, name=agent.name))
        if agent.name in seen:
            found.append(problem("RUNFILE_AGENT_TWICE", place, name=agent.name))
        seen.add(agent.name)
    return found


def is_good_agent_name(name: str) -> bool:
    """Say whether a name is safe in memory keys (`<agent>/<key>`) and result names (`a:b`)."""
    return (
        name == name.strip() != ""
        and not name.startswith(RESERVED_PREFIX)
        and not any(char in "/:\\" for char in name)
        and not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in name)
    )


def task_nodes(run_file: RunFile, path: Path = ("tasks",)) -> list[Node]:
    """Return the tasks of the list or the inline plan, with their places."""
    if run_file.tasks is not None:
        return [
            Node((*path, i), task.title, task.title, task.assignee, task.depends_on)
            for i, task in enumerate(run_file.tasks)
        ]
    if isinstance(run_file.plan, PlanArtifact):
        return plan_nodes(run_file.plan, ("plan",))
    return []


def plan_nodes(plan: PlanArtifact, path: Path) -> list[Node]:
    """Return the tasks of a plan; there references are ids."""
    return [
        Node((*path, "tasks", i), task.title, task.id, task.assignee, task.depends_on)
        for i, task in enumerate(plan.tasks)
    ]


def check_plan(plan: PlanArtifact, path: Path = ()) -> list[Problem]:
    """Return unusable ids (W10, W13), references that do not resolve, unusable metadata.

    Ids are compared exactly: a plan is replayed to the letter.
    """
    found: list[Problem] = []
    seen: set[str] = set()
    for index, task in enumerate(plan.tasks):
        place = (*path, "tasks", index, "id")
        if task.id in seen:
            found.append(problem("RUNFILE_TASK_ID_TWICE", place, name=task.id))
        if task.id != js_trim(task.id):
            found.append(problem("PLAN_ID_SPACES", place, id=task.id))
        seen.add(task.id)
    found += check_graph(plan_nodes(plan, path), key=str)
    return found + list(_task_metadata(plan.tasks, (*path, "tasks")))


def check_plan_mode(run_file: RunFile) -> list[Problem]:
    """Return a problem where a plan shall be replayed and repaired: a replay is exact."""
    if run_file.plan is None or run_file.recovery.mode == "fixed":
        return []
    return [problem("PLAN_NEEDS_FIXED_RECOVERY", ("recovery", "mode"))]


def _task_metadata(tasks: Sequence[TaskSpec | PlanTask], path: Path) -> Iterator[Problem]:
    for index, task in enumerate(tasks):
        if task.metadata is not None and (wrong := task_metadata_problem(task.metadata)):
            place = (*path, index, "metadata", *filter(None, wrong[:1]))
            yield problem("RUNFILE_TASK_METADATA", place, name=wrong[0], reason=wrong[1])


def _one_kind_of_work(run_file: RunFile) -> Iterator[Problem]:
    given = [key for key in ("tasks", "goal", "plan") if getattr(run_file, key) is not None]
    if len(given) > 1:
        yield problem("RUNFILE_TWO_KINDS_OF_WORK", (given[1],), given=", ".join(given))
    if run_file.tasks is not None and not run_file.tasks:
        yield problem("RUNFILE_NO_TASKS", ("tasks",))


def _gate_rules(run_file: RunFile) -> Iterator[Problem]:
    """Rounds and the gate before each task are two ways to run (engine.md 1.1)."""
    approvals = run_file.approvals
    if approvals.rounds != "allow" and approvals.dispatch:
        yield problem("RUNFILE_ROUNDS_AND_DISPATCH", ("approvals", "rounds"))


def _recovery_rules(run_file: RunFile) -> Iterator[Problem]:
    """Titles are known where the file lists the tasks, agents where it brings the team."""
    recovery, team = run_file.recovery, run_file.team
    if recovery.wanted and run_file.approvals.rounds != "allow":
        yield problem("RUNFILE_RECOVERY_WITH_ROUNDS", ("approvals", "rounds"))
    yield from check_recovery(
        recovery,
        agents=None if team is None else [agent.name for agent in team.agents],
        titles=None if run_file.tasks is None else [task.title for task in run_file.tasks],
    )


def _provider_rules(run_file: RunFile) -> Iterator[Problem]:
    for name, entry in run_file.providers.items():
        if entry.type == "scripted" and not entry.script:
            yield problem("RUNFILE_MISSING_KEY", ("providers", name, "script"), name="script")


def _routing_rules(run_file: RunFile) -> Iterator[Problem]:
    """A rule about an agent nobody has would silently never fit."""
    routing = run_file.orchestrator.model_routing
    if routing is None or run_file.team is None:
        return
    names = [*(agent.name for agent in run_file.team.agents), "coordinator"]
    for index, rule in enumerate(routing.rules):
        name = rule.match.agent
        if name is not None and name not in names:
            path = ("orchestrator", "modelRouting", "rules", index, "match", "agent")
            yield unknown("RUNFILE_UNKNOWN_AGENT", path, name, names)


def _cost_rules(run_file: RunFile) -> Iterator[Problem]:
    options = run_file.orchestrator
    if options.max_cost_budget is not None and not options.prices:
        yield problem("RUNFILE_COST_NEEDS_PRICES", ("orchestrator", "maxCostBudget"))


def _redaction_rules(run_file: RunFile) -> Iterator[Problem]:
    redact = run_file.checkpoint.redact
    if isinstance(redact, Redaction):
        for index, pattern in enumerate(redact.patterns):
            try:
                compile_patterns([pattern])
            except InvalidInput as error:
                place = ("checkpoint", "redact", "patterns", index)
                facts = {"pattern": pattern, "problem": error.facts["problem"]}
                yield problem(error.code, place, **facts)
