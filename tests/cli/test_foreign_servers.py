"""Whole runs against model servers nobody here wrote, in both protocols.

`llmock` breaks streams on demand and judges its client; `aimock` is strict about what it is sent.
"""

import json
import shutil
from contextlib import contextmanager

import pytest

from tests.cli.files import write
from tests.foreign import AIMock, LLMock
from tests.servers import server_folder

WIRES = ["openai", "anthropic"]
LLMOCK = [pytest.mark.foreign("llmock"), pytest.mark.slow]
AIMOCK = [pytest.mark.foreign("aimock"), pytest.mark.slow]


@contextmanager
def running(kind, *given):
    """A server with a folder of its own."""
    folder = server_folder("foreign")
    server = kind(folder, *given)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def llmock():
    with running(LLMock) as server:
        yield server


@pytest.fixture
def desk(tmp_path, cli, monkeypatch):
    """Runs one agent with file tools against a server; returns what the program printed."""
    monkeypatch.setenv("TRIAL_KEY", "not-a-real-key")
    work = tmp_path / "work"
    work.mkdir()
    (work / "ports.txt").write_text("443 is https\n", "utf-8")
    (work / "more.txt").write_text("22 is ssh\n", "utf-8")

    def run(server, wire, *, tasks=None, streams=True, **agent):
        document = {
            "team": {
                "name": "foreign",
                "agents": [
                    {
                        "name": "reader",
                        "model": "claude-sonnet-4-6" if wire == "anthropic" else "gpt-4o",
                        "provider": "there",
                        "tools": ["glob", "file_read"],
                        **agent,
                    }
                ],
            },
            "tasks": tasks or [{"title": "Ports", "description": "Read about ports"}],
            "providers": {
                "there": {
                    "type": wire,
                    "baseURL": server.bases[wire],
                    "keyEnv": "TRIAL_KEY",
                    "stream": streams,
                }
            },
            "cwd": str(work),
            "checkpoint": {"path": "c.json", "runId": "r"},
        }
        write(tmp_path, run=document)
        done = cli("run", tmp_path / "run.json", "--json")
        assert "not-a-real-key" not in done.out + done.err
        return done

    run.work = work
    return run


def calls(*named):
    return {
        "type": "reply",
        "tool_calls": [{"name": name, "arguments": given} for name, given in named],
    }


def executed(done):
    return [call["name"] for call in done.json["log"]["toolCallsExecuted"]]


def codes(server):
    return [finding["code"] for finding in server.verdict["findings"]]


@pytest.mark.parametrize("wire", WIRES)
class TestLLMock:
    pytestmark = LLMOCK

    def test_a_run_of_several_turns_past_limits_and_an_overload(self, desk, llmock, wire):
        work = desk.work
        reads = [("file_read", {"path": str(work / n)}) for n in ("ports.txt", "more.txt")]
        llmock.script(
            {"type": "fail", "status": 429, "retry_after": 1},
            calls(("glob", {"pattern": "*.txt", "path": str(work)})),
            calls(*reads),
            {"type": "reply", "text": "443 is https, 22 is ssh"},
        )
        done = desk(llmock, wire)
        assert done.code == 0
        assert executed(done) == ["glob", "file_read", "file_read"]
        assert done.json["taskResults"][0]["output"] == "443 is https, 22 is ssh"
        assert done.json["totalTokenUsage"]["input_tokens"] > 0
        assert done.json["totalTokenUsage"]["output_tokens"] > 0
        assert codes(llmock) == []
        assert len(llmock.fetch("/_llmock/requests")["requests"]) == 4

    @pytest.mark.parametrize("status", [503, 529])
    def test_a_failing_service_is_asked_again(self, desk, llmock, wire, status):
        llmock.script(
            {"type": "fail", "status": status, "times": 2}, {"type": "reply", "text": "at last"}
        )
        done = desk(llmock, wire)
        assert done.json["taskResults"][0]["output"] == "at last"
        assert codes(llmock) == []

    @pytest.mark.parametrize("status", [400, 401, 422])
    def test_a_refusal_is_not_repeated(self, desk, llmock, wire, status):
        llmock.script({"type": "fail", "status": status, "times": None})
        done = desk(llmock, wire)
        assert done.code == 1
        assert codes(llmock) == []
        assert len(llmock.fetch("/_llmock/requests")["requests"]) == 1

    @pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
    def test_half_a_call_is_no_call(self, desk, llmock, wire, fault):
        """The stream breaks inside the answer: nothing runs, the task is tried again whole."""
        read = calls(("file_read", {"path": str(desk.work / "ports.txt")}))
        llmock.script(
            read,
            {"type": "stream_fault", "kind": fault, "after_chunks": 2},
            read,
            {"type": "reply", "text": "443"},
        )
        task = {"title": "Ports", "description": "Read", "maxRetries": 1, "retryDelayMs": 1}
        done = desk(llmock, wire, tasks=[task])
        assert done.code == 0
        assert executed(done) == ["file_read"]
        assert done.json["taskResults"][0]["output"] == "443"
        assert not {"truncated_stream_accepted", "malformed_chunk_ignored"} & set(codes(llmock))

    @pytest.mark.parametrize("fault", ["malformed_arguments", "unknown_tool"])
    def test_a_call_that_cannot_run_is_answered(self, desk, llmock, wire, fault):
        llmock.script({"type": "tool_fault", "kind": fault})
        done = desk(llmock, wire)
        assert done.code == 0
        assert executed(done) == []
        assert codes(llmock) == []


