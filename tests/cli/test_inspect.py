"""`inspect` on everything the peer wrote, and on everything that is damaged (product.md 6)."""

import hashlib
import json

import pytest

from tests.cli.conftest import GOLDEN, ROOT, finish

LARGE = ROOT.parent / "shared" / "golden_large"
PEER_ONLY = {"peerLoads", "peerError", "peerAccepts"}

STORES = sorted(p.parent for p in GOLDEN.glob("*/checkpoint.json"))
if LARGE.is_dir():
    STORES += sorted(p.parent for p in LARGE.glob("*/checkpoint.json"))

STORES = [folder for folder in STORES if folder.name != "l5_runid_conflict"]  # no reading expected

OURS = json.loads((GOLDEN / "n_corrupt" / "ours.json").read_text("utf-8"))


def differences(expected, found):
    return {
        key: (value, found.get(key, "absent"))
        for key, value in expected.items()
        if key not in PEER_ONLY and found.get(key, "absent") != value
    }


@pytest.mark.parametrize("folder", STORES, ids=lambda p: p.name)
def test_every_store_of_the_peer_reads_as_expected(cli, folder):
    file = folder / "checkpoint.json"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    done = cli("inspect", file, "--json")
    assert done.code == 0
    document = done.json
    assert [c["key"] for c in document["checkpoints"]] == [
        c["key"] for c in expected["checkpoints"]
    ]
    for theirs, ours in zip(expected["checkpoints"], document["checkpoints"], strict=True):
        assert differences(theirs, ours) == {}
    assert document["keys"] == expected["keys"]
    for theirs, ours in zip(expected["approvals"], document["approvals"], strict=True):
        assert differences(theirs, ours) == {}
    assert [p for p in document["problems"] if p["severity"] == "error"] == []
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_damaged_file_is_refused_with_one_clear_line_per_problem(cli, name):
    file = GOLDEN / "n_corrupt" / name
    before = file.read_bytes()
    done = cli("inspect", file, "--json")
    assert done.code == OURS[name]["exit"]
    assert file.read_bytes() == before
    document = done.json
    lines = done.err.splitlines()
    if "error" in document:
        assert len(lines) == 1
        assert lines[0].startswith(f"oma-desktop: {file}: ")
        assert document["error"]["code"]
        assert document["error"]["message"]
    else:
        assert len(lines) == len(document["problems"])
        errors = [p for p in document["problems"] if p["severity"] == "error"]
        assert bool(errors) == (done.code == 2)
        for problem in document["problems"]:
            assert problem["where"]
            assert problem["message"]
            assert "Something went wrong (" not in problem["message"]
            assert "{" not in problem["message"].replace("{}", "")
    assert all(line == line.strip() and line for line in lines)


@pytest.mark.parametrize(
    "name", ["bom-prefix.json", "duplicate-entry-keys.json", "ap-row-missing.json"]
)
def test_a_warning_is_told_and_is_no_error(cli, name):
    done = cli("inspect", GOLDEN / "n_corrupt" / name)
    assert done.code == 0
    assert "warning" in done.err


def test_a_damaged_checkpoint_hides_no_other(cli):
    done = cli("inspect", GOLDEN / "n_corrupt" / "cp-value-not-json.json", "--json")
    document = done.json
    assert [c["readable"] for c in document["checkpoints"]].count(False) == 1
    assert document["keys"]


def test_plain_output_names_runs_tasks_and_requests(cli):
    done = cli("inspect", GOLDEN / "c_tool_gate_1_suspended" / "checkpoint.json")
    assert done.code == 0
    assert "run release-77  attempt 1  checkpoint v4" in done.out
    assert "1 approval request, 1 undecided" in done.out
    assert done.err == ""


def test_text_of_a_run_cannot_steer_the_terminal(cli, tmp_path):
    store = json.loads((GOLDEN / "a_midrun_dag6" / "checkpoint.json").read_text("utf-8"))
    value = json.loads(store["entries"][0]["value"])
    nasty = "a\x1b[2Jb\u202ec\x9bd\ne"
    value["queue"]["tasks"][0]["title"] = nasty
    store["entries"][0]["value"] = json.dumps(value)
    file = tmp_path / "checkpoint.json"
    file.write_text(json.dumps(store), "utf-8")
    plain = cli("inspect", file)
    assert not set("\x1b\u202e\x9b") & set(plain.out)
    assert "a\\u001b[2Jb\\u202ec\\u009bd\\u000ae" in plain.out
    as_json = cli("inspect", file, "--json")
    assert not set("\x1b\u202e\x9b") & set(as_json.out)
    assert as_json.json["checkpoints"][0]["tasks"][0]["title"] == nasty


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nothing/here.json", "PATH_NOT_FOUND"),
        (".", "PATH_IS_FOLDER"),
        ("file/x", "PATH_NOT_FOUND"),
    ],
)
def test_a_path_that_is_no_file_is_one_clear_line(cli, tmp_path, name, code):
    (tmp_path / "file").touch()
    done = cli("inspect", tmp_path / name, "--json")
    assert done.code == 2
    assert done.error["code"] == code
    assert done.error["where"] == str(tmp_path / name)
    assert len(done.err.splitlines()) == 1


def test_a_terminal_without_unicode_still_gets_valid_json(processes):
    store = GOLDEN / "j1_multimodal_unicode_midrun" / "checkpoint.json"
    done = finish(processes("inspect", store, "--json", PYTHONIOENCODING="ascii"))
    assert done.code == 0
    assert done.out.isascii()
    assert done.json["checkpoints"]
