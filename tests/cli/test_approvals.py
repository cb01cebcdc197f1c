"""Deciding from the command line, then resuming (formats.md 3.5, 3.6; case s02)."""

import json
import os

import pytest

from tests.cli.conftest import CASES, GOLDEN

ID = "apr_e0027f3fccb0e2632fede1175520406d"
HASH = "c3e9190d6ed5983725080ae55095fd856136a3d0547b000db6d61be640ceeb67"
DECIDE = (ID, "--hash", HASH, "--reviewer", "reviewer-1")


@pytest.fixture
def suspended(golden):
    return golden("c_tool_gate_1_suspended")


def store_of(folder):
    return folder / "checkpoint.json"


def restored(cli, folder, *arguments):
    script = folder / "peer_script.json"
    return cli("restore", "--script", script, "--store", store_of(folder), "--json", *arguments)


def executed(done):
    return [(c["id"], c["name"]) for c in done.json["log"]["toolCallsExecuted"]]


def peer_of(case):
    return json.loads((GOLDEN / case / "expected.json").read_text("utf-8"))


def messages_of(store, title):
    """The conversation of a completed task."""
    entries = json.loads(store.read_text("utf-8"))["entries"]
    value = next(e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/"))
    snapshot = json.loads(value)
    task = next(t for t in snapshot["queue"]["tasks"] if t["title"] == title)
    result = next(r for r in snapshot["completedTaskResults"] if r["taskId"] == task["id"])
    return result["agentResult"]["messages"]


def tool_results(messages):
    return {
        block["tool_use_id"]: block
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def test_the_list_shows_full_content_and_a_hash_recomputed_here(cli, suspended):
    before = store_of(suspended).read_bytes()
    done = cli("approvals", store_of(suspended), "--json")
    assert done.code == 0
    (request,) = done.json["approvals"]
    assert request["id"] == ID
    assert request["requestHash"] == HASH
    assert request["hashMatches"] is True
    assert request["state"] == "pending"
    assert request["reason"] == "Production deploy needs a human."
    assert request["content"]["rawInput"]["labels"]["überschrift"] == "größe 😀"
    assert request["content"]["input"]["replicas"] == 3
    assert request["scope"] == "tool_call"
    assert request["requestedAt"].endswith("Z")
    assert "decision" not in request
    assert store_of(suspended).read_bytes() == before


def test_the_plain_list_has_everything_a_reviewer_needs(cli, suspended):
    done = cli("approvals", store_of(suspended))
    assert done.code == 0
    for text in (ID, HASH, '"replicas": 3', "undecided", "1 request."):
        assert text in done.out


def test_hidden_characters_are_drawn_as_codes(cli, suspended):
    file = store_of(suspended)
    document = json.loads(file.read_text("utf-8"))
    row = next(e for e in document["entries"] if e["key"].startswith("__oma_approval__/"))
    row["value"] = row["value"].replace("billing", "bil\u200bl\u202eing")
    file.write_text(json.dumps(document), "utf-8")
    done = cli("approvals", file)
    assert done.code == 2
    assert "bil<U+200B>l<U+202E>ing" in done.out
    assert "DOES NOT MATCH THE CONTENT" in done.out
    assert ID in done.err
    problem = cli("approvals", file, "--json").json["approvals"][0]["problem"]
    assert problem["code"] == "APPROVAL_INTEGRITY_ERROR"


def test_approve_then_restore_runs_only_the_approved_call(cli, suspended):
    done = cli("approve", store_of(suspended), *DECIDE, "--name", "Ann", "--json")
    assert done.code == 0
    assert done.json["recorded"] is True
    assert done.json["decision"]["decision"] == "approved"
    assert done.json["decision"]["reviewer"] == {"id": "reviewer-1", "displayName": "Ann"}
    assert [p.name for p in suspended.iterdir() if ".lock" in p.name] == []

    done = restored(cli, suspended)
    assert done.code == 0
    assert executed(done) == [("call_deploy_1", "deploy")]
    assert done.json["identity"]["attempt"] == 2
    theirs = peer_of("c_tool_gate_2_approved")["peerRestore"]["result"]
    shas = {r["id"]: r["outputSha256"] for r in theirs["taskResults"]}
    assert {r["id"]: r["outputSha256"] for r in done.json["taskResults"]} == shas
    (after,) = peer_of("c_tool_gate_4_approved_then_restored")["checkpoints"]
    (found,) = cli("inspect", store_of(suspended), "--json").json["checkpoints"]
    for key in ("attempt", "statusCounts", "inFlight", "runId"):
        assert found[key] == after[key]
    spent = after["tokenUsage"]["completedTasks"]
    assert found["tokenUsage"]["completedTasks"]["output_tokens"] == spent["output_tokens"]
    results = tool_results(messages_of(store_of(suspended), "Deploy billing"))
    assert "healthy" in str(results["call_status_1"]["content"])  # the committed sibling, replayed
    assert "revision 77" in str(results["call_deploy_1"]["content"])

    again = restored(cli, suspended)
    assert again.code == 0
    assert executed(again) == []


def test_reject_then_restore_runs_nothing_and_the_model_goes_on(cli, suspended):
    done = cli("reject", store_of(suspended), *DECIDE)
    assert done.code == 0
    assert "rejected" in done.out
    done = restored(cli, suspended)
    assert done.code == 0
    assert executed(done) == []
    assert done.json["approvalDecisions"][0]["decision"] == "rejected"
    (found,) = cli("inspect", store_of(suspended), "--json").json["checkpoints"]
    (after,) = peer_of("c_tool_gate_5_rejected_then_restored")["checkpoints"]
    assert found["statusCounts"] == after["statusCounts"]
    results = tool_results(messages_of(store_of(suspended), "Deploy billing"))
    assert results["call_deploy_1"]["is_error"] is True
    shas = {
        r["id"]: r["outputSha256"]
        for r in peer_of("c_tool_gate_3_rejected")["peerRestore"]["result"]["taskResults"]
    }
    assert {r["id"]: r["outputSha256"] for r in done.json["taskResults"]} == shas


def test_restore_before_deciding_suspends_again_and_runs_nothing(cli, suspended):
    before = store_of(suspended).read_bytes()
    done = restored(cli, suspended)
    assert done.code == 3
    assert executed(done) == []
    assert [p["id"] for p in done.json["pendingApprovals"]] == [ID]
    assert store_of(suspended).read_bytes() == before


def test_the_plan_says_what_is_open_then_what_may_run_twice(cli, suspended):
    # The peer may have died while it ran an approved call: nobody can tell (ux.md C8).
    script = suspended / "peer_script.json"
    arguments = ("restore", "--plan-only", "--json", "--script", script)
    plan = cli(*arguments, "--store", store_of(suspended)).json
    assert [n["approvalId"] for n in plan["needsYou"]] == [ID]
    assert [c["toolCallId"] for c in plan["replayed"]] == ["call_status_1"]
    assert plan["mayRunTwice"] == []
    assert plan["problems"][0]["message"].startswith("Decisions are open in this run: 1.")
    cli("approve", store_of(suspended), *DECIDE)
    before = store_of(suspended).read_bytes()
    plan = cli(*arguments, "--store", store_of(suspended)).json
    assert plan["needsYou"] == []
    (call,) = plan["mayRunTwice"]
    assert call["toolCallId"] == "call_deploy_1"
    assert call["effect"] == "consequential"
    assert call["approvedBy"] == "reviewer-1"
    assert plan["nextAttempt"] == plan["attempt"] + 1 == 2
    assert store_of(suspended).read_bytes() == before


REFUSED = {
    "wrong hash": ((ID, "--hash", "0" * 64, "--reviewer", "r"), "APPROVAL_STALE_DECISION"),
    "upper-case hash": ((ID, "--hash", HASH.upper(), "--reviewer", "r"), "APPROVAL_STALE_DECISION"),
    "unknown id": (("apr_x", "--hash", HASH, "--reviewer", "r"), "APPROVAL_NOT_FOUND"),
    "empty reviewer": ((ID, "--hash", HASH, "--reviewer", " "), "APPROVAL_VALIDATION_ERROR"),
}


@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize("label", REFUSED)
def test_a_refused_decision_is_not_recorded(cli, suspended, label, verb):
    arguments, code = REFUSED[label]
    assert code == next(e["code"] for e in peer_of("c_decide_errors") if e["label"] == label)
    before = store_of(suspended).read_bytes()
    done = cli(verb, store_of(suspended), *arguments, "--json")
    assert done.code == 1
    assert done.error["code"] == code
    assert done.error["message"].startswith(f"{code}: ")
    assert len(done.err.splitlines()) == 1
    assert code in done.err
    assert store_of(suspended).read_bytes() == before


def test_a_reviewer_id_is_trimmed_a_name_is_not(cli, suspended):
    peer = next(e for e in peer_of("c_decide_errors") if e["ok"])
    arguments = (ID, "--hash", HASH, "--reviewer", "  reviewer-9 ", "--name", "  spaced  ")
    done = cli("approve", store_of(suspended), *arguments, "--json")
    assert done.json["decision"]["reviewer"] == peer["reviewer"]


def test_the_first_decision_stands(cli, suspended):
    assert cli("approve", store_of(suspended), *DECIDE).code == 0
    before = store_of(suspended).read_bytes()
    other = cli("reject", store_of(suspended), *DECIDE, "--json")
    assert (other.code, other.error["code"]) == (1, "APPROVAL_CONFLICT")
    stranger = cli("approve", store_of(suspended), ID, "--hash", HASH, "--reviewer", "b", "--json")
    assert (stranger.code, stranger.error["code"]) == (1, "APPROVAL_CONFLICT")
    assert cli("approve", store_of(suspended), *DECIDE).code == 0  # repeating changes nothing (W39)
    assert store_of(suspended).read_bytes() == before


def test_a_tampered_row_cannot_be_decided(cli, tmp_path):
    file = tmp_path / "checkpoint.json"
    file.write_bytes((GOLDEN / "n_corrupt" / "ap-row-content-tampered.json").read_bytes())
    done = cli("approve", file, *DECIDE, "--json")
    assert (done.code, done.error["code"]) == (1, "APPROVAL_INTEGRITY_ERROR")


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_deciding_needs_a_store(cli, tmp_path, name):
    done = cli("approve", tmp_path / name, *DECIDE, "--json")
    assert done.code == 2
    assert done.error["code"] in {"PATH_NOT_FOUND", "PATH_IS_FOLDER"}
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - nothing at all was made


def test_deciding_needs_a_hash_and_a_reviewer(cli, suspended):
    done = cli("approve", store_of(suspended), ID, "--json")
    assert (done.code, done.error["code"]) == (2, "USAGE")
    assert "--hash" in done.error["message"]


@pytest.fixture
def cold(tmp_path):
    """Case s02: a store that a dead process left, and the files of the run."""
    source = CASES / "s02-cold-approval-resume" / "store.json"
    (tmp_path / "checkpoint.json").write_bytes(source.read_bytes())
    script = {
        "agents": [{"name": "researcher"}, {"name": "writer", "tools": ["charge"]}],
        "checkpoint": {"runId": "run-demo-01"},
        "tools": {
            "charge": {
                "consequential": True,
                "schema": {"amount": "number", "currency": "string"},
                "results": {"*": {"data": "charged"}},
            }
        },
        "gates": {"tool": {"charge": "suspend"}},
        "replies": {"Report": [{"text": "not asked again"}, {"text": "the report"}]},
    }
    (tmp_path / "peer_script.json").write_text(json.dumps(script), "utf-8")
    (tmp_path / "effects.jsonl").touch()
    return tmp_path


def effects_in(folder):
    lines = (folder / "effects.jsonl").read_text("utf-8").splitlines()
    return [
        (e["toolCallId"], e["input"]) for e in map(json.loads, lines) if e["event"] == "started"
    ]


def request_of(cli, folder):
    (request,) = cli("approvals", store_of(folder), "--json").json["approvals"]
    return request


def decide(cli, folder, verb):
    request = request_of(cli, folder)
    arguments = (request["id"], "--hash", request["requestHash"], "--reviewer", "ann")
    return cli(verb, store_of(folder), *arguments)


def test_s02_a_fresh_process_lists_the_request_and_waits(cli, cold):
    first = request_of(cli, cold)
    assert first["content"]["input"] == {"amount": 25, "currency": "CNY"}
    assert first["open"] is True
    assert restored(cli, cold).code == 3
    assert effects_in(cold) == []
    assert request_of(cli, cold)["id"] == first["id"]  # no new id for unchanged content


def test_s02_approved_it_charges_exactly_once(cli, cold):
    assert restored(cli, cold).code == 3
    assert decide(cli, cold, "approve").code == 0
    assert restored(cli, cold).code == 0
    assert restored(cli, cold).code == 0
    assert effects_in(cold) == [("call_pay_1", {"amount": 25, "currency": "CNY"})]


def test_s02_rejected_it_never_charges_and_the_model_is_told(cli, cold):
    assert decide(cli, cold, "reject").code == 0
    done = restored(cli, cold)
    assert done.code == 0
    assert effects_in(cold) == []
    assert tool_results(messages_of(store_of(cold), "Report"))["call_pay_1"]["is_error"] is True
    assert done.json["taskResults"][-1]["output"] == "the report"
