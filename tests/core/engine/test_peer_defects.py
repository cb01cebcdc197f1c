"""Defects of the peer, each run against ours in bounded steps (peer-defects.md P01-P17)."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.operations import attempt_run
from oma_desktop.engine.saving.masking import as_asked
from oma_desktop.engine.tools.gate import ALLOW, Gates, suspend
from oma_desktop.model.container import parse_container
from oma_desktop.model.errors import InvalidInput, OmaError, StoreError
from oma_desktop.model.inspection import has_errors, inspect_container
from oma_desktop.model.runfile import Checkpoint
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from tests.core.engine.run_world import (
    GOLDEN,
    RunWorld,
    bad,
    golden_world,
    ok,
    spec,
    statuses,
)
from tests.core.engine.runner_world import VirtualClock

CORRUPT = json.loads((GOLDEN / "n_corrupt" / "ours.json").read_text("utf-8"))

DERIVED = {"cp-partitions-missing.json"}
"""An error for a reader; a restore makes the partitions again from the statuses."""


@pytest.fixture
def dispatchers(monkeypatch):
    """Every dispatcher that is made; one that spins would pass its bound and fail here."""
    made = []

    class Bounded(attempt_run.Dispatcher):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

        @property
        def passes(self):
            return self.count

        @passes.setter
        def passes(self, value):
            self.count = value
            assert value <= 100, "the dispatcher looks again and again without a cause"

    monkeypatch.setattr(attempt_run, "Dispatcher", Bounded)
    return made


async def with_timer(world, *specs, **options):
    """Run beside a timer of the loop; the peer starves it. Returns result and what it counted."""
    ticks = []

    async def tick():
        while True:
            await world.clock.sleep(0.25)
            ticks.append(world.clock.monotonic())

    beside = Supervisor()
    beside.spawn(tick(), name="timer")
    try:
        result = await world.run(*specs, **options)
    finally:
        await beside.close(0)
    return result, ticks


def slowly(usage=(300, 0), **seconds):
    async def work(world, _agent, job):
        await world.clock.sleep(seconds.get(job.task_title, 1))
        return ok(usage=usage)

    return work


async def test_p_01_a_budget_crossed_beside_a_running_task_ends_the_run(dispatchers):
    world = RunWorld(work=slowly(A=1, B=10), max_token_budget=200, max_concurrency=2)
    result, ticks = await with_timer(world, spec("A"), spec("B"), spec("C", "A"))
    assert result.status.code == "budget_exhausted"
    assert statuses(result) == {"A": "completed", "B": "completed", "C": "skipped"}
    assert dispatchers[0].passes <= 6
    assert len(ticks) >= 36, "time went on while the second task drained"


async def test_p_02_a_budget_crossed_in_a_sequential_run_on_a_file_ends_it(dispatchers, tmp_path):
    store = FileStore(tmp_path / "checkpoint.json", clock=VirtualClock())
    world = RunWorld(work=slowly(), max_token_budget=500, max_concurrency=1, store=store)
    result, _ = await with_timer(world, *(spec(f"t{n}") for n in range(5)))
    assert result.status.code == "budget_exhausted"
    assert list(statuses(result).values()) == ["completed"] * 2 + ["skipped"] * 3
    assert dispatchers[0].passes <= 6
    assert list(world.statuses().values()) == ["completed"] * 2 + ["pending"] * 3


def asks_in_a_tool():
    return {
        "team": {"name": "x"},
        "orchestrator": {"maxConcurrency": 2},
        "agents": [{"name": "payer", "tools": ["pay"]}, {"name": "other"}],
        "tools": {"pay": {"results": {"*": {"data": "paid"}}, "consequential": True}},
        "gates": {"tool": {"pay": "suspend"}},
        "replies": {
            "Pay": [{"tools": [{"id": "c1", "name": "pay", "input": {}}]}, {"text": "paid"}],
            "Other": [{"text": "slow", "delayMs": 10_000}],
        },
    }


async def test_p_03_a_tool_gate_that_suspends_beside_a_running_task(dispatchers):
    world = RunWorld(script=asks_in_a_tool())
    tasks = [spec("Pay", assignee="payer"), spec("Other", assignee="other")]
    result, ticks = await with_timer(world, *tasks, real_runner=True)
    assert result.status.code == "suspended"
    assert statuses(result) == {"Pay": "in_progress", "Other": "completed"}
    assert dispatchers[0].passes <= 5
    assert len(ticks) >= 36


async def test_p_04_a_dispatch_gate_that_suspends_beside_a_running_task(dispatchers):
    async def gate(task):
        return suspend() if task["title"] == "Asked" else ALLOW

    world = RunWorld(work=slowly(Other=10), gates=Gates(dispatch=gate), max_concurrency=2)
    result, ticks = await with_timer(world, spec("Other"), spec("Asked"))
    assert result.status.code == "suspended"
    assert statuses(result) == {"Other": "completed", "Asked": "pending"}
    assert dispatchers[0].passes <= 5
    assert len(ticks) >= 36


@pytest.mark.parametrize(
    "case",
    [
        "l6_second_crash_peer_rejects",
        "d5_dispatch_approved_then_crash",
        "d6_second_dispatch_approval_peer_rejects",
    ],
)
async def test_p_05_a_second_crash_leaves_a_run_that_can_be_restored(case, tmp_path):
    world = golden_world(case, tmp_path)
    result = await world.restore(real_runner=True)
    assert result.status.code == "ok"
    assert set(statuses(result).values()) == {"completed"}
    assert result.pending_approvals == ()


# --- P06: what we write, we read ---------------------------------------------------------------


async def odd_run(tmp_path, *, reply=None, results=None, gate="allow", run_id=None, back=False):
    """One task that calls a tool, with one thing in it that the peer chokes on at load."""
    script = asks_in_a_tool()
    script["gates"] = {"tool": {"pay": gate}}
    script["replies"]["Pay"][0] |= reply or {}
    script["tools"]["pay"]["results"] = results or {"*": {"data": "paid"}}
    store = FileStore(tmp_path / "checkpoint.json", clock=VirtualClock())
    world = RunWorld(script=script, store=store)
    if back:
        world.bus.subscribe(lambda e: e.type == "tool_start" and _step_back(world.clock))
    result = await world.run(spec("Pay", assignee="payer"), run_id=run_id, real_runner=True)
    return world, result


def _step_back(clock):
    now = clock.now
    clock.now = lambda: now() - timedelta(hours=1)


@pytest.mark.parametrize(
    "oddity",
    [
        {"results": {"*": {"data": 1, "modelOutput": [{"type": "text", "text": "seen"}]}}},
        {"reply": {"tools": [{"id": "", "name": "pay", "input": {}}]}},
        {"reply": {"tools": [{"id": "x", "name": "pay", "input": {}}] * 2}},
        {"back": True},
    ],
    ids=["rich result", "empty id", "one id twice", "clock stepped back"],
)
async def test_p_06_every_file_we_write_is_one_we_read(oddity, tmp_path):
    world, result = await odd_run(tmp_path, **oddity)
    assert result.status.code == "ok"
    document = inspect_container(
        parse_container((tmp_path / "checkpoint.json").read_bytes(), path="checkpoint.json")
    )
    assert not has_errors(document)
    again = await world.restore(real_runner=True)
    assert statuses(again) == {"Pay": "completed"}


async def test_p_06_a_run_id_with_spaces_is_refused_before_it_can_make_a_file_unreadable(tmp_path):
    with pytest.raises(InvalidInput):
        await odd_run(tmp_path, run_id=" r ", gate="suspend")
    assert not (tmp_path / "checkpoint.json").exists()


async def test_p_06_a_rich_result_the_peer_committed_is_read(tmp_path):
    world = golden_world("j3_multimodal_commit_peer_rejects", tmp_path)
    assert (await world.restore(real_runner=True)).success


# --- P07 ---------------------------------------------------------------------------------------


async def test_p_07_revisions_that_redaction_broke_are_loaded_with_a_warning_and_finished(tmp_path):
    world = golden_world("i4_redacted_plan_revision_unrestorable", tmp_path)
    result = await world.restore(real_runner=True)
    assert result.status.code == "ok"
    assert result.warnings != ()


async def test_p_07_a_masked_note_is_json_as_before():
    masked = as_asked(InMemoryStore(clock=VirtualClock()), Checkpoint(redact=True))
    world = RunWorld(memory=True, store=masked)
    seen = {}

    async def work(world, agent, job):
        if job.task_title == "A":
            value = {"password": 12345, "port": 5432}
            return replace(ok("text"), structured=value, has_structured=True)
        seen["prompt"] = job.prompt
        world.token.stop("suspend")
        return ok()

    world.work = work
    await world.run(spec("A"), spec("B", "A", dependency_payload="structured"))
    saved = world.snapshot()["completedTaskResults"][0]["agentResult"]["structured"]
    assert saved == {"password": "[redacted]", "port": 5432}
    assert json.loads(seen["prompt"].split("\n")[-1]) == {"password": 12345, "port": 5432}


# --- P08 to P13 --------------------------------------------------------------------------------


async def test_p_08_a_failure_its_cascade_and_the_end_are_in_the_file():
    async def work(_world, _agent, job):
        return bad("no", retryable=False) if job.task_title == "Fetch" else ok()

    world = RunWorld(work=work)
    result = await world.run(spec("Fetch"), spec("Write", "Fetch"), spec("Apart"))
    assert result.status.code == "error"
    assert world.statuses() == statuses(result)
    assert world.statuses() == {"Fetch": "failed", "Write": "failed", "Apart": "completed"}
    end = world.snapshot()["omaDesktop"]["end"]
    assert (end["status"], end["by"]) == ("error", "run")
    world.forget_events()
    again = await world.restore()
    assert statuses(again) == statuses(result)
    assert world.of("task_start") == []


async def test_p_08_a_file_without_our_facts_is_interrupted_not_ended(tmp_path):
    """g3: the peer's run had failed; only the file speaks, so the task is tried again."""
    world = golden_world("g3_stale_after_final_failure", tmp_path)
    await world.restore(real_runner=True)
    assert world.of("task_start") != []


