"""Running a graph of tasks (engine.md 2.3, 2.5, 2.9)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.options import CheckpointOptions, RunOptions
from oma_desktop.engine.tools.gate import ALLOW, Gates
from oma_desktop.model.errors import InvalidInput, PlanRejected, TaskFailed
from oma_desktop.model.team import AgentConfig
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses


class Working:
    """Work that takes virtual time and counts who works at once."""

    def __init__(self, **seconds):
        self.seconds = seconds
        self.now = {}
        self.most = 0
        self.order = []
        self.spans = {}

    async def __call__(self, world, agent, job):
        self.now[job.task_title] = agent.name
        self.most = max(self.most, len(self.now))
        self.order.append(job.task_title)
        start = world.clock.monotonic()
        await world.clock.sleep(self.seconds.get(job.task_title, 1.0))
        del self.now[job.task_title]
        self.spans[job.task_title] = (start, world.clock.monotonic())
        return ok(f"out {job.task_title}")


DIAMOND = [spec("A"), spec("B", "A"), spec("C", "A"), spec("D", "B", "C")]


async def test_a_diamond_runs_in_order_and_every_result_reaches_its_dependents():
    work = Working()
    world = RunWorld(work=work, max_concurrency=4)
    result = await world.run(*DIAMOND)
    assert result.success
    assert work.order[0] == "A"
    assert work.order[-1] == "D"
    assert "out B" in world.prompts["D"]
    assert "out C" in world.prompts["D"]
    assert "out" not in world.prompts["A"]
    assert world.statuses() == dict.fromkeys("ABCD", "completed")


@pytest.mark.parametrize("limit", [1, 2, 3, 8])
async def test_never_more_than_max_concurrency_tasks_work(limit):
    work = Working()
    names = [f"a{i}" for i in range(8)]
    world = RunWorld(agents=names, work=work, max_concurrency=limit)
    await world.run(*(spec(f"t{i}", assignee=names[i]) for i in range(8)))
    assert work.most == limit


async def test_one_agent_works_on_one_task_at_a_time_while_others_go_on():
    work = Working()
    world = RunWorld(agents=["a", "b"], work=work, max_concurrency=4)
    await world.run(spec("1", assignee="a"), spec("2", assignee="a"), spec("3", assignee="b"))
    assert work.spans["2"][0] >= work.spans["1"][1]
    assert work.spans["3"][0] == work.spans["1"][0]


async def test_dev_33_waiting_for_the_agent_is_shown_and_is_no_part_of_the_duration():
    work = Working(**{"1": 5.0, "2": 1.0})
    world = RunWorld(agents=["a"], work=work, max_concurrency=2)
    result = await world.run(spec("1"), spec("2"))
    waits = [e.task for e in world.of("task_status") if e.data["to"] == "waiting_for_agent"]
    assert len(waits) == 1
    assert sorted(result.metrics.durations_ms) == [1000, 5000]


async def test_idea_29_a_failed_branch_ends_all_that_waits_for_it_and_nothing_else():
    async def work(_world, _agent, job):
        return bad("no luck") if job.task_title == "B" else ok(job.task_title)

    world = RunWorld(work=work)
    result = await world.run(*DIAMOND, spec("E"), spec("F", "E"), spec("G", "D", "F"))
    assert statuses(result) == {
        "A": "completed", "B": "failed", "C": "completed", "D": "failed", "E": "completed",
        "F": "completed", "G": "failed",
    }  # fmt: skip
    assert result.status.code == "error"
    tasks = {t["title"]: t for t in result.tasks}
    assert tasks["B"]["result"] == "no luck"
    assert tasks["D"]["result"] == f'Cancelled: dependency "{tasks["B"]["id"]}" failed.'


async def test_idea_30_a_task_starts_when_its_own_dependency_is_done_though_others_run():
    working = Working(A=1, B=10, C=1)
    world = RunWorld(agents=["a", "b"], work=working)
    await world.run(spec("A", assignee="a"), spec("B", assignee="b"), spec("C", "A", assignee="a"))
    assert working.spans["C"] == (1, 2)
    assert working.spans["B"] == (0, 10)


async def test_idea_31_a_crossed_budget_lets_what_runs_finish_and_skips_the_rest():
    async def work(world, _agent, job):
        await world.clock.sleep(1 if job.task_title == "A" else 5)
        return ok(usage=(100, 0))

    world = RunWorld(work=work, max_token_budget=50, max_concurrency=2)
    result = await world.run(spec("A"), spec("B"), spec("C"), spec("D", "B"))
    assert statuses(result) == {
        "A": "completed", "B": "completed", "C": "skipped", "D": "skipped",
    }  # fmt: skip
    assert result.status.code == "budget_exhausted"
    assert world.clock.monotonic() == 5
    assert {e.task for e in world.of("task_skipped")} == {t["id"] for t in result.tasks[2:]}
    assert len(world.of("budget_exceeded")) == 1


async def test_idea_32_an_abort_while_a_dispatch_gate_is_open_beats_its_answer():
    async def gate(_task):
        await asyncio.sleep(0)
        return ALLOW

    world = RunWorld(gates=Gates(dispatch=gate))

    world.bus.subscribe(lambda e: e.type == "gate_call" and world.token.stop(StopReason.CANCEL))
    result = await world.run(spec("A"), spec("B"))
    assert result.status.code == "cancelled"
    assert set(statuses(result).values()) == {"skipped"}
    assert world.of("task_start") == []
    assert set(world.statuses().values()) == {"pending"}, "the file knows of no skip"


@pytest.mark.parametrize(("team", "orchestrator", "most"), [(2, 5, 2), (5, 3, 3), (None, 4, 4)])
async def test_dev_19_the_smaller_of_both_limits_counts(team, orchestrator, most):
    working = Working()
    world = RunWorld(agents=[str(n) for n in range(6)], work=working, max_concurrency=orchestrator)
    config = world.team.config.model_copy(update={"max_concurrency": team})
    world.team = replace(world.team, config=config)
    await world.run(*(spec(f"t{n}", assignee=str(n)) for n in range(6)))
    assert working.most == most


async def test_dev_17_what_a_stop_skips_or_leaves_is_told_task_by_task():
    async def work(world, _agent, job):
        world.token.stop(StopReason.CANCEL)
        return bad("stopped", aborted=True)

    world = RunWorld(work=work, max_concurrency=1)
    result = await world.run(spec("A"), spec("B", "A"), spec("C"))
    told = {}
    for event in world.of("task_status"):
        told[event.task] = event.data["to"]
    assert told == {t["id"]: t["status"] for t in result.tasks}


async def test_dev_17_every_status_change_is_told_cascades_included():
    async def work(_world, _agent, job):
        return bad() if job.task_title == "A" else ok()

    world = RunWorld(work=work)
    result = await world.run(spec("A"), spec("B", "A"), spec("C", "B"))
    ids = {t["title"]: t["id"] for t in result.tasks}
    failed = {e.task: dict(e.data) for e in world.of("task_failed")}
    assert set(failed) == set(ids.values())
    assert failed[ids["C"]]["cascaded_from"] == ids["A"]
    assert "cascaded_from" not in failed[ids["A"]]


async def test_dev_15_a_listener_that_raises_does_not_fail_the_run():
    def broken(event):
        raise RuntimeError("listener")

    world = RunWorld()
    world.bus.subscribe(broken)
    assert (await world.run(spec("A"))).success


async def test_dev_14_agent_names_with_colons_are_kept_whole():
    world = RunWorld(agents=[AgentConfig(name="team:writer"), AgentConfig(name="team:editor")])
    result = await world.run(spec("A", assignee="team:writer"), spec("B", assignee="team:editor"))
    assert [t["assignee"] for t in result.tasks] == ["team:writer", "team:editor"]
    assert len(result.task_results) == 2
    assert [r["assignee"] for r in world.snapshot()["completedTaskResults"]] == [
        "team:writer", "team:editor",
    ]  # fmt: skip


async def test_dev_20_an_unknown_assignee_is_refused_not_dropped():
    world = RunWorld(agents=["a"])
    with pytest.raises(PlanRejected, match="UNKNOWN_ASSIGNEE"):
        await world.run(spec("A", assignee="nobody"))


async def test_a_task_that_names_no_known_title_fails_with_what_waits_for_it():
    world = RunWorld()
    result = await world.run(spec("A", "Ghost"), spec("B", "A"), spec("C"))
    assert statuses(result) == {"A": "failed", "B": "failed", "C": "completed"}
    assert "Ghost" in next(t for t in result.tasks if t["title"] == "A")["result"]


async def test_titles_are_found_in_any_case_and_twice_used_ones_by_nobody():
    world = RunWorld()
    assert (await world.run(spec("First Step"), spec("B", "  first step "))).success
    world = RunWorld()
    result = await world.run(spec("Same"), spec("same"), spec("B", "Same"))
    assert statuses(result)["B"] == "failed"


@pytest.mark.parametrize(
    ("specs", "code"),
    [
        ([spec("A", "A")], "INVALID_TASK_DEPENDENCIES"),
        ([spec("A", "B"), spec("B", "A")], "INVALID_TASK_DEPENDENCIES"),
    ],
)
async def test_graphs_nobody_can_run_are_refused(specs, code):
    world = RunWorld()
    with pytest.raises(PlanRejected, match=code):
        await world.run(*specs)
    assert world.events == []


async def test_w12_agent_names_that_break_keys_are_refused():
    for name in ("a/b", "__oma_checkpoint__"):
        with pytest.raises(InvalidInput, match="AGENT_NAME_INVALID"):
            await RunWorld(agents=[name]).run(spec("A"))
    with pytest.raises(InvalidInput, match="AGENT_NAME_TWICE"):
        await RunWorld(agents=["a", "a"]).run(spec("A"))


async def test_a_dependent_starts_after_its_dependency_was_saved_and_announced():
    seen = []

    async def work(world, _agent, job):
        seen.append((job.task_title, world.statuses().get("A"), len(world.of("task_complete"))))
        return ok()

    world = RunWorld(work=work)
    await world.run(spec("A"), spec("B", "A"))
    assert seen[1] == ("B", "completed", 1)


async def test_an_agent_that_breaks_inside_keeps_the_last_safe_state_and_the_others_drain():
    async def work(world, _agent, job):
        if job.task_title == "bug":
            await world.clock.sleep(1)
            raise ZeroDivisionError
        await world.clock.sleep(2)
        return ok()

    world = RunWorld(agents=["a", "b"], work=work)
    result = await world.run(spec("bug", assignee="a"), spec("fine", assignee="b"))
    assert result.status.code == "error"
    assert result.error_info.code == "ENGINE_FAULT"
    assert world.statuses() == {"bug": "in_progress", "fine": "completed"}


async def test_an_oma_error_of_an_agent_fails_its_task_only():
    async def work(_world, _agent, job):
        if job.task_title == "A":
            raise TaskFailed("DEPENDENCY_PAYLOAD_TOO_LARGE", task="x", title="x", size=1, limit=1)
        return ok()

    world = RunWorld(work=work)
    result = await world.run(spec("A"), spec("B"))
    assert statuses(result) == {"A": "failed", "B": "completed"}


async def test_structured_payloads_reach_the_prompt_and_their_absence_fails_the_consumer():
    async def work(_world, _agent, job):
        done = ok("text")
        if job.task_title == "A":
            return replace(done, structured={"b": 1, "a": [True]}, has_structured=True)
        return done

    world = RunWorld(work=work)
    result = await world.run(
        spec("A"),
        spec("plain"),
        spec("B", "A", dependency_payload="structured"),
        spec("C", "plain", dependency_payload="both"),
    )
    assert '{"a":[true],"b":1}' in world.prompts["B"]
    assert "text" not in world.prompts["B"].split("delivered")[1]
    assert statuses(result)["C"] == "failed"
    why = next(t for t in result.tasks if t["title"] == "C")["result"]
    assert why == "Task “plain” gave no structured result, but the next task needs one."


async def test_a_payload_above_64_kib_fails_the_consumer_before_its_model_is_asked():
    asked = []

    async def work(_world, _agent, job):
        asked.append(job.task_title)
        return ok("€" * 22_000)

    world = RunWorld(work=work)
    result = await world.run(spec("A"), spec("B", "A"))
    assert asked == ["A"]
    assert statuses(result)["B"] == "failed"


async def test_abort_before_start_skips_everything_and_leaves_the_file_restorable():
    world = RunWorld()
    world.token.stop(StopReason.CANCEL)
    result = await world.run(spec("A"), spec("B", "A"))
    assert result.status.code == "cancelled"
    assert statuses(result) == {"A": "skipped", "B": "skipped"}
    assert world.statuses() == {"A": "pending", "B": "blocked"}


async def test_a_run_without_checkpoint_works_and_leaves_nothing():
    world = RunWorld()
    assert (await world.run(spec("A"), checkpoint=None)).success
    assert world.store.list() == []


async def test_two_runs_of_one_engine_do_not_meet():
    async def work(world, _agent, job):
        await world.clock.sleep(1)
        return ok(job.run_id)

    world = RunWorld(agents=["a"], work=work)

    async def both(oma):
        return await asyncio.gather(
            *(
                oma.run_tasks(
                    world.team,
                    [spec("A"), spec("B", "A")],
                    RunOptions(run_id=name, checkpoint=CheckpointOptions(world.store)),
                )
                for name in ("one", "two")
            )
        )

    results = await world._with(both, real_runner=False)
    assert [r.identity.run_id for r in results] == ["one", "two"]
    keys = [e.key for e in world.store.list()]
    assert keys == ["__oma_checkpoint__/one/latest", "__oma_checkpoint__/two/latest"]


async def test_runs_side_by_side_on_one_engine_are_told_apart() -> None:
    world = RunWorld()

    async def both(oma):
        first = RunOptions(run_id="one")
        second = RunOptions(run_id="two")
        return await asyncio.gather(
            oma.run_tasks(world.team, [spec("x", assignee="a")], first),
            oma.run_tasks(world.team, [spec("y", assignee="b")], second),
        )

    one, two = await world._with(both, real_runner=False)
    assert {e.run for e in world.events if e.type != "gate_call"} == {"one", "two"}
    titles = {(e.run, e.data["title"]) for e in world.of("task_start")}
    assert titles == {("one", "x"), ("two", "y")}
    assert one.identity.run_id == "one"
    assert two.identity.run_id == "two"
