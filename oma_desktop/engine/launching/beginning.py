"""How the work of a run file begins: a goal, tasks, or a frozen plan (product.md 7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.wiring import Wiring
from oma_desktop.engine.options import CheckpointOptions, RunOptions, TeamRunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.runfile import Coordinator

Go: TypeAlias = Callable[[CancelToken], Awaitable[TeamRunResult]]


def work_of(engine: OpenMultiAgent, wiring: Wiring, run_id: str, place: CheckpointOptions) -> Go:
    """Return what starts the run: a goal is planned, tasks and plans are run as they are.

    Whoever asks to see the plan gets one, however simple the goal is; roles are a plan already.
    """

    async def reach_goal(token: CancelToken) -> TeamRunResult:
        options = TeamRunOptions(
            run_id=run_id,
            checkpoint=place,
            token=token,
            coordinator=wiring.coordinator or Coordinator(),
            mode=wiring.mode or _with_plan(wiring),
            governance=wiring.governance,
        )
        return await engine.run_team(wiring.team, wiring.goal or "", options)

    async def do_tasks(token: CancelToken) -> TeamRunResult:
        options = RunOptions(run_id=run_id, checkpoint=place, token=token)
        return await engine.run_tasks(wiring.team, wiring.specs, options)

    async def replay(token: CancelToken) -> TeamRunResult:
        assert wiring.plan is not None
        options = RunOptions(run_id=run_id, checkpoint=place, token=token)
        return await engine.run_from_plan(wiring.team, wiring.plan, options)

    if wiring.plan is not None:
        return replay
    return do_tasks if wiring.goal is None else reach_goal


def _with_plan(wiring: Wiring) -> Literal["team"] | None:
    roles = wiring.governance is not None and wiring.governance.applies(
        limited=wiring.orchestrator.is_limited
    )
    return "team" if wiring.team.gates.plan is not None and not roles else None
