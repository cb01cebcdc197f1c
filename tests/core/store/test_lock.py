"""One writer per store: formats.md 1.7 and the variants of cases s09."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.model.errors import Locked, WriteFailed
from oma_desktop.store import lock as lock_module
from oma_desktop.store.lock import WriterLock
from oma_desktop.store.lock_file import LockKind, lock_path, read_owner

DEAD = 999999
ROOT = Path(__file__).parents[3]
S09 = Path(__file__).parents[2] / "cases" / "s09-stale-lock-pid-reuse"


class HandClock(SystemClock):
    """Stands still until told otherwise."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def lock_for(store: Path, clock: HandClock, *, host: str = "here") -> WriterLock:
    return WriterLock(store, app="oma-desktop test", clock=clock, host=host)


def started(pid: int | None = None) -> datetime:
    return datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC)


def leave(store: Path, clock: HandClock, **changes: Any) -> bytes:
    """Write a lock file as some owner would have left it; None removes a key."""
    document = {
        "version": 1,
        "pid": DEAD,
        "processStartedAt": "2026-01-05T07:59:00.000Z",
        "host": "here",
        "app": "elsewhere",
        "token": "0123456789abcdef",
        "heartbeatAt": to_ms_iso(clock.now()),
    } | changes
    data = json.dumps({k: v for k, v in document.items() if v is not None}).encode()
    lock_path(store).write_bytes(data)
    return data


def from_case(name: str) -> dict[str, Any]:
    """A lock of cases s09, its neutral names mapped to formats.md 1.7."""
    text = (S09 / name).read_text().replace('"REPLACE_WITH_OWN_PID"', str(os.getpid()))
    raw = json.loads(text)
    raw["processStartedAt"] = raw.pop("startedAt", None)
    return raw | {"host": "here"}


def siblings(store: Path) -> list[str]:
    return sorted(p.name for p in store.parent.iterdir())


def test_taken_kept_and_given_back(store: Path, clock: HandClock) -> None:
    lock = lock_for(store, clock)
    lock.acquire()
    document = json.loads(lock_path(store).read_bytes())
    assert list(document) == [
        "version", "pid", "processStartedAt", "host", "app", "token", "heartbeatAt",
    ]  # fmt: skip
    assert document["pid"] == os.getpid()
    assert document["heartbeatAt"] == "2026-01-05T08:00:00.000Z"
    before = lock_path(store).stat()

    clock.at += timedelta(seconds=2)
    lock.beat()
    after = lock_path(store).stat()
    assert json.loads(lock_path(store).read_bytes()) == document | {
        "heartbeatAt": "2026-01-05T08:00:02.000Z"
    }
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)

    assert lock.release()
    assert siblings(store) == []
    assert not lock.held
    assert not lock.release()


def test_a_lock_is_private_and_beside_the_real_file(store: Path, clock: HandClock) -> None:
    folder = store.parent / "links"
    folder.mkdir()
    (folder / "there.json").symlink_to(store)
    lock = lock_for(folder / "there.json", clock)
    lock.acquire()
    assert lock.path == store.parent.resolve() / "run.json.lock"
    assert lock.path.stat().st_mode & 0o777 == 0o600
    lock.release()


def test_the_second_writer_is_told_who_owns_it(store: Path, clock: HandClock) -> None:
    first, second = lock_for(store, clock), lock_for(store, clock)
    first.acquire()
    for lock in (second, first):  # a second instance of this process, and the same one again
        with pytest.raises(Locked) as caught:
            lock.acquire(force=True)  # never from a living owner
        assert caught.value.code == "LOCK_HELD"
        facts = caught.value.facts
        assert (facts["pid"], facts["host"]) == (os.getpid(), "here")
        assert facts["app"] == "oma-desktop test"
        assert facts["since"] == to_ms_iso(started())
    first.release()
    second.acquire()
    second.release()


