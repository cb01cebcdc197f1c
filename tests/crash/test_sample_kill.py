"""Kill -9 during the sample at random moments: the next restore finishes it, and told the truth.

The sample's tools append to `effects.jsonl`, on disk before and after they act. After every kill:
no call that the checkpoint held as committed ran again, and every call that began and was not
committed was listed under "may run twice" by the plan shown before anything ran.

The moments are random: `OMA_CRASH_SEED` (printed) repeats them.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from oma_desktop.cli.main import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9"),
]

ROOT = Path(__file__).parents[2]
KILLS = 20
AT_ONCE = 2
SPEED = "0.015"
SEED = int(os.environ.get("OMA_CRASH_SEED", "20260105"))
CALLS = 15
"""Tool calls of one whole play."""


def start_sample(folder):
    """Start a play of its own; returns when its first task has begun."""
    process = subprocess.Popen(
        [sys.executable, "-m", "oma_desktop", "demo", "--headless", "--store", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMA_DESKTOP_LANG": "en",
            "OMA_DESKTOP_SAMPLE_SPEED": SPEED,
        },
    )
    for line in process.stderr:
        if line.startswith("start"):
            return process
    raise AssertionError(f"the sample did not begin: exit {process.wait()}")


def duration_of_a_play(folder):
    process = start_sample(folder)
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return time.monotonic() - began


@dataclass(frozen=True)
class Killed:
    """What a kill left: the folder, after how many seconds it came, how many calls had begun."""

    folder: Path
    moment: float
    begun: int
    survived: bool


def killed_after(folder, moment):
    process = start_sample(folder)
    try:
        process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    begun = effects(folder).total()
    return Killed(folder, moment, begun, survived=process.returncode == 0)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Twenty folders of killed plays."""
    folder = tmp_path_factory.mktemp("sample-kills")
    whole = duration_of_a_play(folder / "whole")
    rng = random.Random(SEED)
    moments = [rng.uniform(0, whole) for _ in range(KILLS)]
    print(f"OMA_CRASH_SEED={SEED}, a play lasts {whole:.2f} s, moments {sorted(moments)}")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        places = [folder / str(n) for n in range(KILLS)]
        return list(pool.map(killed_after, places, moments))


@pytest.fixture
def cli(capsys, monkeypatch):
    monkeypatch.setenv("OMA_DESKTOP_LANG", "en")
    monkeypatch.setenv("OMA_DESKTOP_SAMPLE_SPEED", "0")

    def call(*arguments):
        capsys.readouterr()
        code = run([str(a) for a in (*arguments, "--json")])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, json.loads(out)

    return call


def effects(folder):
    """How often each call really began."""
    lines = (folder / "effects.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return Counter(e["toolCallId"] for e in events if e["event"] == "started")


def committed(store):
    """The calls whose results the checkpoint holds."""
    entries = json.loads(store.read_text("utf-8"))["entries"]
    value = next(e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/"))
    snapshot = json.loads(value)
    found = set()
    for entry in snapshot.get("inFlightTasks", []):
        found |= results_in(entry["conversationMessages"])
        found |= {
            pending["call"]["id"] for pending in entry.get("pendingToolCalls", ())
            if "commit" in pending
        }  # fmt: skip
    for result in snapshot["completedTaskResults"]:
        found |= results_in(result["agentResult"]["messages"])
    return found


def results_in(messages):
    return {
        block["tool_use_id"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def decide_all(cli, store):
    """Approve what is open, as a person would from another process."""
    _, document = cli("approvals", store)
    for request in document["approvals"]:
        if request["state"] == "pending":
            hash_ = request["requestHash"]
            arguments = (request["id"], "--hash", hash_, "--reviewer", "tester")
            assert cli("approve", store, *arguments)[0] == 0


def finish(cli, store):
    """Restore to the end; returns the last document."""
    for _ in range(3):
        code, document = cli("restore", "--store", store)
        if code != 3:
            return code, document
        decide_all(cli, store)
    raise AssertionError("the run does not end")


@pytest.mark.parametrize("n", range(KILLS))
def test_a_killed_sample_is_finished_and_the_plan_told_the_truth(cli, killed, n):
    play = killed[n]
    store = play.folder / "checkpoint.json"
    before = effects(play.folder)
    if not store.exists():
        assert before == {}, "something ran before the run was saved"
        code, document = cli("demo", "--headless", "--fast", "--store", play.folder)
    else:
        saved = store.read_bytes()
        safe = committed(store)
        code, plan = cli("restore", "--store", store, "--plan-only")
        assert code == 0
        assert store.read_bytes() == saved
        twice = {call["toolCallId"] for call in plan["mayRunTwice"]}
        assert set(before) - safe <= twice, "a call began, may run again, and was not listed"
        assert safe.isdisjoint(twice)
        assert all(call["effect"] != "unknown" for call in plan["mayRunTwice"])

        code, document = finish(cli, store)
        after = effects(play.folder)
        again = {call for call in after if after[call] > before[call]}
        assert again.isdisjoint(safe), "a committed call ran again"
        assert {call for call in after if after[call] > 1} <= twice
    assert code == 0
    assert [t["status"] for t in document["tasks"]] == ["completed"] * 12
    assert len(effects(play.folder)) == CALLS


def test_the_moments_met_the_run_at_work(killed):
    """Kills that all came too late, or all too early, would prove nothing."""
    met = [play for play in killed if not play.survived]
    assert len(met) >= KILLS // 2
    assert len({play.begun for play in met}) > 3
