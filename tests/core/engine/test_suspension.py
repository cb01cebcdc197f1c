"""Waiting for a person without holding anybody else (engine.md 5; P03, P04, P05, P14; case s02)."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.operations import attempt_run
from oma_desktop.engine.saving.approvals import Approvals, TaskBoundaries
from oma_desktop.engine.tools.gate import ALLOW, Gates
from oma_desktop.model.errors import StaleDecision, WriteFailed
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.ledger import ApprovalLedger
from tests.bench.big_run import big_run
from tests.core.engine.run_world import CASES, RunWorld, golden_world, ok, spec, statuses
from tests.core.engine.runner_world import VirtualClock

CALL = {"id": "c1", "name": "pay", "input": {"amount": 25}}


def script(*, gate="suspend", others=2, delay_ms=400, calls=(CALL,), scope="tool", limit=4):
    """`Pay` asks a person; `Other n` runs beside it in several turns."""
    beside = [f"Other {n}" for n in range(others)]
    slow = [
        {"text": "", "tools": [{"id": f"w{n}", "name": "look", "input": {}}], "delayMs": delay_ms}
        for n in range(3)
    ]
    gates = {"tool": {"pay": gate}} if scope == "tool" else {"dispatch": {"Pay": gate}}
    return {
        "team": {"name": "x", "sharedMemory": "memory"},
        "orchestrator": {"maxConcurrency": limit},
        "agents": [
            {"name": n, "tools": ["pay", "look"]} for n in ["payer", *(b.lower() for b in beside)]
        ],
        "tools": {
            "pay": {
                "schema": {"amount": "number"},
                "consequential": True,
                "results": {"*": {"data": "paid"}},
            },
            "look": {"schema": {}, "results": {"*": {"data": "seen", "delayMs": delay_ms}}},
        },
        "gates": gates,
        "replies": {
            "Pay": [{"text": "paying", "tools": list(calls)}, {"text": "all paid"}],
            **{b: [*slow, {"text": f"{b} done"}] for b in beside},
            "After": [{"text": "after"}],
        },
    }


def specs(others=2):

    beside = [f"Other {n}" for n in range(others)]
    return [
        spec("Pay", assignee="payer"),
        *(spec(b, assignee=b.lower()) for b in beside),
        spec("After", "Pay", assignee="payer"),
    ]


async def suspended(**facts):
    world = RunWorld(script=script(**facts))
    result = await world.run(*specs(facts.get("others", 2)), real_runner=True)
    return world, result


@pytest.mark.parametrize("scope", ["tool", "dispatch"])
async def test_p_14_p03_p04_others_finish_while_a_request_is_open(scope):
    world, result = await suspended(scope=scope)
    assert result.status.code == "suspended"
    held = "in_progress" if scope == "tool" else "pending"
    assert statuses(result) == {
        "Pay": held, "Other 0": "completed", "Other 1": "completed", "After": "blocked",
    }  # fmt: skip
    assert [r["scope"] for r in result.pending_approvals] == [
        "tool_call" if scope == "tool" else "task_dispatch"
    ]
    assert world.statuses() == statuses(result), "the file says the same"
    assert world.snapshot()["omaDesktop"]["end"]["status"] == "suspended"
    assert world.snapshot()["omaDesktop"]["end"]["by"] == "approval"


@pytest.mark.parametrize("scope", ["tool", "dispatch"])
async def test_dev_32_p03_p04_waiting_really_waits(scope, monkeypatch):
    """Each look at the state has a cause; the peer spins here and never yields."""

    made = []

    class Counting(attempt_run.Dispatcher):
        def __init__(self, attempt):
            super().__init__(attempt)
            made.append(self)

    monkeypatch.setattr(attempt_run, "Dispatcher", Counting)
    await suspended(scope=scope, others=3, limit=5)
    assert made[0].passes <= 10  # one per task that settles, and the first


async def test_the_request_is_saved_before_its_row_exists_and_then_announced():
    world = RunWorld(script=script(others=0))
    order = []
    world.store.on_save = lambda doc: order.append(("saved", len(doc["pendingApprovals"])))
    inner = world.store.compare_and_set

    def cas(key, *args, **kwargs):
        order.append(("row", 1))
        return inner(key, *args, **kwargs)

    world.store.compare_and_set = cas
    world.bus.subscribe(lambda e: e.type == "approval_pending" and order.append(("told", 1)))
    await world.run(*specs(0), real_runner=True)
    at = order.index(("row", 1))
    assert order[at - 1] == ("saved", 1)
    assert order[at + 1] == ("told", 1)


async def test_approve_runs_the_call_once_with_the_reviewed_input_and_no_gate():
    world, _ = await suspended()
    world.decide("approve")
    world.forget_events()
    result = await world.restore(real_runner=True)
    assert result.success
    assert result.identity.attempt == 2
    assert [c["id"] for c in result.log["toolCallsExecuted"]] == ["c1"]
    assert result.log["gateCalls"] == []
    assert set(statuses(result).values()) == {"completed"}
    assert world.snapshot()["pendingApprovals"] == []
    assert [d["decision"] for d in world.snapshot()["approvalDecisions"]] == ["approved"]


async def test_reject_runs_nothing_and_the_model_goes_on():
    world, _ = await suspended()
    world.decide("reject")
    world.forget_events()
    result = await world.restore(real_runner=True)
    assert result.success
    assert result.log["toolCallsExecuted"] == []
    assert set(statuses(result).values()) == {"completed"}


async def test_an_undecided_store_with_nothing_else_to_do_starts_no_attempt():
    world, _ = await suspended()
    before = [e.value for e in world.store.list()]
    for _ in range(3):
        result = await world.restore(real_runner=True)
        assert result.status.code == "suspended"
        assert result.identity.attempt == 1, "the saved one (P13)"
        assert len(result.pending_approvals) == 1
    assert [e.value for e in world.store.list()] == before


async def test_p_14_a_restore_goes_on_beside_an_open_request():
    world = RunWorld(script=script(limit=1, others=2))
    world.bus.subscribe(
        lambda e: e.type == "approval_pending" and world.token.stop(StopReason.SUSPEND)
    )
    first = await world.run(*specs(), real_runner=True)
    assert "completed" not in statuses(first).values()
    other = RunWorld(script=script(limit=1), store=world.store)
    result = await other.restore(real_runner=True)
    assert result.status.code == "suspended"
    assert result.identity.attempt == 2
    assert statuses(result) == {
        "Pay": "pending", "Other 0": "completed", "Other 1": "completed", "After": "blocked",
    }  # fmt: skip
    assert other.statuses()["Pay"] == "in_progress", "carried over, as saved (W2)"
    assert len(other.snapshot()["pendingApprovals"]) == 1
    other.decide("approve")
    last = await other.restore(real_runner=True)
    assert last.success
    assert last.identity.attempt == 3


async def test_two_calls_of_one_round_are_decided_one_after_the_other():
    two = (CALL, {"id": "c2", "name": "pay", "input": {"amount": 7}})
    world, result = await suspended(calls=two, others=0)
    assert len(result.pending_approvals) == 2
    first = next(r for r in result.pending_approvals if r["boundary"].endswith("c1"))
    world.ledger().decide(first["id"], first["requestHash"], "approve", {"id": "ann"})
    result = await world.restore(real_runner=True)
    assert result.status.code == "suspended"
    assert [c["id"] for c in result.log["toolCallsExecuted"]] == ["c1"]
    world.decide("approve")
    result = await world.restore(real_runner=True)
    assert result.success
    assert [c["id"] for c in result.log["toolCallsExecuted"]] == ["c2"]


async def test_a_dispatch_is_bound_to_the_very_bytes_that_were_reviewed():
    world, _ = await suspended(scope="dispatch", others=0)
    world.decide("approve")
    entry = next(e for e in world.store.list() if "checkpoint" in e.key)
    document = json.loads(entry.value)
    document["queue"]["tasks"][0]["description"] = "something else"
    world.store.set(entry.key, json.dumps(document), entry.metadata)
    with pytest.raises(StaleDecision):
        await world.restore(real_runner=True)
    assert world.of("task_start") == []


async def test_an_approved_dispatch_starts_without_asking_and_first():
    world, _ = await suspended(scope="dispatch", others=0)
    world.decide("approve")
    world.forget_events()
    result = await world.restore(real_runner=True)
    assert result.success
    asked = [g["title"] for g in result.log["gateCalls"]]
    assert "Pay" not in asked
    assert next(e.task for e in world.of("task_start")) == result.tasks[0]["id"]
    assert world.snapshot()["pendingApprovals"] == []


async def test_a_rejected_dispatch_ends_the_run_for_good():
    world, _ = await suspended(scope="dispatch", others=1)
    world.decide("reject")
    result = await world.restore(real_runner=True)
    assert result.status.code == "rejected"
    assert statuses(result)["Pay"] == "skipped"
    assert world.statuses()["After"] == "skipped"
    assert world.snapshot()["pendingApprovals"] == []
    assert world.snapshot()["omaDesktop"]["end"]["status"] == "rejected"
    saved = world.snapshot()
    again = await world.restore(real_runner=True)
    assert again.status.code == "rejected"
    assert world.snapshot() == saved


async def test_p_05_an_approved_dispatch_is_never_asked_again_for_a_half_done_task(tmp_path):
    for case in ("d5_dispatch_approved_then_crash", "d6_second_dispatch_approval_peer_rejects"):
        folder = tmp_path / case
        folder.mkdir()
        world = golden_world(case, folder)
        result = await world.restore(real_runner=True)
        assert result.success
        assert [c["id"] for c in result.log["toolCallsExecuted"]] == ["call_drop_2"]
        assert [g["title"] for g in result.log["gateCalls"]] == ["Verify"]


async def test_p_05_an_approved_dispatch_survives_a_crash_at_any_save():
    """Also while it is in progress without any saved step: only the ledger knows of it then."""
    document = script(scope="dispatch", others=1, limit=1)
    document["replies"]["Pay"][0]["delayMs"] = 1500
    world = RunWorld(script=document)
    world.bus.subscribe(
        lambda e: e.type == "approval_pending" and world.token.stop(StopReason.SUSPEND)
    )
    await world.run(*specs(1), real_runner=True)
    world.decide("approve")
    document["orchestrator"]["maxConcurrency"] = 4
    world = RunWorld(script=document, store=world.store)
    world.store.saved.clear()
    assert (await world.restore(real_runner=True)).success
    without_steps = 0
    for at, saved in enumerate(list(world.store.saved)):
        in_flight = {e["taskId"] for e in saved["inFlightTasks"]}
        pay = saved["queue"]["tasks"][0]
        without_steps += pay["status"] == "in_progress" and pay["id"] not in in_flight
        crashed = world.crashed(at)
        crashed.forget_events()
        result = await crashed.restore(real_runner=True)
        assert result.success, at
        assert "Pay" not in [g["title"] for g in result.log["gateCalls"]]
    assert without_steps > 0


async def test_c6_is_suspended_without_hanging_and_finishes_what_is_independent(tmp_path):
    world = golden_world("c6_suspended_parallel_killed", tmp_path)
    result = await world.restore(real_runner=True)
    assert result.status.code == "suspended"
    assert result.log["toolCallsExecuted"] == []
    assert statuses(result) == {
        "Crawl archive": "completed", "Rotate keys": "pending", "Summary": "blocked",
    }  # fmt: skip


async def test_a_denied_dispatch_stops_the_run_and_is_not_written_down():
    world, result = await suspended(scope="dispatch", gate="deny", others=0)
    assert result.status.code == "rejected"
    assert statuses(result) == {"Pay": "skipped", "After": "skipped"}
    assert world.statuses() == {"Pay": "pending", "After": "blocked"}


@pytest.mark.parametrize("answer", ["raise", "garbage"])
async def test_a_broken_dispatch_gate_never_starts_a_task(answer):

    async def gate(_task):
        if answer == "raise":
            raise RuntimeError("gate")
        return "yes please"

    world = RunWorld(gates=Gates(dispatch=gate))
    result = await world.run(spec("A"))
    assert result.status.code == "error"
    assert result.error_info.kind == "callback"
    assert world.of("task_start") == []


async def test_without_a_checkpoint_a_dispatch_cannot_be_suspended():
    world = RunWorld(script=script(scope="dispatch", others=0))
    result = await world.run(*specs(0), real_runner=True, checkpoint=None)
    assert result.status.code == "error"
    assert result.error_info.code == "APPROVAL_ATOMIC_STORE_REQUIRED"
    assert statuses(result)["Pay"] == "skipped"


async def test_a_failed_strict_save_reports_no_suspension():
    world = RunWorld(script=script(scope="dispatch", others=0))
    world.bus.subscribe(lambda e: e.type == "gate_call" and setattr(world.store, "fail", True))
    result = await world.run(*specs(0), real_runner=True)
    assert result.status.code == "error"
    assert result.error_info.code == "APPROVAL_NOT_SAVED"
    assert result.pending_approvals == ()
    assert world.of("approval_pending") == []
    assert world.ledger().list() == []


async def test_an_open_gate_does_not_hold_other_tasks_and_a_suspend_ends_it():

    async def gate(task):
        if task["title"] == "Asked":
            await asyncio.get_running_loop().create_future()
        return ALLOW

    async def work(world, _agent, job):
        await world.clock.sleep(1)
        if job.task_title == "3":
            world.token.stop(StopReason.SUSPEND)
        return ok()

    world = RunWorld(agents=["a", "b"], work=work, gates=Gates(dispatch=gate))
    result = await world.run(spec("Asked"), spec("1"), spec("2", "1"), spec("3", "2"))
    assert result.status.code == "suspended"
    assert statuses(result) == {
        "Asked": "pending", "1": "completed", "2": "completed", "3": "completed",
    }  # fmt: skip


S02_SCRIPT = {
    "team": {"name": "x"},
    "agents": [{"name": "researcher"}, {"name": "writer", "tools": ["charge"]}],
    "tools": {
        "charge": {
            "schema": {"amount": "number", "currency": "string"},
            "consequential": True,
            "results": {"*": {"data": "charged"}},
        }
    },
    "gates": {"tool": {"charge": "suspend"}},
    "replies": {"Report": [{"text": "never asked again"}, {"text": "reported"}]},
}


ROUNDS = {
    "team": {"name": "x"},
    "orchestrator": {"maxConcurrency": 3},
    "agents": [{"name": "a"}, {"name": "b"}],
    "replies": {"@default": [{"text": "done"}]},
}
THREE = (
    spec("A", assignee="a"),
    spec("B", assignee="b"),
    spec("C", "A", assignee="a"),
    spec("D", "C", assignee="b"),
)


async def test_a_round_gate_is_asked_between_rounds_and_holds_the_whole_run():
    asked = {"gates": {"round": {"*": "allow"}}}
    world = RunWorld(script={**ROUNDS, **asked})
    result = await world.run(*THREE, real_runner=True)
    assert result.success
    assert result.log["gateCalls"] == [
        {"gate": "round", "done": ["A", "B"], "next": ["C"]},
        {"gate": "round", "done": ["C"], "next": ["D"]},
    ]


async def test_a_suspended_round_goes_on_after_approval_and_ends_after_rejection():
    gated = {**ROUNDS, "gates": {"round": {"C": {"action": "suspend", "reason": "money"}}}}
    for verdict, status in (("approve", "ok"), ("reject", "rejected")):
        world = RunWorld(script=gated)
        result = await world.run(*THREE, real_runner=True)
        assert result.status.code == "suspended"
        assert [r["scope"] for r in result.pending_approvals] == ["task_round"]
        assert (await world.restore(real_runner=True)).status.code == "suspended"
        world.decide(verdict)
        result = await world.restore(real_runner=True)
        assert result.status.code == status
        wanted = "completed" if verdict == "approve" else "skipped"
        assert [statuses(result)[t] for t in "CD"] == [wanted, wanted]


async def test_a_denied_round_stops_the_run():
    world = RunWorld(script={**ROUNDS, "gates": {"round": {"*": "deny"}}})
    result = await world.run(*THREE, real_runner=True)
    assert result.status.code == "rejected"
    assert statuses(result) == {
        "A": "completed", "B": "completed", "C": "skipped", "D": "skipped",
    }  # fmt: skip


class TestCaseS02:
    """A run suspended for approval goes on in a fresh process."""

    def world(self, tmp_path):
        file = tmp_path / "store.json"
        shutil.copy(CASES / "s02-cold-approval-resume" / "store.json", file)
        return RunWorld(script=S02_SCRIPT, store=FileStore(file, clock=VirtualClock()))

    async def test_before_a_decision_it_is_suspended_again(self, tmp_path):
        world = self.world(tmp_path)
        before = (tmp_path / "store.json").read_bytes()
        result = await world.restore(real_runner=True)
        assert result.status.code == "suspended"
        assert [r["id"] for r in result.pending_approvals] == [
            "apr_64cb09fc66bc1063a7dffb5433f55804"
        ]
        assert result.pending_approvals[0]["content"]["input"] == {
            "amount": 25, "currency": "CNY",
        }  # fmt: skip
        assert world.of("tool_start") == []
        assert (tmp_path / "store.json").read_bytes() == before

    async def test_approve_charges_exactly_once(self, tmp_path):
        world = self.world(tmp_path)
        world.decide("approve")
        result = await world.restore(real_runner=True)
        assert result.success
        charged = [e.data["input"] for e in world.of("tool_start")]
        assert charged == [{"amount": 25, "currency": "CNY"}]
        world.forget_events()
        assert (await world.restore(real_runner=True)).success
        assert world.of("tool_start") == []

    async def test_reject_charges_nothing_and_the_model_hears_it(self, tmp_path):
        world = self.world(tmp_path)
        world.decide("reject")
        result = await world.restore(real_runner=True)
        assert result.success
        assert world.of("tool_start") == []
        messages = result.task_results["t-report"]["messages"]
        refused = [b for m in messages for b in m["content"] if b["type"] == "tool_result"]
        assert [b["is_error"] for b in refused] == [True]


def failing(world, method):
    """Make one access of the ledger's row fail, as a full or unreadable disk does."""
    inner = getattr(world.store, method)

    def fail(key, *args, **kwargs):
        if key.startswith("__oma_approval__/"):
            setattr(world.store, method, inner)
            raise WriteFailed("STORE_WRITE_FAILED")
        return inner(key, *args, **kwargs)

    setattr(world.store, method, fail)