def test_readers_learn_the_owner_and_change_nothing(store: Path, clock: HandClock) -> None:
    assert read_owner(store, clock=SystemClock()).kind is LockKind.FREE
    lock = lock_for(store, clock)
    lock.acquire()
    data = lock_path(store).read_bytes()
    state = read_owner(store, clock=clock, host="here")
    assert state.kind is LockKind.LIVE
    assert state.owner == lock.owner
    assert lock_path(store).read_bytes() == data
    lock.release()
    assert siblings(store) == []


def test_s09_dead_pid(store: Path, clock: HandClock) -> None:
    assert not psutil.pid_exists(DEAD)
    leave(store, clock, **from_case("run.lock.dead"))
    assert read_owner(store, clock=clock, host="here").kind is LockKind.STALE
    lock = lock_for(store, clock)
    lock.acquire()
    assert lock.replaced is not None
    assert lock.replaced.pid == DEAD
    assert siblings(store) == ["run.json.lock"]
    lock.release()


def test_s09_own_pid_with_another_start_time(store: Path, clock: HandClock) -> None:
    leave(store, clock, **from_case("run.lock.selfpid.template"))
    lock = lock_for(store, clock)
    lock.acquire()
    assert lock.replaced is not None
    lock.release()


@pytest.mark.parametrize(("shift_s", "busy"), [(0, True), (1.9, True), (-1.9, True), (2.5, False)])
def test_s09_start_times_may_differ_by_two_seconds(
    store: Path, clock: HandClock, shift_s: float, busy: bool
) -> None:
    start = to_ms_iso(started() + timedelta(seconds=shift_s))
    leave(store, clock, pid=os.getpid(), processStartedAt=start)
    lock = lock_for(store, clock)
    if busy:
        with pytest.raises(Locked, match="LOCK_HELD"):
            lock.acquire()
    else:
        lock.acquire()
        lock.release()


UNREADABLE = [
    b"",
    b"  not json",
    b"[]",
    b"null",
    b"\x00" * 40,
    b'{"version":2,"pid":1}',
    b'{"pid":"1","host":"demo"}',
    b"[" * 50_000,
    b"\xff\xfe{}",
]


@pytest.mark.parametrize("data", UNREADABLE)
def test_s09_unreadable_asks_and_force_takes_over(
    store: Path, clock: HandClock, data: bytes
) -> None:
    lock_path(store).write_bytes(data)
    lock = lock_for(store, clock)
    with pytest.raises(Locked) as caught:
        lock.acquire()
    assert caught.value.code == "LOCK_UNREADABLE"
    assert caught.value.facts["path"] == str(lock.path)
    assert lock.path.read_bytes() == data, "never deleted in silence"
    assert siblings(store) == ["run.json.lock"]
    lock.acquire(force=True)
    assert read_owner(store, clock=clock, host="here").owner == lock.owner
    lock.release()
    assert siblings(store) == []


@pytest.mark.parametrize(
    "name", ["run.lock.empty", "run.lock.garbage", "run.lock.nostart.template"]
)
def test_s09_files_as_they_are(store: Path, clock: HandClock, name: str) -> None:
    data = (S09 / name).read_bytes().replace(b'"REPLACE_WITH_OWN_PID"', b"%d" % os.getpid())
    lock_path(store).write_bytes(data)
    with pytest.raises(Locked, match="LOCK_UNREADABLE"):
        lock_for(store, clock).acquire()
    assert lock_path(store).read_bytes() == data


@pytest.mark.parametrize(
    "change",
    [
        {"processStartedAt": None},
        {"processStartedAt": "yesterday"},
        {"processStartedAt": "2026-01-05T07:59:00"},
        {"token": "../../etc/passwd"},
        {"token": ""},
        {"token": 7},
        {"pid": True},
        {"pid": -1},
        {"host": None},
        {"heartbeatAt": 5},
    ],
)
def test_s09_a_wrong_field_is_unreadable(
    store: Path, clock: HandClock, change: dict[str, Any]
) -> None:
    leave(store, clock, **change)
    with pytest.raises(Locked, match="LOCK_UNREADABLE"):
        lock_for(store, clock).acquire()


