"""An atomic replace leaves the old bytes or the new ones, whatever fails (s12, s14)."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oma_desktop.model.errors import ChangedOnDisk, WriteFailed
from oma_desktop.store.atomic import write_atomic
from oma_desktop.store.file_calls import FileCalls, FileStamp
from oma_desktop.store.temp_files import is_temp_name, sweep_stale_temps

CASES = Path(__file__).parents[2] / "cases"
OLD, NEW = b"old " * 50_000, b"new" * 100_000
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")


class PowerCut(BaseException):
    """The process is gone: nothing after this call happens."""


class Scripted(FileCalls):
    """The real calls, counted, until the script says otherwise.

    `fail(n, name)` is asked before call number n; what it returns is raised. `late` lets the call
    happen before the failure, as a kill may come right after the system call.
    """

    def __init__(
        self,
        fail: Callable[[int, str], BaseException | None] = lambda n, name: None,
        *,
        late: bool = False,
        short: int | None = None,
    ) -> None:
        self.names: list[str] = []
        self.pauses: list[float] = []
        self._fail, self._late, self._short = fail, late, short

    def _do(self, name: str, *args: Any) -> Any:
        n = len(self.names)
        self.names.append(name)
        error = self._fail(n, name)
        if error is not None and not self._late:
            raise error
        result = getattr(FileCalls, name)(self, *args)
        if error is not None:
            raise error
        return result

    def make_folder(self, path: Path) -> None:
        self._do("make_folder", path)

    def stat(self, path: Path) -> os.stat_result:
        return self._do("stat", path)  # type: ignore[no-any-return]

    def open_new(self, path: Path, mode: int) -> int:
        return self._do("open_new", path, mode)  # type: ignore[no-any-return]

    def set_mode(self, fd: int, mode: int) -> None:
        self._do("set_mode", fd, mode)

    def write(self, fd: int, data: memoryview) -> int:
        return self._do("write", fd, data[: self._short])  # type: ignore[no-any-return]

    def fsync(self, fd: int) -> None:
        self._do("fsync", fd)

    def close(self, fd: int) -> None:
        self._do("close", fd)

    def replace(self, source: Path, target: Path) -> None:
        self._do("replace", source, target)

    def fsync_folder(self, path: Path) -> None:
        self._do("fsync_folder", path)

    def unlink(self, path: Path) -> None:
        self._do("unlink", path)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(OLD)
    path.chmod(0o640)
    return path


def others(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir() if p != path)


def test_a_new_file_is_private_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "run.json"
    stamp = write_atomic(path, NEW)
    assert path.read_bytes() == NEW
    assert stamp == FileStamp.read(path)
    assert others(path) == []
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400])
def test_permissions_of_an_existing_file_stay(target: Path, mode: int) -> None:
    target.chmod(mode)
    write_atomic(target, NEW)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
def test_a_link_stays_a_link_and_its_end_is_replaced(target: Path) -> None:
    folder = target.parent / "links"
    folder.mkdir()
    (folder / "here.json").symlink_to(target)
    write_atomic(folder / "here.json", NEW)
    assert (folder / "here.json").is_symlink()
    assert target.read_bytes() == NEW
    assert others(target) == ["links"]


def test_the_steps_and_their_order(target: Path) -> None:
    calls = Scripted(short=200_000)
    write_atomic(target, NEW, calls=calls)
    assert calls.names == [
        "stat", "make_folder", "open_new", "set_mode", "write", "write", "fsync", "close", "stat",
        "replace", "fsync_folder",
    ]  # fmt: skip


@pytest.mark.parametrize("short", [1, 7, 4096])
def test_short_writes_go_on(tmp_path: Path, short: int) -> None:
    path = tmp_path / "run.json"
    write_atomic(path, NEW[:5000], calls=Scripted(short=short))
    assert path.read_bytes() == NEW[:5000]


def test_a_write_that_writes_nothing_is_an_error(target: Path) -> None:
    with pytest.raises(WriteFailed) as caught:
        write_atomic(target, NEW, calls=Scripted(short=0))
    assert caught.value.code == "STORE_IO_ERROR"
    assert (target.read_bytes(), others(target)) == (OLD, [])


STEPS = range(11)  # see test_the_steps_and_their_order


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "STORE_NO_SPACE"),
        (errno.EDQUOT, "STORE_NO_SPACE"),
        (errno.EROFS, "STORE_READ_ONLY_DISK"),
        (errno.EXDEV, "STORE_CROSS_DEVICE"),
        (errno.EACCES, "STORE_WRITE_DENIED"),
        (errno.EPERM, "STORE_WRITE_DENIED"),
        (errno.EIO, "STORE_IO_ERROR"),
        (errno.EBUSY, "STORE_FILE_BUSY"),
        (errno.ENAMETOOLONG, "STORE_WRITE_FAILED"),
        (errno.EFBIG, "STORE_WRITE_FAILED"),
    ],
)
@pytest.mark.parametrize("step", STEPS)
def test_an_error_at_any_call_leaves_old_or_new(
    target: Path, step: int, number: int, code: str
) -> None:
    calls = Scripted(lambda n, _: OSError(number, os.strerror(number)) if n == step else None,
                     short=200_000)  # fmt: skip
    if step == STEPS[-1]:  # the folder's own sync is best effort
        write_atomic(target, NEW, calls=calls)
        assert (target.read_bytes(), others(target)) == (NEW, [])
        return
    with pytest.raises(WriteFailed) as caught:
        write_atomic(target, NEW, calls=calls)
    assert caught.value.code == code
    assert caught.value.facts["path"] == str(target)
    assert caught.value.retryable
    assert target.read_bytes() == OLD
    assert others(target) == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_call_leaves_old_or_new(target: Path, step: int, late: bool) -> None:
    calls = Scripted(lambda n, _: PowerCut() if n >= step else None, short=200_000, late=late)
    # A late crash lets the tidy-up calls happen too; what matters is the target.
    with pytest.raises(PowerCut):
        write_atomic(target, NEW, calls=calls)
    replaced = "replace" in calls.names[: step + 1] and (late or calls.names[step] != "replace")
    assert target.read_bytes() == (NEW if replaced else OLD)
    for name in others(target):
        assert name.startswith("run.json.tmp-")


def test_disk_full_then_space_again(target: Path) -> None:
    """s14: short write, ENOSPC, then the next save succeeds."""
    room = [50_000]

    class Full(FileCalls):
        def write(self, fd: int, data: memoryview) -> int:
            if room[0] <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = super().write(fd, data[: room[0]])
            room[0] -= written
            return written

    before = target.stat()
    with pytest.raises(WriteFailed, match="STORE_NO_SPACE"):
        write_atomic(target, NEW, calls=Full())
    assert target.read_bytes() == OLD
    assert FileStamp.of(target.stat()) == FileStamp.of(before)
    assert others(target) == []
    room[0] = 10**9
    write_atomic(target, NEW, calls=Full())
    assert target.read_bytes() == NEW


class Busy(FileCalls):
    """A Windows whose rename fails as scripted."""

    def __init__(self, script: list[BaseException], *, windows: bool = True) -> None:
        self.windows = windows
        self.script = script
        self.pauses: list[float] = []
        self.tries = 0

    def replace(self, source: Path, target: Path) -> None:
        self.tries += 1
        if self.script:
            raise self.script.pop(0)
        super().replace(source, target)

    def fsync_folder(self, path: Path) -> None:
        return

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def winerror(code: int) -> OSError:
    error = PermissionError(errno.EACCES, "denied")
    error.winerror = code  # type: ignore[attr-defined,unused-ignore]
    return error


def case(name: str) -> Any:
    faults = json.loads((CASES / "s12-windows-rename-busy" / "faults.json").read_text())
    return next(f for f in faults if f["case"] == name)["raises"]


def test_s12_transient_errors_are_waited_out(target: Path) -> None:
    calls = Busy([winerror(code) for code in case("transient")])
    write_atomic(target, NEW, calls=calls)
    assert target.read_bytes() == NEW
    assert calls.tries == 4
    assert others(target) == []


def test_s12_a_permanent_denial_ends_within_three_seconds(target: Path) -> None:
    calls = Busy([winerror(5) for _ in range(1000)])
    with pytest.raises(WriteFailed) as caught:
        write_atomic(target, NEW, calls=calls)
    assert caught.value.code == "STORE_FILE_BUSY"
    assert 2.0 <= sum(calls.pauses) <= 3.0
    assert target.read_bytes() == OLD
    assert others(target) == []


@pytest.mark.parametrize("name", ["posix-eacces", "exdev"])
@pytest.mark.parametrize("windows", [False, True])
def test_s12_other_errors_are_never_retried(target: Path, name: str, windows: bool) -> None:
    number = getattr(errno, case(name)[0])
    calls = Busy([OSError(number, "no")], windows=windows)
    with pytest.raises(WriteFailed):
        write_atomic(target, NEW, calls=calls)
    assert (calls.tries, calls.pauses) == (1, [])
    assert (target.read_bytes(), others(target)) == (OLD, [])


def test_called_off_just_before_the_rename(target: Path) -> None:
    def refuse() -> None:
        raise ChangedOnDisk("STORE_CHANGED", path=str(target))

    with pytest.raises(ChangedOnDisk):
        write_atomic(target, NEW, before_replace=refuse)
    assert (target.read_bytes(), others(target)) == (OLD, [])


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(WriteFailed, match="STORE_NOT_A_FILE"):
        write_atomic(tmp_path / "run.json", NEW)
    assert others(tmp_path / "run.json") == []


@pytest.mark.parametrize(
    "name",
    [
        "运行记录 第一号.json",
        "заметки.json",
        "🔥" * 60 + ".json",
        "长" * 83 + ".json",
        "x" * 255,
    ],
)
def test_chinese_and_very_long_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "项目 资料"
    path = folder / name
    for n in range(2):
        write_atomic(path, b"%d" % n)
    assert path.read_bytes() == b"1"
    assert others(path) == []

    def stopped(_: int, call: str) -> BaseException | None:
        return PowerCut() if call in {"replace", "unlink"} else None

    with pytest.raises(PowerCut):
        write_atomic(path, b"2", calls=Scripted(stopped))
    (left,) = others(path)
    assert is_temp_name(left)
    assert path.read_bytes() == b"1"
    dead = folder / left.replace(f"-{os.getpid()}-", "-999999-")
    (folder / left).rename(dead)
    assert sweep_stale_temps(path) == [dead]


def test_long_and_deep_paths(tmp_path: Path) -> None:
    path = tmp_path.joinpath(*["文件夹" * 20] * 12) / "run.json"
    assert len(os.fsencode(path)) > 2000
    write_atomic(path, NEW)
    assert path.read_bytes() == NEW


@posix
def test_links_of_every_kind(tmp_path: Path) -> None:
    """Chains, relative ones, links of folders and links to what is not there yet."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "folder").symlink_to("real", target_is_directory=True)
    (real / "two.json").symlink_to("end.json")
    (tmp_path / "one.json").symlink_to("folder/two.json")
    write_atomic(tmp_path / "one.json", OLD)
    write_atomic(tmp_path / "one.json", NEW)
    assert (real / "end.json").read_bytes() == NEW
    assert not (real / "end.json").is_symlink()
    for link in (tmp_path / "folder", real / "two.json", tmp_path / "one.json"):
        assert link.is_symlink()
    assert others(real / "end.json") == ["two.json"]


@posix
def test_a_ring_of_links_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(WriteFailed):
        write_atomic(tmp_path / "a", NEW)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
