"""The outcome barrier: plans that change while they run (engine.md 6; the recovery seed)."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import replace

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.options import RunOptions
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.engine.tools.gate import ALLOW, Gates
from oma_desktop.model.errors import Corrupt, InvalidInput, WriteFailed
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.team import AgentConfig
from tests.core.engine import run_world
from tests.core.engine.run_world import (
    CASES,
    InlineLanes,
    RecordingStore,
    RunWorld,
    bad,
    eventually,
    ok,
    spec,
    statuses,
)


def repairable(policy, **facts):
    return RecoveryOptions(mode="repairable", on_task_outcome=policy, **facts)


def added(key, title=None, *deps, **facts):
    doc = {"key": key, "title": title or key, "description": f"do {key}", **facts}
    return {**doc, "dependsOn": list(deps)} if deps else doc


def by_title(tasks):
    return {t["title"]: t for t in tasks}


def failing(*titles, error="boom"):
    async def work(_world, _agent, job):
        return bad(error, retryable=False) if job.task_title in titles else ok(job.task_title)

    return work


def replace_branch(outcome):
    """The seed's own example: another search, another analysis."""
    if outcome.kind != "failure" or outcome.task["title"] != "Search":
        return None
    old = by_title(outcome.tasks)["Analysis"]
    return {
        "reason": "Primary search failed; use the fallback source.",
        "supersedePending": [old["id"]],
        "addTasks": [
            added("fallback-search", "Fallback Search", assignee="b"),
            added("replacement", "Replacement Analysis", "fallback-search", assignee="a"),
        ],
    }


SEARCH = (spec("Search", assignee="a"), spec("Analysis", "Search", assignee="b"))


def decisions(world):
    return [(e.task, e.data["decision"]) for e in world.of("recovery_decision")]


def warnings(world):
    return [e.data["code"] for e in world.of("warning")]


# ---------------------------------------------------------------- repairing


async def test_idea_20_a_failed_branch_is_repaired():
    world = RunWorld(work=failing("Search"))
    result = await world.run(*SEARCH, recovery=repairable(replace_branch))
    assert result.success
    assert statuses(result) == {
        "Search": "failed",
        "Analysis": "skipped",
        "Fallback Search": "completed",
        "Replacement Analysis": "completed",
    }
    tasks = by_title(result.tasks)
    assert tasks["Search"]["recoveredByRevision"] == 1
    assert tasks["Analysis"]["supersededByRevision"] == 1
    assert tasks["Analysis"]["result"] == (
        "Superseded by plan revision 1: Primary search failed; use the fallback source."
    )
    (revision,) = result.plan_revisions
    assert revision["trigger"] == "failure"
    assert revision["triggerTaskId"] == tasks["Search"]["id"]
    assert revision["supersededTaskIds"] == [tasks["Analysis"]["id"]]
    assert revision["addedTasks"] == {
        "fallback-search": tasks["Fallback Search"]["id"],
        "replacement": tasks["Replacement Analysis"]["id"],
    }
    queue = world.snapshot()["queue"]
    assert (queue["version"], queue["planRevision"]) == (2, 1)
    assert queue["planRevisions"] == [revision]
    assert world.of("plan_revision")[0].data == revision
    assert "Analysis" not in world.prompts


async def test_the_order_of_events_is_that_of_the_barrier():
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    ids = {t["title"]: t["id"] for t in world.snapshot()["queue"]["tasks"]}
    wanted = [
        ("checkpoint_saved", "plan_revision"),
        ("task_skipped", ids["Analysis"]),
        ("plan_revision", ids["Search"]),
        ("recovery_decision", "applied"),
        ("task_failed", ids["Search"]),
    ]

    def short(event):
        match event.type:
            case "checkpoint_saved":
                return event.type, event.data["boundary"]
            case "recovery_decision":
                return event.type, event.data["decision"]
            case _:
                return event.type, event.task

    heard = [short(e) for e in world.events if short(e) in wanted]
    assert heard == wanted


async def test_idea_21_success_may_reshape_what_follows_before_it_starts():
    order = []

    async def work(_world, _agent, job):
        order.append(job.task_title)
        return ok(job.task_title)

    async def slow(outcome):
        if outcome.task["title"] != "First":
            return None
        await asyncio.sleep(0)
        order.append("decided")
        await asyncio.sleep(0)
        return {"reason": "more to do", "addTasks": [added("extra", "Extra")]}

    world = RunWorld(work=work)
    result = await world.run(spec("First"), spec("Second", "First"), recovery=repairable(slow))
    assert result.success
    assert order.index("decided") < order.index("Second")
    assert set(statuses(result).values()) == {"completed"}
    assert "recoveredByRevision" not in by_title(result.tasks)["First"]
    assert result.plan_revisions[0]["trigger"] == "success"


