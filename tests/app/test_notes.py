"""The reviewer's notes outlive the program, and cost nothing when their file is in trouble."""

import json

from oma_desktop.app.notes import MAX_CHARS, MAX_NOTES, FileNotes
from oma_desktop.viewmodel.approvals import RequestKey
from oma_desktop.viewmodel.offload import at_once


def key(name):
    return RequestKey("/runs/a.json", name)


class Later:
    """An offload whose work is done by hand."""

    def __init__(self):
        self.waiting = []

    def __call__(self, work, done):
        self.waiting.append((work, done))

    def run(self):
        work, done = self.waiting.pop(0)
        done(work())


def test_a_note_is_there_at_the_next_start(tmp_path):
    path = tmp_path / "settings" / "notes.json"
    FileNotes(path, offload=at_once).set_note(key("apr_1"), "asked 李雷 first\ud800")
    again = FileNotes(path, offload=at_once)
    assert again.note(key("apr_1")) == "asked 李雷 first\ud800"
    assert again.note(key("apr_2")) == ""
    assert path.stat().st_mode & 0o077 == 0
    assert [p.name for p in path.parent.iterdir()] == ["notes.json"]
    again.set_note(key("apr_1"), "  ")
    assert json.loads(path.read_text("utf-8"))["notes"] == {}


def test_only_the_newest_are_kept_and_none_is_endless(tmp_path):
    notes = FileNotes(tmp_path / "n.json", offload=at_once)
    for i in range(MAX_NOTES + 3):
        notes._notes[f"apr_{i}"] = "x"
    notes.set_note(key("apr_new"), "y" * (MAX_CHARS + 1))
    assert len(notes._notes) == MAX_NOTES
    assert notes.note(key("apr_0")) == ""
    assert notes.note(key("apr_new")) == "y" * MAX_CHARS


def test_typing_writes_once_at_a_time_and_the_last_word_wins(tmp_path):
    path, lane = tmp_path / "n.json", Later()
    notes = FileNotes(path, offload=lane)
    for text in ("w", "wa", "wait"):
        notes.set_note(key("apr_1"), text)
    assert len(lane.waiting) == 1
    lane.run()
    lane.run()
    assert lane.waiting == []
    assert FileNotes(path, offload=at_once).note(key("apr_1")) == "wait"


def test_what_is_still_waiting_is_written_at_the_end_and_not_undone(tmp_path):
    path, lane = tmp_path / "n.json", Later()
    notes = FileNotes(path, offload=lane)
    notes.set_note(key("apr_1"), "first")
    notes.set_note(key("apr_1"), "last")
    notes.flush()
    lane.waiting[0][0]()  # a worker that was slow
    assert FileNotes(path, offload=at_once).note(key("apr_1")) == "last"


def test_a_damaged_file_and_a_full_disk_cost_only_the_notes(tmp_path, caplog):
    path = tmp_path / "n.json"
    path.write_text("[1, 2", "utf-8")
    notes, told = FileNotes(path, offload=at_once), []
    assert notes.note(key("apr_1")) == ""
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    lost = FileNotes(blocked / "n.json", offload=at_once, on_trouble=told.append)
    lost.set_note(key("apr_1"), "a")
    lost.set_note(key("apr_1"), "ab")
    assert told == [blocked / "n.json"]
    assert lost.note(key("apr_1")) == "ab"
    assert len(caplog.records) == 4
    caplog.clear()