async def test_p_12_budget_retries_judges_and_tokens_go_on_wherever_it_dies():
    tries = []

    async def work(world, agent, job):
        if agent.name == "j":
            value = {"accept": True}
            return replace(ok("yes", (7, 0)), structured=value, has_structured=True)
        if job.task_title == "A":
            tries.append(job.attempt)
            return bad(usage=(100, 0)) if job.attempt == 1 else ok(usage=(10, 0))
        return ok(usage=(1, 0))

    world = RunWorld(agents=("a", "j"), work=work, max_concurrency=1)
    tasks = [spec("A", assignee="a", max_retries=1), spec("B", "A", assignee="a", verify="j")]
    whole = await world.run(*tasks)
    assert whole.total_usage["input_tokens"] == 118
    for at, saved in enumerate(world.store.saved):
        crashed = world.crashed(at)
        tries.clear()
        judged = []
        crashed.bus.subscribe(lambda e, seen=judged: seen.append(e.type))
        result = await crashed.restore()
        known = saved["omaDesktop"]["usage"]["input_tokens"]
        assert result.total_usage["input_tokens"] >= max(known, 118)
        if saved["omaDesktop"].get("retries"):
            assert tries == [2], "a try that was used up is not given again"
        done = {t["title"] for t in saved["queue"]["tasks"] if t["status"] == "completed"}
        assert ("consensus_verdict" in judged) == ("B" not in done)


