"""Reconciliation at restore, row by row (formats.md 3.6), and nothing consumed twice."""

from __future__ import annotations

import copy
import itertools
import json

import pytest

from oma_desktop.engine.operations.restore import revive
from oma_desktop.engine.saving.reconciliation import Verdict, adopt, reconcile, verdict
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.model.approval_rules import create_request
from oma_desktop.model.errors import (
    AtomicStoreRequired,
    IntegrityMismatch,
    StaleDecision,
)
from oma_desktop.model.keys import approval_key
from oma_desktop.model.result import RunIdentity
from oma_desktop.store.in_memory import InMemoryStore
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.redacting import RedactingStore
from tests.core.engine.run_world import InlineLanes, RunWorld, bad, ok, spec
from tests.core.engine.runner_world import VirtualClock
from tests.core.engine.test_suspension import CALL, script, specs

TIME = "2026-01-01T00:00:00.000Z"
RUN = "run-1"


def task(id_, status="pending", **facts):
    return {
        "id": id_,
        "title": id_.upper(),
        "description": "d",
        "status": status,
        "assignee": "w",
        **facts,
        "createdAt": TIME,
        "updatedAt": TIME,
    }


class Saved:
    """A snapshot of four tasks (a done, b and c waiting, t inside a tool round) and its ledger."""

    def __init__(self):
        self.clock = VirtualClock()
        self.store = InMemoryStore(clock=self.clock)
        self.ledger = ApprovalLedger(self.store, clock=self.clock)
        call = {"type": "tool_use", "id": "c1", "name": "pay", "input": {"amount": 25}}
        entry = {
            "taskId": "t",
            "assignee": "w",
            "phase": "executing_tools",
            "conversationMessages": [],
            "messages": [{"role": "assistant", "content": [call]}],
            "tokenUsage": {"input_tokens": 1, "output_tokens": 1},
            "toolCalls": [],
            "turns": 1,
            "pendingToolCalls": [{"call": call}],
        }
        self.snapshot = {
            "version": 4,
            "mode": "runTasks",
            "createdAt": TIME,
            "identity": {
                "runId": RUN,
                "attempt": 1,
                "lastTraceId": "0" * 31 + "1",
                "lastRootSpanId": "0" * 15 + "1",
            },
            "queue": {
                "version": 1,
                "tasks": [
                    task("a", "completed", result="ok"),
                    task("b"),
                    task("c"),
                    task("t", "in_progress"),
                ],
                "pending": ["b", "c"],
                "inProgress": ["t"],
                "completed": ["a"],
                "failed": [],
                "blocked": [],
                "skipped": [],
            },
            "completedTaskResults": [{"taskId": "a", "assignee": "w", "result": "ok"}],
            "inFlightTasks": [entry],
            "pendingApprovals": [],
            "approvalDecisions": [],
        }

    @property
    def call(self):
        return self.snapshot["inFlightTasks"][0]["pendingToolCalls"][0]

    def tasks(self, *ids):
        return [t for t in self.snapshot["queue"]["tasks"] if t["id"] in (ids or "abct")]

    def ask(self, scope, *, ledger=True, **facts):
        """Put one request into snapshot and ledger as a suspension does."""
        boundary, content = {
            "plan": lambda: (
                "coordinator-plan",
                {"continuation": "execute", "tasks": self.tasks()},
            ),
            "task_round": lambda: (
                "a->b,c",
                {"completedTasks": self.tasks("a"), "nextTasks": self.tasks("b", "c")},
            ),
            "task_dispatch": lambda: ("b", {"task": self.tasks("b")[0]}),
            "tool_call": lambda: ("t:c1", self.tool_content()),
        }[scope]()
        content = {"kind": scope, **copy.deepcopy(content), **facts}
        request = create_request(
            run_id=RUN,
            scope=scope,
            boundary=boundary,
            content=content,
            requested_at=self.clock.now(),
        )
        self.snapshot["pendingApprovals"].append(request)
        if scope == "tool_call":
            self.call["approvalRequest"] = request
        if ledger:
            self.ledger.ensure(request)
        return request

    def tool_content(self):
        return {
            "toolName": "pay",
            "rawInput": {"amount": 25},
            "input": {"amount": 25},
            "agentName": "w",
            "taskId": "t",
            "toolCallId": "c1",
            "consequential": True,
        }

    def decide(self, request, word, reviewer="ann"):
        return self.ledger.decide(request["id"], request["requestHash"], word, {"id": reviewer})

    def remember(self, request, word):
        """A decision an attempt has saved already."""
        decision = self.decide(request, word)
        self.snapshot["approvalDecisions"].append(decision)
        self.snapshot["pendingApprovals"].remove(request)
        self.call.pop("approvalRequest", None)
        return decision

    def rows(self):
        return [(e.key, e.value) for e in self.store.list()]

    async def steps(self):
        """Steps 1 to 5 as a restore does them."""
        found = await reconcile(self.snapshot, self.ledger, InlineLanes())
        state = revive(
            self.snapshot,
            RunIdentity(RUN, 2, "0" * 31 + "2", "0" * 15 + "2"),
            own={},
            budget_limit=None,
            now=lambda: TIME,
            new_id=map("id-{}".format, itertools.count()).__next__,
            queue_listener=lambda *_: None,
            retry_failed=False,
        )
        adopt(state, self.snapshot, found)
        return state, found

    async def verdict(self):
        state, found = await self.steps()
        return verdict(state, found)


