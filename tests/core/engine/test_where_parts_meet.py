"""What no single part owns: stops, approvals, restores and faults that meet in one run."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import replace

import pytest

from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.saving.approvals import Approvals
from oma_desktop.engine.tools.gate import ALLOW, GateDecision, Gates
from oma_desktop.engine.tools.registry import ToolOutput, ToolSpec
from oma_desktop.model.approval_rules import create_request
from oma_desktop.model.checkpoint_loader import load_snapshot_text
from oma_desktop.model.team import AgentConfig
from oma_desktop.model.verify import VerifySpec
from tests.bench.big_run import big_run
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses
from tests.core.engine.runner_world import FakeModel, VirtualClock, say
from tests.core.engine.test_stops import LONG, SPECS, stop_at

SUSPEND = GateDecision("suspend", "look")
ONE_CALL = {
    "team": {"name": "x"},
    "orchestrator": {"maxConcurrency": 2},
    "agents": [{"name": "a", "tools": ["look"]}, {"name": "b", "tools": ["look"]}],
    "tools": {"look": {"schema": {}, "results": {"*": {"data": "seen", "delayMs": 500}}}},
    "replies": {
        "@default": [
            {"tools": [{"id": "c", "name": "look", "input": {}}], "delayMs": 300},
            {"text": "end"},
        ]
    },
}


# ------------------------------------------------------------------ a journal of another writer


async def test_marks_of_a_journal_are_not_in_the_v4_a_program_without_one_writes():
    world = RunWorld(script=LONG)
    await world.run(*SPECS, real_runner=True)
    both = next(s for s in world.store.saved if len(s["inFlightTasks"]) == 2)
    v5 = copy.deepcopy(both)
    v5 |= {"version": 5, "journalWatermarkSeq": 20, "journalRef": {"kind": "InMemoryRunJournal"}}
    for entry in v5["inFlightTasks"]:
        said = entry["conversationMessages"]
        entry["journalSeq"] = 19
        entry["conversationLineage"] = [[[1] for _ in m["content"]] for m in said]
    world.store.saved.append(v5)
    later = world.crashed()
    assert (await later.restore(real_runner=True)).success
    assert later.store.saved[0]["inFlightTasks"], "entries that are only carried are written too"
    for saved in later.store.saved:
        text = json.dumps(saved)
        assert saved["version"] == 4
        assert "journal" not in text
        assert "conversationLineage" not in text


# ------------------------------------------------------------------ an operator's suspend


@pytest.mark.parametrize("moment", ["model_call", "tool_start"])
async def test_a_suspend_while_the_disk_is_full_fails_no_task(moment):
    """Nobody asked a person: the save of the open round is an ordinary one, never a fault."""
    world = RunWorld(script=LONG)
    stop_at(world, moment, 1, StopReason.SUSPEND)

    def watch(event):
        if event.type == moment and world.token.stopped:
            world.store.fail = True
        elif event.type == "run_end":
            world.store.fail = False

    world.bus.subscribe(watch)
    result = await world.run(*SPECS, real_runner=True)
    assert result.status.code == "suspended"
    assert "failed" not in statuses(result).values()
    world.store.fail = False
    again = await world.restore(real_runner=True)
    assert statuses(again) == dict.fromkeys("ABC", "completed")


async def test_an_approved_dispatch_outlives_a_suspend_before_its_task_began():
    """Three approved tasks of one agent: two wait for it when the operator suspends."""

    async def hold(_task):
        return SUSPEND

    async def work(world, _agent, job):
        if job.task_title == "A":
            world.token.stop(StopReason.SUSPEND)
            await asyncio.sleep(0)
        return ok(job.task_title)

    world = RunWorld(agents=("a",), work=work, gates=Gates(dispatch=hold))
    await world.run(spec("A"), spec("B"), spec("C"))
    world.decide()
    asked = len(world.of("gate_call"))
    suspended = await world.restore()
    assert statuses(suspended) == {"A": "completed", "B": "pending", "C": "pending"}
    world.work = None
    done = await world.restore()
    assert done.success
    assert len(world.of("gate_call")) == asked, "nobody is asked again"
    assert world.snapshot()["pendingApprovals"] == []


# ------------------------------------------------------------------ usage and a refusal


async def test_a_rejected_boundary_keeps_what_running_agents_used():
    async def gate(task):
        return SUSPEND if task["title"] == "B" else ALLOW

    world = RunWorld(script=ONE_CALL)
    world.team = replace(world.team, gates=replace(world.team.gates, dispatch=gate))
    await world.run(spec("A", assignee="a"), spec("B", assignee="b"), real_runner=True)
    saved = world.store.saved
    at = next(i for i, s in enumerate(saved) if s["inFlightTasks"] and s["pendingApprovals"])
    crashed = world.crashed(at)
    before = crashed.snapshot()["omaDesktop"]["usage"]
    assert before["input_tokens"] > 0
    crashed.decide("reject")
    result = await crashed.restore(real_runner=True)
    assert result.status.code == "rejected"
    assert result.total_usage == before
    assert crashed.snapshot()["omaDesktop"]["usage"] == before


# ------------------------------------------------------------------ trying again what failed


async def test_p_15_a_task_with_a_dependency_that_does_not_exist_is_not_tried_again():
    world = RunWorld(agents=("a",))
    await world.run(spec("A"), spec("B", "nope"), spec("C", "B"))
    again = await world.restore(retry_failed=True)
    assert statuses(again) == {"A": "completed", "B": "failed", "C": "failed"}
    assert [e.data["title"] for e in world.of("task_start")] == ["A"]
    assert again.tasks[1]["result"] == "UNRESOLVED_DEPENDENCIES: nope"


# ------------------------------------------------------------------ code of others


async def test_a_policy_that_leaves_the_program_leaves_only_its_question():
    """`sys.exit` in a plan policy, a gate or a hook is a failure of theirs, and it is told."""

    def policy(_outcome):
        raise SystemExit(3)

    async def work(_world, _agent, job):
        return bad(retryable=False) if job.task_title == "A" else ok()

    world = RunWorld(agents=("a",), work=work)
    recovery = RecoveryOptions("repairable", on_task_outcome=policy)
    result = await world.run(spec("A"), spec("B"), recovery=recovery)
    assert statuses(result) == {"A": "failed", "B": "completed"}
    told = [e.data for e in world.of("error") if e.data.get("kind") == "recovery_policy_failed"]
    assert [d["error"] for d in told] == ["RuntimeError('SystemExit: 3')"] * 2


async def test_a_key_in_what_a_policy_raises_is_told_to_nobody():
    def policy(_outcome):
        raise ValueError("no access with api_key=sk-abcdefghijklmnopqrstuvwx")

    world = RunWorld(agents=("a",))
    recovery = RecoveryOptions("repairable", on_task_outcome=policy)
    result = await world.run(spec("A"), recovery=recovery)
    told = [e.data for e in world.of("error") if e.data.get("kind") == "recovery_policy_failed"]
    assert len(told) == 1
    assert "no access" in told[0]["error"]
    assert "sk-abc" not in json.dumps([told, result.log, world.store.saved])


# ------------------------------------------------------------------ odd names


async def test_w10_a_call_id_with_spaces_around_it_can_wait_for_a_decision():
    script = copy.deepcopy(ONE_CALL)
    script["replies"]["@default"][0]["tools"][0]["id"] = " c\n"

    async def gate(_call):
        return SUSPEND

    world = RunWorld(script=script)
    world.team = replace(world.team, gates=replace(world.team.gates, tool=gate))
    waiting = await world.run(spec("A", assignee="a"), real_runner=True)
    assert waiting.status.code == "suspended"
    world.decide()
    world.forget_events()
    done = await world.restore(real_runner=True)
    assert done.success
    assert done.warnings == ()
    assert [e.data["toolCallId"] for e in world.of("tool_start")] == ["c"]


@pytest.mark.parametrize("usage", [(10, 1), (-5, 1), (10**400, 1), (float("nan"), 1)])
@pytest.mark.parametrize("name", ["", " ", "look"])
async def test_what_an_endpoint_sends_never_makes_a_checkpoint_unreadable(name, usage):
    """A call without a name (L30), counts that are none (L23): the run goes on and can go on."""
    model = FakeModel(say("x", ("c", name, {"a": 1}), usage=usage), say("end", usage=usage))
    world = RunWorld(agents=("a",))
    world.team = replace(world.team, adapter_for=lambda _agent: model)
    result = await world.run(spec("A", assignee="a"), real_runner=True)
    assert result.success
    assert ("USAGE_UNKNOWN" in result.warnings) is (usage != (10, 1))
    assert any(saved["inFlightTasks"] for saved in world.store.saved)
    for saved in world.store.saved:
        load_snapshot_text(json.dumps(saved, allow_nan=False))


async def test_what_a_tool_sends_or_counts_never_makes_a_save_fail():
    """A message that is no text, tokens that are no numbers: an error result, and no count."""

    async def tell(_input, context):
        context.send_message("b", object())

    async def count(_input, _context):
        return ToolOutput("counted", usage={"input_tokens": -1})

    tools = [ToolSpec(n, "", {"type": "object"}, f) for n, f in (("tell", tell), ("count", count))]
    model = FakeModel(say("", ("c1", "tell", {}), ("c2", "count", {})), say("end"))
    agents = [AgentConfig(name="a", tools=["tell", "count"]), AgentConfig(name="b")]
    world = RunWorld(agents=agents, tools=tools)
    world.team = replace(world.team, adapter_for=lambda _agent: model)
    result = await world.run(spec("A", assignee="a"), real_runner=True)
    assert result.success
    assert result.total_usage == {"input_tokens": 20, "output_tokens": 2}
    assert result.warnings == ()
    for saved in world.store.saved:
        load_snapshot_text(json.dumps(saved))
    answers = [m for m in model.requests[1].messages if m["role"] == "user"][-1]["content"]
    assert [a.get("is_error", False) for a in answers] == [True, False]


def test_an_approval_is_not_given_back_to_a_task_that_was_changed_since():
    """Let through, moved by a plan patch, looked at again: what was approved is no longer there."""
    state = big_run(tasks=1, done=0, megabytes=0.01).state
    task = state.queue.tasks[0]
    request = create_request(
        run_id=state.identity.run_id,
        scope="task_dispatch",
        boundary=task["id"],
        content={"kind": "task_dispatch", "task": task},
        requested_at=VirtualClock().now(),
        reason=None,
    )
    state.pending[request["id"]] = request
    state.decisions[request["id"]] = {"decision": "approved"}
    approvals = Approvals(state, writer=None, ledger=None, lanes=None, clock=None, bus=EventBus())
    assert approvals.take_dispatch(task)
    assert state.pending == {}
    moved = state.queue.assign(task["id"], "somebody else")
    assert not approvals.take_dispatch(moved)
    approvals.give_back_dispatch(task["id"])
    assert state.pending == {}


@pytest.mark.parametrize("reason", [StopReason.SUSPEND, StopReason.CANCEL])
@pytest.mark.parametrize("judged", [False, True])
async def test_work_that_leaves_no_steps_to_go_on_from_stays_counted(reason, judged):
    """Agents that are programs have no boundaries: stopped, they begin again, and were paid for."""
    given = []

    async def work(world, agent, job):
        if len(given) == int(judged):
            world.token.stop(reason)
            result = replace(ok(), success=False, suspended=reason is StopReason.SUSPEND)
            result = replace(result, aborted=reason is StopReason.CANCEL)
        else:
            result = ok('{"accept": true, "critique": "fine"}')
        given.append(result.token_usage["input_tokens"])
        return result

    judge = VerifySpec(judges=["b"]) if judged else None
    world = RunWorld(agents=("a", "b"), work=work)
    first = await world.run(spec("A", assignee="a", verify=judge))
    assert statuses(first)["A"] != "completed"
    assert first.total_usage["input_tokens"] == sum(given)
    assert world.snapshot()["omaDesktop"]["usage"]["input_tokens"] == sum(given)
    done = await world.restore()
    assert done.success
    assert done.total_usage["input_tokens"] == sum(given)
    assert world.snapshot()["omaDesktop"]["usage"]["input_tokens"] == sum(given)
