"""Scripts: the file, the scripted provider, the wiring, the effects log (SCRIPTS.md)."""

import asyncio
import copy
import json
from pathlib import Path

import pytest

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.launching.script import (
    EffectsLog,
    apply_script,
    gates_of,
    load_script,
    read_script,
    team_from_script,
)
from oma_desktop.engine.llm.base import ModelReply, ModelRequest, TextDelta
from oma_desktop.engine.llm.scripted import ScriptedAdapter, usage_of
from oma_desktop.engine.operations.attempt_run import run_agent
from oma_desktop.model.errors import InvalidInput, OmaError
from oma_desktop.model.json_text import STORE_DEPTH, parse
from oma_desktop.model.script import json_schema
from oma_desktop.model.view import Effect
from tests.core.engine.runner_world import Ledger, VirtualClock, drive

GOLDEN = Path(__file__).parents[2] / "golden"
SCRIPTS = sorted([*GOLDEN.glob("*/peer_script.json"), *GOLDEN.glob("vectors/*/*peer_script.json")])


def script(**parts):
    return read_script({"agents": [{"name": "a", "tools": ["t"]}], **parts})


def request(title="One", *, agent="a", turns=0, attempt=1):
    messages = [{"role": "user", "content": [{"type": "text", "text": "go"}]}]
    for _ in range(turns):
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "x"}]})
        messages.append({"role": "user", "content": [{"type": "text", "text": "y"}]})
    return ModelRequest(
        model="m", messages=messages, agent=agent, task_title=title, attempt=attempt
    )


async def ask(replies, request_=None, *, speed=0.0, clock=None, token=None, **parts):
    adapter = ScriptedAdapter(
        script(replies=replies, **parts), clock=clock or VirtualClock(), speed=speed
    )
    stream = adapter.stream(request_ or request(), token or CancelToken())
    return [event async for event in stream]


# -- the file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_script_of_the_fixtures_is_read(path):
    loaded = load_script(path)
    assert loaded.agents
    assert team_from_script(loaded, clock=VirtualClock()).config.agents == loaded.agents


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"agents": [{"name": ""}]}, "agents.0.name"),
        ({"agents": [], "gates": {"tool": {"x": "ALLOW"}}}, "gates.tool.x"),
        ({"agents": [], "tools": {"t": {"schema": {"q": "text"}}}}, "tools.t.schema"),
        ({"agents": [], "replies": {"One": [{"texts": "typo"}]}}, "replies.One"),
        ({"agents": [], "unknown": 1}, "unknown"),
        ({}, "agents"),
    ],
)
def test_a_wrong_script_names_the_place(document, where):
    with pytest.raises(InvalidInput) as caught:
        read_script(document)
    assert caught.value.code == "SCRIPT_INVALID"
    assert str(caught.value.facts["where"]).startswith(where)


def test_a_script_that_is_missing_or_no_json_is_a_clear_error(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        load_script(tmp_path / "none.json")
    assert caught.value.code == "SCRIPT_UNREADABLE"
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(OmaError):
        load_script(tmp_path / "bad.json")


def test_shorthand_schemas_become_json_schema():
    shorthand = {"q": "string", "n": {"type": "number", "default": 5}, "tags": "string[]?",
                 "any": "any", "map": "record", "on": "boolean?"}  # fmt: skip
    schema = json_schema(shorthand)
    assert schema["required"] == ["q", "map"]
    assert schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["n"] == {"type": "number", "default": 5}
    assert list(schema["properties"]) == list(shorthand)
    assert json_schema(schema) is schema


# -- the provider -----------------------------------------------------------------------------


async def test_drafts_come_before_the_one_reply():
    text = "x" * 60
    events = await ask({"One": [{"text": text, "reasoning": {"text": "hm", "signature": "s"}}]})
    drafts = [e for e in events if isinstance(e, TextDelta)]
    assert "".join(d.text for d in drafts if d.kind == "text") == text
    assert drafts[0].kind == "reasoning"
    (reply,) = [e for e in events if isinstance(e, ModelReply)]
    assert events[-1] is reply
    assert reply.content == [
        {"type": "reasoning", "text": "hm", "signature": "s"},
        {"type": "text", "text": text},
    ]


@pytest.mark.parametrize(
    ("replies", "turns", "expected"),
    [
        ({"One": [{"text": "first"}, {"text": "last"}]}, 0, "first"),
        ({"One": [{"text": "first"}, {"text": "last"}]}, 1, "last"),
        ({"One": [{"text": "first"}, {"text": "last"}]}, 9, "last"),
        ({"One": [{"text": "title"}], "a::One": [{"text": "agent"}]}, 0, "agent"),
        ({"b::One": [{"text": "other"}], "One": [{"text": "title"}]}, 0, "title"),
        ({"Two": [{"text": "no"}], "@default": [{"text": "default"}]}, 0, "default"),
    ],
)
async def test_replies_go_by_title_agent_and_turn(replies, turns, expected):
    events = await ask(replies, request(turns=turns))
    assert events[-1].content[0]["text"] == expected


async def test_attempts_have_replies_of_their_own_and_the_last_one_repeats():
    replies = {"One": {"attempts": [[{"text": "1"}], [{"text": "2"}]]}}
    said = [(await ask(replies, request(attempt=n)))[-1].content[0]["text"] for n in (1, 2, 3)]
    assert said == ["1", "2", "2"]


async def test_work_without_a_task_is_other():
    events = await ask({"a::@other": [{"text": "nested"}]}, request(title=""))
    assert events[-1].content[0]["text"] == "nested"


async def test_a_task_without_any_reply_stops_with_a_clear_error():
    with pytest.raises(OmaError) as caught:
        await ask({"Two": [{"text": "x"}], "One": []})
    assert caught.value.code == "SCRIPT_REPLY_MISSING"
    assert caught.value.facts == {
        "agent": "a", "task": "One", "provider": "scripted", "retryable": False}  # fmt: skip


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (429, True), (503, True)])
async def test_scripted_errors_have_status_and_kind(status, retryable):
    with pytest.raises(OmaError) as caught:
        await ask({"One": [{"error": {"message": "m", "status": status}}]})
    facts = caught.value.facts
    assert (facts["status"], facts["message"], facts["retryable"]) == (status, "m", retryable)


