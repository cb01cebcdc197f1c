"""One agent hands work to another (engine.md 3.12; DEV-16; formats.md 2.8)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.queueing.pool import Pool
from oma_desktop.engine.tools.gate import ALLOW, Gates
from oma_desktop.engine.tools.grants import granted
from tests.core.engine.run_world import RunWorld, ok, spec
from tests.core.engine.runner_world import World, results_of, say


def turn(text="", *calls, usage=(10, 1)):
    """One scripted reply; a call is (id, tool, input)."""
    return {
        "text": text,
        "tools": [{"id": i, "name": n, "input": a} for i, n, a in calls],
        "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


def ask(call_id, target, prompt="do it"):
    return (call_id, "delegate_to_agent", {"target_agent": target, "prompt": prompt})


def team(replies, *agents, memory=False, limit=3, depth=3, tools=None, gates=None):
    """A scripted world; `agents` are names with what they may do."""
    named = [{"name": a} if isinstance(a, str) else a for a in agents]
    script = {
        "team": {"name": "t", **({"sharedMemory": memory} if memory else {})},
        "orchestrator": {"maxConcurrency": limit, "maxDelegationDepth": depth},
        "agents": named,
        "tools": tools or {},
        "replies": replies,
    }
    if gates is not None:
        script["gates"] = gates
    return RunWorld(script=script)


BOSS = {"name": "boss", "delegate": True}
PLAIN = {
    "Story": [turn("", ask("d1", "expert")), turn("filed")],
    "expert::@other": [turn("312 m", usage=(1000, 50))],
}


async def run(world, *specs):
    specs = specs or (spec("Story", assignee="boss"),)
    return await world.run(*specs, real_runner=True)


def tool_answers(world, agent="boss"):
    """call id -> (text, is error) of everything the agent's tools answered."""
    found = {}
    for snapshot in world.store.saved:
        for entry in snapshot.get("inFlightTasks", ()):
            if entry["assignee"] == agent:
                for message in entry["messages"]:
                    found |= {i: (c, e) for i, c, e in results_of(message)}
                for call in entry.get("pendingToolCalls", ()):
                    if "commit" in call:
                        block = call["commit"]["result"]
                        error = block.get("is_error", False)
                        found[block["tool_use_id"]] = (block["content"], error)
    return found


# --- what it does --------------------------------------------------------------------------------


async def test_the_answer_of_the_other_agent_is_the_result_of_the_call():
    world = team(PLAIN, BOSS, "expert")
    result = await run(world)
    assert result.success
    assert tool_answers(world) == {"d1": ("312 m", False)}
    assert result.log["modelCalls"] == [
        "boss | Story | turn 0",
        "expert | Story | turn 0",
        "boss | Story | turn 1",
    ]
    assert result.total_usage == {"input_tokens": 1020, "output_tokens": 52}


async def test_the_other_agent_begins_afresh_and_keeps_its_own_grants():
    seen = []

    async def work(_world, agent, job):
        seen.append((agent.name, job.prompt, job.resume, job.task_id))
        if agent.name == "boss":
            context = FakeContext(job, "d1")
            await job.delegate("expert", "measure", context)
        return ok()

    world = RunWorld(agents=["boss", "expert"], work=work)
    await world.run(spec("Story", assignee="boss"))
    (boss, expert) = seen
    assert expert == ("expert", "measure", None, boss[3])


class FakeContext:
    def __init__(self, job: AgentJob, call_id: str):
        self.token = job.token
        self.tokens_left = None
        self.tool_call_id = call_id


