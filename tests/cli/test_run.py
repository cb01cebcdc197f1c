"""`run`: where a run is kept, what is refused, what is printed (product.md 5 to 7; case s41)."""

import json
import shlex

import pytest

from oma_desktop.model.errors import WriteFailed
from oma_desktop.store import filestore
from oma_desktop.store.atomic import write_atomic
from tests.cli.conftest import CASES
from tests.cli.files import script, tasks, trial, write

PEER_KEYS = {
    *("success", "status", "identity", "goal", "planOnly", "tasks", "taskResults"),
    *("totalTokenUsage", "pendingApprovals", "approvalDecisions", "planRevisions", "flags"),
    *("coordinatorOutput", "metrics", "log"),
}


def snapshot(store):
    entries = json.loads(store.read_text("utf-8"))["entries"]
    value = next(e["value"] for e in entries if e["key"].startswith("__oma_checkpoint__/"))
    return json.loads(value)


def files_in(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_run_goes_to_its_end_and_prints_the_document(cli, tmp_path):
    done = cli("run", *trial(tmp_path, "A", "B"), "--json")
    assert done.code == 0
    assert done.json.keys() >= PEER_KEYS
    assert done.json["success"] is True
    assert {t["title"]: t["status"] for t in done.json["tasks"]} == {
        "A": "completed",
        "B": "completed",
    }
    log = done.json["log"]
    assert {c["id"] for c in log["toolCallsExecuted"]} == {"call_A", "call_B"}
    assert "worker | A | turn 1" in log["modelCalls"]


def test_the_default_place_is_beside_the_run_file(cli, tmp_path):
    done = cli("run", *trial(tmp_path, "A"), "--json")
    identity = done.json["identity"]["runId"]
    store = tmp_path / ".oma" / "trial" / identity / "checkpoint.json"
    assert store.is_file()
    assert f"store: {store}" in done.err
    assert identity.startswith("trial-")
    assert len(identity) == len("trial-20260105-080000-0123")
    assert snapshot(store)["omaDesktop"]["end"]["status"] == "ok"


def test_plain_output_is_a_summary(cli, tmp_path):
    done = cli("run", *trial(tmp_path, "A"), "--run-id", "r")
    assert done.out.splitlines() == [
        "  done         A  [worker]",
        "run r, attempt 1: finished",
        "",
        "A:",
        "  A is done",
    ]


def test_a_failed_run_says_why(cli, tmp_path):
    broken = [{"error": {"message": "quota used up", "status": 400}}]
    arguments = trial(tmp_path, "A", A=broken)
    done = cli("run", *arguments, "--run-id", "r", "--json")
    assert done.code == 1
    assert done.json["tasks"][0]["status"] == "failed"
    assert "quota used up" in done.json["tasks"][0]["reason"]
    plain = cli("run", *arguments, "--run-id", "s")
    assert plain.code == 1
    assert "quota used up" in plain.out


def test_a_suspended_run_says_how_to_go_on(cli, tmp_path):
    done = cli("run", *trial(tmp_path, "A", gate="A"), "--run-id", "r")
    assert done.code == 3
    assert "waiting for a decision: tool_call apr_" in done.out
    assert "oma-desktop restore --store" in done.err


def test_what_a_suspended_run_says_can_be_pasted_whatever_its_path(cli, tmp_path):
    folder = tmp_path / "it's 我的 runs; $HOME"
    store = folder / "checkpoint.json"
    done = cli("run", *trial(folder, "A", gate="A"), "--store", store)
    command = done.err.splitlines()[-1].removeprefix("Go on with: oma-desktop ")
    assert shlex.split(command) == ["restore", "--store", str(store)]
    assert cli(*shlex.split(command)).code == 3


def test_restore_finds_the_files_the_run_was_started_from(cli, tmp_path):
    store = tmp_path / "s" / "checkpoint.json"
    cli("run", *trial(tmp_path, "A", gate="A"), "--store", store)
    (request,) = cli("approvals", store, "--json").json["approvals"]
    hash_ = request["requestHash"]
    assert cli("approve", store, request["id"], "--hash", hash_, "--reviewer", "ann").code == 0
    done = cli("restore", "--store", store, "--json")
    assert done.code == 0
    assert [c["id"] for c in done.json["log"]["toolCallsExecuted"]] == ["call_A"]


def test_two_runs_of_one_store_keep_their_own_files(cli, tmp_path):
    store = tmp_path / "both.json"
    cli("run", *trial(tmp_path / "one", "A", gate="A"), "--store", store, "--run-id", "a")
    cli("run", *trial(tmp_path / "two", "B", gate="B"), "--store", store, "--run-id", "b")
    none = cli("restore", "--store", store, "--json")
    assert (none.code, none.error["code"]) == (2, "CHECKPOINT_AMBIGUOUS")
    for run_id, title in (("a", "A"), ("b", "B")):
        done = cli("restore", "--store", store, "--run-id", run_id, "--json")
        assert done.code == 3
        assert [t["title"] for t in done.json["tasks"]] == [title]
    key = cli("restore", "--store", store, "--key", "__oma_checkpoint__/a/latest", "--json")
    assert key.json["identity"]["runId"] == "a"


def test_a_run_that_is_there_already_is_never_overwritten(cli, tmp_path):
    arguments = trial(tmp_path, "A", gate="A")
    place = ("--store", tmp_path / "s.json", "--run-id", "r")
    assert cli("run", *arguments, *place).code == 3
    before = files_in(tmp_path)
    done = cli("run", *arguments, *place, "--json")
    assert (done.code, done.error["code"]) == (2, "CHECKPOINT_EXISTS")
    assert "restore" in done.error["hint"]
    assert files_in(tmp_path) == before


def test_s41_every_run_id_gets_a_place_of_its_own_and_comes_back(cli, tmp_path):
    arguments = trial(tmp_path, "A")
    ids = json.loads((CASES / "s41-run-id-file-names" / "ids.json").read_text("utf-8"))
    told = {}
    for run_id in ids:
        done = cli("run", *arguments, "--run-id", run_id, "--json")
        if len(run_id) > 128 or run_id != run_id.strip():
            assert (done.code, done.error["code"]) == (2, "RUN_ID_INVALID")
            continue
        assert done.code == 0
        told[run_id] = done.json["identity"]["runId"]
    assert all(run_id == found for run_id, found in told.items())
    stores = [p.resolve() for p in tmp_path.rglob("checkpoint.json")]
    assert len(stores) == len(told) > 10
    assert all(p.is_relative_to(tmp_path / ".oma" / "trial") for p in stores)
    listed = [c["runId"] for p in stores for c in cli("inspect", p, "--json").json["checkpoints"]]
    assert sorted(listed) == sorted(told)
    assert len({str(p).casefold() for p in stores}) == len(stores)


@pytest.mark.parametrize("run_id", ["", " x", "x" * 129])
def test_a_run_id_that_cannot_be_is_refused(cli, tmp_path, run_id):
    done = cli("run", *trial(tmp_path, "A"), "--run-id", run_id, "--json")
    assert (done.code, done.error["code"]) == (2, "RUN_ID_INVALID")
    assert not (tmp_path / ".oma").exists()


def test_the_peers_two_files(cli, tmp_path):
    team = {
        "name": "trial",
        "agents": [{"name": "worker", "tools": ["act"]}],
        "sharedMemory": True,
    }
    write(tmp_path, team=team, tasks={"tasks": tasks("A", "B", chain=True)}, s=script("A", "B"))
    files = ("run", tmp_path / "tasks.json", "--team", tmp_path / "team.json")
    done = cli(*files, "--script", tmp_path / "s.json", "--json")
    assert done.code == 0
    assert [t["status"] for t in done.json["tasks"]] == ["completed", "completed"]
    assert "turn" in done.json["log"]["modelCalls"][0]


def test_a_whole_run_file_with_a_scripted_provider(cli, tmp_path):
    document = {
        "team": {
            "name": "trial",
            "agents": [{"name": "worker", "tools": ["act"], "provider": "play"}],
        },
        "tasks": tasks("A"),
        "providers": {"play": {"type": "scripted", "script": "script.json"}},
        "checkpoint": {"path": "here/c.json", "runId": "mine"},
        "approvals": {"tools": [{"tool": "act", "action": "deny", "reason": "not today"}]},
    }
    write(tmp_path, run=document, script=script("A"))
    assert cli("check", tmp_path / "run.json").code == 0
    done = cli("run", tmp_path / "run.json", "--json")
    assert done.code == 0
    assert done.json["identity"]["runId"] == "mine"
    assert (tmp_path / "here" / "c.json").is_file()
    assert done.json["log"]["toolCallsExecuted"] == []  # the rule denied it
    again = cli("restore", "--store", tmp_path / "here" / "c.json", "--json")
    assert again.code == 0
    assert again.json["identity"]["attempt"] == 2


def one_task(agent=None, **task):
    """A run file of one agent and one task, as bytes."""
    team = {"name": "t", "agents": [{"name": "a", **(agent or {})}]}
    work = [{"title": "A", "description": "d", **task}]
    return json.dumps({"team": team, "tasks": work}).encode()


BAD = {
    "typo": (
        b"team:\n  name: t\n  agents:\n    - name: a\n      modle: x\ntasks: []\n",
        "yaml",
        "Did you mean model",
    ),
    "twice": (b"team: {name: t}\nteam: {name: u}\n", "yaml", "twice"),
    "cut": (b'{"team": ', "json", "too early"),
    "binary": (b"\x00\x01\xff", "json", "UTF-8"),
    "empty": (b"", "yaml", "not a run file"),
    "list of texts": (b'["A"]', "json", "$[0]"),
    "unknown agent": (one_task(assignee="zz"), "json", "zz"),
    "circle": (one_task(dependsOn=["A"]), "json", "itself"),
    "no team": (b'[{"title": "A", "description": "d"}]', "json", "--team"),
    "no model": (one_task(), "json", "model"),
    "unknown tool": (one_task({"model": "m", "tools": ["hammer"]}), "json", "hammer"),
    "plan": (b'{"version": 1, "tasks": []}', "json", "--team"),
    "a store": (b'{"version": 1, "entries": []}', "json", "not a run file"),
}


@pytest.mark.parametrize("label", BAD)
def test_a_bad_run_file_is_one_clear_line_and_starts_nothing(cli, tmp_path, label):
    data, suffix, hint = BAD[label]
    file = tmp_path / f"bad.{suffix}"
    file.write_bytes(data)
    done = cli("run", file, "--json")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith(f"oma-desktop: {file}")
    assert hint in line
    assert done.error["code"]
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "missing.yaml"], "RUNFILE_UNREADABLE"),
        (["run", "."], "RUNFILE_UNREADABLE"),
        (["run", "tasks.json", "--team", "missing.json"], "RUNFILE_UNREADABLE"),
        (["run", "tasks.json", "--script", "missing.json"], "SCRIPT_UNREADABLE"),
        (["run", "tasks.json", "--script", "tasks.json"], "SCRIPT_INVALID"),
        (["run", "tasks.json", "--script", "script.json", "--store", "."], "PATH_IS_FOLDER"),
        (["restore", "--store", "missing.json"], "PATH_NOT_FOUND"),
        (["restore", "--store", "."], "PATH_IS_FOLDER"),
        (["restore", "--store", "empty.json"], "CHECKPOINT_NOT_FOUND"),
        (["restore", "--store", "empty.json", "--plan-only"], "CHECKPOINT_NOT_FOUND"),
        (["restore", "--store", "empty.json", "--script", "script.json"], "CHECKPOINT_NOT_FOUND"),
        (["restore", "--store", "tasks.json", "--plan-only"], "STORE_NOT_OBJECT"),
        (["restore"], "USAGE"),
        (["restore", "--store", "empty.json", "--key", "k", "--run-id", "r"], "USAGE"),
        (["run"], "USAGE"),
        (["run", "tasks.json", "--scrip", "script.json"], "USAGE"),  # nothing is abbreviated
        (["check"], "USAGE"),
        (["insepct"], "COMMAND_UNKNOWN"),
        (["nowhere/at-all"], "PATH_NOT_FOUND"),
        (["--nonsense"], "USAGE"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else v,
)
def test_wrong_usage_is_one_line_and_exit_2(cli, tmp_path, monkeypatch, arguments, code):
    trial(tmp_path, "A")
    write(tmp_path, empty={"version": 1, "entries": []})
    monkeypatch.chdir(tmp_path)
    before = files_in(tmp_path)
    done = cli(*arguments, "--json")
    assert done.code == 2
    assert done.error["code"] == code
    assert done.error["message"]
    assert "{" not in done.error["message"]
    assert len(done.err.splitlines()) == 1
    assert files_in(tmp_path) == before


