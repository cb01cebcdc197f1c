"""`checkpoint.redact`: no secret on disk, runs that come back, gates that fail closed (i1-i5)."""

import json

import pytest

from tests.cli.conftest import GOLDEN
from tests.cli.files import tasks, trial, write

KEY = "sk-FAKE0123456789fakeABCD"
SECRETS = (KEY, "hunter2", "it''s", "EMP-12345", "MIIEsecret")
LEAKY = [
    {
        "text": f"password='it''s hunter2' {KEY}",
        "tools": [
            {"id": "call_A", "name": "act", "input": {"n": 1, "session": "hunter2", "x": KEY}}
        ],
    },
    {"text": 'token="hunter2\n-----BEGIN PRIVATE KEY-----\nMIIEsecret EMP-12345'},
]


def run_file(folder, *titles, redact, gate=None, **replies):
    """A run file with a redacted checkpoint and a script beside it."""
    arguments = trial(folder, *titles, gate=gate, **replies)
    script = json.loads((folder / "script.json").read_text("utf-8"))
    script["tools"]["act"]["schema"] = {"n": "number", "session": "any?", "x": "any?"}
    write(folder, script=script)
    work = tasks(*titles)
    work[0]["description"] += f" with password={SECRETS[1]}"
    document = {"tasks": work, "checkpoint": {"path": "s.json", "redact": redact}}
    write(folder, tasks=document)
    return arguments


def snapshot(store):
    entries = json.loads(store.read_text("utf-8"))["entries"]
    value = next(e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/"))
    return json.loads(value)


@pytest.mark.parametrize("redact", [True, {"patterns": [r"EMP-\d+"]}])
def test_no_secret_reaches_the_disk_and_the_run_is_told_the_truth(cli, tmp_path, redact):
    done = cli("run", *run_file(tmp_path, "A", redact=redact, A=LEAKY), "--json")
    assert done.code == 0, done.err
    assert "hunter2" in json.dumps(done.json), "the live run has the real values"
    given = {tmp_path / "tasks.json", tmp_path / "script.json"}
    written = {p for p in tmp_path.rglob("*") if p.is_file()} - given
    assert tmp_path / "s.json" in written
    secrets = [s for s in SECRETS if redact is not True or not s.startswith("EMP")]
    assert [s for p in written for s in secrets if s in p.read_text("utf-8")] == []
    saved = snapshot(tmp_path / "s.json")
    assert saved["queue"]["tasks"][0]["status"] == "completed"
    (record,) = saved["completedTaskResults"][0]["agentResult"]["toolCalls"]
    assert record["input"] == {"n": 1, "session": "[redacted]", "x": "[redacted]"}
    assert cli("inspect", tmp_path / "s.json").code == 0


def test_a_redacted_run_is_restored(cli, tmp_path):
    arguments = run_file(tmp_path, "A", redact=True, A=LEAKY)
    assert cli("run", *arguments, "--json").code == 0
    done = cli("restore", "--store", tmp_path / "s.json", "--json")
    assert done.code == 0, done.err
    assert done.json["log"]["toolCallsExecuted"] == []


def test_i5_a_tool_gate_fails_closed_and_leaves_no_request(cli, tmp_path):
    arguments = run_file(tmp_path, "A", redact=True, gate="A")
    done = cli("run", *arguments, "--json")
    assert done.code == 0, done.err
    assert done.json["log"]["toolCallsExecuted"] == []
    text = (tmp_path / "s.json").read_text("utf-8")
    assert "__oma_approval__" not in text
    assert "approvalRequest" not in text
    saved = snapshot(tmp_path / "s.json")
    assert (saved["pendingApprovals"], saved["approvalDecisions"]) == ([], [])


def test_i5_a_dispatch_gate_fails_closed_before_anything_is_pending(cli, tmp_path):
    arguments = run_file(tmp_path, "A", "B", redact=True)
    script = json.loads((tmp_path / "script.json").read_text("utf-8"))
    script["gates"] = {"dispatch": {"A": "suspend", "B": "suspend"}}
    write(tmp_path, script=script)
    done = cli("run", *arguments, "--json")
    assert done.code == 1, done.out
    assert done.json["status"]["code"] == "error"
    assert done.json["log"]["toolCallsExecuted"] == []
    assert done.json["pendingApprovals"] == []
    assert {t["status"] for t in done.json["tasks"]} == {"skipped"}
    assert "APPROVAL_ATOMIC_STORE_REQUIRED" in json.dumps(done.json)
    if (tmp_path / "s.json").exists():
        assert "approvalRequest" not in (tmp_path / "s.json").read_text("utf-8")
    plain = cli("run", *arguments, "--run-id", "again")
    assert "checkpoint.redact" in plain.out + plain.err, "the sentence explains it"


def test_a_pattern_that_is_none_is_refused_before_anything_runs(cli, tmp_path):
    arguments = run_file(tmp_path, "A", redact={"patterns": ["ok", "(unclosed"]})
    done = cli("run", *arguments, "--json")
    assert (done.code, done.error["code"]) == (2, "REDACT_PATTERN_INVALID")
    assert "$.checkpoint.redact.patterns[1]" in json.dumps(done.error)
    assert not (tmp_path / "s.json").exists()


class TestMaskedInput:
    """A saved call whose input is masked never acts by itself (issue 3, point 4)."""

    @pytest.fixture
    def store(self, tmp_path):
        """A run of the peer, killed while `ship_eta` was asked for; its input is masked."""
        store = tmp_path / "s.json"
        text = (GOLDEN / "a_midrun_dag6" / "checkpoint.json").read_text("utf-8")
        document = json.loads(text)
        for entry in document["entries"]:
            if entry["key"].startswith("__oma_checkpoint__/"):
                value = json.loads(entry["value"])
                for running in value["inFlightTasks"]:
                    for pending in running.get("pendingToolCalls", ()):
                        if "commit" not in pending:
                            pending["call"]["input"]["vessel"] = "[redacted]"
                entry["value"] = json.dumps(value)
        store.write_text(json.dumps(document), "utf-8")
        return store

    SCRIPT = ("--script", GOLDEN / "a_midrun_dag6" / "peer_script.json")

    def test_the_plan_names_it(self, cli, store):
        plan = cli("restore", "--store", store, *self.SCRIPT, "--plan-only", "--json").json
        (call,) = plan["mayRunTwice"]
        assert (call["toolCallId"], call["masked"]) == ("call_eta_01", True)
        codes = [p["code"] for p in plan["problems"]]
        assert codes == ["RESUME_VALUES_MASKED", "RESUME_INPUT_MASKED"]
        plain = cli("restore", "--store", store, *self.SCRIPT, "--plan-only").out
        assert "The input of the call “ship_eta”" in plain

    def test_a_restore_without_a_person_tells_the_model_instead(self, cli, store):
        done = cli("restore", "--store", store, *self.SCRIPT, "--json")
        assert "call_eta_01" not in {c["id"] for c in done.json["log"]["toolCallsExecuted"]}
        events = done.json["log"]["notableEvents"]
        assert "RESUME_INPUT_MASKED" in {e.get("code") for e in events}
        assert "masked on disk" in store.read_text("utf-8")

    def test_the_run_file_may_say_otherwise(self, cli, store, tmp_path):
        work = [{"title": "any", "description": "any"}]
        write(tmp_path, run={"tasks": work, "checkpoint": {"maskedInputs": "run"}})
        arguments = ("restore", tmp_path / "run.json", "--store", store, *self.SCRIPT, "--json")
        done = cli(*arguments)
        assert "call_eta_01" in {c["id"] for c in done.json["log"]["toolCallsExecuted"]}