async def test_idea_22_a_rejected_patch_keeps_the_failure_path():
    seen = []

    async def gate(patch, outcome):
        seen.append((patch, outcome.kind))
        return False

    world = RunWorld(work=failing("Search"))
    result = await world.run(*SEARCH, recovery=repairable(replace_branch, on_plan_patch=gate))
    assert not result.success
    assert statuses(result) == {"Search": "failed", "Analysis": "failed"}
    assert [d for _, d in decisions(world)] == ["rejected"]
    assert seen[0][0]["reason"].startswith("Primary search failed")
    assert seen[0][1] == "failure"
    assert world.snapshot()["queue"]["version"] == 1
    assert result.plan_revisions == ()


@pytest.mark.parametrize("answer", [1, "yes", None, {"action": "allow"}])
async def test_only_a_real_yes_lets_a_patch_through(answer):
    world = RunWorld(work=failing("Search"))
    options = repairable(replace_branch, on_plan_patch=lambda _patch, _outcome: answer)
    result = await world.run(*SEARCH, recovery=options)
    assert not result.success
    assert [e.data["kind"] for e in world.of("error") if "kind" in e.data] == [
        "recovery_approval_failed"
    ]


async def test_a_gate_or_policy_that_raises_leaves_the_original_path():
    def raises(*_arguments):
        raise ValueError("no idea")

    for options, kind in (
        (repairable(raises), "recovery_policy_failed"),
        (repairable(replace_branch, on_plan_patch=raises), "recovery_approval_failed"),
    ):
        world = RunWorld(work=failing("Search"))
        result = await world.run(*SEARCH, recovery=options)
        assert statuses(result) == {"Search": "failed", "Analysis": "failed"}
        (event,) = [e for e in world.of("error") if e.data.get("kind") == kind]
        assert "no idea" in event.data["error"]


async def test_a_replanner_with_a_name_and_plain_functions_are_asked_alike():
    class Fallback:
        name = "fallback-search"

        def replan(self, outcome):
            return replace_branch(outcome)

    world = RunWorld(work=failing("Search"))
    options = RecoveryOptions(
        mode="repairable", replanner=Fallback(), on_plan_patch=lambda _patch, _outcome: True
    )
    assert (await world.run(*SEARCH, recovery=options)).success


async def test_the_engines_own_recovery_counts_unless_the_run_brings_one():
    world = RunWorld(work=failing("Search"), recovery_default=repairable(replace_branch))
    assert (await world.run(*SEARCH)).success
    other = RunWorld(work=failing("Search"), recovery_default=repairable(replace_branch))
    assert not (await other.run(*SEARCH, recovery=RecoveryOptions())).success


async def test_what_the_policy_changes_changes_nothing():
    def spoil(outcome):
        outcome.task["title"] = "spoiled"
        outcome.tasks.clear()
        outcome.result.messages.append("x")
        outcome.result.token_usage["input_tokens"] = 10**9
        return

    world = RunWorld(work=failing("Search"))
    result = await world.run(*SEARCH, recovery=repairable(spoil))
    assert set(statuses(result)) == {"Search", "Analysis"}
    assert result.total_usage["input_tokens"] < 1000


async def test_a_policy_hears_task_result_plan_and_what_is_left_of_the_budget():
    heard = []

    def listen(outcome):
        heard.append(outcome)

    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(listen), max_token_budget=100)
    (outcome,) = heard
    assert outcome.kind == "failure"
    assert outcome.task["status"] == "in_progress"
    assert outcome.result.status.message == "boom"
    assert [t["title"] for t in outcome.tasks] == ["Search", "Analysis"]
    assert outcome.plan_revision == 0
    assert outcome.token_budget_remaining == 94


def judging(verdict):
    """Everybody answers; judge j says this of every answer."""

    async def work(_world, _agent, job):
        if ":verify:" not in job.task_id:
            return ok(f"{job.task_title} done")
        words = {"accept": verdict, "critique": "not convincing"}
        return replace(ok(json.dumps(words)), structured=words, has_structured=True)

    return work


REJECTS = {"judges": ["j"], "onDissent": "reject"}