# --- P15, P17 ----------------------------------------------------------------------------------


async def test_p_15_a_task_that_waits_for_nothing_there_is_fails_and_holds_nobody():
    world = RunWorld()
    result = await world.run(spec("A", "Nowhere"), spec("B", "A"), spec("C"))
    assert statuses(result) == {"A": "failed", "B": "failed", "C": "completed"}


async def test_p_15_a_stranded_task_of_the_peer_ends_the_run_instead_of_holding_it(
    dispatchers, tmp_path
):
    world = golden_world("f4_recovery_orphan_blocked", tmp_path)
    result = await world.restore(real_runner=True)
    assert result.status.code == "error"
    assert dispatchers[0].passes <= 5


def roster_of(value):
    tasks = value.get("queue", {}).get("tasks", [])
    return {t["assignee"] for t in tasks if isinstance(t, dict) and "assignee" in t} | {"a"}


@pytest.mark.parametrize("name", CORRUPT)
async def test_p_17_damage_is_named_at_load_or_harmless_never_a_type_error_later(name, tmp_path):
    file = tmp_path / "checkpoint.json"
    file.write_bytes((GOLDEN / "n_corrupt" / name).read_bytes())
    before = file.read_bytes()
    store = FileStore(file, clock=VirtualClock())
    try:
        texts = [e.value for e in store.list() if "checkpoint" in e.key]
        names = roster_of(json.loads(texts[0])) if texts else {"a"}
    except (StoreError, ValueError, AttributeError, TypeError):
        names = {"a"}
    world = RunWorld(agents=sorted(names), store=store)
    result = None
    with suppress(OmaError):
        result = await world.restore()
    if result is None:
        assert world.of("task_start") == []
        assert file.read_bytes() == before
    else:
        assert CORRUPT[name]["exit"] == 0 or name in DERIVED
        assert result.status.code in {"ok", "error", "suspended", "rejected"}