async def test_commit_carries_the_usage_and_it_is_added_when_the_round_closes():
    """formats.md 2.8: in the commit first, in tokenUsage once all calls of the turn are done."""
    world = team(PLAIN, BOSS, "expert")
    await run(world)
    for snapshot in world.store.saved:
        for entry in snapshot.get("inFlightTasks", ()):
            commits = [c["commit"] for c in entry.get("pendingToolCalls", ()) if "commit" in c]
            if commits:
                assert commits[0]["delegationUsage"] == {"input_tokens": 1000, "output_tokens": 50}
                assert entry["tokenUsage"] == {"input_tokens": 10, "output_tokens": 1}
                assert snapshot["omaDesktop"]["usage"] == {
                    "input_tokens": 1010,
                    "output_tokens": 51,
                }
                break
        else:
            continue
        break
    else:
        raise AssertionError("no snapshot shows the commit")


async def test_a_note_of_the_delegation_is_left_in_shared_memory():
    world = team(PLAIN, BOSS, "expert", memory="file")
    await run(world)
    (row,) = [e for e in world.store.list() if "delegation:" in e.key]
    assert re.fullmatch(r"boss/delegation:expert:\d{13}-[0-9a-z]{1,8}", row.key)
    assert row.value == "312 m"
    assert list(row.metadata.items()) == [
        ("agent", "boss"),
        ("delegatedTo", "expert"),
        ("success", "true"),
    ]


# --- who may -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "may"),
    [
        ({}, False),
        ({"toolPreset": "full"}, False),
        ({"delegate": True}, True),
        ({"tools": ["delegate_to_agent"]}, True),
        ({"delegate": True, "disallowedTools": ["delegate_to_agent"]}, False),
    ],
)
async def test_idea_46_delegation_needs_a_grant_of_its_own(agent, may):
    world = team(PLAIN, {"name": "boss", **agent}, BOSS | {"name": "other"}, "expert")
    await run(world)
    text, error = tool_answers(world)["d1"]
    assert error is not may
    assert may or "not available" in text


async def test_without_a_team_run_there_is_nobody_to_delegate_to():
    from oma_desktop.engine.tasks.delegation import delegate_tool

    world = World(
        say("", ("d1", "delegate_to_agent", {"target_agent": "x", "prompt": "p"})), say("alone")
    )
    tool = delegate_tool(world.team.config)
    world = World(
        say("", ("d1", "delegate_to_agent", {"target_agent": "x", "prompt": "p"})),
        say("alone"),
        tools=[tool],
    )
    result = await world.run()
    ((_, text, error),) = results_of(result.messages[1])
    assert error
    assert "not work in a team" in text
    assert [t.name for t in granted(world.agent, world.team.tools)] == ["delegate_to_agent"]


@pytest.mark.parametrize(
    ("target", "says"),
    [("boss", "itself"), ("nobody", "no agent called"), ("Expert", "no agent called")],
)
async def test_a_delegation_that_cannot_be_is_an_error_result(target, says):
    replies = {"Story": [turn("", ask("d1", target)), turn("filed")]}
    world = team(replies, BOSS, "expert")
    result = await run(world)
    text, error = tool_answers(world)["d1"]
    assert error
    assert says in text
    assert result.success
    assert not [c for c in result.log["modelCalls"] if c.startswith("expert")]


async def test_an_agent_that_waits_for_the_answer_is_not_asked():
    replies = {
        "Story": [turn("", ask("d1", "b")), turn("filed")],
        "b::@other": [turn("", ask("d2", "a")), turn("b done")],
    }
    world = team(replies, {"name": "a", "delegate": True}, {"name": "b", "delegate": True})
    result = await run(world, spec("Story", assignee="a"))
    assert result.success
    assert result.log["modelCalls"] == [
        "a | Story | turn 0",
        "b | Story | turn 0",
        "b | Story | turn 1",
        "a | Story | turn 1",
    ]


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
async def test_work_is_handed_on_only_so_often(depth):
    names = ["a0", "a1", "a2", "a3", "a4"]
    replies = {"Story": [turn("", ask("d0", "a1")), turn("end")]}
    for n in range(1, 4):
        replies[f"a{n}::@other"] = [turn("", ask(f"d{n}", f"a{n + 1}")), turn("end")]
    replies["a4::@other"] = [turn("end")]
    agents = [{"name": name, "delegate": True} for name in names]
    world = team(replies, *agents, limit=9, depth=depth)
    result = await run(world, spec("Story", assignee="a0"))
    assert result.success
    worked = {c.split(" | ")[0] for c in result.log["modelCalls"]}
    assert worked == set(names[: depth + 1])