@pytest.mark.foreign("llmock")
@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_run_in_the_weather_of_llmock(desk, wire):
    """Random faults by its own flags: whatever they hit, the client behaves."""

    rates = ["--error-rate", "429=0.1", "--error-rate", "503=0.1", "--stream-fault", "truncate=0.1"]
    tasks = [
        {"title": f"T{n}", "description": f"Say {n}", "maxRetries": 5, "retryDelayMs": 1}
        for n in range(12)
    ]
    with running(LLMock, *rates, "--tool-mode", "off") as server:
        done = desk(server, wire, tasks=tasks)
        assert [f for f in server.verdict["findings"] if f["severity"] == "error"] == []
        assert all(r["output"] for r in done.json["taskResults"])


def aimock_answers(work):
    """Three turns told apart by how many were said before; the first thinks."""
    read = {"name": "file_read", "arguments": json.dumps({"path": str(work / "ports.txt")})}
    look = {"name": "glob", "arguments": json.dumps({"pattern": "*.txt", "path": str(work)})}
    more = {"name": "file_read", "arguments": json.dumps({"path": str(work / "more.txt")})}
    first = {
        "toolCalls": [look],
        "reasoning": "I should look first 先看",
        "reasoningSignature": "c2lnbmVk+/==",
    }
    second = {"toolCalls": [read, more], "redactedThinking": ["b3BhcXVl"]}
    third = {"content": "443 is https, 22 is ssh"}
    counted = {"prompt_tokens": 11, "completion_tokens": 5, "input_tokens": 11, "output_tokens": 5}
    return [
        {"match": {"turnIndex": turn}, "response": {**response, "usage": counted}}
        for turn, response in enumerate((first, second, third))
    ]


@pytest.mark.foreign("aimock")
@pytest.mark.slow
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("wire", [*WIRES, "azure-openai"])
def test_a_run_of_several_turns_on_aimock(desk, wire, streams):
    more = {}
    if wire == "anthropic":
        more = {"thinking": {"enabled": True, "budgetTokens": 1024}, "maxTokens": 4096}
    with running(AIMock, aimock_answers(desk.work), "-c", "3") as server:
        done = desk(server, wire, streams=streams, **more)
        asked = server.asked
    assert done.code == 0
    assert executed(done) == ["glob", "file_read", "file_read"]
    assert done.json["taskResults"][0]["output"] == "443 is https, 22 is ssh"
    assert done.json["totalTokenUsage"] == {"input_tokens": 33, "output_tokens": 15}
    assert [entry["response"]["status"] for entry in asked] == [200, 200, 200]
