"""Tasks nobody of the team can do, found in a run file before a run (engine.md 2.6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from oma_desktop.engine.agent_defaults import with_defaults
from oma_desktop.engine.model_routes import ModelRoutes
from oma_desktop.engine.queueing.scheduling import AgentChooser, in_words, unfit
from oma_desktop.engine.tools.grants import is_granted
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.document_text import Document
from oma_desktop.model.plan import PlanArtifact, PlanTask
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.runfile_problems import placed
from oma_desktop.model.runfile_reading import look_at_run_file
from oma_desktop.model.runfile_rules import task_nodes
from oma_desktop.model.task_graph import problem, title_key
from oma_desktop.model.team import AgentConfig, TaskSpec, TeamConfig
from oma_desktop.model.view import Problem

Work = Sequence[TaskSpec | PlanTask]


def unfit_tasks(document: Document) -> tuple[Problem, ...]:
    """Return a problem for each fixed task whose requirements its agent, or nobody, meets.

    Empty where the document is no run file with a team and tasks. A tool counts as soon as the
    agent is granted its name: which tools servers bring is known when they run.
    """
    run_file = look_at_run_file(document).run_file
    if run_file is None or run_file.team is None:
        return ()
    work = _work(run_file)
    chooser, roster = _chooser(run_file, run_file.team, work)
    bare = isinstance(document.value, list)
    nodes = task_nodes(run_file, () if bare else ("tasks",))
    found: list[Problem] = []
    for node, task in zip(nodes, work, strict=True):
        snapshot = _snapshot(task, node.name)
        if (agent := unfit(snapshot, chooser, roster)) is not None:
            code = "RUNFILE_NOBODY_FITS" if task.assignee is None else "RUNFILE_ASSIGNEE_UNFIT"
            facts = {"title": task.title, "agent": agent.name}
            missing = in_words(chooser.missing(snapshot, agent))
            found.append(problem(code, (*node.path, "requires"), **facts, missing=missing))
    return placed(found, document)


def _work(run_file: RunFile) -> Work:
    if isinstance(run_file.plan, PlanArtifact):
        return run_file.plan.tasks
    return run_file.tasks or ()


def _chooser(
    run_file: RunFile, team: TeamConfig, work: Work
) -> tuple[AgentChooser, dict[str, AgentConfig]]:
    """The chooser a run would have, and the team by name."""
    options = run_file.orchestrator
    agents = with_defaults(team, run_file, Path()).agents
    tools = {t for task in work for t in (task.requires or {}).get("requiredTools", ())}
    awaited = {title_key(name) for task in work for name in task.depends_on}
    routes = ModelRoutes(
        options.model_routing, options, is_leaf=lambda name: title_key(name) not in awaited
    )
    chooser = AgentChooser(
        options.scheduling_strategy,
        agents,
        grants=lambda agent: frozenset(t for t in tools if is_granted(agent, t)),
        default_provider=options.default_provider,
        route=routes.first,
    )
    return chooser, {agent.name: agent for agent in agents}


def _snapshot(task: TaskSpec | PlanTask, name: str) -> TaskSnapshot:
    facts = task.model_dump(by_alias=True, exclude_none=True)
    return cast("TaskSnapshot", {**facts, "id": name})