async def test_idea_23_a_verification_rejection_appends_an_investigation():
    heard = []

    def policy(outcome):
        heard.append((outcome.task["title"], outcome.kind, outcome.verification))
        if outcome.kind != "verification_rejected":
            return None
        return {"reason": "doubtful", "addTasks": [added("look", "Investigate", verify="j")]}

    world = RunWorld(agents=("a", "j"), work=judging(False))
    result = await world.run(
        spec("Claim", assignee="a", verify=REJECTS), spec("Use", "Claim", assignee="a"),
        recovery=repairable(policy),
    )  # fmt: skip
    assert result.success
    assert statuses(result)["Claim"] == "completed"
    assert statuses(result)["Use"] == "completed"
    assert statuses(result)["Investigate"] == "completed"
    assert by_title(result.tasks)["Claim"]["recoveredByRevision"] == 1
    assert result.plan_revisions[0]["trigger"] == "verification_rejected"
    title, kind, verdict = heard[0]
    assert (title, kind) == ("Claim", "verification_rejected")
    assert verdict["verdict"] == "rejected"
    assert verdict["dissent"][0]["critique"] == "not convincing"
    saved = next(s for s in world.store.saved if s["queue"]["version"] == 2)
    new = saved["queue"]["planRevisions"][0]["addedTasks"]["look"]
    assert saved["omaDesktop"]["verify"][new]["judges"] == ["j"], "new tasks are judged too"


# ---------------------------------------------------------------- limits and refusals


def proposals(case):
    return json.loads((CASES / "s11-replan-loop" / "patches.json").read_text("utf-8"))[case]


async def test_s11_a_replanner_that_never_gives_up_is_stopped():
    limits = proposals("limits")
    waiting = list(proposals("proposals"))

    def again(outcome):
        return waiting.pop(0) if outcome.kind == "failure" and waiting else None

    world = RunWorld(agents=("researcher",), work=failing("t-search", "Fallback", "X", "Y"))
    options = repairable(
        again,
        max_plan_revisions=limits["maxPlanRevisions"],
        max_added_tasks=limits["maxAddedTasks"],
    )
    result = await world.run(spec("t-search"), recovery=options)
    assert len(result.plan_revisions) == 3
    assert [t["title"] for t in result.tasks] == ["t-search", *["Fallback"] * 3]
    assert warnings(world) == ["RECOVERY_REVISION_LIMIT"]
    assert result.status.code == "error"
    assert waiting == []


async def test_s11_a_patch_is_never_cut_to_the_limit():
    last = proposals("proposals")[-1]
    world = RunWorld(agents=("researcher",), work=failing("t-search"))
    result = await world.run(
        spec("t-search"), recovery=repairable(lambda _outcome: last, max_added_tasks=1)
    )
    assert [t["title"] for t in result.tasks] == ["t-search"]
    (warning,) = world.of("warning")
    assert warning.data == {
        "code": "RECOVERY_ADDED_TASK_LIMIT",
        "maxAddedTasks": 1,
        "requestedAdded": 2,
        "addedSoFar": 0,
    }
    assert "RECOVERY_ADDED_TASK_LIMIT" in result.warnings


@pytest.mark.parametrize("patch", proposals("invalid"), ids=lambda p: p["reason"])
async def test_s11_an_invalid_patch_is_refused_whole_and_costs_no_revision(patch):
    offered = [patch, {"reason": "good", "addTasks": [added("n", "New")]}]

    def policy(outcome):
        return offered.pop(0) if outcome.task["title"] in {"first", "second"} else None

    world = RunWorld(agents=("researcher",), work=failing("first", "second"))
    result = await world.run(
        spec("first"), spec("second", priority="low"), recovery=repairable(policy)
    )
    assert [t["title"] for t in result.tasks] == ["first", "second", "New"]
    assert len(result.plan_revisions) == 1
    assert warnings(world)[0] in {"RECOVERY_PATCH_INVALID", "RECOVERY_PATCH_INELIGIBLE"}
    assert world.of("warning")[0].data["problem"].startswith("PATCH_")


async def test_limits_hold_when_two_outcomes_wait_for_their_gate_at_once():
    asked = []

    async def gate(patch, _outcome):
        asked.append(patch["reason"])
        await eventually(lambda: len(asked) == 2)
        return True

    def policy(outcome):
        if outcome.kind != "failure":
            return None
        return {"reason": outcome.task["title"], "addTasks": [added("n", "New")]}

    world = RunWorld(work=failing("one", "two"))
    result = await world.run(
        spec("one", assignee="a"), spec("two", assignee="b"),
        recovery=repairable(policy, on_plan_patch=gate, max_plan_revisions=1),
    )  # fmt: skip
    assert sorted(asked) == ["one", "two"]
    assert len(result.plan_revisions) == 1
    assert warnings(world) == ["RECOVERY_REVISION_LIMIT"]
    assert [t["title"] for t in result.tasks] == ["one", "two", "New"]


