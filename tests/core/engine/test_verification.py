"""Judges look at an answer before it counts (engine.md 1.6, 2.3, 5.4; DEV-23, W29)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tasks.judging import REVISE_START
from oma_desktop.engine.tools.gate import Gates, suspend
from oma_desktop.engine.tools.registry import ToolOutput, ToolSpec
from oma_desktop.model.document_text import read_document
from oma_desktop.model.errors import InvalidInput, PlanRejected
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.result_document import result_document
from oma_desktop.model.resume_document import plan_document
from oma_desktop.model.resume_rules import resume_plan
from oma_desktop.model.runfile_reading import look_at_run_file
from oma_desktop.model.team import AgentConfig
from oma_desktop.model.view import Effect
from tests.core.engine.run_world import RunWorld, bad, ok, spec, statuses


def says(accept, critique="", usage=(3, 1)):
    text = json.dumps({"accept": accept, "critique": critique})
    spent = {"input_tokens": usage[0], "output_tokens": usage[1]}
    value = {"accept": accept, "critique": critique}
    return AgentRunResult(True, text, token_usage=spent, structured=value, has_structured=True)


def is_judging(job):
    return ":verify:" in job.task_id


class Bench:
    """Judges by name with what they say, round by round; the author answers `answer N`."""

    def __init__(self, **judges):
        self.judges = judges
        self.asked = []
        self.answers = 0

    async def __call__(self, world, agent, job):
        if not is_judging(job):
            self.answers += 1
            return ok(f"answer {self.answers}")
        self.asked.append((agent.name, job.attempt, job.prompt, agent))
        words = self.judges[agent.name]
        return words[min(job.attempt, len(words)) - 1]

    @property
    def heard(self):
        return [(name, round_) for name, round_, *_ in self.asked]


async def judged(bench, verify, *after, **world):
    world = RunWorld(agents=("a", "b", *bench.judges), work=bench, memory=True, **world)
    result = await world.run(spec("Task", assignee="a", verify=verify), *after)
    return world, result


def verdict_row(world):
    entries = world.snapshot()["sharedMemory"]["entries"]
    return [json.loads(e["value"]) for e in entries if e["key"].endswith(":verdict")]


async def test_an_accepted_answer_counts_and_the_verdict_is_noted():
    bench = Bench(j=[says(True)])
    world, result = await judged(bench, ["j"])
    assert statuses(result) == {"Task": "completed"}
    assert verdict_row(world) == [{"verdict": "accepted", "rounds": 1, "dissent": []}]
    [row] = result_document(result)["taskResults"]
    assert row["verification"] == verdict_row(world)[0]
    task = result.tasks[0]
    keys = [e["key"] for e in world.snapshot()["sharedMemory"]["entries"]]
    assert keys == [f"a/task:{task['id']}:result", f"a/task:{task['id']}:verdict"]
    # the turn counter advances once per completed task, judged or not
    assert world.snapshot()["turnCount"] == 1
    assert "do Task" in bench.asked[0][2]
    assert "answer 1" in bench.asked[0][2]


async def test_dissent_makes_the_author_revise_and_the_last_answer_is_the_one_handed_on():
    bench = Bench(j=[says(False, "wrong sum"), says(True)])
    world, result = await judged(bench, "j", spec("Next", "Task", assignee="b"))
    assert bench.heard == [("j", 1), ("j", 2)]
    first = result.task_results[result.tasks[0]["id"]]
    assert first["output"] == "answer 2"
    assert "answer 2" in world.prompts["Next"]
    [row] = verdict_row(world)
    assert row == {
        "verdict": "accepted",
        "rounds": 2,
        "dissent": [{"judge": "j", "round": 1, "critique": "wrong sum"}],
    }
    assert world.of("task_complete")[0].data["output"] == "answer 2"


async def test_after_the_last_round_the_answer_is_rejected_kept_and_said_so():
    bench = Bench(j=[says(False, "no")])
    world, result = await judged(bench, "j", spec("Next", "Task", assignee="b"))
    assert bench.answers == 3  # answer, one revision, and the task after it
    assert statuses(result) == {"Task": "completed", "Next": "completed"}
    assert verdict_row(world)[0]["verdict"] == "rejected"
    assert "VERIFICATION_REJECTED" in result.warnings
    assert [e.data["code"] for e in world.of("warning")] == ["VERIFICATION_REJECTED"]


@pytest.mark.parametrize(("on_dissent", "verdict"), [("reject", "rejected"), ("keep", "accepted")])
async def test_without_revision_one_round_decides(on_dissent, verdict):
    bench = Bench(j=[says(False, "no")])
    world, _ = await judged(bench, {"judges": ["j"], "onDissent": on_dissent})
    assert bench.answers == 1
    [row] = verdict_row(world)
    assert row["verdict"] == verdict
    assert row["dissent"] == [{"judge": "j", "round": 1, "critique": "no"}]


@pytest.mark.parametrize(
    ("words", "quorum", "heard", "verdict"),
    [
        ([True, False, False], 1, 1, "accepted"),
        ([False, True, True], None, 3, "accepted"),
        ([True, True, False], None, 2, "accepted"),
        ([False, False, True], None, 2, "rejected"),
        ([True, False, True], 3, 2, "rejected"),
    ],
)
async def test_judges_are_asked_one_by_one_until_it_is_decided(words, quorum, heard, verdict):
    bench = Bench(**{f"j{i}": [says(w)] for i, w in enumerate(words)})
    wish = {"judges": list(bench.judges), "onDissent": "reject"}
    world, _ = await judged(bench, {**wish, **({"quorum": quorum} if quorum else {})})
    assert len(bench.asked) == heard
    assert verdict_row(world)[0]["verdict"] == verdict


async def test_before_a_revision_every_judge_is_heard():
    bench = Bench(j=[says(False, "one")], k=[says(False, "two")])
    world, _ = await judged(bench, {"judges": ["j", "k"], "quorum": 2, "maxRounds": 2})
    assert [d["critique"] for d in verdict_row(world)[0]["dissent"]] == ["one", "two", "one"]


async def test_lenses_differ_and_a_prompt_of_ones_own_replaces_the_words():
    bench = Bench(j=[says(False)], k=[says(True)])
    await judged(bench, {"judges": ["j", "k"], "mode": "lens"})
    openings = [prompt.split("\n")[0] for _, _, prompt, _ in bench.asked[:2]]
    assert openings[0] != openings[1]
    bench = Bench(j=[says(True)])
    await judged(bench, {"judges": ["j"], "judgePrompt": "Count the words."})
    assert bench.asked[0][2].startswith("Count the words.")


async def test_a_judge_that_fails_or_mumbles_is_a_dissent():
    mumbling = AgentRunResult(True, "fine", structured={"accept": "yes"}, has_structured=True)
    bench = Bench(j=[bad("down")], k=[mumbling])
    world, _ = await judged(bench, {"judges": ["j", "k"], "onDissent": "reject", "quorum": 1})
    [row] = verdict_row(world)
    assert row["verdict"] == "rejected"
    assert "down" in row["dissent"][0]["critique"]


@pytest.mark.parametrize(
    ("text", "schema", "verdict"),
    [
        ('Here: {"accept": true}', None, "accepted"),
        ("I accept.", None, "rejected"),
        ('{"accept": true}', {"required": ["score"]}, "rejected"),
        ('{"accept": true, "score": 3}', {"required": ["score"]}, "accepted"),
    ],
)
async def test_a_judge_that_only_writes_text_is_read_by_the_same_schema(text, schema, verdict):
    bench = Bench(j=[ok(text)])
    wish = {"judges": ["j"], "onDissent": "reject", **({"verdictSchema": schema} if schema else {})}
    world, _ = await judged(bench, wish)
    assert verdict_row(world)[0]["verdict"] == verdict


async def test_a_judge_looks_and_does_not_touch():
    tools = [
        ToolSpec("look", "", {"type": "object"}, _nothing, effect=Effect.READ_ONLY),
        ToolSpec("act", "", {"type": "object"}, _nothing, effect=Effect.CONSEQUENTIAL),
        ToolSpec("maybe", "", {"type": "object"}, _nothing),
    ]
    judge = AgentConfig(name="j", tools=["look", "act", "maybe"])
    bench = Bench(j=[says(True)])
    world = RunWorld(agents=("a", judge), work=bench, tools=tools)
    await world.run(spec("Task", assignee="a", verify="j"))
    assert bench.asked[0][3].tools == ["look"]
    assert bench.asked[0][3].output_schema is not None


async def _nothing(_input, _context):
    return ToolOutput(data="")


async def test_what_judges_use_counts_in_the_run_and_in_the_task():
    bench = Bench(j=[says(False, usage=(100, 10)), says(True, usage=(200, 20))])
    world, result = await judged(bench, "j")
    assert result.total_usage == {"input_tokens": 320, "output_tokens": 34}
    first = result.task_results[result.tasks[0]["id"]]
    assert first["tokenUsage"] == {"input_tokens": 320, "output_tokens": 34}
    assert world.snapshot()["omaDesktop"]["usage"] == {"input_tokens": 320, "output_tokens": 34}


async def test_the_ceiling_of_the_run_stops_judging_and_nothing_goes_on_unjudged():
    bench = Bench(j=[says(False, usage=(100, 0))], k=[says(True)])
    wish = {"judges": ["j", "k"], "quorum": 2}
    world, result = await judged(bench, wish, max_token_budget=80)
    assert result.status.code == "budget_exhausted"
    assert bench.heard == [("j", 1)]
    assert result.total_usage == {"input_tokens": 110, "output_tokens": 2}
    assert world.statuses() == {"Task": "in_progress"}
    world.work = Bench(j=[says(True)], k=[says(True)])
    world.options = world.options.model_copy(update={"max_token_budget": 1000})
    again = await world.restore()
    assert statuses(again) == {"Task": "completed"}
    assert world.work.heard == [("j", 1), ("k", 1)]


async def test_no_judge_is_asked_once_the_answer_itself_crossed_the_ceiling():
    bench = Bench(j=[says(True)])
    _, result = await judged(bench, "j", max_token_budget=5)
    assert bench.asked == []
    assert result.status.code == "budget_exhausted"


@pytest.mark.parametrize("reason", [StopReason.SUSPEND, StopReason.CANCEL])
async def test_a_stop_while_judging_leaves_the_task_to_be_judged_again(reason):
    async def work(world, agent, job):
        if is_judging(job):
            world.token.stop(reason)
            return says(True)
        return ok("answer")

    world = RunWorld(agents=("a", "j", "k"), work=work)
    wish = {"judges": ["j", "k"], "quorum": 2}
    await world.run(spec("Task", assignee="a", verify=wish))
    assert world.statuses() == {"Task": "in_progress"}
    assert world.snapshot()["omaDesktop"]["verify"]
    world.work = bench = Bench(j=[says(True)], k=[says(True)])
    again = await world.restore()
    assert statuses(again) == {"Task": "completed"}
    assert bench.heard == [("j", 1), ("k", 1)]
    assert "verify" not in world.snapshot()["omaDesktop"]


# --- kept over a restore -------------------------------------------------------------------------


async def test_dev_23_p12_a_restored_task_is_judged_like_a_fresh_one():
    bench = Bench(j=[says(True)])
    world, _ = await judged(bench, {"judges": ["j"], "mode": "lens", "maxRounds": 4})
    crashed = world.crashed(0)
    assert "verify" not in crashed.snapshot()["queue"]["tasks"][0]
    [wish] = crashed.snapshot()["omaDesktop"]["verify"].values()
    assert wish == {"judges": ["j"], "mode": "lens", "maxRounds": 4, "onDissent": "revise"}
    crashed.work = again = Bench(j=[says(True)])
    result = await crashed.restore()
    assert statuses(result) == {"Task": "completed"}
    assert again.heard == [("j", 1)]


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ("nobody", "RESTORE_VERIFY_DAMAGED"),
        ({"mode": "lens"}, "RESTORE_VERIFY_DAMAGED"),
        ({"judges": ["stranger"]}, "RESTORE_JUDGES_MISSING"),
    ],
)
async def test_dev_23_a_resume_that_cannot_judge_is_refused_and_nothing_runs(facts, code):
    world, _ = await judged(Bench(j=[says(True)]), "j")
    crashed = world.crashed(0)
    document = crashed.snapshot()
    [task_id] = document["omaDesktop"]["verify"]
    document["omaDesktop"]["verify"] = facts if isinstance(facts, str) else {task_id: facts}
    key = next(e.key for e in crashed.store.list())
    crashed.store.set(key, json.dumps(document))
    crashed.forget_events()
    with pytest.raises(InvalidInput) as caught:
        await crashed.restore()
    assert caught.value.code == code
    assert crashed.events == []
    assert crashed.snapshot() == document


async def test_w29_a_peer_that_dropped_our_facts_costs_no_judge_while_the_run_file_is_there():
    world, _ = await judged(Bench(j=[says(True)]), "j")
    crashed = world.crashed(0)
    document = crashed.snapshot()
    del document["omaDesktop"]
    crashed.store.set(next(e.key for e in crashed.store.list()), json.dumps(document))
    crashed.work = again = Bench(j=[says(True)])
    await crashed.restore(specs=(spec("Task", assignee="a", verify="j"),))
    assert again.heard == [("j", 1)]


async def test_p_12_a_failed_task_that_is_tried_again_is_judged():
    calls = []

    async def work(_world, agent, job):
        calls.append(agent.name)
        return bad(retryable=False)

    world = RunWorld(agents=("a", "j"), work=work)
    await world.run(spec("Task", assignee="a", verify="j"))
    assert calls == ["a"]
    world.work = bench = Bench(j=[says(True)])
    result = await world.restore(retry_failed=True)
    assert statuses(result) == {"Task": "completed"}
    assert bench.heard == [("j", 1)]


# --- with the real runner ------------------------------------------------------------------------


def script(*, replies, tools=None, **agent):
    return {
        "team": {"name": "t"},
        "orchestrator": {"maxConcurrency": 1},
        "agents": [{"name": "a", **agent}, {"name": "j"}],
        "tools": tools or {},
        "replies": replies,
    }


NO = {"text": json.dumps({"accept": False, "critique": "wrong"})}
YES = {"text": json.dumps({"accept": True})}


async def test_the_author_revises_in_the_same_conversation_and_its_state_goes_on():
    world = RunWorld(
        script=script(
            replies={
                "a::Task": [{"text": "first"}, {"text": "second"}],
                "j::Task": {"attempts": [[NO], [YES]]},
            },
            maxTurns=1,  # every revision gets as many turns as the first answer
        )
    )
    result = await world.run(spec("Task", assignee="a", verify="j"), real_runner=True)
    [found] = result.task_results.values()
    assert found["output"] == "second"
    texts = [m["content"][0]["text"] for m in found["messages"]]
    assert texts[0] == "first"
    assert texts[1].startswith(REVISE_START)
    assert "wrong" in texts[1]
    assert texts[2] == "second"


async def test_the_log_names_the_task_of_a_judge():
    world = RunWorld(script=script(replies={"a::Task": [{"text": "x"}], "j::Task": [YES]}))
    result = await world.run(spec("Task", assignee="a", verify="j"), real_runner=True)
    assert result.log["modelCalls"] == ["a | Task | turn 0", "j | Task | turn 0"]


async def test_the_resume_plan_tells_what_a_crash_while_judging_leaves():
    document = script(replies={"a::Task": [{"text": "x"}], "j::Task": [YES]})
    world = RunWorld(script=document)
    await world.run(spec("Task", assignee="a", verify="j"), real_runner=True)
    phases = []
    for saved in world.store.saved:
        plan = plan_document(resume_plan(saved, {}))
        for entry in saved["inFlightTasks"]:
            phases.append(entry["phase"])
            if entry["phase"] == "completed":
                (kept,) = plan["kept"]
                (asked,) = plan["asked"]
                assert (kept["reason"], kept["judges"]) == ("awaits_judgement", ["j"])
                assert (asked["agent"], asked["reason"]) == ("j", "judges")
            else:
                (asked,) = plan["asked"]
                assert (asked["reason"], asked["judges"]) == ("awaiting_model", ["j"])
    assert "completed" in phases


async def test_a_crash_at_any_save_never_repeats_a_round_that_was_answered():
    document = script(
        replies={
            "a::Task": [{"text": "first"}, {"text": "second"}, {"text": "third"}],
            "j::Task": {"attempts": [[NO], [NO], [YES]]},
        }
    )
    world = RunWorld(script=document)
    verify = {"judges": ["j"], "maxRounds": 3}
    whole = await world.run(spec("Task", assignee="a", verify=verify), real_runner=True)
    [expected] = whole.task_results.values()
    for at in range(len(world.store.saved)):
        crashed = world.crashed(at)
        result = await crashed.restore(real_runner=True)
        [found] = result.task_results.values()
        assert found["output"] == expected["output"] == "third"
        assert found["messages"] == expected["messages"]


async def test_a_revision_may_use_tools_and_wait_for_a_person_like_any_turn():
    document = script(
        replies={
            "a::Task": [
                {"text": "first"},
                {"text": "", "tools": [{"id": "c1", "name": "pay", "input": {}}]},
                {"text": "paid"},
            ],
            "j::Task": {"attempts": [[NO], [YES]]},
        },
        tools={"pay": {"results": {"*": {"data": "ok"}}, "consequential": True}},
    )
    document["agents"][0]["tools"] = ["pay"]
    document["gates"] = {"tool": {"pay": "suspend"}}
    world = RunWorld(script=document)
    result = await world.run(spec("Task", assignee="a", verify="j"), real_runner=True)
    assert result.status.code == "suspended"
    assert len(result.pending_approvals) == 1
    world.decide()
    result = await world.restore(real_runner=True)
    [found] = result.task_results.values()
    assert found["output"] == "paid"
    assert result.status.code == "ok"


by_operator = st.sampled_from([StopReason.SUSPEND, StopReason.CANCEL])
votes = st.lists(st.booleans(), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(
    first=votes,
    second=votes,
    stops=st.lists(st.tuples(st.integers(0, 60), by_operator), max_size=3),
)
async def test_stopped_at_any_moments_it_ends_as_if_it_had_run_through(first, second, stops):
    """Two judges, up to three rounds; suspended or cancelled at random events, then restored."""
    document = script(
        replies={
            "a::Task": [{"text": t} for t in ("first", "second", "third")],
            "j::Task": {"attempts": [[YES if v else NO] for v in first]},
            "k::Task": {"attempts": [[YES if v else NO] for v in second]},
        }
    )
    document["agents"].append({"name": "k"})
    wish = {"judges": ["j", "k"], "quorum": 2, "maxRounds": 3}
    tasks = [spec("Task", assignee="a", verify=wish)]
    whole = await RunWorld(script=document).run(*tasks, real_runner=True)
    [expected] = whole.task_results.values()
    world = RunWorld(script=document)
    for n, (at, reason) in enumerate(stops):
        forget = _stop_at(world, at, reason)
        act = world.run(*tasks, real_runner=True) if n == 0 else world.restore(real_runner=True)
        await act
        forget()
    if stops:
        result = await world.restore(real_runner=True)
    else:
        result = await world.run(*tasks, real_runner=True)
    [found] = result.task_results.values()
    assert statuses(result) == {"Task": "completed"}
    assert found["output"] == expected["output"]
    assert found["messages"] == expected["messages"]
    spent = [d["omaDesktop"]["usage"]["input_tokens"] for d in world.store.saved]
    assert spent == sorted(spent)
    assert result.total_usage["input_tokens"] >= whole.total_usage["input_tokens"]


def _stop_at(world, at, reason):
    heard = []

    def listen(event):
        heard.append(event.type)
        if len(heard) == at + 1:
            world.token.stop(reason)

    return world.bus.subscribe(listen)


# --- refusals ------------------------------------------------------------------------------------


async def test_a_task_with_judges_is_not_put_before_a_dispatch_reviewer():
    async def ask(_task):
        return suspend()

    world = RunWorld(agents=("a", "j"), gates=Gates(dispatch=ask))
    result = await world.run(spec("Task", assignee="a", verify="j"))
    assert (result.status.code, result.status.message) == ("error", "APPROVAL_VALIDATION_ERROR")
    assert result.pending_approvals == ()
    assert "VERIFY_CANNOT_WAIT" in result.warnings
    assert result.error_info.message == (
        "The approval request, decision or reviewer is not valid (verify)."
    )
    assert world.of("task_start") == []


async def test_judges_nobody_knows_are_refused_before_anything_runs():
    world = RunWorld(agents=("a",))
    with pytest.raises(PlanRejected) as caught:
        await world.run(spec("Task", verify=["a", "stranger"]))
    assert caught.value.code == "UNKNOWN_JUDGE"
    assert world.events == []


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"judges": ["ab"]}, "RUNFILE_UNKNOWN_AGENT_NEAR"),
        ({"judges": []}, "RUNFILE_WRONG_VALUE"),
        ({"judges": ["a", "a"]}, "RUNFILE_WRONG_VALUE"),
        ({"judges": ["a"], "quorum": 2}, "RUNFILE_WRONG_VALUE"),
        ({"judges": ["a"], "qourum": 1}, "RUNFILE_UNKNOWN_KEY_NEAR"),
    ],
)
def test_run_files_name_what_is_wrong_with_a_wish(wish, code):
    document = {
        "team": {"name": "t", "agents": [{"name": "a"}]},
        "tasks": [{"title": "x", "description": "d", "verify": wish}],
    }
    found = look_at_run_file(read_document(json.dumps(document).encode(), name="x.json"))
    assert [p.code for p in found.problems] == [code]


@pytest.mark.parametrize(
    ("approvals", "found"),
    [
        ({"dispatch": True}, ["VERIFY_CANNOT_WAIT"]),
        ({"dispatch": {"x": "suspend"}}, ["VERIFY_CANNOT_WAIT"]),
        ({"dispatch": [{"title": "x", "action": "allow"}, {"action": "suspend"}]}, []),
        ({"dispatch": {"y": "suspend"}}, []),
        ({"rounds": True}, ["VERIFY_CANNOT_WAIT"]),
        ({"tools": True}, []),
    ],
)
def test_a_run_file_whose_rules_would_hold_a_judged_task_is_refused(approvals, found):
    document = {
        "team": {"name": "t", "agents": [{"name": "a"}]},
        "tasks": [{"title": "x", "description": "d", "verify": "a"}],
        "approvals": approvals,
    }
    looked = look_at_run_file(read_document(json.dumps(document).encode(), name="x.json"))
    assert [p.code for p in looked.problems] == found