@pytest.mark.parametrize("scope", ["tool", "dispatch"])
async def test_a_row_that_cannot_be_read_lets_nothing_through_and_is_no_bug(scope):
    world = RunWorld(script=script(scope=scope, others=0))
    failing(world, "get")
    result = await world.run(*specs(0), real_runner=True)
    assert result.pending_approvals == ()
    assert world.ledger().list() == world.of("approval_pending") == world.of("tool_start") == []
    if scope == "dispatch":
        assert result.error_info.code == "APPROVAL_NOT_SAVED"
    else:
        (failed,) = [o for o in result.task_results.values() if not o["success"]]
        assert failed["errorInfo"]["code"] == "APPROVAL_NOT_SAVED"


@pytest.mark.parametrize("scope", ["tool", "dispatch"])
async def test_a_saved_request_whose_row_failed_stays_and_the_next_restore_writes_it(scope):
    world = RunWorld(script=script(scope=scope, others=0))
    failing(world, "compare_and_set")
    result = await world.run(*specs(0), real_runner=True)
    code = "suspended" if scope == "tool" else "error"
    assert result.status.code == code
    assert result.error_info is None or result.error_info.code == "APPROVAL_NOT_SAVED"
    assert world.ledger().list() == world.of("approval_pending") == world.of("tool_start") == []
    assert len(world.snapshot()["pendingApprovals"]) == 1
    again = await world.restore(real_runner=True)
    assert again.status.code == "suspended"
    assert len(world.ledger().list()) == 1
    world.decide("approve")
    last = await world.restore(real_runner=True)
    assert (last.success, [c["id"] for c in last.log["toolCallsExecuted"]]) == (True, ["c1"])