async def test_the_same_words_are_accepted_once_in_an_attempt():
    same = {"reason": "fallback", "addTasks": [added("fb", "Fallback")]}
    world = RunWorld(work=failing("t", "Fallback"))
    result = await world.run(spec("t"), recovery=repairable(lambda _outcome: same))
    assert len(result.plan_revisions) == 1
    assert warnings(world) == ["RECOVERY_PATCH_REPEATED"]
    assert not result.success


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        (added("n", assignee="ghost"), "PATCH_AGENT_UNKNOWN"),
        (
            added("n", assignee="b", requires={"requiredCapabilities": ["x"]}),
            "PATCH_AGENT_UNFIT",
        ),
        (added("n", requires={"requiredCapabilities": ["y"]}), "PATCH_NOBODY_FITS"),
        (added("n", verify=["a", "ghost"]), "PATCH_AGENT_UNKNOWN"),
    ],
)
async def test_agents_are_checked_with_the_schedulers_rules(task, problem):
    agents = (AgentConfig(name="a", capabilities=["x"]), "b")
    world = RunWorld(agents=agents, work=failing("t"))
    result = await world.run(
        spec("t"), recovery=repairable(lambda _o: {"reason": "r", "addTasks": [task]})
    )
    assert len(result.tasks) == 1
    (warning,) = world.of("warning")
    assert warning.data["code"] == "RECOVERY_PATCH_INELIGIBLE"
    assert warning.data["problem"] == problem


async def test_agents_are_checked_on_the_model_they_would_be_routed_to():
    """Only a task others wait for goes to the other provider: the patched plan decides."""
    routing = {"rules": [{"match": {"leaf": False}, "route": {"model": "m", "provider": "other"}}]}
    one = added("n", requires={"requiredProvider": "openai"})
    for tasks, revisions in (([one], 1), ([one, added("m", "M", "n")], 0)):
        world = RunWorld(
            agents=(AgentConfig(name="a", provider="openai"),),
            work=failing("t"),
            model_routing=routing,
        )
        patch = {"reason": "r", "addTasks": tasks}
        result = await world.run(
            spec("t"), recovery=repairable(lambda o, p=patch: p if o.kind == "failure" else None)
        )
        assert len(result.plan_revisions) == revisions
    (warning,) = world.of("warning")
    assert warning.data["code"] == "RECOVERY_PATCH_INELIGIBLE"
    assert warning.data["problem"] == "INVALID_TASK_REQUIREMENTS"


async def test_retargeting_moves_a_waiting_task_to_another_agent():
    ran = {}

    async def work(_world, agent, job):
        ran[job.task_title] = agent.name
        return ok()

    def policy(outcome):
        if outcome.task["title"] != "First":
            return None
        second = by_title(outcome.tasks)["Second"]
        return {
            "reason": "b is better",
            "retargetPending": [{"taskId": second["id"], "assignee": "b"}],
        }

    world = RunWorld(work=work)
    result = await world.run(
        spec("First", assignee="a"), spec("Second", "First", assignee="a"),
        recovery=repairable(policy),
    )  # fmt: skip
    assert ran == {"First": "a", "Second": "b"}
    assert result.plan_revisions[0]["retargetedTasks"][0]["assignee"] == "b"


async def test_dependents_left_in_place_are_named_and_still_fail():
    world = RunWorld(work=failing("Search"))
    result = await world.run(
        *SEARCH, recovery=repairable(lambda _o: {"reason": "r", "addTasks": [added("n")]})
    )
    assert not result.success
    assert warnings(world)[0] == "RECOVERY_DEPENDENTS_LEFT"
    assert statuses(result)["Analysis"] == "failed"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (RecoveryOptions(mode="repairable"), "RECOVERY_POLICY_MISSING"),
        (
            RecoveryOptions(mode="repairable", on_task_outcome=lambda _o: None, replanner=object()),
            "RECOVERY_POLICY_TWICE",
        ),
        (repairable(lambda _o: None, max_plan_revisions=0), "RECOVERY_LIMIT_INVALID"),
        (repairable(lambda _o: None, max_added_tasks=1.5), "RECOVERY_LIMIT_INVALID"),
        (repairable(lambda _o: None, max_added_tasks=True), "RECOVERY_LIMIT_INVALID"),
    ],
)
async def test_options_that_cannot_work_are_refused_before_anything_runs(options, code):
    world = RunWorld()
    with pytest.raises(InvalidInput, match=code):
        await world.run(spec("t"), recovery=options)
    assert world.store.saved == []
    assert world.prompts == {}


async def test_recovery_and_rounds_exclude_each_other():
    async def allow(*_arguments):
        return ALLOW

    world = RunWorld(gates=Gates(round=allow))
    with pytest.raises(InvalidInput, match="RECOVERY_WITH_ROUNDS"):
        await world.run(spec("t"), recovery=repairable(lambda _o: None))
    result = await world.run(spec("t"), recovery=RecoveryOptions(on_task_outcome=print))
    assert result.success, "in mode fixed nothing of it counts"


