"""Run files made ready: models, keys, tools, gates, and what is refused before anything runs."""

import json
from datetime import UTC, datetime

import pytest

from oma_desktop.base.sentences import one_line
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.script import read_script
from oma_desktop.engine.launching.wiring import World, retry_events, team_from_runfile, wire
from oma_desktop.engine.llm.base import ModelReply, ModelRequest
from oma_desktop.engine.llm.openai import OpenAIChatAdapter
from oma_desktop.engine.llm.presets import PRESETS
from oma_desktop.engine.llm.retry_policy import RetryNotice
from oma_desktop.engine.tools.gate import ALLOW, GateCall, GateDecision
from oma_desktop.engine.tools.registry import ToolOutput, ToolSpec
from oma_desktop.model.errors import InvalidInput, NotAllowed
from oma_desktop.model.runfile_reading import read_run_file, with_team
from oma_desktop.model.view import Effect
from tests.core.engine.llm.loopback import Loopback, turn


class Clock:
    def now(self):
        return datetime(2026, 1, 5, 8, tzinfo=UTC)

    def monotonic(self):
        return 0.0

    async def sleep(self, delay_s):
        pass


def world(stored=None, tools=(), **environ):
    keys = stored or {}
    return World(Clock(), environ=environ, stored_key=keys.get, tools=tools)


def run_file(agents, **more):
    agents = [{"name": name, **agent} for name, agent in agents.items()]
    tasks = [{"title": "x", "description": "d"}]
    document = {"team": {"name": "t", "agents": agents}, "tasks": tasks, **more}
    return read_run_file(json.dumps(document).encode(), name="r.json")


def refused(run, base, world_):
    with pytest.raises((InvalidInput, NotAllowed)) as caught:
        wire(run, base_dir=base, world=world_)
    error = caught.value
    assert "{" not in one_line(error.code, error.facts)
    return error


LOCAL = {"model": "m", "provider": "openai", "baseURL": "http://127.0.0.1:1/v1"}


# --- models and keys -----------------------------------------------------------------------------


async def test_a_wired_model_answers(tmp_path):
    async with Loopback([turn(text="hello")]) as server:
        run = run_file({"a": {**LOCAL, "baseURL": server.base_url}})
        wired = wire(run, base_dir=tmp_path, world=world(OPENAI_API_KEY="sk-1"))
        agent = wired.team.config.agents[0]
        hello = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
        request = ModelRequest(agent.model, [hello])
        stream = wired.team.adapter_for(agent).stream(request, CancelToken())
        reply = [event async for event in stream][-1]
        await wired.close()
        assert server.requests[0].headers["authorization"] == "Bearer sk-1"
    assert isinstance(reply, ModelReply)
    assert [spec.title for spec in wired.specs] == ["x"]


def test_endpoints_say_where_calls_go(tmp_path):
    run = run_file(
        {"a": {"provider": "deepseek"}, "b": {"provider": "lab", "model": "q"}, "c": LOCAL},
        orchestrator={"defaultModel": "base"},
        providers={"lab": {"baseURL": "https://lab.example/v1"}},
    )
    wired = wire(run, base_dir=tmp_path, world=world({"deepseek": "sk-2"}))
    assert [(e.provider, e.model, e.base_url, e.has_key) for e in wired.endpoints] == [
        ("deepseek", "base", "https://api.deepseek.com/v1", True),
        ("lab", "q", "https://lab.example/v1", False),
        ("openai", "m", "http://127.0.0.1:1/v1", False),
    ]
    assert "sk-2" not in repr(wired)


def test_agents_of_one_service_share_an_adapter(tmp_path):
    team = wire(run_file({"a": LOCAL, "b": LOCAL}), base_dir=tmp_path, world=world()).team
    first, second = (team.adapter_for(agent) for agent in team.config.agents)
    assert first is second
    assert isinstance(first, OpenAIChatAdapter)
    assert first.origin == "http://127.0.0.1:1"


def test_the_default_address_is_for_the_default_provider_only(tmp_path):
    run = run_file(
        {"a": {}, "b": {"provider": "groq"}},
        orchestrator={
            "defaultProvider": "openai",
            "defaultModel": "m",
            "defaultBaseURL": "https://x/v1",
        },
    )
    wired = wire(run, base_dir=tmp_path, world=world(OPENAI_API_KEY="k", GROQ_API_KEY="g"))
    assert [e.base_url for e in wired.endpoints] == ["https://x/v1", PRESETS["groq"].base_url]