async def test_without_a_free_slot_the_work_is_refused_and_nothing_waits_for_ever():
    world = team(PLAIN, BOSS, "expert", limit=1)
    result = await run(world)
    text, error = tool_answers(world)["d1"]
    assert error
    assert "No slot is free" in text
    assert result.success


async def test_dev_33_waiting_for_a_slot_is_shown_and_is_no_part_of_the_duration():
    """Two tasks may work at once; the delegation of the first takes the slot of the second."""

    async def work(world, agent, job):
        if agent.name == "boss":
            await job.delegate("expert", "help", FakeContext(job, "d1"))
            return ok()
        await world.clock.sleep(5 if agent.name == "expert" else 1)
        return ok()

    world = RunWorld(agents=["boss", "expert", "x", "y"], work=work, max_concurrency=3)
    result = await world.run(
        spec("Story", assignee="boss"),
        spec("Quick", assignee="x"),
        spec("Late", "Quick", assignee="y"),
        spec("Later", "Quick", assignee="x"),
    )
    assert result.success
    ids = {t["title"]: t["id"] for t in result.tasks}
    waits = [e.task for e in world.of("task_status") if e.data["to"] == "waiting_for_slot"]
    assert waits == [ids["Later"]]
    assert sorted(result.metrics.durations_ms) == [1000, 1000, 1000, 5000]


@pytest.mark.parametrize("limit", [2, 3, 4])
async def test_tasks_and_delegations_share_the_slots(limit):
    """Every task delegates; never more agents at work than slots, and all come to an end."""
    at_work, most, refused = 0, 0, 0

    async def work(world, agent, job):
        nonlocal at_work, most, refused
        at_work += 1
        most = max(most, at_work)
        await world.clock.sleep(1)
        if agent.name != "expert":
            output = await job.delegate("expert", "help", FakeContext(job, "d1"))
            refused += bool(output.is_error)
        at_work -= 1
        return ok()

    agents = [f"a{i}" for i in range(6)]
    world = RunWorld(agents=[*agents, "expert"], work=work, max_concurrency=limit)
    tasks = [spec("first", assignee="a0")]
    tasks += [spec(f"t{i}", "first", assignee=f"a{i}") for i in range(1, 6)]
    result = await world.run(*tasks)
    assert result.success
    assert most == limit
    assert refused < 6  # the first task is alone and finds a slot
    counted = sum(r["tokenUsage"]["input_tokens"] for r in result.task_results.values())
    assert counted == result.total_usage["input_tokens"] == 60 + 10 * (6 - refused)


async def test_slots_are_given_in_order_and_lent_ones_come_back():
    pool, order, supervisor = Pool(1), [], Supervisor()

    async def hold(name):
        async with pool.slot():
            order.append(name)
            await asyncio.sleep(0)

    async with pool.slot():
        waiting = [supervisor.spawn(hold(name), name=name) for name in "abc"]
        await asyncio.sleep(0)
        assert not pool.has_room
        assert order == []
        async with pool.lent():
            await asyncio.gather(*waiting[:1])
            assert order[0] == "a"
        order.append("back")
    await asyncio.gather(*waiting)
    assert order == ["a", "b", "c", "back"]
    assert pool.has_room
    await supervisor.close()


# --- guards --------------------------------------------------------------------------------------

PUBLISH = {"publish": {"schema": {}, "consequential": True, "results": {"*": {"data": "out"}}}}
HANDS_OVER = {
    "Story": [turn("", ask("d1", "expert")), turn("filed")],
    "expert::@other": [turn("", ("p1", "publish", {})), turn("expert done")],
}
EXPERT = {"name": "expert", "tools": ["publish"]}


