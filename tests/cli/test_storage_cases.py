"""Cases s08 to s22 through the command line: what a person sees of a store in trouble (issue 3).

The same cases at the level of bytes: tests/core/store, tests/core/model; in the window:
tests/core/monitor and tests/app; s41: tests/cli/test_run.py.
"""

import errno
import hashlib
import json
import os
import shutil
import sys

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.lock import WriterLock
from tests.cli.conftest import CASES
from tests.cli.files import trial
from tests.cli.test_approvals import DECIDE, ID, store_of


@pytest.fixture
def store(golden):
    """A run of the peer that waits for one decision."""
    return store_of(golden("c_tool_gate_1_suspended"))


def one_line(done):
    """The sentence of a failure: one line, no traceback."""
    assert len(done.errors) == 1, done.err
    return done.errors[0]


class TestS08:
    """A stale copy never erases what another process wrote."""

    def test_a_second_writer_is_refused_and_a_reader_is_not(self, cli, store):
        lock = WriterLock(store, app="another window", clock=SystemClock())
        lock.acquire()
        before = store.read_bytes()
        try:
            busy = cli("approve", store, *DECIDE)
            assert busy.code == 4
            assert "another window" in one_line(busy)
            assert cli("restore", "--store", store, "--script", "x.json").code != 0
            assert cli("inspect", store).code == 0
        finally:
            lock.release()
        assert store.read_bytes() == before

    def test_a_run_whose_file_somebody_else_wrote_stops_and_leaves_it(
        self, cli, tmp_path, monkeypatch
    ):
        theirs = (CASES / "s08-stale-process-erases-turns" / "b-wrote.json").read_bytes()
        replace, n = FileCalls.replace, []

        def replaced(self, source, target):
            replace(self, source, target)
            if target.name == "checkpoint.json":
                n.append(target)
                if len(n) == 3:
                    target.write_bytes(theirs)

        monkeypatch.setattr(FileCalls, "replace", replaced)
        done = cli("run", *trial(tmp_path, "A", "B", chain=True), "--run-id", "r1")
        assert done.code == 4
        assert "another program has changed" in one_line(done)
        assert len(n) == 3, "nothing was written after that"
        assert n[0].read_bytes() == theirs


class TestS09:
    """Locks of dead, unknown and confused owners."""

    CASE = CASES / "s09-stale-lock-pid-reuse"

    @pytest.mark.parametrize("variant", ["empty", "garbage"])
    def test_an_unreadable_lock_asks_and_force_takes_it_over(self, cli, store, variant):
        lock = store.with_name(store.name + ".lock")
        shutil.copyfile(self.CASE / f"run.lock.{variant}", lock)
        busy = cli("approve", store, *DECIDE)
        assert busy.code == 4
        assert "--force-lock" in one_line(busy)
        assert str(lock) in one_line(busy), "the message names the file"
        assert lock.read_bytes() == (self.CASE / f"run.lock.{variant}").read_bytes()
        assert cli("approve", store, *DECIDE, "--force-lock").code == 0
        assert not lock.exists()

    @pytest.mark.parametrize("pid", ["dead", "own"])
    def test_a_dead_owner_is_replaced(self, cli, store, pid):
        script = store.with_name("peer_script.json")
        lock = store.with_name(store.name + ".lock")
        document = {
            "version": 1,
            "pid": os.getpid() if pid == "own" else 2**22 + 7,
            "processStartedAt": "2001-01-01T00:00:00.000Z",
            "host": os.uname().nodename,
            "app": "dead",
            "token": "a" * 32,
            "heartbeatAt": "2001-01-01T00:00:00.000Z",
        }
        lock.write_text(json.dumps(document), "utf-8")
        decided = cli("approve", store, *DECIDE)
        assert decided.code == 0
        assert "ended without giving it back: dead, process" in decided.err, "with a notice"
        assert not lock.exists()
        lock.write_text(json.dumps(document), "utf-8")
        done = cli("restore", "--store", store, "--script", script)
        assert done.code == 0
        assert "ended without giving it back: dead, process" in done.err, "with a notice"

    @pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
    def test_a_link_to_nothing_and_a_folder_have_sentences_of_their_own(self, cli, store):
        lock = store.with_name(store.name + ".lock")
        lock.symlink_to(store.with_name("nowhere"))
        assert "--force-lock" in one_line(cli("approve", store, *DECIDE))
        lock.unlink()
        lock.mkdir()
        for more in ((), ("--force-lock",)):
            done = cli("approve", store, *DECIDE, *more)
            assert done.code == 4
            assert "folder" in one_line(done)
        lock.rmdir()
        lock.symlink_to(store.with_name("nowhere"))
        assert cli("approve", store, *DECIDE, "--force-lock").code == 0