def test_the_environment_names_address_and_key(tmp_path):
    run = run_file({"a": {"provider": "openai", "model": "m"}})
    env = world(OPENAI_BASE_URL="https://proxy.example/v1", OPENAI_API_KEY=" k ")
    assert wire(run, base_dir=tmp_path, world=env).endpoints[0].base_url == (
        "https://proxy.example/v1"
    )


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ({"model": "m"}, "LLM_KEY_MISSING"),
        ({"model": "m", "provider": "bedrock"}, "RUNFILE_NEEDS_PROTOCOL"),
        ({"model": "m", "provider": "opnai"}, "RUNFILE_UNKNOWN_PROVIDER_NEAR"),
        ({"model": "m", "provider": "zzz"}, "RUNFILE_UNKNOWN_PROVIDER"),
        ({"provider": "openai"}, "RUNFILE_NO_MODEL"),
        ({"model": "m", "provider": "openai"}, "LLM_KEY_MISSING"),
        ({**LOCAL, "baseURL": "ftp://x"}, "LLM_BAD_ENDPOINT"),
    ],
)
def test_unusable_models_are_found_before_anything_runs(tmp_path, agent, code):
    assert refused(run_file({"a": agent}), tmp_path, world()).code == code


def test_servers_on_the_own_machine_need_no_key(tmp_path):
    for provider in ("ollama", "llama.cpp", "vllm", "lmstudio"):
        run = run_file({"a": {"model": "m", "provider": provider}})
        (endpoint,) = wire(run, base_dir=tmp_path, world=world()).endpoints
        assert endpoint.base_url.startswith("http://127.0.0.1:")


def test_defaults_reach_the_agents(tmp_path):
    run = run_file(
        {"a": LOCAL, "b": {**LOCAL, "cwd": "own", "thinking": {"enabled": True, "effort": "low"}}},
        cwd="work",
    )
    first, second = team_from_runfile(run, base_dir=tmp_path, clock=Clock()).config.agents
    assert (first.cwd, second.cwd) == (str(tmp_path / "work"), str(tmp_path / "own"))
    assert second.extra_body == {"reasoning_effort": "low"}


def test_dev_19_the_teams_limit_counts_where_the_orchestrator_has_none(tmp_path):
    document = {"team": {"name": "t", "agents": [{"name": "a", **LOCAL}], "maxConcurrency": 2}}
    for more, limit in ({}, 2), ({"orchestrator": {"maxConcurrency": 7}}, 7):
        run = read_run_file(json.dumps({**document, **more, "goal": None}).encode(), name="r.json")
        wired = wire(run, base_dir=tmp_path, world=world(), needs_work=False)
        assert wired.orchestrator.max_concurrency == limit


# --- tools ---------------------------------------------------------------------------------------


async def _nothing(_input, _context):
    return ToolOutput("done")


LOOKUP = ToolSpec("lookup", "", {"type": "object"}, _nothing)


@pytest.mark.parametrize(
    ("agent", "approvals", "code"),
    [
        ({"toolPreset": "full", "tools": ["bsh"]}, {}, "RUNFILE_UNKNOWN_TOOL_NEAR"),
        ({"tools": ["lokup"]}, {}, "RUNFILE_UNKNOWN_TOOL_NEAR"),
        ({"tools": ["zzz"]}, {}, "RUNFILE_UNKNOWN_TOOL"),
        ({}, {"tools": ["lookupp"]}, "RUNFILE_UNKNOWN_TOOL_NEAR"),
    ],
)
def test_tools_that_do_not_exist_are_refused(tmp_path, agent, approvals, code):
    run = run_file({"a": {**LOCAL, **agent}}, approvals=approvals)
    assert refused(run, tmp_path, world(tools=(LOOKUP,))).code == code


def test_tools_that_exist_are_wired(tmp_path):
    run = run_file({"a": {**LOCAL, "tools": ["lookup"]}}, approvals={"tools": ["bash", "look*"]})
    wired = wire(run, base_dir=tmp_path, world=world(tools=(LOOKUP,)))
    assert wired.team.tools.names == ["lookup"]


# --- gates ---------------------------------------------------------------------------------------


def call(tool="deploy", agent="a", effect=Effect.UNKNOWN, consequential=False, **arguments):
    return GateCall(tool, arguments, arguments, agent, consequential, effect, "r", "t", "c")


async def decision(tmp_path, rules, asked):
    run = run_file({"a": LOCAL}, approvals={"tools": rules})
    tools = tuple(ToolSpec(n, "", {}, _nothing) for n in ("deploy", "file_write"))
    gates = wire(run, base_dir=tmp_path, world=world(tools=tools)).team.gates
    return await gates.tool(asked)