async def test_a_request_that_could_not_be_saved_is_in_no_later_save():
    """Another task saves next: the disk must not get a request that nobody announced."""
    state = big_run(tasks=1, done=0, megabytes=0.01).state
    call = {"type": "tool_use", "id": "c1", "name": "pay", "input": {}}
    entry = {**state.entries["flying"], "pendingToolCalls": [{"call": call}]}
    lanes, clock, bus = Lanes(), SystemClock(), EventBus()
    writer = FullDisk(state)
    ledger = ApprovalLedger(InMemoryStore(clock=clock), clock=clock)
    approvals = Approvals(state, writer=writer, ledger=ledger, lanes=lanes, clock=clock, bus=bus)
    boundaries = TaskBoundaries("flying", state, writer, approvals)
    content = {
        "kind": "tool_call",
        "toolName": "pay",
        "rawInput": {},
        "input": {},
        "agentName": "a",
        "taskId": "flying",
        "toolCallId": "c1",
        "consequential": True,
    }
    try:
        with pytest.raises(WriteFailed):
            await boundaries.request_approval(entry, "c1", content, None)
    finally:
        lanes.close()
    assert len(writer.seen) == 1, "the save that failed had the request"
    assert state.entries["flying"]["pendingToolCalls"] == [{"call": call}]
    assert state.open_requests() == []


class FullDisk:
    """Looks at what is to be saved, and fails."""

    def __init__(self, state):
        self.seen = []
        self._state = state

    async def save_strict(self, _boundary):
        self.seen += self._state.open_requests()
        raise WriteFailed("STORE_NO_SPACE", path="s", reason="full")