def test_a_store_that_cannot_be_read_is_not_started_over(cli, tmp_path):
    store = tmp_path / "s.json"
    store.write_bytes(b'{"version":1,"entries":[')
    done = cli("run", *trial(tmp_path, "A"), "--store", store, "--json")
    assert done.code == 2
    assert store.read_bytes() == b'{"version":1,"entries":['
    assert not (tmp_path / "s.json.lock").exists()


@pytest.mark.parametrize("speed", ["fast", "-1", "nan", "inf"])
def test_a_speed_that_is_no_number_is_refused(cli, tmp_path, monkeypatch, speed):
    monkeypatch.setenv("OMA_DESKTOP_SAMPLE_SPEED", speed)
    done = cli("run", *trial(tmp_path, "A"), "--json")
    assert (done.code, done.error["code"]) == (2, "USAGE_VARIABLE")


def test_retry_failed_is_shown_before_and_done_after(cli, tmp_path):
    arguments = trial(
        tmp_path, "A", "B", chain=True, A=[{"error": {"message": "no", "status": 400}}]
    )
    store = tmp_path / "s.json"
    assert cli("run", *arguments, "--store", store).code == 1
    write(tmp_path, script=script("A", "B"))
    plan = ("restore", "--store", store, "--plan-only", "--json")
    assert cli(*plan).json["willRun"] == []
    again = cli(*plan, "--retry-failed").json["willRun"]
    assert [t["taskTitle"] for t in again] == ["A", "B"]
    assert cli("restore", "--store", store, "--json").code == 1
    assert cli("restore", "--store", store, "--retry-failed", "--json").code == 0