@pytest.mark.parametrize("gate", ["deny", "suspend"])
async def test_dev_16_delegated_agents_pass_the_same_gate(gate):
    world = team(HANDS_OVER, BOSS, EXPERT, tools=PUBLISH, gates={"tool": {"publish": gate}})
    result = await run(world)
    assert result.success, result.status
    assert [c["name"] for c in result.log["toolCallsExecuted"]] == ["delegate_to_agent"]
    assert {"toolName": "publish", "toolCallId": "p1", "gate": "tool"}.items() <= {
        **result.log["gateCalls"][-1]
    }.items()
    assert result.pending_approvals == ()
    assert world.ledger().list() == []


async def test_dev_16_an_unconfirmed_consequential_call_of_a_delegated_agent_never_runs():
    world = team(HANDS_OVER, BOSS, EXPERT, tools=PUBLISH)
    world.team = replace(world.team, gates=Gates(confirm_consequential=True))
    result = await run(world)
    assert (result.status.code, result.confirmation_required) == ("rejected", True)
    assert "publish" not in [c["name"] for c in result.log["toolCallsExecuted"]]
    missing = [e for e in world.of("warning") if e.data.get("code") == "CONFIRMATION_MISSING"]
    assert [(e.agent, e.data["toolCallId"]) for e in missing] == [("expert", "p1")]


async def test_dev_16_a_suspend_inside_fails_closed_and_says_why():
    texts = []

    world = team(HANDS_OVER, BOSS, EXPERT, tools=PUBLISH, gates={"tool": {"publish": "suspend"}})
    adapter = world.team.adapter_for(None)
    real = adapter.stream

    def listen(request, token):
        if request.agent == "expert":
            texts.extend(text for m in request.messages for _, text, _ in results_of(m))
        return real(request, token)

    adapter.stream = listen
    result = await run(world)
    assert result.success
    assert len(texts) == 1
    assert "needs a decision by a person" in texts[0]
    assert "did not run" in texts[0]


# --- usage ---------------------------------------------------------------------------------------


async def test_the_usage_of_a_failed_delegation_counts_once():
    replies = {
        "Story": [turn("", ask("d1", "expert")), turn("filed")],
        "expert::@other": [
            turn("", ("x", "none", {}), usage=(500, 5)),
            {"error": {"message": "no", "status": 400}},
        ],
    }
    world = team(replies, BOSS, "expert")
    result = await run(world)
    text, error = tool_answers(world)["d1"]
    assert error
    assert '"expert" did not finish' in text
    assert result.total_usage == {"input_tokens": 520, "output_tokens": 7}
    assert world.snapshot()["omaDesktop"]["usage"] == result.total_usage


async def test_the_usage_of_an_interrupted_delegation_counts_once():
    """The call has no commit, so a restore begins it again; what it used is not forgotten."""
    replies = {
        "Story": [turn("", ask("d1", "expert")), turn("filed")],
        "expert::@other": [
            turn("", ("x", "none", {}), usage=(500, 5)),
            {**turn("ok", usage=(70, 7)), "delayMs": 5000},
        ],
    }
    world = team(replies, BOSS, "expert")

    def stop(event):
        if event.type == "model_call" and event.agent == "expert" and event.data["turn"] == 1:
            world.token.stop(StopReason.CANCEL)

    forget = world.bus.subscribe(stop)
    first = await run(world)
    assert first.status.code == "cancelled"
    assert first.total_usage == {"input_tokens": 510, "output_tokens": 6}
    (entry,) = world.snapshot()["inFlightTasks"]
    assert "commit" not in entry["pendingToolCalls"][0]
    assert world.snapshot()["omaDesktop"]["usage"] == first.total_usage
    forget()
    last = await world.restore(real_runner=True)
    assert last.success
    assert last.total_usage == {"input_tokens": 510 + 570 + 10, "output_tokens": 6 + 12 + 1}