def test_a_lock_that_cannot_be_read_is_not_free(store: Path, clock: HandClock) -> None:
    lock_path(store).mkdir()
    assert read_owner(store, clock=clock).kind is LockKind.UNREADABLE
    for force in (False, True):
        with pytest.raises(Locked, match="LOCK_NOT_A_FILE"):
            lock_for(store, clock).acquire(force=force)
    assert lock_path(store).is_dir()
    assert read_owner(store / "below", clock=clock).kind is LockKind.FREE


def test_a_link_to_nothing_is_not_free_either(store: Path, clock: HandClock) -> None:
    """Its name is taken, so creating the lock would fail for ever as if somebody else raced us."""
    link, elsewhere = lock_path(store), store.with_name("elsewhere")
    link.symlink_to(elsewhere)
    with pytest.raises(Locked, match="LOCK_UNREADABLE"):
        lock_for(store, clock).acquire()
    lock = lock_for(store, clock)
    lock.acquire(force=True)
    assert not link.is_symlink()
    assert not elsewhere.exists()
    assert lock.release()
    assert not [p for p in store.parent.iterdir() if ".stale" in p.name]


@pytest.mark.parametrize(
    ("age_s", "kind"), [(0, "live"), (60, "live"), (60.5, "stale"), (-900, "live")]
)
def test_another_host_is_judged_by_its_heartbeat(
    store: Path, clock: HandClock, age_s: float, kind: str
) -> None:
    beat = to_ms_iso(clock.now() - timedelta(seconds=age_s))
    leave(store, clock, host="other", pid=os.getpid(), heartbeatAt=beat)
    assert read_owner(store, clock=clock, host="here").kind == kind


def test_a_lost_lock_is_noticed_and_left_alone(store: Path, clock: HandClock) -> None:
    """Another host took over while this machine slept: beat and release touch nothing."""
    mine, theirs = lock_for(store, clock), lock_for(store, clock, host="other")
    mine.acquire()
    clock.at += timedelta(seconds=61)
    theirs.acquire()
    data = theirs.path.read_bytes()
    for check in (mine.verify, mine.beat):
        with pytest.raises(Locked, match="LOCK_LOST"):
            check()
    assert not mine.release()
    assert theirs.path.read_bytes() == data
    theirs.beat()
    theirs.release()


def test_a_removed_lock_is_lost(store: Path, clock: HandClock) -> None:
    lock = lock_for(store, clock)
    lock.acquire()
    lock.path.unlink()
    with pytest.raises(Locked, match="LOCK_LOST"):
        lock.beat()
    assert siblings(store) == [], "a beat creates nothing"
    assert not lock.release()