def test_a_run_whose_end_cannot_be_saved_is_not_exit_0(cli, tmp_path, monkeypatch):
    def full_at_the_end(path, data, **options):
        whole = b"".join(data)
        if b'\\"end\\"' in whole:
            raise WriteFailed("STORE_NO_SPACE", path=str(path), reason="no room")
        return write_atomic(path, whole, **options)

    monkeypatch.setattr(filestore, "write_atomic", full_at_the_end)
    store = tmp_path / "checkpoint.json"
    done = cli("run", *trial(tmp_path, "A"), "--store", store, "--json")
    assert done.code == 1
    assert done.json["success"] is True
    assert done.json["warnings"] == ["RUN_END_NOT_SAVED"]
    assert "The end of this run is not saved." in done.err
    assert f"What {store} held before is unchanged (no room)." in done.err
    assert "{" not in done.err


def test_an_approved_call_whose_tool_is_gone_is_not_silent(cli, tmp_path):
    arguments = trial(tmp_path, "A", gate="A")
    store = tmp_path / "c.json"
    done = cli("run", *arguments, "--store", store, "--json")
    (request,) = done.json["pendingApprovals"]
    bound = ("--hash", request["requestHash"], "--reviewer", "ann")
    assert cli("approve", store, request["id"], *bound).code == 0
    later = script("A")
    later["agents"][0]["tools"] = []
    write(tmp_path, script=later)
    done = cli("restore", "--store", store, "--json")
    assert done.code == 0
    assert done.json["warnings"] == ["APPROVED_TOOL_GONE"]
    assert done.json["log"]["toolCallsExecuted"] == []
    assert "A call of “act” was approved, but the tool is not available any more." in done.err


