"""Frozen plans: made, replayed to the letter, restored (formats.md 6; engine.md 1.1, 7.7)."""

import json

import pytest

from oma_desktop.engine.launching.script import read_script, team_from_script
from oma_desktop.engine.operations.plan_tasks import create_plan_artifact, plan_of_specs
from oma_desktop.engine.tools.gate import ALLOW, Gates
from oma_desktop.model.errors import InvalidInput, PlanRejected
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.plan_reading import read_plan
from oma_desktop.model.result import RunIdentity, RunStatus, TeamRunResult
from tests.core.engine.run_world import GOLDEN, RunWorld, bad, ok, spec, statuses

FOLDER = GOLDEN / "p_plan_artifact"
PEER = json.loads((FOLDER / "expected.json").read_text("utf-8"))
SCRIPT = json.loads((GOLDEN / "p2_runfromplan_midrun" / "peer_script.json").read_text("utf-8"))
EDITS = sorted(path.stem.removeprefix("edit_") for path in FOLDER.glob("edit_*.json"))

# What the peer runs and we refuse (W13), and what we do where the peer's loader breaks.
REFUSED_HERE = {"duplicate_id"}


def document(name="plan"):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def plan(name="plan"):
    return read_plan((FOLDER / f"{name}.json").read_bytes(), name=f"{name}.json")


def little(*tasks, **more):
    rows = [{"title": t["id"], "description": "d", **t} for t in tasks]
    return PlanArtifact.model_validate({"version": 1, "tasks": rows, **more})


@pytest.mark.parametrize("name", EDITS)
async def test_a_replay_ends_as_the_peers_does(name):
    theirs = PEER["runFromPlan"][name]
    world = RunWorld(script=SCRIPT)
    if not theirs["ok"] or name in REFUSED_HERE:
        with pytest.raises((InvalidInput, PlanRejected)):
            await world.replay(plan(f"edit_{name}"), real_runner=True)
        assert world.of("model_call") == []
        assert world.store.saved == []
        return
    result = await world.replay(plan(f"edit_{name}"), real_runner=True)
    assert result.status.code == theirs["status"]["code"]
    assert [(t["id"], t["title"], t["status"], t.get("assignee")) for t in result.tasks] == [
        (t["id"], t["title"], t["status"], t["assignee"]) for t in theirs["tasks"]
    ]
    titles = sorted(call.split(" | ")[1] for call in (result.log or {}).get("modelCalls", []))
    assert titles == sorted(theirs["modelCalls"])


async def test_a_replay_keeps_ids_goal_and_mode_in_the_checkpoint():
    world = RunWorld(script=SCRIPT)
    result = await world.replay(plan(), real_runner=True)
    assert result.success
    saved = world.snapshot()
    assert (saved["mode"], saved["goal"]) == ("runFromPlan", document()["goal"])
    wanted = [(t["id"], t.get("dependsOn")) for t in document()["tasks"]]
    assert [(t["id"], t.get("dependsOn")) for t in saved["queue"]["tasks"]] == wanted
    assert "@decompose" not in str(result.log["modelCalls"])


async def test_an_assignee_outside_the_team_is_told_before_the_run():
    world = RunWorld(agents=("a",))
    result = await world.replay(little({"id": "1", "assignee": "nobody"}, {"id": "2"}))
    assert statuses(result) == {"1": "failed", "2": "completed"}
    (told,) = world.of("warning")
    assert told.data == {"code": "PLAN_AGENTS_MISSING", "agents": ["nobody"]}
    assert world.events[0] is told


async def test_dev_11_a_plan_restored_on_an_empty_store_stays_a_replay():
    world = RunWorld(agents=("a",))
    made = little({"id": "one"}, {"id": "two", "dependsOn": ["one"]}, goal="g")
    result = await world.restore(plan=made)
    assert result.success
    assert [t["id"] for t in result.tasks] == ["one", "two"]
    saved = world.snapshot()
    assert (saved["mode"], saved["goal"]) == ("runFromPlan", "g")
    again = await world.crashed(at=0).restore(plan=little({"id": "another"}))
    assert [t["id"] for t in again.tasks] == ["one", "two"]  # what was saved wins


async def test_dev_31_a_plan_without_tasks_runs_and_saves_nothing():
    world = RunWorld(agents=("a",))
    for result in (await world.replay(little()), await world.restore(plan=little())):
        assert (result.success, result.tasks) == (True, ())
    assert world.store.list() == []
    assert (await world.restore(specs=(spec("A"),))).success
    assert world.statuses() == {"A": "completed"}


