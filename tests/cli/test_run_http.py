"""`run` against a server on loopback that speaks OpenAI streaming."""

import asyncio
import json
import sys

from tests.cli.conftest import ROOT, Done, environment
from tests.cli.files import script, tasks, write
from tests.core.engine.llm.loopback import Answer, Loopback, turn

KEY = "not-a-real-key"


def run_file(server):
    return {
        "team": {
            "name": "net",
            "agents": [{"name": "worker", "model": "m", "provider": "local", "tools": ["act"]}],
        },
        "tasks": tasks("A"),
        "providers": {
            "local": {"type": "openai", "baseURL": server.base_url, "keyEnv": "TRIAL_KEY"},
            "bench": {"type": "scripted", "script": "script.json"},
        },
        "checkpoint": {"path": "c.json", "runId": "r"},
    }


async def program(*arguments, **extra):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "oma_desktop", *map(str, arguments)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(**extra),
        cwd=ROOT,
    )
    out, err = await process.communicate()
    assert b"Traceback" not in err
    return Done(process.returncode, out.decode(), err.decode())


async def test_a_run_with_tool_calls_completes(tmp_path):
    calls = [("c1", "act", {"n": 1}), ("c2", "act", {"n": 2})]
    answers = [turn(text="I act.", tools=calls), turn(text="all is done 完成", usage=(20, 5))]
    async with Loopback(answers) as server:
        write(tmp_path, run=run_file(server), script=script("A"))
        done = await program("run", tmp_path / "run.json", "--json", TRIAL_KEY=KEY)
    assert done.code == 0
    assert done.json["taskResults"][0]["output"] == "all is done 完成"
    assert sorted(c["id"] for c in done.json["log"]["toolCallsExecuted"]) == ["c1", "c2"]
    assert done.json["totalTokenUsage"] == {"input_tokens": 27, "output_tokens": 8}
    assert [r.headers["authorization"] for r in server.requests] == [f"Bearer {KEY}"] * 2
    told = [m for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert [(m["tool_call_id"], m["content"]) for m in told] == [("c1", "acted"), ("c2", "acted")]
    assert f"model calls go to {server.base_url}" in done.err
    assert KEY not in done.out + done.err + (tmp_path / "c.json").read_text("utf-8")


async def test_a_missing_key_is_found_before_anything_runs(tmp_path):
    async with Loopback([]) as server:
        write(tmp_path, run=run_file(server), script=script("A"))
        done = await program("run", tmp_path / "run.json", "--json", TRIAL_KEY="")
    assert done.code == 2
    assert "TRIAL_KEY" in json.dumps(done.error)
    assert server.requests == []
    assert not (tmp_path / "c.json").exists()


async def test_a_refusing_server_fails_the_task_with_its_words(tmp_path):
    refusal = Answer(b'{"error": {"message": "no such model"}}', status=404, headers={})
    async with Loopback([refusal]) as server:
        write(tmp_path, run=run_file(server), script=script("A"))
        done = await program("run", tmp_path / "run.json", TRIAL_KEY=KEY)
    assert done.code == 1
    assert "no such model" in done.out


async def test_a_goal_is_planned_and_answered_over_the_wire(tmp_path):
    plan = json.dumps([{"title": "A", "description": "Do A.", "assignee": "worker"}])
    answers = [turn(text=f"Here:\n```json\n{plan}\n```"), turn(text="A is done"), turn(text="So.")]
    async with Loopback(answers) as server:
        document = {**run_file(server), "goal": "First do A, then say so"}
        del document["tasks"]
        write(tmp_path, run=document, script=script("A"))
        done = await program("run", tmp_path / "run.json", "--json", TRIAL_KEY=KEY)
    assert done.code == 0
    assert done.json["finalAnswer"] == "So."
    asked, worked, summed = (r.body["messages"] for r in server.requests)
    assert '"name":"worker"' in asked[0]["content"], "the coordinator knows the team"
    assert "First do A, then say so" in asked[1]["content"]
    assert "Do A." in worked[-1]["content"]
    assert "A is done" in summed[-1]["content"]


async def test_a_proxy_is_named_before_the_first_call(tmp_path):
    async with Loopback([turn(text="done")]) as proxy:
        document = run_file(proxy)
        document["providers"]["local"]["baseURL"] = "http://model.example/v1"
        write(tmp_path, run=document, script=script("A"))
        address = f"http://me:pass-word@127.0.0.1:{proxy.port}"
        more = {"http_proxy": address, "no_proxy": ""}
        done = await program("run", tmp_path / "run.json", TRIAL_KEY=KEY, **more)
    assert f"http://model.example/v1 through the proxy http://127.0.0.1:{proxy.port}" in done.err
    assert "pass-word" not in done.out + done.err