async def test_delays_follow_the_speed_and_zero_means_none():
    replies = {"One": [{"text": "x" * 48, "delayMs": 1000, "chunkMs": 500}]}
    for speed, seconds in ((0, 0), (1, 2.0), (0.5, 1.0)):
        clock = VirtualClock()
        supervisor = Supervisor()
        task = supervisor.spawn(ask(replies, speed=speed, clock=clock), name="ask")
        await drive(task, clock)
        assert clock.time == pytest.approx(seconds)
        await supervisor.close()


async def test_a_stop_ends_a_long_delay_with_the_contracts_error():
    clock, token, supervisor = VirtualClock(), CancelToken(), Supervisor()
    replies = {"One": [{"text": "x", "delayMs": 60_000}]}
    task = supervisor.spawn(ask(replies, speed=1, clock=clock, token=token), name="ask")

    async def stop():
        await clock.sleep(1)
        token.stop(StopReason.CANCEL)

    supervisor.spawn(stop(), name="stop")
    with pytest.raises(OmaError) as caught:
        await asyncio.gather(task, drive(task, clock))
    assert caught.value.code == "LLM_CALL_ABORTED"
    assert clock.time < 2
    supervisor._tasks.clear()


# -- the wiring -------------------------------------------------------------------------------


async def test_gates_are_exactly_the_scripts():
    gates = gates_of(script(gates={"dispatch": {"Two": "deny"}, "round": {"A|B": "suspend"},
                                   "plan": {"action": "suspend", "reason": "why"}}))  # fmt: skip
    assert gates.tool is None
    assert (await gates.dispatch({"title": "Two"})).action == "deny"
    assert (await gates.dispatch({"title": "One"})).action == "allow"
    assert (await gates.plan([])).reason == "why"
    assert (await gates.round([], [{"title": "B"}, {"title": "A"}])).action == "suspend"
    assert (await gates.round([], [{"title": "B"}])).action == "allow"


def test_effects_are_declared_or_follow_from_consequential():
    team = team_from_script(
        script(tools={"t": {"effect": "read_only"}, "u": {"consequential": True}, "v": {}}),
        clock=VirtualClock(),
    )
    effects = {tool.name: tool.effect for tool in team.tools}
    assert effects == {"t": Effect.READ_ONLY, "u": Effect.CONSEQUENTIAL, "v": Effect.UNKNOWN}


def test_apply_keeps_the_teams_agents_and_takes_everything_else_from_the_script():
    own = team_from_script(read_script({"agents": [{"name": "mine"}]}), clock=VirtualClock())
    team = apply_script(own, script(tools={"t": {}}, gates={"tool": {}}), clock=VirtualClock())
    assert [a.name for a in team.config.agents] == ["mine"]
    assert team.tools.names == ["t"]
    assert team.gates.tool is not None
    assert team.adapter_for(team.config.agents[0]).name == "scripted"


