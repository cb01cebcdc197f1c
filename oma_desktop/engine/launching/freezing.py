"""Making a plan and keeping it: what the command `plan` does (engine.md 4.6; formats.md 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.identity import RandomIds
from oma_desktop.engine.launching.documents import plan_of
from oma_desktop.engine.launching.endpoints import Endpoint
from oma_desktop.engine.launching.run_files import Files
from oma_desktop.engine.launching.wiring import Wiring
from oma_desktop.engine.operations.plan_tasks import create_plan_artifact, plan_of_specs
from oma_desktop.engine.options import TeamRunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.engine.tools.gate import ALLOW, GateDecision, PlanGate, read_answer
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.runfile import Coordinator

WITHOUT_VERIFY: Final = "PLAN_WITHOUT_VERIFY"


@dataclass(frozen=True, slots=True)
class Frozen:
    """The plan, None when the coordinator made none; `result` is what it gave, if it was asked."""

    plan: PlanArtifact | None
    result: TeamRunResult | None = None


async def _nothing_to_close() -> None:
    """Files hold nothing open."""


@dataclass(frozen=True, slots=True)
class Freezing:
    """One run file, about to be frozen: no task runs, nothing is saved. Close it in any case.

    `endpoints`: where the coordinator's calls will go; nowhere when there is no goal to plan.
    """

    go: Callable[[CancelToken], Awaitable[Frozen]]
    endpoints: tuple[Endpoint, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing_to_close


def freezing_goal(engine: OpenMultiAgent, wiring: Wiring) -> Freezing:
    """Have the goal planned by the coordinator. `go` raises what `run_team` raises."""

    async def go(token: CancelToken) -> Frozen:
        options = TeamRunOptions(
            token=token,
            coordinator=wiring.coordinator or Coordinator(),
            mode=wiring.mode,
            governance=wiring.governance,
            plan_only=True,
        )
        result = await engine.run_team(_read_later(wiring.team), wiring.goal or "", options)
        return Frozen(create_plan_artifact(result) if result.plan_only else None, result)

    return Freezing(go, wiring.endpoints, wiring.close)


def freezing_file(files: Files, *, bus: EventBus) -> Freezing:
    """Take the tasks, or the plan the file holds already; no model is asked, no key is needed.

    Blocking. Raises InvalidInput (no work, no team, plan file), PlanRejected.
    """
    plan = plan_of(files.run_file, files.base_dir)
    specs = files.run_file.tasks or []
    judged = [spec.title for spec in specs if spec.verify is not None]
    if plan is None:
        plan = plan_of_specs(specs, agents=_roster(files), new_id=RandomIds().uuid)

    async def go(_token: CancelToken) -> Frozen:
        if judged:
            bus.emit("warning", data={"code": WITHOUT_VERIFY, "tasks": judged})
        return Frozen(plan)

    return Freezing(go)


def _roster(files: Files) -> set[str]:
    if not files.run_file.tasks:
        raise InvalidInput("RUNFILE_NO_WORK", place="$")
    if files.run_file.team is not None:
        return {agent.name for agent in files.run_file.team.agents}
    if files.script is not None:
        return {agent.name for agent in files.script.agents}
    raise InvalidInput("RUNFILE_NO_TEAM", place="$")


def _read_later(team: Team) -> Team:
    """Who wants to read the plan before it is carried out gets to: it becomes a file.

    A gate that refuses the plan still does (engine.md 4.6).
    """
    if team.gates.plan is None:
        return team
    return replace(team, gates=replace(team.gates, plan=_at_once(team.gates.plan)))


def _at_once(gate: PlanGate) -> PlanGate:
    async def ask(tasks: Sequence[TaskSnapshot]) -> GateDecision:
        decision = read_answer(await gate(tasks), gate="plan", accepts_bool=True)
        return ALLOW if decision.action == "suspend" else decision

    return ask