@pytest.mark.parametrize(
    ("rules", "asked", "action"),
    [
        ([], call(), "allow"),
        ([], call(consequential=True), "suspend"),
        ([], call(effect=Effect.CONSEQUENTIAL), "suspend"),
        ("allow", call(consequential=True), "allow"),
        (True, call(), "suspend"),
        (["deploy"], call(), "suspend"),
        ({"dep*": "deny"}, call(), "deny"),
        ([{"effect": "consequential", "action": "allow"}], call(consequential=True), "allow"),
        ([{"effect": "read_only"}], call(effect=Effect.READ_ONLY), "suspend"),
        ([{"agent": "b*"}], call(), "allow"),
        ([{"agent": "b*"}], call(agent="bob"), "suspend"),
        ([{"arguments": {"n": 1}}], call(n=1), "suspend"),
        ([{"arguments": {"n": 1}}], call(n=True), "allow"),
        ([{"arguments": {"n": 1}}], call(m=1), "allow"),
        ([{"tool": "deploy", "action": "deny"}, {"tool": "*", "action": "allow"}], call(), "deny"),
    ],
)
async def test_rules_decide_calls(tmp_path, rules, asked, action):
    assert (await decision(tmp_path, rules, asked)).action == action


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("drafts/a.md", "allow"),
        ("drafts/sub/a.md", "allow"),
        ("secret/a.md", "suspend"),
        ("drafts/../secret/a.md", "suspend"),
        ("drafts/..\\secret", "suspend"),
        ("drafts/a\nrm", "suspend"),
        ("drafts/a..b", "allow"),
    ],
)
async def test_what_allows_by_pattern_is_not_led_astray(tmp_path, path, action):
    rule = {"tool": "file_write", "arguments": {"path": "drafts/*"}, "action": "allow"}
    asked = call("file_write", consequential=True, path=path)
    assert (await decision(tmp_path, [rule], asked)).action == action


async def test_what_suspends_by_pattern_sees_every_spelling(tmp_path):
    rules = [{"arguments": {"path": "secret/*"}, "reason": "look"}, {"action": "allow"}]
    found = await decision(tmp_path, rules, call(path="secret/../secret/a"))
    assert found == GateDecision("suspend", "look")


async def test_dispatch_rules(tmp_path):
    rules = [{"title": "Send*", "role": "mail", "reason": "look"}]
    run = run_file({"a": LOCAL}, approvals={"dispatch": rules})
    gate = wire(run, base_dir=tmp_path, world=world()).team.gates.dispatch
    task = {"id": "1", "title": "Send it", "description": "", "status": "pending"}
    assert await gate({**task, "role": "mail"}) == GateDecision("suspend", "look")
    assert await gate(task) == ALLOW
    plain = wire(run_file({"a": LOCAL}), base_dir=tmp_path, world=world()).team.gates
    assert plain.dispatch is None


# --- scripts -------------------------------------------------------------------------------------

SCRIPT = {
    "team": {"name": "s"},
    "agents": [{"name": "player", "tools": ["say"]}],
    "tools": {"say": {"schema": {}, "results": {"*": {"data": "said"}}}},
    "gates": {"tool": {"say": "deny"}},
    "replies": {"x": [{"text": "played"}]},
}


def test_a_script_replaces_models_tools_and_gates(tmp_path):
    run = run_file({"a": {"provider": "anthropic", "tools": ["bash"]}}, cwd="w")
    wired = wire(run, base_dir=tmp_path, world=world(), script=read_script(SCRIPT))
    assert [a.name for a in wired.team.config.agents] == ["a"]
    assert wired.team.tools.names == ["say"]
    assert wired.team.adapter_for(wired.team.config.agents[0]).name == "scripted"
    assert wired.endpoints == ()


def test_a_script_brings_the_team_where_there_is_none(tmp_path):
    document = [{"title": "x", "description": "d", "assignee": "player"}]
    run = read_run_file(json.dumps(document).encode(), name="t.json")
    wired = wire(run, base_dir=tmp_path, world=world(), script=read_script(SCRIPT))
    assert [a.name for a in wired.team.config.agents] == ["player"]
    with pytest.raises(InvalidInput, match="RUNFILE_UNKNOWN_AGENT"):
        wire(
            read_run_file(json.dumps([{**document[0], "assignee": "b"}]).encode(), name="t.json"),
            base_dir=tmp_path,
            world=world(),
            script=read_script(SCRIPT),
        )