def test_a_goal_whose_calls_nobody_confirmed_is_rejected_and_says_why(cli, tmp_path):
    document = script("A")
    document["tools"]["act"]["consequential"] = True
    document["orchestrator"] = {"requireConsequentialConfirmation": True}
    document["replies"]["@default"] = document["replies"].pop("A")
    goal = {"goal": "Say hello", "team": {"name": "t", "agents": document["agents"]}}
    write(tmp_path, run=goal, script=document)
    arguments = (tmp_path / "run.json", "--script", tmp_path / "script.json")
    done = cli("run", *arguments, "--json")
    assert done.code == 1
    assert done.json["confirmationRequired"] is True
    assert done.json["flags"] == ["consequential-no-independence"]
    assert done.json["log"]["toolCallsExecuted"] == []
    assert "nobody could confirm it" in done.json["status"]["message"]
    plain = cli("run", *arguments)
    assert "rejected" in plain.out
    assert "nobody could confirm it" in plain.out


def test_the_answers_nobody_else_waits_for_are_printed(cli, tmp_path):
    write(tmp_path, run={"tasks": tasks("A", "B", chain=True)}, script=script("A", "B"))
    done = cli("run", tmp_path / "run.json", "--script", tmp_path / "script.json")
    assert done.code == 0
    assert "B:\n  B is done\n" in done.out
    assert "A is done" not in done.out


@pytest.mark.parametrize("lost", ["tasks.json", "script.json"])
def test_a_file_that_was_moved_away_is_named_and_can_be_named(cli, tmp_path, lost):
    file, _, script = arguments = trial(tmp_path, "A", gate="A")
    store = tmp_path / "s" / "checkpoint.json"
    assert cli("run", *arguments, "--store", store).code == 3
    before = store.read_bytes()
    gone, moved = tmp_path / lost, tmp_path / "moved.json"
    gone.rename(moved)
    told = cli("restore", "--store", store, "--json")
    assert (told.code, told.error["code"]) == (2, "RESTORE_FILES_GONE")
    assert f"not there any more: {gone}." in told.error["message"]
    assert "command line" in told.error["hint"]
    assert store.read_bytes() == before
    named = [moved if path == gone else path for path in (file, script)]
    again = cli("restore", named[0], "--script", named[1], "--store", store, "--json")
    assert again.code == 3, "it waits for the same decision"