async def play(team, *, agent="a", title="One", resume=None, task_id="t1", clock=None, run_id="r"):
    """Run one task of a scripted team to its end."""
    clock, supervisor, bus, ledger = (
        clock or VirtualClock(),
        Supervisor(),
        EventBus(),
        Ledger(run_id),
    )
    started = []
    bus.subscribe(
        lambda e: started.append(e.data["toolCallId"]) if e.type == "tool_start" else None
    )
    job = AgentJob(run_id=run_id, task_id=task_id, task_title=title, prompt="go",
                   token=CancelToken(), boundaries=ledger, resume=resume)  # fmt: skip
    execute = run_agent(clock=clock, bus=bus, supervisor=supervisor)
    task = supervisor.spawn(execute(team, team.agent(agent), job), name="play")
    await drive(task, clock)
    await supervisor.close()
    return task.result(), ledger, started


async def test_tool_results_errors_and_throws():
    tools = {"t": {"schema": {"q": "string?"}, "results": {
        "c1": {"data": "one"}, "c2": {"isError": True, "data": "bad"}, "c3": {"throw": "boom"},
        "*": {"data": None, "modelOutput": [{"type": "text", "text": "rich"}]}}}}  # fmt: skip
    calls = [{"id": f"c{n}", "name": "t", "input": {}} for n in range(1, 5)]
    team = team_from_script(script(tools=tools, replies={"One": [{"tools": calls}, {"text": "x"}]}),
                            clock=VirtualClock(), speed=0)  # fmt: skip
    result, _, _ = await play(team)
    blocks = result.messages[1]["content"]
    assert [b["content"] for b in blocks] == [
        "one",
        "bad",
        "boom",
        [{"type": "text", "text": "rich"}],
    ]
    assert [b.get("is_error") for b in blocks] == [None, True, True, None]


@pytest.mark.parametrize("with_lanes", [False, True])
async def test_the_effects_log_tells_what_really_ran(tmp_path, with_lanes):
    path = tmp_path / "effects.jsonl"
    clock, lanes = VirtualClock(), Lanes() if with_lanes else None
    effects = EffectsLog(path, clock=clock, lanes=lanes)
    parts = {
        "tools": {"t": {"schema": {"q": {"type": "string", "default": "ä\ud83d"}},
                        "results": {"*": {"data": "x", "delayMs": 250}}}},
        "replies": {"One": [{"tools": [{"id": "c1", "name": "t", "input": {}}]}, {"text": "end"}]},
    }  # fmt: skip
    team = team_from_script(script(**parts), clock=clock, effects=effects)
    supervisor = Supervisor()
    if with_lanes:

        class RealTime(VirtualClock):
            async def sleep(self, delay_s):
                await asyncio.sleep(0)

        team = team_from_script(script(**parts), clock=RealTime(), effects=effects, speed=0)
        job = AgentJob("r", "t1", "One", "go", CancelToken())
        await run_agent(clock=clock, bus=EventBus(), supervisor=supervisor)(
            team, team.agent("a"), job
        )
        lanes.close()
    else:
        await play(team, clock=clock)
    await supervisor.close()
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [(x["event"], x["toolCallId"], x["tool"]) for x in lines] == [
        ("started", "c1", "t"), ("finished", "c1", "t")]  # fmt: skip
    assert list(lines[0]) == [
        "event", "runId", "taskId", "agent", "toolCallId", "tool", "input", "at"]  # fmt: skip
    assert lines[0]["input"] == {"q": "ä\ud83d"}
    assert lines[0]["at"].endswith("Z")


# -- the fixtures -----------------------------------------------------------------------------


def states():
    """Every in-flight state of the fixtures with a script to go on with."""
    for directory in sorted(GOLDEN.glob("*/")):
        store, expected = directory / "checkpoint.json", directory / "expected.json"
        if not (directory / "peer_script.json").exists() or not store.exists():
            continue
        rows = parse(store.read_bytes(), max_depth=STORE_DEPTH)["entries"]
        decided = [parse(r["value"]) for r in rows if r["key"].startswith("__oma_approval__/")]
        decisions = {d["request"]["id"]: d["decision"] for d in decided if "decision" in d}
        for row in rows:
            if not row["key"].startswith("__oma_checkpoint__/"):
                continue
            snapshot = parse(row["value"], max_depth=STORE_DEPTH)
            for entry in snapshot.get("inFlightTasks") or ():
                yield pytest.param(directory, expected, snapshot, entry, decisions,
                                   id=f"{directory.name}-{entry['assignee']}")  # fmt: skip


OWN_WORDS = {
    "c_tool_gate_3_rejected": "the sentence about the rejection is our own",
    "i1_redacted_midrun": "the file was redacted after the tokens were counted",
}


