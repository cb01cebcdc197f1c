"""Kill -9 at every boundary and at random moments, restore, and compare with what really happened.

The tools write a ground-truth log that is on disk before they go on. After any kill: no call that
the checkpoint had as committed runs again, every call that runs twice was uncommitted in the
checkpoint, and the run ends as if nothing had happened. `OMA_CRASH_ALL=1` tries every point.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork"),
]

ROOT = Path(__file__).parents[2]
EVERY = os.environ.get("OMA_CRASH_ALL") == "1"


def call(name, n, delay=0):
    return {"id": f"{name}-{n}", "name": "work", "input": {"n": n}}


SCRIPT = {
    "team": {"name": "crash", "sharedMemory": "memory"},
    "orchestrator": {"maxConcurrency": 3},
    "agents": [{"name": n, "tools": ["work"]} for n in ("a", "b", "c")],
    "tools": {
        "work": {
            "schema": {"n": "number"},
            "results": {"*": {"data": "did", "delayMs": 3}, "shaky-1": {"throw": "broken"}},
        }
    },
    "replies": {
        "first": [{"tools": [call("first", 1), call("first", 2)]}, {"text": "first ready"}],
        "left": [
            {"tools": [call("left", 1)], "delayMs": 2},
            {"tools": [call("left", 2), call("left", 3)]},
            {"text": "left ready"},
        ],
        "right": [{"tools": [call("right", 1)]}, {"text": "right ready 中文"}],
        "shaky": {
            "attempts": [
                [{"tools": [call("shaky", 1)]}, {"error": {"message": "busy", "status": 503}}],
                [{"tools": [call("shaky", 2)]}, {"text": "shaky ready"}],
            ]
        },
        "join": [{"tools": [call("join", 1)]}, {"text": "all ready"}],
    },
}
TASKS = [
    {"title": "first", "description": "d", "assignee": "a"},
    {"title": "left", "description": "d", "assignee": "a", "dependsOn": ["first"]},
    {"title": "right", "description": "d", "assignee": "b", "dependsOn": ["first"]},
    {"title": "shaky", "description": "d", "assignee": "c", "maxRetries": 3, "retryDelayMs": 2},
    {"title": "join", "description": "d", "assignee": "b",
     "dependsOn": ["left", "right", "shaky"]},
]  # fmt: skip


class Server:
    """The warm process that forks the victims."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("restore_child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def play(self, folder, *, at=None, kill_after_s=None):
        """Run one child to its end; returns its answer, or None when it was killed."""
        (folder / "answer.json").unlink(missing_ok=True)
        job = {"dir": str(folder), "at": at, "kill_after_s": kill_after_s}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        status = json.loads(self.process.stdout.readline())["status"]
        if status == -9:
            return None
        assert status == 0, (folder / "failure.txt").read_text("utf-8")
        return json.loads((folder / "answer.json").read_text("utf-8"))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory):
    """What the run gives when nobody kills it, and how many points it passes."""
    return server.play(place(tmp_path_factory.mktemp("undisturbed")))


def place(folder, script=SCRIPT, tasks=TASKS):
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


def snapshot(folder):
    file = folder / "store.json"
    if not file.exists():
        return None
    entries = json.loads(file.read_text("utf-8"))["entries"]
    return json.loads(next(e["value"] for e in entries if "checkpoint" in e["key"]))


def committed(document):
    """Call ids whose result the checkpoint holds."""
    if document is None:
        return set()
    done = set()
    for entry in document["inFlightTasks"]:
        blocks = [b for m in entry["conversationMessages"] for b in m["content"]]
        done |= {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
        done |= {c["call"]["id"] for c in entry.get("pendingToolCalls", ()) if "commit" in c}
    for result in document["completedTaskResults"]:
        blocks = [b for m in result["agentResult"]["messages"] for b in m["content"]]
        done |= {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
    return done


def started(folder):
    file = folder / "effects.jsonl"
    if not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
    return [line["toolCallId"] for line in lines if line["event"] == "started"]


def outcome(answer):
    document = answer["document"]
    results = {r["id"]: r["output"] for r in document["taskResults"]}
    return sorted((t["title"], t["status"], results.get(t["id"])) for t in document["tasks"])


def check_after_kills(server, folder, undisturbed, kills):
    """Kill as often as asked, then let it end; every attempt is held against the log."""
    for kill in [*kills, {}]:
        before = committed(snapshot(folder))
        ran = len(started(folder))
        answer = server.play(folder, **kill)
        again = set(started(folder)[ran:])
        assert not again & before, f"committed calls ran again: {again & before}"
        if answer is not None:
            break
    assert answer is not None
    assert outcome(answer) == outcome(undisturbed)
    assert snapshot(folder)["omaDesktop"]["end"]["status"] == "ok"
    assert not (folder / "store.json.lock").exists()


def points(undisturbed):
    seen = undisturbed["points"]
    every = [
        (what, n)
        for what in ("before_save", "after_save", "effect")
        for n in range(1, seen[what] + 1)
    ]
    return every if EVERY else random.Random(7).sample(every, 24)


def test_nobody_kills_it(undisturbed):
    assert {title: status for title, status, _ in outcome(undisturbed)} == dict.fromkeys(
        ("first", "left", "right", "shaky", "join"), "completed"
    )
    assert undisturbed["points"]["after_save"] > 20


def test_a_kill_at_any_boundary_repeats_no_committed_call(server, undisturbed, tmp_path):
    for what, n in points(undisturbed):
        folder = tmp_path / f"{what}-{n}"
        folder.mkdir()
        place(folder)
        check_after_kills(server, folder, undisturbed, [{"at": [what, n]}])


def test_two_kills_in_a_row(server, undisturbed, tmp_path):
    rnd = random.Random(11)
    for turn in range(40 if EVERY else 8):
        folder = tmp_path / str(turn)
        folder.mkdir()
        place(folder)
        kills = [{"at": [rnd.choice(["before_save", "after_save", "effect"]), n]}
                 for n in (rnd.randint(2, 18), rnd.randint(1, 8), rnd.randint(1, 5))]  # fmt: skip
        check_after_kills(server, folder, undisturbed, kills)


def test_kills_at_random_moments(server, undisturbed, tmp_path):
    rnd = random.Random()
    for turn in range(60 if EVERY else 8):
        folder = tmp_path / str(turn)
        folder.mkdir()
        place(folder)
        kills = [{"kill_after_s": rnd.uniform(0.01, 0.15)} for _ in range(2)]
        check_after_kills(server, folder, undisturbed, kills)