@pytest.fixture
def saved():
    return Saved()


SCOPES = ["plan", "task_round", "task_dispatch", "tool_call"]


class TestStep1Decisions:
    """Every checkpointed decision must be the ledger's, field by field."""

    @pytest.mark.parametrize("scope", SCOPES)
    async def test_the_same_decision_holds(self, saved, scope):
        decision = saved.remember(saved.ask(scope), "approve")
        state, _ = await saved.steps()
        assert state.decisions == {decision["requestId"]: decision}

    @pytest.mark.parametrize(
        "change",
        [
            {"requestId": "apr_" + "0" * 32},
            {"runId": "other"},
            {"scope": "plan"},
            {"requestHash": "0" * 64},
            {"decision": "rejected"},
            {"reviewer": {"id": "bob"}},
            {"reviewer": {"id": "ann", "displayName": "Ann"}},
            {"decidedAt": "2026-01-01T00:00:00.001Z"},
        ],
    )
    async def test_any_other_field_is_an_integrity_error(self, saved, change):
        saved.remember(saved.ask("task_dispatch"), "approve")
        saved.snapshot["approvalDecisions"][0] |= change
        with pytest.raises(IntegrityMismatch) as caught:
            await saved.steps()
        assert caught.value.code == "APPROVAL_INTEGRITY_ERROR"

    async def test_a_row_without_decision_or_no_row_is_an_integrity_error(self, saved):
        request = saved.ask("task_dispatch")
        row = saved.store.get(approval_key(request["id"]))
        saved.remember(request, "approve")
        saved.store.set(row.key, row.value)
        with pytest.raises(IntegrityMismatch):
            await saved.steps()
        saved.store.delete(row.key)
        with pytest.raises(IntegrityMismatch):
            await saved.steps()