async def test_a_scripted_provider_plays_beside_others(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(SCRIPT))
    run = run_file(
        {"a": {"provider": "play", "tools": ["say"]}, "b": LOCAL},
        providers={"play": {"type": "scripted", "script": "s.json"}},
        approvals={"tools": ["say"]},
    )
    wired = wire(run, base_dir=tmp_path, world=world())
    a, b = wired.team.config.agents
    assert (wired.team.adapter_for(a).name, wired.team.adapter_for(b).name) == (
        "scripted",
        "openai",
    )
    # gates are the run file's, not the script's
    assert (await wired.team.gates.tool(call("say"))).action == "suspend"
    await wired.close()


def test_a_script_that_is_missing_is_named(tmp_path):
    run = run_file(
        {"a": {"provider": "play"}}, providers={"play": {"type": "scripted", "script": "no.json"}}
    )
    error = refused(run, tmp_path, world())
    assert error.code == "SCRIPT_UNREADABLE"


# --- the rest ------------------------------------------------------------------------------------


def test_work_and_team_must_be_there(tmp_path):
    team = read_run_file(b'{"name": "t", "agents": [{"name": "a"}]}', name="t.json")
    assert refused(team, tmp_path, world()).code == "RUNFILE_NO_WORK"
    tasks = read_run_file(b'[{"title": "x", "description": "d"}]', name="x.json")
    assert refused(tasks, tmp_path, world()).code == "RUNFILE_NO_TEAM"


def test_tasks_of_one_file_with_the_team_of_another():
    team = read_run_file(b'{"name": "t", "agents": [{"name": "a"}]}', name="t.json")
    tasks = read_run_file(b'[{"title": "x", "description": "d", "assignee": "b"}]', name="x.json")
    with pytest.raises(InvalidInput, match="RUNFILE_UNKNOWN_AGENT"):
        with_team(tasks, team)
    fine = read_run_file(b'[{"title": "x", "description": "d", "assignee": "a"}]', name="x.json")
    joined = with_team(fine, team)
    assert (joined.team, joined.tasks) == (team.team, fine.tasks)


def test_a_wish_of_a_later_version_stops_wiring(tmp_path):
    run = run_file({"a": LOCAL}, journal={"path": "j.jsonl"})
    assert refused(run, tmp_path, world()).code == "RUNFILE_NEEDS_JOURNAL"


def test_idea_58_a_forbidden_address_stops_wiring_before_anything_is_made(tmp_path):
    far = {"model": "m", "provider": "openai", "baseURL": "https://models.example/v1"}
    run = run_file({"a": far}, orchestrator={"egressPolicy": {"mode": "offline"}})
    denied = refused(run, tmp_path, world())
    assert denied.code == "EGRESS_POLICY_DENIED"
    assert denied.facts["origin"] == "https://models.example:443"


def test_repeats_become_events():
    bus, seen = EventBus(), []
    bus.subscribe(seen.append)
    retry_events(bus)(RetryNotice("p", "a", "T", 1, 0.5, "LLM_RATE_LIMITED", 429))
    (event,) = seen
    assert (event.type, event.agent) == ("llm_retry", "a")
    assert event.data["delayMs"] == 500


def test_a_model_without_a_price_is_refused_where_prices_are_given(tmp_path):
    run = run_file({"a": LOCAL}, orchestrator={"prices": {"other": {"input": 1, "output": 1}}})
    assert refused(run, tmp_path, world()).code == "COST_PRICE_MISSING"
    run = run_file({"a": LOCAL}, orchestrator={"prices": {"*": {"input": 0, "output": 0}}})
    assert wire(run, base_dir=tmp_path, world=world()).orchestrator.prices


def test_routed_models_are_resolved_before_anything_runs_and_need_their_keys(tmp_path):
    routing = {"rules": [{"route": {"model": "n", "fallback": [{"model": "o"}]}}]}
    run = run_file({"a": LOCAL}, orchestrator={"modelRouting": routing})
    wired = wire(run, base_dir=tmp_path, world=world())
    assert [e.model for e in wired.endpoints] == ["m", "n", "o"]
    assert {e.base_url for e in wired.endpoints} == {LOCAL["baseURL"]}
    routing["rules"][0]["route"]["fallback"] = [{"model": "p", "provider": "deepseek"}]
    run = run_file({"a": LOCAL}, orchestrator={"modelRouting": routing})
    assert refused(run, tmp_path, world()).code == "LLM_KEY_MISSING"


def test_the_model_of_summaries_needs_a_price_too(tmp_path):
    strategy = {"type": "summarize", "maxTokens": 9000, "summaryModel": "other"}
    prices = {"m": {"input": 1, "output": 1}}
    run = run_file({"a": {**LOCAL, "contextStrategy": strategy}}, orchestrator={"prices": prices})
    error = refused(run, tmp_path, world())
    assert (error.code, error.facts["model"]) == ("COST_PRICE_MISSING", "other")
