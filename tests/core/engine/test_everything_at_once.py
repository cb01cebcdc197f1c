"""A run with delegation, judges, held calls and dispatches, and a repaired plan, killed anywhere.

Each part has its own crash tests; here they meet. Whatever save the kill left, the same decisions
lead to the same end, with one repair, with every number going on and every file readable.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.tools.gate import ALLOW, GateDecision
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.keys import APPROVAL_KEY_PREFIX, is_checkpoint_key
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.verify import VerifySpec
from tests.core.engine.coordination.team_scripts import GOAL, script
from tests.core.engine.run_world import RunWorld, spec, statuses

SUSPEND = GateDecision("suspend", "look")
LOOK = {"tools": [{"id": "l", "name": "look", "input": {}}]}
SCRIPT = {
    "team": {"name": "x"},
    "orchestrator": {"maxConcurrency": 3},
    "agents": [
        {"name": "a", "tools": ["look", "send"], "delegate": True},
        {"name": "b", "tools": ["look"]},
        {"name": "c", "tools": ["send"]},
        {"name": "judge"},
    ],
    "tools": {
        "look": {"schema": {}, "results": {"*": {"data": "seen"}}},
        "send": {"schema": {}, "results": {"*": {"data": "sent"}}},
    },
    "replies": {
        "a::Alpha": [
            {
                "tools": [
                    {
                        "id": "d",
                        "name": "delegate_to_agent",
                        "input": {"target_agent": "b", "prompt": "look it up"},
                    },
                    {"id": "s", "name": "send", "input": {}},
                ]
            },
            {"text": "alpha"},
        ],
        "b::Boom": [LOOK, {"error": {"message": "bad", "status": 400}}],
        "c::Gamma": [{"tools": [{"id": "g", "name": "send", "input": {}}]}, {"text": "gamma"}],
        "judge": [{"text": '{"accept": true, "critique": "fine"}'}],
        "@default": [LOOK, {"text": "end"}],
    },
}
SPECS = (
    spec("Alpha", assignee="a"),
    spec("Boom", assignee="b"),
    spec("After", "Boom", assignee="a"),
    spec("Gamma", "Alpha", assignee="c"),
    spec("Delta", assignee="b", verify=VerifySpec(judges=["judge"])),
)
END = {
    "Alpha": "completed",
    "Boom": "failed",
    "After": "skipped",
    "Gamma": "completed",
    "Delta": "completed",
    "Fix": "completed",
    "After2": "completed",
}


def repair(outcome):
    if outcome.kind != "failure":
        return None
    after = next(t for t in outcome.tasks if t["title"] == "After")
    fix = {"key": "fix", "title": "Fix", "description": "fix it", "assignee": "c"}
    again = {"key": "again", "title": "After2", "description": "go on", "assignee": "a"}
    return {
        "reason": "it broke",
        "supersedePending": [after["id"]],
        "addTasks": [fix, {**again, "dependsOn": ["fix"]}],
    }


RECOVERY = RecoveryOptions("repairable", on_task_outcome=repair)


def make_world():
    async def tool(call):
        return SUSPEND if call.tool == "send" else ALLOW

    async def dispatch(task):
        return SUSPEND if task["title"] in {"Gamma", "Fix"} else ALLOW

    world = RunWorld(script=SCRIPT)
    gates = replace(world.team.gates, tool=tool, dispatch=dispatch)
    world.team = replace(world.team, gates=gates)
    return world


async def to_the_end(world, **options):
    for _ in range(12):
        world.decide()
        result = await world.restore(real_runner=True, recovery=RECOVERY, **options)
        if result.status.code != "suspended":
            return result
    raise AssertionError("it never comes to its end")


def killed_at(world, index):
    """The store as a kill after one save left it; the ledger holds what the save speaks of."""
    saved = world.store.saved[index]
    left = world.crashed(index)
    known = {r["id"] for r in saved["pendingApprovals"]}
    known |= {d["requestId"] for d in saved["approvalDecisions"]}
    for entry in left.store.list():
        name = entry.key.removeprefix(APPROVAL_KEY_PREFIX)
        if name != entry.key and name not in known:
            left.store.delete(entry.key)
    return left


def forget_our_facts(world):
    """What a peer does that wrote the checkpoint in between."""
    entry = next(e for e in world.store.list() if is_checkpoint_key(e.key))
    document = json.loads(entry.value)
    del document["omaDesktop"]
    world.store.set(entry.key, json.dumps(document), entry.metadata)
    world.store.saved.clear()


@pytest.mark.parametrize("peer_between", [False, True])
async def test_killed_anywhere_it_comes_to_the_same_end(peer_between):
    world = make_world()
    first = await world.run(*SPECS, real_runner=True, recovery=RECOVERY)
    assert first.status.code == "suspended"
    whole = await to_the_end(world)
    assert whole.success
    assert statuses(whole) == END
    used = [s["omaDesktop"]["usage"]["input_tokens"] for s in world.store.saved]
    assert used == sorted(used), "usage never goes back"

    for index in range(int(peer_between), len(world.store.saved), 3):
        left = killed_at(world, index)
        if peer_between:
            forget_our_facts(left)
        result = await to_the_end(left, specs=SPECS)
        assert statuses(result) == END, index
        assert result.success, index
        assert len(result.plan_revisions) == 1, index
        assert result.identity.attempt > world.store.saved[index]["identity"]["attempt"]
        if not peer_between:
            assert result.total_usage["input_tokens"] >= whole.total_usage["input_tokens"], index
        for saved in left.store.saved:
            load_snapshot_text(json.dumps(saved))


def repair_of_goal(outcome):
    if outcome.kind != "failure":
        return None
    agenda = next(t for t in outcome.tasks if t["title"] == "Agenda")
    fix = {"key": "fix", "title": "Fix", "description": "fix it", "assignee": "clerk"}
    again = {"key": "again", "title": "Agenda2", "description": "go on", "assignee": "scout"}
    return {
        "reason": "it broke",
        "supersedePending": [agenda["id"]],
        "addTasks": [fix, {**again, "dependsOn": ["fix"]}],
    }


@pytest.mark.parametrize("memory", ["memory", "file"])
@pytest.mark.parametrize("peer_between", [False, True])
async def test_a_goal_whose_plan_was_approved_and_repaired_is_reached_from_any_save(
    memory, peer_between
):
    async def hold(_tasks):
        return SUSPEND

    broken = {"error": {"message": "bad", "status": 400}}
    document = script(replies={"clerk::Budget": [broken]})
    document["team"]["sharedMemory"] = memory
    world = RunWorld(script=document)
    world.team = replace(world.team, gates=replace(world.team.gates, plan=hold))
    recovery = RecoveryOptions("repairable", on_task_outcome=repair_of_goal)
    options = {"recovery": recovery, "coordinator": Coordinator(), "real_runner": True}

    async def reach(some_world):
        some_world.decide()
        return await some_world.restore(**options)

    assert (await world.run_team(GOAL, recovery=recovery)).status.code == "suspended"
    whole = await reach(world)
    assert (whole.success, whole.final_answer) == (True, "All set.")
    for index in range(len(world.store.saved)):
        left = killed_at(world, index)
        if peer_between:
            forget_our_facts(left)
        result = await reach(left)
        assert statuses(result) == statuses(whole), index
        assert (result.success, result.final_answer) == (True, "All set."), index
        assert len(result.plan_revisions) == 1, index
        if not peer_between:
            assert result.total_usage["input_tokens"] >= whole.total_usage["input_tokens"], index
        left.forget_events()
        assert (await reach(left)).final_answer == "All set."
        assert left.of("model_call") == [], "a finished goal asks nobody again"
