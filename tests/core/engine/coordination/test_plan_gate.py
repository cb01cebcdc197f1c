"""The gate before a plan is carried out (engine.md 5.1-5.6)."""

from dataclasses import replace

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.gate import deny, suspend
from oma_desktop.model.runfile import Coordinator
from oma_desktop.store.redacting import RedactingStore
from tests.core.engine.coordination.team_scripts import GOAL, script
from tests.core.engine.run_world import RunWorld, statuses


def gated(answer, **extra):
    """A world whose plan gate gives `answer`; `asked` counts its calls."""
    world = RunWorld(script=script(**extra))
    asked = []

    async def plan(tasks):
        asked.append([t["title"] for t in tasks])
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    world.team = replace(world.team, gates=replace(world.team.gates, plan=plan))
    return world, asked


async def restored(world, **options):
    return await world.restore(real_runner=True, coordinator=Coordinator(), **options)


async def test_an_allowed_plan_runs():
    world, asked = gated(True)
    result = await world.run_team(GOAL)
    assert result.success
    assert asked == [["Venues", "Budget", "Agenda"]]
    assert result.log["gateCalls"] == [{"gate": "plan", "tasks": ["Venues", "Budget", "Agenda"]}]
    assert result.tasks[2]["assignee"], "a reviewer sees who would do it"


@pytest.mark.parametrize("answer", [False, deny("too dear")])
async def test_a_refused_plan_never_runs_and_nothing_a_restore_could_run_is_saved(answer):
    world, _ = gated(answer)
    result = await world.run_team(GOAL)
    assert result.status.code == "rejected"
    assert result.final_answer is None
    assert [c for c in result.log["modelCalls"] if "@decompose" not in c] == []
    assert set(statuses(result).values()) == {"skipped"}
    assert world.store.list() == []


@pytest.mark.parametrize("answer", [RuntimeError("x"), "yes", None, {"action": "maybe"}])
async def test_a_broken_plan_gate_lets_nothing_through(answer):
    world, _ = gated(answer)
    result = await world.run_team(GOAL)
    assert (result.status.code, result.error_info.kind) == ("error", "callback")
    assert result.task_results == {}
    assert world.store.list() == []


async def test_a_suspended_plan_waits_and_nothing_of_it_ran():
    world, _ = gated(suspend("the owner signs"))
    result = await world.run_team(GOAL)
    assert result.status.code == "suspended"
    (request,) = result.pending_approvals
    assert (request["scope"], request["boundary"]) == ("plan", "coordinator-plan")
    assert request["content"]["continuation"] == "execute"
    assert request["reason"] == "the owner signs"
    assert len(world.of("approval_pending")) == 1
    before = world.snapshot()
    again = await restored(world)
    assert again.status.code == "suspended"
    assert world.snapshot() == before


async def test_idea_38_an_approved_plan_runs_without_asking_again():
    world, asked = gated(suspend())
    waiting = await world.run_team(GOAL)
    ids = [t["id"] for t in waiting.tasks]
    world.decide("approve")
    result = await restored(world)
    assert result.success
    assert result.final_answer == "All set."
    assert [t["id"] for t in result.tasks] == ids
    assert len(asked) == 1
    assert not any("@decompose" in c for c in result.log["modelCalls"])
    assert (await restored(world)).success


async def test_idea_38_an_approved_plan_only_stays_undispatched_however_often():
    world, asked = gated(suspend())
    waiting = await world.run_team(GOAL, plan_only=True)
    assert waiting.pending_approvals[0]["content"]["continuation"] == "plan_only"
    assert not waiting.plan_only, "it is no plan yet"
    world.decide("approve")
    for _ in range(3):
        result = await restored(world)
        assert result.success
        assert result.plan_only
        assert set(statuses(result).values()) == {"pending"}
        assert result.log is None
    assert len(asked) == 1


async def test_a_rejected_plan_stays_rejected_however_often():
    world, _ = gated(suspend())
    await world.run_team(GOAL)
    world.decide("reject")
    for _ in range(3):
        result = await restored(world)
        assert result.status.code == "rejected"
        assert set(statuses(result).values()) == {"skipped"}
        assert result.final_answer is None
        assert result.task_results == {}


async def test_a_plan_cannot_wait_without_a_checkpoint():
    world, _ = gated(suspend())
    result = await world.run_team(GOAL, checkpoint=False)
    assert (result.status.code, result.error_info.code) == (
        "error",
        "APPROVAL_ATOMIC_STORE_REQUIRED",
    )
    assert result.pending_approvals == ()


async def test_idea_37_a_plan_cannot_wait_in_a_store_that_cannot_decide():
    world, _ = gated(suspend())
    plain = world.store
    world.store = RedactingStore(plain)
    result = await world.run_team(GOAL)
    assert result.error_info.code == "APPROVAL_ATOMIC_STORE_REQUIRED"
    assert result.pending_approvals == ()
    assert plain.list() == []


async def test_a_request_that_cannot_be_saved_is_not_pending():
    world, _ = gated(suspend())
    world.store.fail = True
    result = await world.run_team(GOAL)
    assert (result.status.code, result.error_info.code) == ("error", "APPROVAL_NOT_SAVED")
    assert result.pending_approvals == ()
    world.store.fail = False
    assert world.store.list() == []


async def test_a_kill_between_checkpoint_and_ledger_row_loses_no_request():
    world, _ = gated(suspend())
    await world.run_team(GOAL)
    died = world.crashed(at=0)
    for entry in list(died.store.list()):
        if entry.key.startswith("__oma_approval__/"):
            died.store.delete(entry.key)
    assert (await restored(died)).status.code == "suspended"
    died.decide("approve")
    assert (await restored(died)).success


async def test_a_stop_while_the_gate_is_asked_leaves_no_plan_that_would_run_unseen():
    world, _ = gated(lambda: world.token.stop(StopReason.SUSPEND))
    result = await world.run_team(GOAL)
    assert (result.status.code, result.status.message) == ("cancelled", "STOPPED_BEFORE_PLAN")
    assert world.store.list() == []


async def test_a_plan_only_gate_that_refuses_wins():
    world, _ = gated(False)
    result = await world.run_team(GOAL, plan_only=True)
    assert result.status.code == "rejected"
    assert not result.plan_only


async def test_the_tokens_of_a_plan_that_waited_are_counted_after_all():
    world, _ = gated(suspend())
    await world.run_team(GOAL)
    world.decide("approve")
    result = await restored(world)
    assert result.total_usage == {"input_tokens": 50 + 3 * 10 + 100, "output_tokens": 5}