async def test_idea_26_the_replay_of_a_plan_refuses_recovery():
    plan = PlanArtifact.model_validate(
        {"version": 1, "tasks": [{"id": "p1", "title": "t", "description": "d"}]}
    )
    world = RunWorld()
    options = RunOptions(recovery=repairable(lambda _o: None))
    with pytest.raises(InvalidInput, match="RECOVERY_OF_FROZEN_PLAN"):
        await world._with(lambda oma: oma.run_from_plan(world.team, plan, options), False)
    with pytest.raises(InvalidInput, match="RECOVERY_OF_FROZEN_PLAN"):
        await world.restore(plan=plan, recovery=repairable(lambda _o: None))
    assert world.prompts == {}
    assert world.store.saved == []


async def test_idea_26_a_saved_plan_run_refuses_recovery():
    world = RunWorld(work=failing("t"))
    await world.run(spec("t"))
    document = world.snapshot()
    document["mode"] = "runFromPlan"
    key = world.store.list()[0].key
    world.store.set(key, json.dumps(document))
    before = [(e.key, e.value) for e in world.store.list()]
    with pytest.raises(InvalidInput, match="RECOVERY_OF_FROZEN_PLAN"):
        await world.restore(recovery=repairable(lambda _o: None))
    assert [(e.key, e.value) for e in world.store.list()] == before
    assert not (await world.restore()).success


# ---------------------------------------------------------------- durability


class FailsOnPatch(RecordingStore):
    """Refuses the first checkpoint that holds a plan revision."""

    def __init__(self, clock, times=1):
        super().__init__(clock)
        self.left = times
        self.during = None

    def _put(self, key, value, metadata, expires_at_turn):
        if self.left and '"planRevision":' in value:
            self.left -= 1
            if self.during is not None:
                self.during()
            raise WriteFailed("STORE_WRITE_FAILED")
        super()._put(key, value, metadata, expires_at_turn)


def patched_world(**facts):
    world = RunWorld(**facts)
    world.store = FailsOnPatch(world.clock)
    return world


async def test_idea_24_a_failed_save_takes_the_patch_back_and_the_failure_goes_on():
    world = patched_world(work=failing("Search"))
    result = await world.run(*SEARCH, recovery=repairable(replace_branch))
    assert statuses(result) == {"Search": "failed", "Analysis": "failed"}
    assert by_title(result.tasks)["Analysis"]["result"].startswith("Cancelled: dependency")
    assert result.plan_revisions == ()
    assert warnings(world) == ["PLAN_REVISION_NOT_DURABLE"]
    assert world.of("plan_revision") == []
    assert world.of("task_skipped") == []
    assert "recoveredByRevision" not in by_title(result.tasks)["Search"]
    queue = world.snapshot()["queue"]
    assert queue["version"] == 1
    assert "planRevisions" not in queue


async def test_a_patch_that_was_taken_back_may_be_proposed_again():
    one = {"reason": "r", "addTasks": [added("n", "New")]}
    world = patched_world(work=failing("first", "second"))
    result = await world.run(
        spec("first"), spec("second", priority="low"),
        recovery=repairable(lambda o: one if o.kind == "failure" else None),
    )  # fmt: skip
    assert warnings(world) == ["PLAN_REVISION_NOT_DURABLE"]
    assert len(result.plan_revisions) == 1
    assert statuses(result)["New"] == "completed"


async def test_dev_04_no_task_of_a_patch_starts_before_it_is_saved():
    started_when_saving = []
    world = RunWorld(work=failing("Search"), max_concurrency=1)

    def look(document):
        if document["queue"]["version"] == 2:
            started_when_saving.append(set(world.prompts))

    world.store.on_save = look

    def policy(outcome):
        if outcome.task["title"] != "Search":
            return None
        other = by_title(outcome.tasks)["Other"]
        return {
            "reason": "r",
            "addTasks": [added("n", "New")],
            "retargetPending": [{"taskId": other["id"], "assignee": "b"}],
        }

    result = await world.run(
        spec("Search", assignee="a"), spec("Other", assignee="a"),
        recovery=repairable(policy),
    )  # fmt: skip
    assert result.plan_revisions
    assert started_when_saving[0] == {"Search"}
    assert set(world.prompts) == {"Search", "Other", "New"}


