"""`check --connect`: one small question per model, said in one line each."""

from tests.cli.files import write
from tests.cli.test_run_http import KEY, program
from tests.core.engine.llm.loopback import Answer, Loopback, turn
from tests.core.engine.llm.test_anthropic_adapter import end, start, text

MESSAGE = Answer((start() + text(0, "OK") + end()).encode())


def run_file(server, *agents, **more):
    return {
        "team": {"name": "net", "agents": list(agents)},
        "tasks": [{"title": "A", "description": "Do A."}],
        "providers": {
            "chat": {"type": "openai", "baseURL": server.base_url, "keyEnv": "TRIAL_KEY"},
            "messages": {"type": "anthropic", "baseURL": server.base_url, "keyEnv": "TRIAL_KEY"},
            "bench": {"type": "scripted", "script": "script.json"},
        },
        **more,
    }


async def check(folder, document, *arguments, **extra):
    write(folder, run=document)
    done = await program(
        "check", folder / "run.json", "--connect", *arguments, TRIAL_KEY=KEY, **extra
    )
    assert KEY not in done.out + done.err
    return done


async def test_both_protocols_answer(tmp_path):
    async with Loopback([turn(text="OK"), MESSAGE]) as server:
        agents = [
            {"name": "a", "model": "m1", "provider": "chat"},
            {"name": "b", "model": "m1", "provider": "chat"},
            {"name": "c", "model": "m2", "provider": "messages"},
            {"name": "d", "model": "m3", "provider": "bench"},
        ]
        done = await check(tmp_path, run_file(server, *agents), "--json")
        requests = server.requests
    assert done.code == 0
    assert done.json["ok"] is True
    first, second = done.json["connections"]
    assert (first["agents"], first["model"], first["ok"]) == (["a", "b"], "m1", True)
    assert (second["agents"], second["model"], second["ok"]) == (["c"], "m2", True)
    assert first["address"] == server.base_url
    assert first["proxy"] is None
    assert 0 <= first["latencyMs"] < 30_000
    assert [len(r.body["messages"]) for r in requests] == [1, 1]
    assert not any("tools" in r.body for r in requests)
    assert not (tmp_path / ".oma").exists(), "nothing ran"


async def test_a_person_reads_one_line_per_model(tmp_path):
    async with Loopback([turn(text="OK")]) as server:
        agent = {"name": "a", "model": "m1", "provider": "chat"}
        done = await check(tmp_path, run_file(server, agent))
        assert f"ok   m1 at {server.base_url}: answered in " in done.out


async def test_a_failure_is_asked_once_and_said_in_a_sentence(tmp_path):
    refusal = Answer(b'{"error": {"message": "slow down, ' + KEY.encode() + b'"}}', status=429)
    async with Loopback([refusal] * 3) as server:
        agent = {"name": "a", "model": "m1", "provider": "chat"}
        done = await check(tmp_path, run_file(server, agent), "--json")
        assert len(server.requests) == 1
    (one,) = done.json["connections"]
    assert (done.code, done.json["ok"], one["ok"]) == (1, False, False)
    assert one["error"]["code"] == "LLM_RATE_LIMITED"
    assert "slow down" in one["error"]["message"]


async def test_one_bad_model_does_not_hide_the_others(tmp_path):
    async with Loopback([]) as gone:
        pass
    async with Loopback([turn(text="OK")]) as server:
        agents = [
            {"name": "a", "model": "m", "provider": "chat", "baseURL": gone.base_url},
            {"name": "b", "model": "m", "provider": "groq"},
            {"name": "c", "model": "m", "provider": "chat"},
        ]
        done = await check(tmp_path, run_file(server, *agents), "--json", GROQ_API_KEY="")
    codes = [one.get("error", {}).get("code") for one in done.json["connections"]]
    assert codes == ["LLM_CONNECTION_REFUSED", "LLM_KEY_MISSING", None]
    assert done.code == 1


async def test_the_egress_policy_is_obeyed(tmp_path):
    async with Loopback([turn(text="OK")]) as server:
        policy = {"mode": "allowlist", "allowedOrigins": ["https://elsewhere.example"]}
        agent = {"name": "a", "model": "m", "provider": "chat"}
        document = run_file(server, agent, orchestrator={"egressPolicy": policy})
        done = await check(tmp_path, document, "--json")
        assert server.requests == []
    assert done.json["connections"][0]["error"]["code"] == "EGRESS_POLICY_DENIED"


async def test_the_proxy_is_named_without_its_password(tmp_path):
    async with Loopback([turn(text="OK")]) as proxy:
        agent = {
            "name": "a",
            "model": "m",
            "provider": "chat",
            "baseURL": "http://model.example/v1",
        }
        done = await check(
            tmp_path,
            run_file(proxy, agent),
            http_proxy=f"http://me:pass-word@127.0.0.1:{proxy.port}",
            no_proxy="",
        )
        assert proxy.requests[0].path == "http://model.example/v1/chat/completions"
    assert f"through the proxy http://127.0.0.1:{proxy.port}: answered" in done.out
    assert "pass-word" not in done.out + done.err


async def test_only_scripted_models(tmp_path):
    async with Loopback([]) as server:
        agent = {"name": "a", "model": "m", "provider": "bench"}
        done = await check(tmp_path, run_file(server, agent))
        assert server.requests == []
    assert done.code == 0
    assert "No model of this file is reached over a network." in done.out


async def test_a_file_that_is_wrong_is_not_tried(tmp_path):
    async with Loopback([]) as server:
        document = {**run_file(server, {"name": "a", "provider": "chat"}), "tsaks": []}
        done = await check(tmp_path, document, "--json")
    assert done.code == 1
    assert "connections" not in done.json