async def test_a_restore_starts_tasks_or_a_plan_not_both():
    world = RunWorld(agents=("a",))
    with pytest.raises(InvalidInput, match="RESTORE_TWO_SOURCES"):
        await world.restore(plan=little({"id": "1"}), specs=(spec("A"),))
    assert world.store.list() == []


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([{"id": "1"}, {"id": "1"}], "PLAN_ID_TWICE"),
        ([{"id": " 1"}], "PLAN_ID_SPACES"),
        ([{"id": "1", "dependsOn": ["1"]}], "INVALID_TASK_DEPENDENCIES"),
        ([{"id": "a"}, {"id": "b", "dependsOn": ["A"]}], "INVALID_TASK_DEPENDENCIES"),
        ([{"id": "1", "metadata": {"api_key": "x"}}], "TASK_METADATA_INVALID"),
    ],
)
async def test_a_plan_that_cannot_run_is_refused_before_anything(tasks, code):
    world = RunWorld(agents=("a",))
    with pytest.raises(PlanRejected, match=code):
        await world.replay(little(*tasks))
    assert (world.events, world.store.list()) == ([], [])


async def test_ids_differ_by_case():
    world = RunWorld(agents=("a",))
    result = await world.replay(little({"id": "A"}, {"id": "a", "dependsOn": ["A"]}))
    assert result.success


async def test_the_same_secret_is_masked_in_task_metadata():
    world = RunWorld(script=SCRIPT)
    await world.replay(plan("edit_metadata_secret_value_ok"), real_runner=True)
    first = world.snapshot()["queue"]["tasks"][0]
    assert "abc" not in first["metadata"]["note"]


# --- making plans --------------------------------------------------------------------------------


def result_of(*tasks, plan_only=True, goal=None):
    identity = RunIdentity("r", 1, "a" * 32, "b" * 16)
    return TeamRunResult(RunStatus("ok"), identity, tuple(tasks), goal=goal, plan_only=plan_only)


def row(task_id, **more):
    times = {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z"}
    base = {"id": task_id, "title": "T", "description": "d", "status": "pending", **times}
    return {**base, **more}


def test_a_plan_only_result_becomes_the_peers_document():
    tasks = [row(t["id"], **{k: v for k, v in t.items() if k != "id"}) for t in document()["tasks"]]
    made = create_plan_artifact(result_of(*tasks, goal=document()["goal"]))
    assert made.to_json() == document()
    keys = list(made.to_json()["tasks"][1])
    assert keys[:5] == ["id", "title", "description", "assignee", "dependsOn"]


def test_what_a_plan_does_not_hold_is_left_out():
    made = create_plan_artifact(result_of(row("1", dependsOn=[], result="x", extra=1)))
    assert made.to_json() == {
        "version": 1,
        "tasks": [{"id": "1", "title": "T", "description": "d"}],
    }


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (result_of(row("1"), plan_only=False), "PLAN_NOT_PLAN_ONLY"),
        (result_of(), "PLAN_NOT_PLAN_ONLY"),
        (result_of(row("1", description="")), "PLAN_NO_DESCRIPTION"),
    ],
)
def test_other_results_make_no_plan(result, code):
    with pytest.raises(PlanRejected, match=code):
        create_plan_artifact(result)


async def test_tasks_are_frozen_and_replayed_alike():
    specs = (spec("A", assignee="a"), spec("B", "a", max_retries=1, metadata={"k": "v"}))
    world = RunWorld(agents=("a",))
    made = plan_of_specs(specs, agents={"a"}, new_id=world.ids.uuid)
    first, second = made.to_json()["tasks"]
    assert second["dependsOn"] == [first["id"]]
    result = await world.replay(made)
    assert [t["id"] for t in result.tasks] == [first["id"], second["id"]]
    with pytest.raises(PlanRejected, match="INVALID_TASK_DEPENDENCIES"):
        plan_of_specs((spec("A", "nothing"),), agents={"a"}, new_id=world.ids.uuid)


# --- rounds --------------------------------------------------------------------------------------


async def test_idea_33_two_ways_to_ask_between_tasks_are_refused():
    async def yes(*_args):
        return ALLOW

    world = RunWorld(agents=("a",), gates=Gates(round=yes, dispatch=yes))
    with pytest.raises(InvalidInput, match="GATES_ROUND_AND_DISPATCH"):
        await world.run(spec("A"))
    assert world.store.list() == []
    both = {**SCRIPT, "gates": {"round": {"*": "allow"}, "dispatch": {"*": "allow"}}}
    team = team_from_script(read_script(both), clock=world.clock)
    with pytest.raises(InvalidInput, match="GATES_ROUND_AND_DISPATCH"):
        await RunWorld(team=team).replay(plan())


async def test_idea_34_the_round_gate_sees_successes_and_is_not_asked_after_the_last_round():
    asked = []

    async def gate(done, following):
        asked.append(([t["title"] for t in done], [t["title"] for t in following]))
        return True

    async def work(_world, _agent, job):
        return bad(retryable=False) if job.task_title == "broken" else ok()

    world = RunWorld(agents=("a",), gates=Gates(round=gate), work=work)
    result = await world.run(spec("good"), spec("broken"), spec("next", "good"))
    assert statuses(result) == {"good": "completed", "broken": "failed", "next": "completed"}
    assert asked == [(["good"], ["next"])]