async def test_dev_04_a_hidden_task_that_becomes_ready_waits_for_the_save():
    """A new task's dependency completes between the patch and its save."""
    gate = asyncio.Event()
    world = RunWorld()

    async def work(_world, _agent, job):
        if job.task_title == "Search":
            return bad(retryable=False)
        if job.task_title == "Other":
            await gate.wait()
        if job.task_title == "New":
            assert any(s["queue"]["version"] == 2 for s in world.store.saved)
        return ok(job.task_title)

    world.work = work
    original = world.store._put

    def slow_put(key, value, metadata, expires_at_turn):
        if '"planRevision":1' in value:
            gate.set()
        original(key, value, metadata, expires_at_turn)

    world.store._put = slow_put

    def policy(outcome):
        if outcome.kind != "failure":
            return None
        other = by_title(outcome.tasks)["Other"]
        return {"reason": "r", "addTasks": [added("n", "New", other["id"])]}

    result = await world.run(
        spec("Search", assignee="a"), spec("Other", assignee="b"), recovery=repairable(policy)
    )
    assert statuses(result)["New"] == "completed"
    assert result.success


class SlowToFail(InlineLanes):
    """A failing save comes back only after something else happened."""

    until = None

    async def store(self, fn, /, *args, **kwargs):
        try:
            return await super().store(fn, *args, **kwargs)
        except WriteFailed:
            await eventually(SlowToFail.until)
            raise


async def test_dev_05_taking_a_patch_back_keeps_what_happened_meanwhile(monkeypatch):
    gate = asyncio.Event()

    async def work(_world, _agent, job):
        if job.task_title == "Search":
            return bad(retryable=False)
        if job.task_title == "Side":
            await gate.wait()
        return ok(job.task_title)

    world = patched_world(work=work)
    side_done = [False]

    def hear(event):
        if event.type == "task_status" and event.data == {"to": "completed"}:
            side_done[0] = True

    world.bus.subscribe(hear)
    monkeypatch.setattr(run_world, "InlineLanes", SlowToFail)
    monkeypatch.setattr(SlowToFail, "until", lambda: side_done[0])
    world.store.during = gate.set

    def policy(outcome):
        if outcome.kind != "failure":
            return None
        side = by_title(outcome.tasks)["Side"]
        return {"reason": "r", "addTasks": [added("n", "New", side["id"])]}

    result = await world.run(
        spec("Search", assignee="a"),
        spec("Side", assignee="b"),
        spec("After", "Side", assignee="b"),
        recovery=repairable(policy),
    )
    assert statuses(result) == {"Search": "failed", "Side": "completed", "After": "completed"}
    assert warnings(world) == ["PLAN_REVISION_NOT_DURABLE"]
    order = [e.type for e in world.events if e.type in {"task_status", "warning"}]
    assert "warning" in order[order.index("task_status") :]
    assert world.snapshot()["queue"]["version"] == 1


async def test_dev_06_a_cancel_is_never_offered_to_the_policy():
    asked = []

    async def work(world, _agent, _job):
        world.token.stop(StopReason.CANCEL)
        return bad(retryable=False)

    def policy(outcome):
        asked.append(outcome.kind)
        return {"reason": "r", "addTasks": [added("n")]}

    world = RunWorld(work=work)
    result = await world.run(spec("t"), recovery=repairable(policy))
    assert asked == []
    assert result.status.code == "cancelled"
    assert world.snapshot()["queue"]["version"] == 1


async def test_dev_06_a_budget_that_is_used_up_asks_nobody():
    asked = []
    world = RunWorld(work=failing("t"))
    result = await world.run(spec("t"), recovery=repairable(asked.append), max_token_budget=3)
    assert asked == []
    assert result.status.code == "budget_exhausted"


async def test_dev_06_a_cancel_while_the_policy_thinks_applies_nothing():
    world = RunWorld(work=failing("t"))

    async def policy(_outcome):
        world.token.stop(StopReason.CANCEL)
        await asyncio.sleep(0)
        return {"reason": "r", "addTasks": [added("n")]}

    result = await world.run(spec("t"), recovery=repairable(policy))
    assert result.plan_revisions == ()
    assert world.snapshot()["queue"]["version"] == 1


async def test_a_suspend_before_the_policy_was_heard_keeps_the_outcome_open():
    world = RunWorld(work=failing("Search"))

    async def policy(_outcome):
        world.token.stop(StopReason.SUSPEND)
        await asyncio.Event().wait()

    result = await world.run(*SEARCH, recovery=repairable(policy))
    assert result.status.code == "suspended"
    assert world.statuses() == {"Search": "in_progress", "Analysis": "blocked"}
    again = await world.restore(recovery=repairable(replace_branch))
    assert again.success
    assert len(again.plan_revisions) == 1