@pytest.mark.parametrize("name", ["store-v2", "snapshot-v99", "queue-v7"])
@pytest.mark.parametrize("command", ["inspect", "restore", "approvals"])
def test_s10_newer_versions_are_named_and_left_alone(cli, tmp_path, name, command):
    store = tmp_path / "s.json"
    shutil.copyfile(CASES / "s10-newer-schema" / f"{name}.json", store)
    before = store.read_bytes()
    (tmp_path / "script.json").write_text("{}", "utf-8")
    arguments = ("--store", store) if command == "restore" else (store,)
    done = cli(command, *arguments, "--json")
    if command == "approvals" and name != "store-v2":
        assert done.code == 0, "a run that is too new hides no request"
    else:
        assert done.code == 2
    if command == "inspect":
        told = done.out
        assert "TOO_NEW" in told or "newer" in told
    assert store.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.json", "script.json"]


class TestS12:
    """Windows refuses a rename for a moment, or for good."""

    @pytest.fixture
    def windows(self, monkeypatch):
        monkeypatch.setattr(FileCalls, "windows", True)
        monkeypatch.setattr(FileCalls, "pause", lambda _self, _s: None)
        replace, codes = FileCalls.replace, []

        def refused(self, source, target):
            if codes:
                error = PermissionError(errno.EACCES, "access denied")
                error.winerror = codes[0] if len(codes) == 1 else codes.pop(0)
                if codes != [0]:
                    raise error
            replace(self, source, target)

        monkeypatch.setattr(FileCalls, "replace", refused)
        return codes

    def test_what_passes_is_waited_out(self, cli, store, windows):
        windows += [5, 32, 33, 0]
        assert cli("approve", store, *DECIDE).code == 0
        assert cli("approvals", store, "--json").json["approvals"][0]["state"] == "approved"

    def test_what_stays_is_told_and_the_old_file_is_there(self, cli, store, windows):
        windows.append(5)
        before = store.read_bytes()
        done = cli("approve", store, *DECIDE)
        assert done.code == 1
        assert "another program keeps the file open" in one_line(done)
        assert store.read_bytes() == before
        assert not [p for p in store.parent.iterdir() if ".tmp-" in p.name]


@pytest.mark.parametrize("name", ["zero", "nul", "half", "null", "array"])
@pytest.mark.parametrize("command", ["inspect", "approvals", "approve", "restore", "run"])
def test_s13_a_damaged_store_is_named_and_never_replaced(cli, tmp_path, name, command):
    store = tmp_path / "s.json"
    shutil.copyfile(CASES / "s13-zero-and-nul-files" / f"{name}.json", store)
    before = store.read_bytes()
    arguments = {
        "approve": (store, *DECIDE),
        "restore": ("--store", store),
        "run": (*trial(tmp_path / "files", "A"), "--store", store),
    }.get(command, (store,))
    done = cli(command, *arguments)
    assert done.code == 2
    assert str(store) in one_line(done)
    assert store.read_bytes() == before
    assert [p.name for p in tmp_path.glob("s.json*")] == ["s.json"], "nothing beside it"


FAULTS = {
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the disk is read-only",
    errno.EXDEV: "it lies on another disk",
    errno.EBUSY: "another program keeps the file open",
    errno.EACCES: "writing is not permitted",
    errno.EIO: "the disk reported an error",
}