async def test_a_deeper_delegation_that_its_caller_gave_up_counts_too():
    replies = {
        "Story": [turn("", ask("d1", "b")), turn("filed")],
        "b::@other": [turn("", ask("d2", "c"), usage=(100, 0)), turn("b")],
        "c::@other": [
            turn("", ("x", "none", {}), usage=(1000, 0)),
            {**turn("c"), "delayMs": 60_000},
        ],
    }
    world = team(replies, BOSS, {"name": "b", "delegate": True, "timeoutMs": 1000}, "c", limit=5)
    result = await run(world)
    assert result.success
    text, error = tool_answers(world)["d1"]
    assert error, text
    assert result.total_usage == {"input_tokens": 10 + 100 + 1000 + 10, "output_tokens": 2}


async def test_a_suspend_waits_for_the_delegated_work():
    """Stopped in between it would begin again, and do twice what it did."""
    replies = {
        "Story": [turn("", ask("d1", "expert")), turn("filed")],
        "expert::@other": [{**turn("ok", usage=(70, 7)), "delayMs": 500}],
    }
    world = team(replies, BOSS, "expert")

    def stop(event):
        if event.type == "model_call" and event.agent == "expert":
            world.token.stop(StopReason.SUSPEND)

    world.bus.subscribe(stop)
    first = await run(world)
    assert first.status.code == "suspended"
    assert tool_answers(world)["d1"] == ("ok", False)
    last = await world.restore(real_runner=True)
    assert last.success
    assert last.log["modelCalls"] == ["boss | Story | turn 1"]
    assert last.total_usage == {"input_tokens": 90, "output_tokens": 9}


@pytest.mark.parametrize("answers", [True, False])
async def test_a_suspend_waits_for_no_person_at_a_gate_of_delegated_work(answers):
    """A rule still answers; who has not decided is not waited for, and nothing is decided."""

    async def gate(call):
        if call.agent == "expert":
            world.token.stop(StopReason.SUSPEND)
            await world.clock.sleep(0.1 if answers else 3600)
        return ALLOW

    world = team(HANDS_OVER, BOSS, EXPERT, tools=PUBLISH)
    world.team = replace(world.team, gates=Gates(tool=gate))
    result = await run(world)
    assert result.status.code == "suspended"
    ran = [c["name"] for c in result.log["toolCallsExecuted"]]
    assert ran == ["delegate_to_agent", *(["publish"] if answers else [])]
    assert tool_answers(world)["d1"] == ("expert done", False)
    assert world.clock.monotonic() < 5


async def test_idea_50_a_budget_hit_by_delegation_still_appends_the_results():
    """What the other agent uses counts for the caller's budget, and it stops where that ends."""
    boss = {**BOSS, "maxTokenBudget": 100}
    replies = {**PLAIN, "expert::@other": [turn("so far", ("x", "none", {}), usage=(1000, 50)),
                                           turn("more")]}  # fmt: skip
    world = team(replies, boss, "expert")
    result = await run(world)
    assert result.status.code == "budget_exhausted"
    (done,) = result.task_results.values()
    assert done["budgetExceeded"] is True
    ((call, text, error),) = results_of(done["messages"][-1])
    assert (call, error) == ("d1", True)
    assert "so far" in text
    assert result.log["modelCalls"] == ["boss | Story | turn 0", "expert | Story | turn 0"]
    assert result.total_usage == {"input_tokens": 1010, "output_tokens": 51}


async def test_a_used_up_budget_delegates_nothing():
    world = team(PLAIN, {**BOSS, "maxTokenBudget": 5}, "expert")
    result = await run(world)
    assert result.status.code == "budget_exhausted"
    assert result.log["modelCalls"] == ["boss | Story | turn 0"]
    assert "used up" in tool_answers(world)["d1"][0]
