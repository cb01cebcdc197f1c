"""grep: one limit for all files, a process that can be ended (engine.md 9.2, DEV-26)."""

from __future__ import annotations

import codecs
import multiprocessing

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.tools.builtin import search
from oma_desktop.engine.tools.builtin.grep import run_search
from oma_desktop.engine.tools.builtin.refusal import Refusal
from oma_desktop.engine.tools.builtin.search import Search
from oma_desktop.engine.tools.builtin.workspace import Workspace

CLOCK = SystemClock()
NEVER_ENDS = r"(a+)+$"


def put(box, name, data):
    path = box.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def found(box, pattern, **more):
    return Search(Workspace(box.root), pattern, **more).run()


async def test_grep_answers_from_its_own_process(box):
    put(box, "d/a.txt", "one\ntwo\n")
    put(box, "b.md", "two\n")
    assert await box.text("grep", pattern="t.o") == "b.md:1:two\nd/a.txt:2:two"
    assert await box.text("grep", pattern="two", glob="*.txt") == "d/a.txt:2:two"
    assert await box.text("grep", pattern="two", path=box.path("b.md")) == "b.md:1:two"
    assert await box.text("grep", pattern="zzz") == 'No line fits "zzz".'
    assert await box.refused("grep", pattern="x", path=box.path("none")) == "NOT_FOUND"
    assert multiprocessing.active_children() == []


async def test_an_invalid_expression_is_refused_before_anything_starts(box):
    for pattern in ("(", "a**b", "[z-a]", "(?P<n>x)(?P<n>y)", "x{99999999999}"):
        assert await box.refused("grep", pattern=pattern) == "PATTERN_INVALID"


def test_dev_26_the_limit_counts_all_files_together(box):
    for n in range(5):
        put(box, f"{n}.txt", "hit\n" * 3)
    assert found(box, "hit", max_results=4) == (
        "0.txt:1:hit\n0.txt:2:hit\n0.txt:3:hit\n1.txt:1:hit\n"
        "(Only the first 4 lines are listed; there are more.)"
    )
    assert "more" not in found(box, "hit", max_results=15)


def test_lines_end_at_lf_only_and_without_cr(box):
    put(box, "a", "x\u2028hit\r\nhit$\r\n")
    assert found(box, "hit$") == "a:1:x\u2028hit"
    put(box, "b", codecs.BOM_UTF8 + b"hit")
    put(box, "c", codecs.BOM_UTF16_LE + "hit".encode("utf-16-le"))
    assert found(box, "^hit$") == "b:1:hit\nc:1:hit"


def test_files_that_are_no_text_are_counted(box, monkeypatch):
    monkeypatch.setattr(search, "MAX_BYTES", 50)
    put(box, "binary", b"hit\0hit")
    put(box, "big", "hit" * 50)
    put(box, "latin", b"hit \xe9\n")
    (box.root / "link").symlink_to(box.outside)
    assert found(box, "hit|secret") == (
        "latin:1:hit \ufffd\n(2 files are binary, too large or unreadable.)"
    )


def test_long_lines_are_cut_around_the_place(box):
    put(box, "a", "x" * 5000 + "hit" + "y" * 5000)
    line = found(box, "hit")
    assert len(line) < 600
    assert "xhity" in line
    assert line.startswith("a:1:...x")
    assert line.endswith("y...")


@pytest.mark.parametrize("how", ["limit", "abort"])
async def test_a_pattern_that_never_ends_is_ended(box, how):
    put(box, "a", "a" * 64 + "!")
    wanted = Search(Workspace(box.root), NEVER_ENDS)
    limit = 1.5 if how == "limit" else 60.0
    supervisor = Supervisor()
    work = run_search(wanted, clock=CLOCK, lanes=box.lanes, token=box.token, limit_s=limit)
    task = supervisor.spawn(work, name="search")
    if how == "abort":
        while not multiprocessing.active_children():
            await CLOCK.sleep(0.01)
        box.token.stop(StopReason.CANCEL)
    with pytest.raises(Refusal) as caught:
        await task
    assert caught.value.code == {"limit": "TIMED_OUT", "abort": "STOPPED"}[how]
    assert multiprocessing.active_children() == []
    await supervisor.close()


class Dying(Search):
    def run(self):
        raise SystemExit(3)


async def test_a_process_that_dies_is_an_answer_too(box):
    wanted = Dying(Workspace(box.root), "x")
    with pytest.raises(Refusal) as caught:
        await run_search(wanted, clock=CLOCK, lanes=box.lanes, token=box.token)
    assert caught.value.code == "SEARCH_DIED"


def test_an_answer_has_an_end_whatever_is_asked_for(box):
    put(box, "a", ("hit" + "x" * 400 + "\n") * 1000)
    text = found(box, "hit", max_results=10_000)
    assert len(text) < 101_000
    assert text.endswith(
        f"(Only the first {text.count(chr(10))} lines are listed; there are more.)"
    )