def peer_results(expected, key=None):
    """`taskResults` of the peer's restore by task id."""
    restore = json.loads(expected.read_text())["peerRestore"]
    found = {}
    for one in restore if isinstance(restore, list) else [restore]:
        found.update({t["id"]: t for t in (one.get("result") or {}).get("taskResults", [])})
    return found


@pytest.mark.parametrize(
    ("directory", "expected", "snapshot", "entry", "decisions"), list(states())
)
async def test_fixtures_go_on_as_the_peer_did(directory, expected, snapshot, entry, decisions):
    """Same output, tokens, tool calls, message count and status as the peer's own restore."""
    theirs = peer_results(expected).get(entry["taskId"])
    loaded = load_script(directory / "peer_script.json")
    team = team_from_script(loaded, clock=VirtualClock(), speed=0)
    entry = copy.deepcopy(entry)
    for pending in entry.get("pendingToolCalls", ()):
        request_ = pending.get("approvalRequest")
        if request_ is not None and request_["id"] in decisions:
            pending["approvalDecision"] = decisions[request_["id"]]
    title = next(t["title"] for t in snapshot["queue"]["tasks"] if t["id"] == entry["taskId"])
    identity = snapshot.get("identity") or {}
    committed = {p["call"]["id"] for p in entry.get("pendingToolCalls", ()) if "commit" in p}
    result, ledger, started = await play(
        team, agent=entry["assignee"], title=title, resume=entry, task_id=entry["taskId"],
        run_id=identity.get("runId") or "r",
    )  # fmt: skip
    assert not committed & set(started)
    assert {e["taskId"] for _, e in ledger.saves} <= {entry["taskId"]}
    if theirs is None:
        assert result.status.code in {"ok", "suspended"}
        return
    assert result.status.code == theirs["status"]
    assert result.output == theirs["output"]
    if theirs["status"] == "error":  # the peer forgets what a failed attempt did and cost (DEV-09)
        assert result.token_usage == entry["tokenUsage"]
        assert result.messages == entry["messages"]
        return
    assert len(result.messages) == theirs["messages"]
    assert [r["toolName"] for r in result.tool_calls] == theirs["toolCalls"]
    if directory.name not in OWN_WORDS:
        assert result.token_usage == theirs["tokenUsage"]


def fresh_first_turns():
    """First assistant turns of in-flight states whose reply had no usage of its own."""
    for param in states():
        directory, _, _, entry, _ = param.values
        scripted = (directory / "peer_script.json").read_text()
        if entry["turns"] == 1 and '"usage"' not in scripted and "redacted" not in directory.name:
            yield pytest.param(entry, id=param.id)


@pytest.mark.parametrize("entry", list(fresh_first_turns()))
def test_default_usage_is_that_of_the_fixtures(entry):
    asked, said = entry["conversationMessages"][:1], entry["conversationMessages"][1]["content"]
    assert usage_of(asked, said) == entry["tokenUsage"]


VECTORS = json.loads((GOLDEN / "vectors" / "accounting.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
async def test_accounting_goes_on_after_a_restore_p12(vector):
    folder = GOLDEN / "vectors"
    rows = json.loads((folder / vector["checkpoint"]).read_text())["entries"]
    value = next(r["value"] for r in rows if r["key"].startswith("__oma_checkpoint__/"))
    snapshot = json.loads(value)
    loaded = load_script(folder / vector["script"])
    total = dict.fromkeys(("input_tokens", "output_tokens"), 0)
    for done in snapshot["completedTaskResults"]:
        for key in total:
            total[key] += done["agentResult"]["tokenUsage"][key]
    entries = {e["taskId"]: e for e in snapshot.get("inFlightTasks") or ()}
    if not entries or vector["name"] in {"run_budget_restarts", "retry_counter_restarts"}:
        assert vector["name"] in {
            "no_state_lost_usage", "run_budget_restarts", "retry_counter_restarts"}  # fmt: skip
        return
    statuses = []
    for task in snapshot["queue"]["tasks"]:
        if task["status"] == "completed":
            continue
        team = team_from_script(loaded, clock=VirtualClock(), speed=0)
        result, _, _ = await play(team, agent=task["assignee"], title=task["title"],
                                  resume=entries.get(task["id"]), task_id=task["id"])  # fmt: skip
        statuses.append(result.status.code)
        for key in total:
            total[key] += result.token_usage[key]
    assert total == vector["uninterrupted"]["totalTokenUsage"]
    assert (set(statuses) == {"ok"}) == (vector["uninterrupted"]["status"]["code"] == "ok")