async def test_a_suspend_before_the_policy_was_heard_holds_a_success_too():
    """Its downstream may be replaced, so it is not released; the model is not asked again."""
    script = {
        "team": {"name": "t"},
        "agents": [{"name": "a"}],
        "replies": {title: [{"text": f"{title} done"}] for title in ("First", "Old", "New")},
    }
    world = RunWorld(script=script)

    async def thinks(_outcome):
        world.token.stop(StopReason.SUSPEND)
        await asyncio.Event().wait()

    def replaces(outcome):
        if outcome.task["title"] != "First":
            return None
        old = by_title(outcome.tasks)["Old"]["id"]
        return {"reason": "r", "supersedePending": [old], "addTasks": [added("n", "New")]}

    result = await world.run(
        spec("First"), spec("Old", "First"), recovery=repairable(thinks), real_runner=True
    )
    assert result.status.code == "suspended"
    assert world.statuses() == {"First": "in_progress", "Old": "blocked"}
    again = await world.restore(recovery=repairable(replaces), real_runner=True)
    assert again.success
    assert statuses(again) == {"First": "completed", "Old": "skipped", "New": "completed"}
    assert [c for c in again.log["modelCalls"] if "First" in c] == []


async def test_dev_24_a_patch_is_validated_before_and_after_it_is_approved():
    asked = []
    world = RunWorld(work=failing("Search"))
    broken = {"reason": "r", "addTasks": [added("n", "N", "nobody")]}
    options = repairable(
        lambda _o: broken, on_plan_patch=lambda patch, _outcome: asked.append(patch)
    )
    await world.run(*SEARCH, recovery=options)
    assert asked == [], "nobody is asked about a patch that cannot be applied"
    assert world.of("warning")[0].data["problem"] == "PATCH_DEPENDENCY_UNKNOWN"


async def test_dev_24_what_changed_while_the_gate_thought_is_checked_again():
    release = asyncio.Event()
    started = asyncio.Event()

    async def work(_world, _agent, job):
        if job.task_title == "Search":
            return bad(retryable=False)
        started.set()
        return ok(job.task_title)

    def policy(outcome):
        if outcome.kind != "failure":
            return None
        waits = by_title(outcome.tasks)["Waits"]
        return {"reason": "r", "addTasks": [added("n")], "supersedePending": [waits["id"]]}

    async def gate(_patch, _outcome):
        release.set()
        await started.wait()
        return True

    async def hold(task):
        if task["title"] == "Waits":
            await release.wait()
        return ALLOW

    world = RunWorld(work=work, gates=Gates(dispatch=hold))
    result = await world.run(
        spec("Search", assignee="a"),
        spec("Waits", assignee="b"),
        recovery=repairable(policy, on_plan_patch=gate),
    )
    assert statuses(result)["Waits"] == "completed"
    assert world.of("warning")[0].data["problem"] == "PATCH_TASK_STARTED"
    assert result.plan_revisions == ()


async def test_a_task_superseded_while_its_gate_is_asked_does_not_start():
    asked = asyncio.Event()
    applied = asyncio.Event()

    async def hold(task):
        if task["title"] == "Waits":
            asked.set()
            await applied.wait()
        return ALLOW

    async def work(_world, _agent, job):
        if job.task_title == "Search":
            await asked.wait()
            return bad(retryable=False)
        if job.task_title == "New":
            applied.set()
        return ok(job.task_title)

    def policy(outcome):
        if outcome.kind != "failure":
            return None
        waits = by_title(outcome.tasks)["Waits"]
        return {
            "reason": "r",
            "addTasks": [added("n", "New", assignee="a")],
            "supersedePending": [waits["id"]],
        }

    world = RunWorld(work=work, gates=Gates(dispatch=hold))
    result = await world.run(
        spec("Search", assignee="a"), spec("Waits", assignee="b"), recovery=repairable(policy)
    )
    assert result.success
    assert statuses(result) == {"Search": "failed", "Waits": "skipped", "New": "completed"}
    assert "Waits" not in world.prompts


async def test_a_task_moved_while_its_gate_is_asked_is_asked_for_again():
    asked = []
    first = asyncio.Event()
    applied = asyncio.Event()

    async def hold(task):
        asked.append((task["title"], task["assignee"]))
        if task["title"] == "Waits" and not first.is_set():
            first.set()
            await applied.wait()
        return ALLOW

    async def work(_world, _agent, job):
        if job.task_title == "Search":
            await first.wait()
        return ok(job.task_title)

    def policy(outcome):
        if outcome.task["title"] != "Search":
            return None
        waits = by_title(outcome.tasks)["Waits"]
        return {
            "reason": "r",
            "addTasks": [added("n", "New", assignee="a")],
            "retargetPending": [{"taskId": waits["id"], "assignee": "a"}],
        }

    world = RunWorld(work=work, gates=Gates(dispatch=hold))
    world.bus.subscribe(lambda e: applied.set() if e.type == "plan_revision" else None)
    result = await world.run(
        spec("Search", assignee="a"), spec("Waits", assignee="b"), recovery=repairable(policy)
    )
    assert result.success
    assert asked.count(("Waits", "b")) == 1
    assert asked.count(("Waits", "a")) == 1
    assert by_title(result.tasks)["Waits"]["assignee"] == "a"


