"""Where runs are saved unless they say otherwise: the engine's own checkpoint options."""

from __future__ import annotations

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.options import CheckpointOptions, RunOptions
from oma_desktop.engine.orchestrator import OpenMultiAgent
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.plan import PlanArtifact
from tests.core.engine.coordination.team_scripts import GOAL, script
from tests.core.engine.run_world import InlineLanes, RecordingStore, RunWorld, ok, spec

PLAN = {"version": 1, "tasks": [{"id": "p", "title": "T", "description": "d", "assignee": "a"}]}


def engine(world, checkpoint):
    async def execute(_team, _agent, _job):
        return ok()

    return OpenMultiAgent(
        clock=world.clock,
        supervisor=Supervisor(),
        lanes=InlineLanes(),
        execute=execute,
        checkpoint=checkpoint,
    )


def runs(oma, world):
    """The ways to begin a run."""

    async def tasks(**options):
        return await oma.run_tasks(world.team, [spec("T")], RunOptions(**options))

    async def plan(**options):
        frozen = PlanArtifact.model_validate(PLAN)
        return await oma.run_from_plan(world.team, frozen, RunOptions(**options))

    return {"tasks": tasks, "plan": plan}


@pytest.mark.parametrize("way", ["tasks", "plan"])
async def test_a_run_is_saved_where_the_engine_says_or_where_it_says_itself(way):
    world = RunWorld(agents=("a",))
    other = RecordingStore(world.clock)
    run = runs(engine(world, CheckpointOptions(world.store)), world)[way]
    assert (await run()).saved
    assert len(world.store.list()) == 1
    assert (await run(checkpoint=CheckpointOptions(other))).saved
    assert (len(world.store.list()), len(other.list())) == (1, 1)
    assert not (await run(checkpoint=CheckpointOptions(world.store, enabled=False))).saved
    assert (len(world.store.list()), len(other.list())) == (1, 1)


async def test_a_goal_is_saved_there_too():
    world = RunWorld(script=script())
    oma = OpenMultiAgent(
        clock=world.clock,
        supervisor=Supervisor(),
        lanes=InlineLanes(),
        checkpoint=CheckpointOptions(world.store),
    )
    result = await oma.run_team(world.team, GOAL)
    assert result.saved
    assert world.snapshot()["mode"] == "runTeam"


async def test_a_restore_without_options_continues_what_is_saved_there():
    world = RunWorld(agents=("a",))
    oma = engine(world, CheckpointOptions(world.store))
    await runs(oma, world)["tasks"]()
    again = await oma.restore(world.team)
    assert again.success
    assert again.identity.attempt == 2
    with pytest.raises(InvalidInput, match="CHECKPOINT_NOT_NAMED"):
        await engine(world, None).restore(world.team)