class TestS14:
    """Disks that fail: each failure has its own sentence, which names the store."""

    @pytest.mark.parametrize("number", FAULTS)
    @pytest.mark.parametrize("call", ["lock", "temp"])
    def test_a_decision_that_cannot_be_saved(self, cli, store, monkeypatch, number, call):
        before = store.read_bytes()
        marker = ".lock" if call == "lock" else ".tmp-"
        plain = os.open

        def fails(path, flags, *rest, **named):
            if marker in os.fspath(path) and flags & os.O_CREAT:
                raise OSError(number, os.strerror(number), path)
            return plain(path, flags, *rest, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", fails)
            done = cli("approve", store, *DECIDE)
        assert done.code == 1
        line = one_line(done)
        assert FAULTS[number] in line
        assert f"What {store} held before is unchanged" in line, "the store, not its lock"
        assert store.read_bytes() == before
        assert [p.name for p in store.parent.glob("checkpoint.json*")] == ["checkpoint.json"]
        assert cli("approve", store, *DECIDE).code == 0, "the next try succeeds"

    def test_a_run_goes_on_says_so_and_saves_when_it_can(self, cli, tmp_path, monkeypatch):
        write, replace, events = FileCalls.write, FileCalls.replace, []

        def full(self, fd, data):
            """From the third save on, for two saves: some bytes, then no room for the next."""
            if events.count("saved") == 2 and events.count("full") < 2:
                if events[-1] == "short":
                    events.append("full")
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                events.append("short")
                return write(self, fd, data[:10])
            return write(self, fd, data)

        def replaced(self, source, target):
            replace(self, source, target)
            events.append("saved")

        monkeypatch.setattr(FileCalls, "write", full)
        monkeypatch.setattr(FileCalls, "replace", replaced)
        store = tmp_path / "s.json"
        done = cli("run", *trial(tmp_path, "A", "B"), "--run-id", "r1", "--store", store)
        assert events.count("full") == 2
        assert done.code == 0, done.err
        assert "the disk is full" in done.err
        assert not [p for p in tmp_path.iterdir() if ".tmp-" in p.name]
        (run,) = cli("inspect", store, "--json").json["checkpoints"]
        assert run["statusCounts"]["completed"] == 2, "the next save has it all"


def test_s15_left_over_copies_go_and_other_files_stay(cli, tmp_path, store):
    shutil.copyfile(store, tmp_path / "run.json")
    for source in (CASES / "s15-stale-temp-files" / "dir").iterdir():
        name = source.name.replace("OWN", str(os.getpid()))
        if name != "run.json":
            shutil.copyfile(source, tmp_path / name)
    assert cli("approve", tmp_path / "run.json", *DECIDE).code == 0
    left = {p.name for p in tmp_path.iterdir() if p.is_file()}
    assert left == {"run.json", f"run.json.tmp-{os.getpid()}-0", "notes.tmp"}


def replaced_in(store, before, after):
    """Change the text of a checkpoint, which lies quoted in its file."""
    document = json.loads(store.read_text("utf-8"))
    for entry in document["entries"]:
        entry["value"] = entry["value"].replace(before, after)
    store.write_text(json.dumps(document), "utf-8")


def test_s17_half_a_character_is_shown_and_survives(cli, golden):
    folder = golden("a_midrun_dag6")
    store = store_of(folder)
    document = json.loads(store.read_text("utf-8"))
    run = next(e for e in document["entries"] if e["key"].startswith("__oma_checkpoint__/"))
    snapshot = json.loads(run["value"])
    snapshot["queue"]["tasks"][0]["description"] += " cut \ud83d, whole \ud83d\ude00"
    run["value"] = json.dumps(snapshot)
    store.write_text(json.dumps(document), "utf-8")
    for command in (("inspect", store), ("inspect", store, "--json")):
        assert cli(*command).code == 0
    script = folder / "peer_script.json"
    done = cli("restore", "--store", store, "--script", script, "--json")
    assert done.code in (0, 3), done.err
    saved = json.loads(store.read_text("utf-8"))
    text = next(e["value"] for e in saved["entries"] if e["key"] == run["key"])
    assert "cut \\ud83d, whole \U0001f600" in text


def test_s19_numbers_json_has_not_are_refused_with_their_place(cli, store):
    text = store.read_text("utf-8").replace('"version":1', '"version":1,"cost":NaN', 1)
    store.write_text(text, "utf-8")
    done = cli("inspect", store)
    assert done.code == 2
    assert "NaN" in one_line(done)
    assert "line 1" in one_line(done)


def test_s19_infinite_numbers_are_read_and_never_written(cli, store):
    replaced_in(store, '"turnCount":0', '"turnCount":0,"later":1e400')

    def refuse(name):
        raise AssertionError(name)

    for command in ("inspect", "approvals"):
        out = cli(command, store, "--json").out
        json.loads(out, parse_constant=refuse)


VECTORS = json.loads((CASES / "s20-hash-number-parity" / "vectors.json").read_text("utf-8"))


def test_s20_hashes_of_the_peer_are_our_hashes(cli, store):
    """Requests as the peer writes them, one for each way to spell a number."""
    rows, wanted = [], {}
    for n, vector in enumerate(VECTORS if isinstance(VECTORS, list) else VECTORS["vectors"]):
        row, request_id, fits = peer_row(n, vector)
        rows.append(row)
        wanted[request_id] = fits
    document = {"version": 1, "entries": rows}
    store.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    done = cli("approvals", store, "--json")
    got = {a["id"]: a["hashMatches"] for a in done.json["approvals"]}
    assert got == wanted


def peer_row(n, vector):
    """A row whose hash is made from the vector's canonical text, not by our canonicaliser."""
    value, canonical = vector["value_json"], vector["canonical"]
    boundary = f"t:c{n}"
    facts = f'"agentName":"a","consequential":false,"input":{canonical},"kind":"tool_call",'
    facts += f'"rawInput":{canonical},"taskId":"t","toolCallId":"c{n}","toolName":"go"'
    text = f'{{"boundary":"{boundary}","content":{{{facts}}},"scope":"tool_call"}}'
    digest = hashlib.sha256(text.encode()).hexdigest()
    whole = "\n".join(("r", "tool_call", boundary, digest))
    request_id = "apr_" + hashlib.sha256(whole.encode()).hexdigest()[:32]
    content = f'{{"kind":"tool_call","toolName":"go","rawInput":{value},"input":{value},'
    content += f'"agentName":"a","taskId":"t","toolCallId":"c{n}","consequential":false}}'
    request = f'{{"version":1,"id":"{request_id}","runId":"r","scope":"tool_call",'
    request += f'"boundary":"{boundary}","requestHash":"{digest}",'
    request += f'"requestedAt":"2026-01-01T00:00:00.000Z","content":{content}}}'
    row = {
        "key": f"__oma_approval__/{request_id}",
        "value": f'{{"version":1,"request":{request}}}',
        "createdAt": "2026-01-01T00:00:00.000Z",
    }
    return row, request_id, True


def test_s22_marks_of_other_editors_change_nothing(cli, tmp_path):
    store = tmp_path / "s.json"
    shutil.copyfile(CASES / "s22-bom-crlf" / "store.json", store)
    before = store.read_bytes()
    done = cli("inspect", store, "--json")
    assert done.code == 0
    assert "STORE_BOM" in {p["code"] for p in done.json["problems"]}
    assert store.read_bytes() == before, "reading rewrites nothing"


def test_s22_a_store_with_a_mark_is_decided_and_loses_the_mark(cli, store):
    marked = b"\xef\xbb\xbf" + store.read_bytes().replace(b"\n", b"\r\n")
    store.write_bytes(marked)
    assert cli("approve", store, *DECIDE).code == 0
    assert not store.read_bytes().startswith(b"\xef")
    (asked,) = cli("approvals", store, "--json").json["approvals"]
    assert (asked["id"], asked["state"]) == (ID, "approved")