# ---------------------------------------------------------------- restoring


async def test_idea_25_after_a_crash_the_same_outcome_changes_the_plan_once():
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    at = next(i for i, s in enumerate(world.store.saved) if s["queue"]["version"] == 2)
    crashed = world.crashed(at)
    saved = crashed.snapshot()
    assert crashed.statuses(saved)["Search"] == "in_progress"
    assert by_title(saved["queue"]["tasks"])["Search"]["recoveredByRevision"] == 1
    asked = []

    def policy(outcome):
        asked.append(outcome.task["title"])

    crashed.forget_events()
    result = await crashed.restore(recovery=repairable(policy))
    assert result.success
    assert "Search" not in asked
    assert decisions(crashed)[0][1] == "already_applied"
    assert list(result.plan_revisions) == saved["queue"]["planRevisions"]
    assert statuses(result)["Search"] == "failed"
    assert statuses(result)["Replacement Analysis"] == "completed"


def break_count(queue):
    queue["planRevision"] = 2


def break_order(queue):
    queue["planRevisions"][0]["version"] = 2


def break_trigger(queue):
    queue["planRevisions"][0]["triggerTaskId"] = "nobody"


def break_added(queue):
    queue["planRevisions"][0]["addedTasks"] = {"fallback-search": "nobody"}


def drop_history(queue):
    queue["planRevisions"] = []


@pytest.mark.parametrize(
    "damage", [break_count, break_order, break_trigger, break_added, drop_history]
)
async def test_idea_28_a_corrupt_revision_sequence_is_refused_and_left_alone(damage):
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    document = world.snapshot()
    damage(document["queue"])
    key = world.store.list()[0].key
    world.store.set(key, json.dumps(document))
    before = [(e.key, e.value) for e in world.store.list()]
    with pytest.raises(Corrupt):
        await world.restore(recovery=repairable(lambda _o: None))
    assert [(e.key, e.value) for e in world.store.list()] == before


async def test_another_outcome_after_a_crash_is_asked_about_and_the_repair_stays():
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    at = next(i for i, s in enumerate(world.store.saved) if s["queue"]["version"] == 2)
    crashed = world.crashed(at)
    crashed.work = failing()
    crashed.forget_events()
    asked = []
    result = await crashed.restore(
        recovery=repairable(lambda o: asked.append((o.task["title"], o.kind)))
    )
    assert result.success
    assert ("Search", "success") in asked
    assert statuses(result)["Search"] == "completed"
    assert by_title(result.tasks)["Search"]["recoveredByRevision"] == 1
    assert "RECOVERED_TASK_SUCCEEDED" in result.warnings


async def test_limits_count_on_after_a_restore():
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    at = next(i for i, s in enumerate(world.store.saved) if s["queue"]["version"] == 2)
    crashed = world.crashed(at)
    crashed.work = failing("Search", "Fallback Search")
    crashed.forget_events()
    result = await crashed.restore(
        recovery=repairable(
            lambda _o: {"reason": "again", "addTasks": [added("x")]}, max_plan_revisions=1
        )
    )
    assert "RECOVERY_REVISION_LIMIT" in warnings(crashed)
    assert len(result.plan_revisions) == 1
    assert not result.success


async def test_without_recovery_a_restored_run_goes_on_with_its_plan_as_it_stands():
    world = RunWorld(work=failing("Search"))
    await world.run(*SEARCH, recovery=repairable(replace_branch))
    at = next(i for i, s in enumerate(world.store.saved) if s["queue"]["version"] == 2)
    crashed = world.crashed(at)
    result = await crashed.restore()
    assert result.success
    assert len(result.plan_revisions) == 1


async def test_recovery_works_without_a_checkpoint():
    world = RunWorld(work=failing("Search"))
    result = await world.run(*SEARCH, checkpoint=False, recovery=repairable(replace_branch))
    assert result.success
    assert len(result.plan_revisions) == 1


async def test_the_default_is_a_fixed_plan():
    world = RunWorld(work=failing("Search"))
    result = await world.run(*SEARCH)
    assert statuses(result) == {"Search": "failed", "Analysis": "failed"}
    assert world.of("recovery_decision") == []
    assert copy.deepcopy(world.snapshot())["queue"]["version"] == 1