def test_a_full_disk_leaves_no_half_lock(
    store: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: memoryview) -> None:
        os.write(fd, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lock = lock_for(store, clock)
    with monkeypatch.context() as patch:
        patch.setattr(lock_module, "write_all", full)
        with pytest.raises(WriteFailed, match="STORE_NO_SPACE"):
            lock.acquire()
        assert siblings(store) == []
        assert not lock.held
        patch.undo()
        lock.acquire()
        patch.setattr(lock_module, "write_all", full)
        with pytest.raises(WriteFailed, match="STORE_NO_SPACE"):
            lock.beat()
    assert lock.held, "a missed beat is not a lost lock"
    lock.beat()
    assert lock.release()


def test_a_folder_that_cannot_be_made(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteFailed) as caught:
        lock_for(tmp_path / "file" / "run.json", clock).acquire()
    assert str(caught.value.facts["path"]).endswith("run.json")


def test_a_taker_that_died_halfway_blocks_nobody(store: Path, clock: HandClock) -> None:
    data = leave(store, clock)
    aside = lock_path(store).with_name("run.json.lock.stale-0123456789abcdef")
    aside.write_bytes(data.replace(b"0123456789abcdef", b"claimant"))  # its owner is dead too
    stray = lock_path(store).with_name("run.json.lock.stale-old")
    stray.write_bytes(data)
    lock = lock_for(store, clock)
    lock.acquire()
    lock.release()
    assert siblings(store) == []


def test_a_taker_at_work_makes_others_busy(store: Path, clock: HandClock) -> None:
    stale = leave(store, clock)
    claim = lock_path(store).with_name("run.json.lock.stale-0123456789abcdef")
    claim.write_bytes(
        stale.replace(b"999999", b"%d" % os.getpid()).replace(
            b"2026-01-05T07:59:00.000Z", to_ms_iso(started()).encode()
        )
    )
    with pytest.raises(Locked, match="LOCK_CONTENDED"):
        lock_for(store, clock).acquire()
    assert lock_path(store).read_bytes() == stale
    assert claim.exists()


def test_threads_racing_for_one_stale_lock(store: Path, clock: HandClock) -> None:
    for _ in range(30):
        leave(store, clock)
        gate = threading.Barrier(4)
        locks = [lock_for(store, clock) for _ in range(4)]

        def race(lock: WriterLock, gate: threading.Barrier = gate) -> bool:
            gate.wait()
            try:
                lock.acquire()
            except Locked:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(race, locks))
        assert won.count(True) == 1
        winner = locks[won.index(True)]
        winner.verify()
        assert siblings(store) == ["run.json.lock"]
        winner.release()


CHILD = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from oma_desktop.base.clock import SystemClock
    from oma_desktop.model.errors import Locked
    from oma_desktop.store.lock import WriterLock
    lock = WriterLock(Path(sys.argv[1]), app="child", clock=SystemClock())
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        try:
            if word == "take":
                lock.acquire()
            elif word == "beat":
                lock.beat()
            elif word == "free":
                lock.release()
        except Locked as error:
            print(error.code, flush=True)
        else:
            print("ok", flush=True)
    """
)


class Child:
    """Another process with a lock of its own, told what to do line by line."""

    def __init__(self, store: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(store)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer()

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, word: str) -> str:
        self.tell(word)
        return self.answer()

    def kill(self) -> None:
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def children(store: Path) -> Any:
    pair = [Child(store), Child(store)]
    yield pair
    for child in pair:
        child.close()


@pytest.mark.slow
def test_two_processes_racing_for_one_dead_lock(
    store: Path, clock: HandClock, children: list[Child]
) -> None:
    for _ in range(50):
        leave(store, clock, host=socket.gethostname())
        for child in children:
            child.tell("take")
        answers = [child.answer() for child in children]
        assert answers.count("ok") == 1, answers
        winner = children[answers.index("ok")]
        assert winner.ask("beat") == "ok"
        assert winner.ask("free") == "ok"
        assert siblings(store) == []


@pytest.mark.slow
def test_kill_of_the_owner_then_takeover(store: Path, children: list[Child]) -> None:
    owner, heir = children
    assert owner.ask("take") == "ok"
    assert heir.ask("take") == "LOCK_HELD"
    assert read_owner(store, clock=SystemClock()).kind is LockKind.LIVE
    owner.kill()
    if hasattr(os, "waitid"):  # not reaped on purpose: a zombie writes nothing, must not own
        os.waitid(os.P_PID, owner.process.pid, os.WEXITED | os.WNOWAIT)
    else:
        owner.process.wait()
    assert read_owner(store, clock=SystemClock()).kind is LockKind.STALE
    assert heir.ask("take") == "ok"
    assert read_owner(store, clock=SystemClock()).owner is not None
    assert heir.ask("free") == "ok"
    assert siblings(store) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_lock_is_unreadable_not_waited_for(
    store: Path, clock: HandClock
) -> None:
    os.mkfifo(lock_path(store))
    assert read_owner(store, clock=clock).kind is LockKind.UNREADABLE
    lock = lock_for(store, clock)
    with pytest.raises(Locked, match="LOCK_UNREADABLE"):
        lock.acquire()
    lock.acquire(force=True)
    assert lock.release()
