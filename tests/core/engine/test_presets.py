"""Every service by name: its address, where its key comes from, in which header it goes."""

import json
from dataclasses import replace

import pytest

from oma_desktop.base.sentences import one_line
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.wiring import wire
from oma_desktop.engine.llm.base import ModelReply, ModelRequest
from oma_desktop.engine.llm.presets import PRESETS
from oma_desktop.model.errors import InvalidInput, NotAllowed
from tests.core.engine.llm.loopback import Answer, Loopback, turn
from tests.core.engine.llm.test_anthropic_adapter import end, start, text
from tests.core.engine.test_wiring import refused, run_file, world

HELLO = ModelRequest("m", [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
MESSAGE = Answer((start() + text(0, "hi") + end()).encode())

HOSTED = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "grok": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "doubao": ("https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY"),
    "hunyuan": ("https://tokenhub.tencentmaas.com/v1", "HUNYUAN_API_KEY"),
    "minimax": ("https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    "mimo": ("https://api.xiaomimimo.com/v1", "MIMO_API_KEY"),
    "qiniu": ("https://api.qnaigc.com/v1", "QINIU_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "moonshot": ("https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    "qwen": ("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "zhipu": ("https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY"),
    "siliconflow": ("https://api.siliconflow.cn/v1", "SILICONFLOW_API_KEY"),
}
LOCAL = {
    "ollama": "http://127.0.0.1:11434/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}


def wired(tmp_path, agent, **more):
    environ = more.pop("environ", {})
    run = run_file({"a": {"model": "m", **agent}}, **more)
    return wire(run, base_dir=tmp_path, world=world(**environ))


async def sent(tmp_path, agent, *, answer=None, **more):
    """Ask once; returns the request as it came over the wire."""
    async with Loopback([answer or turn(text="hi")]) as server:
        root = f"http://127.0.0.1:{server.port}"
        agent = {k: v.format(root=root) if k == "baseURL" else v for k, v in agent.items()}
        more = json.loads(json.dumps(more).replace("{root}", root))
        made = wired(tmp_path, agent, **more)
        config = made.team.config.agents[0]
        adapter = made.team.adapter_for(config)
        (*_, reply) = [event async for event in adapter.stream(HELLO, CancelToken())]
        await made.close()
        assert isinstance(reply, ModelReply)
        return server.requests[0]


def test_no_preset_is_left_out():
    assert {*HOSTED, *LOCAL, "anthropic", "azure-openai"} == set(PRESETS)


@pytest.mark.parametrize("name", HOSTED)
async def test_a_hosted_service(tmp_path, name):
    address, variable = HOSTED[name]
    agent = {"provider": name}
    (endpoint,) = wired(tmp_path, agent, environ={variable: "k-1"}).endpoints
    assert (endpoint.base_url, endpoint.has_key) == (address, True)
    assert variable in endpoint.key_variables
    missing = refused(run_file({"a": {"model": "m", **agent}}), tmp_path, world())
    assert missing.code == "LLM_KEY_MISSING"
    assert variable in one_line(missing.code, missing.facts)
    request = await sent(tmp_path, {**agent, "baseURL": "{root}/x"}, environ={variable: "k-1"})
    assert request.path == "/x/chat/completions"
    assert request.headers["authorization"] == "Bearer k-1"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai", "OPENAI_BASE_URL"),
        ("hunyuan", "HUNYUAN_BASE_URL"),
        ("minimax", "MINIMAX_BASE_URL"),
        ("mimo", "MIMO_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("azure-openai", "AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_the_environment_may_name_the_address(tmp_path, name, variable):
    environ = {variable: "https://mine.example/v1", PRESETS[name].key_env[0]: "k"}
    (endpoint,) = wired(tmp_path, {"provider": name}, environ=environ).endpoints
    assert endpoint.base_url == "https://mine.example/v1"


def test_gemini_takes_either_key(tmp_path):
    wired(tmp_path, {"provider": "gemini"}, environ={"GOOGLE_API_KEY": "k"})


@pytest.mark.parametrize("name", LOCAL)
async def test_a_server_on_the_own_machine(tmp_path, name):
    (endpoint,) = wired(tmp_path, {"provider": name}).endpoints
    assert (endpoint.base_url, endpoint.has_key) == (LOCAL[name], False)
    request = await sent(tmp_path, {"provider": name, "baseURL": "{root}/v1"})
    assert request.path == "/v1/chat/completions"
    assert "authorization" not in request.headers


async def test_anthropic(tmp_path):
    environ = {"ANTHROPIC_API_KEY": "k-1"}
    (endpoint,) = wired(tmp_path, {"provider": "anthropic"}, environ=environ).endpoints
    assert endpoint.base_url == "https://api.anthropic.com"
    agent = {"provider": "anthropic", "baseURL": "{root}"}
    request = await sent(tmp_path, agent, environ=environ, answer=MESSAGE)
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", "k-1")


AZURE = {"AZURE_OPENAI_API_KEY": "k-1"}


@pytest.mark.parametrize(
    ("environ", "tail", "path"),
    [
        ({}, "", "/openai/deployments/m/chat/completions?api-version=2024-10-21"),
        ({}, "/openai/", "/openai/deployments/m/chat/completions?api-version=2024-10-21"),
        ({}, "/openai/v1", "/openai/v1/chat/completions"),
        (
            {"AZURE_OPENAI_API_VERSION": "2030-01-01", "AZURE_OPENAI_DEPLOYMENT": "my/own"},
            "",
            "/openai/deployments/my%2Fown/chat/completions?api-version=2030-01-01",
        ),
    ],
)
async def test_azure_has_a_path_a_version_and_a_header_of_its_own(tmp_path, environ, tail, path):
    agent = {"provider": "azure-openai", "baseURL": "{root}" + tail}
    request = await sent(tmp_path, agent, environ={**AZURE, **environ})
    assert request.path == path
    assert request.headers["api-key"] == "k-1"
    assert "authorization" not in request.headers
    assert request.body["model"] == "m"


def test_azure_is_nowhere_until_somebody_says_where(tmp_path):
    run = run_file({"a": {"model": "m", "provider": "azure-openai"}})
    error = refused(run, tmp_path, world(**AZURE))
    assert error.code == "LLM_ADDRESS_MISSING"
    assert "AZURE_OPENAI_ENDPOINT" in one_line(error.code, error.facts)


async def test_a_named_azure_resource(tmp_path):
    entry = {"type": "azure-openai", "baseURL": "{root}", "keyEnv": "MINE"}
    more = {"providers": {"work": {**entry, "apiVersion": "2025-01-01", "deployment": "d"}}}
    request = await sent(tmp_path, {"provider": "work"}, environ={"MINE": "k-2"}, **more)
    assert request.path == "/openai/deployments/d/chat/completions?api-version=2025-01-01"
    assert request.headers["api-key"] == "k-2"


def test_what_only_azure_has_is_refused_elsewhere():
    with pytest.raises(InvalidInput):
        run_file({"a": {"model": "m"}}, providers={"x": {"type": "openai", "deployment": "d"}})


@pytest.mark.parametrize("name", ["bedrock", "copilot"])
def test_other_protocols_are_refused_by_name(tmp_path, name):
    error = refused(run_file({"a": {"model": "m", "provider": name}}), tmp_path, world())
    assert isinstance(error, NotAllowed)
    assert name in one_line(error.code, error.facts)


async def test_thinking_of_a_named_entry_that_speaks_messages(tmp_path):
    """`thinking` goes by the protocol, not by the name (engine.md 8.4)."""
    thinking = {"enabled": True, "budgetTokens": 2048, "effort": "high"}
    async with Loopback([MESSAGE]) as server:
        entry = {"type": "anthropic", "baseURL": f"http://127.0.0.1:{server.port}"}
        made = wired(
            tmp_path, {"provider": "mine", "thinking": thinking}, providers={"mine": entry}
        )
        (config,) = made.team.config.agents
        wish = replace(HELLO, thinking=config.thinking, extra_body=config.extra_body)
        adapter = made.team.adapter_for(config)
        assert [event async for event in adapter.stream(wish, CancelToken())]
        await made.close()
        body = server.requests[0].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "reasoning_effort" not in body


WHOLE_CHAT = {
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
WHOLE_MESSAGE = {
    "type": "message",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 3},
}


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
@pytest.mark.parametrize(
    ("protocol", "document"), [("openai", WHOLE_CHAT), ("anthropic", WHOLE_MESSAGE)]
)
async def test_a_server_that_cannot_stream_is_asked_for_whole_answers(
    tmp_path, protocol, document, kind
):
    whole = Answer(json.dumps(document).encode(), headers={"Content-Type": kind})
    entry = {"type": protocol, "baseURL": "{root}/v1", "stream": False}
    request = await sent(tmp_path, {"provider": "slow"}, answer=whole, providers={"slow": entry})
    assert request.body["stream"] is False
    assert "stream_options" not in request.body


@pytest.mark.parametrize(
    ("name", "entry", "echoed"),
    [
        ("deepseek", {}, True),
        ("moonshot", {}, True),
        ("deepseek", {"echoReasoning": False}, False),
        ("mine", {"echoReasoning": True}, True),
        ("mine", {}, False),
    ],
)
async def test_reasoning_goes_back_in_rounds_of_calls_where_it_is_wanted(
    tmp_path, name, entry, echoed
):
    async with Loopback([turn(text="ok")]) as server:
        at = {"type": "openai", "baseURL": server.base_url, "keyEnv": "K", **entry}
        made = wired(tmp_path, {"provider": name}, providers={name: at}, environ={"K": "k"})
        adapter = made.team.adapter_for(made.team.config.agents[0])
        call = {"type": "tool_use", "id": "c", "name": "n", "input": {}}
        thought = {"type": "reasoning", "text": "hm", "provenance": name}
        result = {"type": "tool_result", "tool_use_id": "c", "content": "ok"}
        history = [
            *HELLO.messages,
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]},
        ]
        request = replace(HELLO, messages=history)
        assert [event async for event in adapter.stream(request, CancelToken())]
        await made.close()
        said = server.requests[0].body["messages"][1]
    assert said.get("reasoning_content") == ("hm" if echoed else None)