class TestStep2Requests:
    """Every pending request must describe what the snapshot holds now."""

    @pytest.mark.parametrize("scope", SCOPES)
    async def test_another_run_is_an_integrity_error(self, saved, scope):
        saved.ask(scope)
        saved.snapshot["identity"]["runId"] = "run-2"
        with pytest.raises(IntegrityMismatch):
            await saved.steps()

    async def test_a_plan_of_another_boundary_is_an_integrity_error(self, saved):
        saved.ask("plan")["boundary"] = "other"
        with pytest.raises(IntegrityMismatch):
            await saved.steps()

    async def test_a_round_of_another_boundary_is_an_integrity_error(self, saved):
        saved.ask("task_round")["boundary"] = "a->c,b"
        with pytest.raises(IntegrityMismatch):
            await saved.steps()

    @pytest.mark.parametrize(
        ("scope", "gone"), [("plan", "c"), ("task_round", "c"), ("task_dispatch", "b")]
    )
    async def test_a_task_that_is_gone_makes_it_stale(self, saved, scope, gone):
        saved.ask(scope)
        saved.snapshot["queue"]["tasks"] = [t for t in saved.tasks() if t["id"] != gone]
        with pytest.raises(StaleDecision) as caught:
            await saved.steps()
        assert caught.value.code == "APPROVAL_STALE_DECISION"

    @pytest.mark.parametrize("scope", ["plan", "task_round", "task_dispatch"])
    async def test_a_changed_task_makes_it_stale(self, saved, scope):
        saved.ask(scope)
        saved.tasks("b")[0]["description"] = "changed"
        with pytest.raises(StaleDecision):
            await saved.steps()

    async def test_a_dispatch_of_another_boundary_is_stale(self, saved):
        saved.ask("task_dispatch")["boundary"] = "c"
        with pytest.raises(StaleDecision):
            await saved.steps()

    @pytest.mark.parametrize(
        ("what", "change"),
        [
            ("no state of the task", lambda s: s.snapshot["inFlightTasks"].clear()),
            ("no such call", lambda s: s.call["call"].update(id="c2")),
            ("committed", lambda s: (s.call.pop("approvalRequest"), s.call.update(commit={}))),
            ("no request on it", lambda s: s.call.pop("approvalRequest")),
            (
                "another request on it",
                lambda s: s.call.update(approvalRequest={**s.call["approvalRequest"], "id": "x"}),
            ),
            ("other agent", lambda s: s.snapshot["inFlightTasks"][0].update(assignee="x")),
            ("other tool", lambda s: s.call["call"].update(name="pay2")),
            ("other input", lambda s: s.call["call"].update(input={"amount": 26})),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    async def test_a_tool_call_that_changed_is_stale(self, saved, what, change):
        saved.ask("tool_call")
        change(saved)
        with pytest.raises(StaleDecision):
            await saved.steps()

    async def test_a_tool_call_of_another_boundary_is_stale(self, saved):
        request = saved.ask("tool_call")
        request["boundary"] = "t:c9"
        with pytest.raises(StaleDecision):
            await saved.steps()


class TestStep3Rows:
    async def test_a_missing_row_is_written_and_only_once(self, saved):
        request = saved.ask("task_dispatch", ledger=False)
        assert saved.rows() == []
        await saved.steps()
        (row,) = saved.rows()
        assert json.loads(row[1]) == {"version": 1, "request": request}
        await saved.steps()
        assert saved.rows() == [row]

    async def test_a_row_that_asks_otherwise_is_an_integrity_error(self, saved):
        request = saved.ask("task_dispatch")
        key = approval_key(request["id"])
        other = {**request, "reason": "another"}
        saved.store.set(key, json.dumps({"version": 1, "request": other}))
        with pytest.raises(IntegrityMismatch):
            await saved.steps()

    @pytest.mark.parametrize("broken", ["decision", "request"])
    async def test_nothing_is_written_before_everything_was_checked(self, saved, broken):
        saved.ask("tool_call", ledger=False)
        if broken == "decision":
            saved.remember(saved.ask("task_dispatch"), "approve")
            saved.snapshot["approvalDecisions"][0]["decidedAt"] = "2026-01-01T00:00:09.000Z"
        else:
            saved.ask("task_dispatch", ledger=False)
            saved.tasks("b")[0]["description"] = "changed"
        before = saved.rows()
        with pytest.raises((IntegrityMismatch, StaleDecision)):
            await saved.steps()
        assert saved.rows() == before

    async def test_decisions_are_judged_before_requests(self, saved):
        saved.remember(saved.ask("task_dispatch"), "approve")
        saved.snapshot["approvalDecisions"][0]["decidedAt"] = "2026-01-01T00:00:09.000Z"
        saved.ask("tool_call")
        saved.call["call"]["input"] = {"amount": 1}  # stale, but the other one comes first
        with pytest.raises(IntegrityMismatch):
            await saved.steps()

    async def test_without_an_atomic_store_nothing_with_approvals_is_restored(self, saved):
        saved.ask("task_dispatch")
        redacting = ApprovalLedger(RedactingStore(saved.store), clock=saved.clock)
        assert not redacting.can_decide
        with pytest.raises(AtomicStoreRequired):
            await reconcile(saved.snapshot, None, InlineLanes())
        with pytest.raises(AtomicStoreRequired):
            await reconcile(saved.snapshot, redacting, InlineLanes())

    async def test_without_approvals_no_ledger_is_needed(self, saved):
        found = await reconcile(saved.snapshot, None, InlineLanes())
        assert found.rows == {}


class TestStep4Adopting:
    async def test_an_approved_call_carries_its_decision_and_the_snapshot_stays(self, saved):
        request = saved.ask("tool_call")
        decision = saved.decide(request, "approve")
        before = copy.deepcopy(saved.snapshot)
        state, _ = await saved.steps()
        (pending,) = state.entries["t"]["pendingToolCalls"]
        assert pending["approvalDecision"] == decision
        assert state.pending == {}
        assert saved.snapshot == before

    async def test_a_rejected_call_carries_its_decision_too(self, saved):
        decision = saved.decide(saved.ask("tool_call"), "reject")
        state, _ = await saved.steps()
        assert state.entries["t"]["pendingToolCalls"][0]["approvalDecision"] == decision

    @pytest.mark.parametrize("scope", ["plan", "task_round"])
    async def test_an_approved_plan_or_round_leaves_pending(self, saved, scope):
        saved.decide(saved.ask(scope), "approve")
        state, _ = await saved.steps()
        assert state.pending == {}
        assert len(state.decisions) == 1

    async def test_an_approved_plan_only_is_remembered(self, saved):
        request = saved.ask("plan", continuation="plan_only")
        saved.decide(request, "approve")
        state, _ = await saved.steps()
        assert list(state.pending) == [request["id"]]

    async def test_an_approved_dispatch_stays_until_it_is_used_and_is_used_once(self, saved):
        request = saved.ask("task_dispatch")
        saved.decide(request, "approve")
        state, _ = await saved.steps()
        assert list(state.pending) == [request["id"]]
        assert state.dispatch_request("b") == request

    @pytest.mark.parametrize("scope", ["plan", "task_round", "task_dispatch"])
    async def test_a_rejected_boundary_stays_until_the_end_is_saved(self, saved, scope):
        request = saved.ask(scope)
        saved.decide(request, "reject")
        state, _ = await saved.steps()
        assert list(state.pending) == [request["id"]]
        assert state.decisions[request["id"]]["decision"] == "rejected"


class TestStep5Outcome:
    """The first that applies, in this order."""

    @pytest.mark.parametrize("scope", ["plan", "task_round"])
    async def test_an_open_plan_or_round_suspends_whatever_else_was_decided(self, saved, scope):
        saved.ask(scope)
        saved.decide(saved.ask("task_dispatch"), "reject")
        assert await saved.verdict() is Verdict.SUSPENDED

    async def test_p_14_an_open_call_or_dispatch_holds_its_own_task_only(self, saved):
        saved.ask("task_dispatch")
        saved.ask("tool_call")
        assert await saved.verdict() is Verdict.RUN  # c can run
        for each in saved.tasks("c"):
            each.update(status="completed")
        assert await saved.verdict() is Verdict.SUSPENDED

    @pytest.mark.parametrize("scope", ["plan", "task_round", "task_dispatch"])
    async def test_a_rejected_boundary_ends_the_run(self, saved, scope):
        saved.decide(saved.ask(scope), "reject")
        assert await saved.verdict() is Verdict.REJECTED

    async def test_what_nobody_decided_yet_comes_before_a_rejected_boundary(self, saved):
        """Else the saved steps of the task that waits would be skipped for good."""
        saved.decide(saved.ask("task_dispatch"), "reject")
        open_call = saved.ask("tool_call")
        assert await saved.verdict() is Verdict.SUSPENDED
        saved.decide(open_call, "approve")
        assert await saved.verdict() is Verdict.REJECTED

    async def test_a_rejected_boundary_comes_before_an_earlier_rejection(self, saved):
        saved.remember(saved.ask("task_round"), "reject")
        saved.decide(saved.ask("task_dispatch"), "reject")
        assert await saved.verdict() is Verdict.REJECTED

    @pytest.mark.parametrize("scope", ["plan", "task_round", "task_dispatch"])
    async def test_an_earlier_rejection_is_rejected_again(self, saved, scope):
        saved.remember(saved.ask(scope), "reject")
        assert await saved.verdict() is Verdict.REJECTED_BEFORE

    async def test_an_earlier_rejection_comes_before_plan_only(self, saved):
        saved.remember(saved.ask("task_round"), "reject")
        saved.decide(saved.ask("plan", continuation="plan_only"), "approve")
        assert await saved.verdict() is Verdict.REJECTED_BEFORE

    async def test_an_approved_plan_only_runs_nothing(self, saved):
        saved.decide(saved.ask("plan", continuation="plan_only"), "approve")
        assert await saved.verdict() is Verdict.PLAN_ONLY

    async def test_a_rejected_call_rejects_no_run(self, saved):
        saved.decide(saved.ask("tool_call"), "reject")
        assert await saved.verdict() is Verdict.RUN

    async def test_an_approved_dispatch_that_is_no_longer_ready_is_stale(self, saved):
        saved.tasks("b")[0]["dependsOn"] = ["c"]
        saved.decide(saved.ask("task_dispatch"), "approve")
        with pytest.raises(StaleDecision):
            await saved.verdict()

    @pytest.mark.parametrize("scope", ["plan", "task_round", "task_dispatch", "tool_call"])
    async def test_else_it_runs(self, saved, scope):
        saved.decide(saved.ask(scope), "approve")
        assert await saved.verdict() is Verdict.RUN


class TestNothingIsConsumedTwice:
    @staticmethod
    async def approved(scope):
        world = RunWorld(script=script(scope=scope, others=0))
        await world.run(*specs(0), real_runner=True)
        world.decide("approve")
        return world

    @staticmethod
    def ran(result):
        return [c["id"] for c in result.log["toolCallsExecuted"]]

    @pytest.mark.parametrize("scope", ["tool", "dispatch"])
    async def test_restores_after_the_end_use_no_decision_again(self, scope):
        world = await self.approved(scope)
        first = await world.restore(real_runner=True)
        assert first.success
        assert self.ran(first) == ["c1"]
        rows = [(e.key, e.value) for e in world.store.list() if "approval" in e.key]
        for _ in range(3):
            again = await world.restore(real_runner=True)
            assert again.success
            assert (self.ran(again), again.log["modelCalls"]) == ([], [])
            assert again.log["gateCalls"] == []
        assert [(e.key, e.value) for e in world.store.list() if "approval" in e.key] == rows
        assert world.snapshot()["pendingApprovals"] == []
        assert len(world.snapshot()["approvalDecisions"]) == 1

    @pytest.mark.parametrize("scope", ["tool", "dispatch"])
    async def test_a_crash_at_any_save_and_a_second_one_at_any_save_after_it(self, scope):
        """A call whose result is saved never runs again; one decision stays one decision."""
        world = await self.approved(scope)
        world.store.saved.clear()
        assert (await world.restore(real_runner=True)).success
        for at in range(len(world.store.saved)):
            once = world.crashed(at)
            assert (await once.restore(real_runner=True)).success
            for then in range(len(once.store.saved)):
                saved = once.store.saved[then]
                committed = any(
                    "commit" in c
                    for e in saved["inFlightTasks"]
                    for c in e.get("pendingToolCalls", ())
                ) or any(e["toolCalls"] for e in saved["inFlightTasks"])
                twice = once.crashed(then)
                result = await twice.restore(real_runner=True)
                assert result.success, (at, then)
                done = saved["queue"]["tasks"][0]["status"] == "completed"
                assert self.ran(result) == ([] if committed or done else ["c1"]), (at, then)
                asked = [g for g in result.log["gateCalls"] if g.get("title") == "Pay"]
                assert asked == [], "the decision holds, nobody is asked again"
                assert twice.snapshot()["pendingApprovals"] == []
                assert len(twice.ledger().list()) == 1

    async def test_a_second_call_of_the_same_content_needs_a_decision_of_its_own(self):
        """Same id, same input, later turn: the earlier approval is used up (case s04)."""
        document = script(others=0)
        document["replies"]["Pay"] = [
            {"text": "one", "tools": [CALL]},
            {"text": "two", "tools": [CALL]},
            {"text": "all paid"},
        ]
        world = RunWorld(script=document)
        await world.run(*specs(0), real_runner=True)
        world.decide("approve")
        second = await world.restore(real_runner=True)
        assert second.status.code == "suspended"
        assert self.ran(second) == ["c1"]
        assert len(world.ledger().list()) == 2
        again = await world.restore(real_runner=True)
        assert (again.status.code, again.log) == ("suspended", None), "no attempt was begun"
        world.decide("approve")
        last = await world.restore(real_runner=True)
        assert (last.success, self.ran(last)) == (True, ["c1"])

    @pytest.mark.parametrize("by", ["its own retry", "a restore"])
    async def test_a_call_repeated_by_another_try_needs_a_decision_of_its_own(self, by):
        """The model sends id and input again; the first approval has paid once already."""
        document = script(others=0)
        fails = {"error": {"message": "busy", "status": 503}}
        document["replies"]["Pay"] = [{"text": "paying", "tools": [CALL]}, fails]
        tries = {"max_retries": 1, "retry_delay_ms": 10} if by == "its own retry" else {}
        world = RunWorld(script=document)
        await world.run(spec("Pay", assignee="payer", **tries), real_runner=True)
        world.decide("approve")
        second = await world.restore(real_runner=True)
        assert self.ran(second) == ["c1"]
        if by == "a restore":
            assert world.statuses() == {"Pay": "failed"}
            second = await world.restore(real_runner=True, retry_failed=True)
            assert self.ran(second) == []
        assert second.status.code == "suspended"
        assert [r["request"]["content"].get("occurrence") for r in world.ledger().list()] == [
            None, 2,
        ]  # fmt: skip
        waiting = await world.restore(real_runner=True)
        assert (waiting.status.code, waiting.log) == ("suspended", None), "nothing to go on with"
        world.decide("approve")
        last = await world.restore(real_runner=True)
        assert self.ran(last) == ["c1"], "two decisions, two runs"
        assert len(world.ledger().list()) == 2

    async def test_a_task_that_failed_and_is_tried_again_needs_a_new_dispatch_decision(self):
        tries = itertools.count()

        async def work(_world, _agent, job):
            return bad() if next(tries) == 0 else ok(job.task_title)

        async def ask(_call):
            return {"action": "suspend"}

        world = RunWorld(agents=("a",), work=work, gates=Gates(dispatch=ask))
        await world.run(spec("Pay", assignee="a"))
        world.decide("approve")
        failed = await world.restore()
        assert failed.status.code != "suspended"
        assert next(tries) == 1
        world.clock.time += 1
        again = await world.restore(retry_failed=True)
        assert again.status.code == "suspended", "the first decision let one start through"
        assert len(world.ledger().list()) == 2
