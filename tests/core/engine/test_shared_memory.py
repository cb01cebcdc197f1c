"""Notes between agents against the peer's vectors (golden/vectors/shared_memory.json; 1.6)."""

from __future__ import annotations

import json

import pytest

from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.memory.message_bus import MessageBus
from oma_desktop.engine.memory.shared_memory import SharedMemory, entry_document, summarize
from oma_desktop.model.errors import InvalidInput, WriteFailed
from oma_desktop.store.file_calls import FileCalls
from oma_desktop.store.filestore import FileStore
from oma_desktop.store.in_memory import InMemoryStore
from tests.core.engine.run_world import GOLDEN, InlineLanes, RunWorld, bad, ok, spec, statuses
from tests.core.engine.runner_world import VirtualClock

VECTORS = json.loads((GOLDEN / "vectors" / "shared_memory.json").read_text("utf-8"))["vectors"]


def memory():
    return SharedMemory(InMemoryStore(clock=VirtualClock()), InlineLanes())


async def test_writes_snapshot_and_summary_are_the_peers():
    vector = next(v for v in VECTORS if v["name"] == "writes")
    notes = memory()
    for agent, key, value in vector["writes"]:
        await notes.write(agent, key, value)
    # golden/README.md: one more call was made before the snapshot.
    await notes.write_expiring("r", "ttl", "gone soon", 2)
    picture = await notes.picture()
    rows = [entry_document(e) for e in picture.entries]
    for row in rows:
        assert row.pop("createdAt").endswith("Z")
    assert {"version": 1, "turnCount": 0, "entries": rows} == vector["snapshotTurn0"]
    assert await notes.summary() == vector["summaryTurn0"]
    notes.advance()
    notes.advance()
    assert await notes.summary() == vector["summaryTurn2"]


async def test_a_note_expires_with_the_turn_counted_from_its_write():
    notes = memory()
    notes.advance()
    await notes.write_expiring("a", "k", {"x": 1}, 2)
    notes.advance()
    assert await notes.read("a", "k") == {"x": 1}
    notes.advance()
    assert await notes.read("a", "k") is None
    assert await notes.summary() == ""
    assert (await notes.picture()).entries == ()
    await notes.write("a", "k", "again")
    assert await notes.read("a", "k") == "again", "a plain write drops the expiry"


@pytest.mark.parametrize("ttl", [0, -1, 1.5, True, "2"])
async def test_odd_times_to_live_are_refused(ttl):
    notes = memory()
    with pytest.raises(InvalidInput, match="MEMORY_TTL_INVALID"):
        await notes.write_expiring("a", "k", "v", ttl)
    assert notes.store.list() == []


class Plain:
    """A store with nothing but the five required calls."""

    def __init__(self):
        self.inner = InMemoryStore(clock=VirtualClock())
        for name in ("get", "set", "list", "delete", "clear"):
            setattr(self, name, getattr(self.inner, name))


async def test_a_store_without_expiry_keeps_the_note():
    notes = SharedMemory(Plain(), InlineLanes())
    await notes.write_expiring("a", "k", "v", 1)
    notes.advance()
    assert await notes.read("a", "k") == "v"


def looped():
    value: list[object] = []
    value.append({"again": value})
    return value


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": [1, float("inf")]}, "$.a[1]", "non_finite"),
        ([{"x": object()}], "$[0].x", "object"),
        ({"a": {1: 2}}, "$.a", "key"),
        (looped(), "$[0].again", "cycle"),
    ],
)
async def test_what_json_cannot_express_is_refused_with_its_place(value, path, found):
    notes = memory()
    with pytest.raises(InvalidInput) as caught:
        await notes.write("a", "k", value)
    facts = caught.value.facts
    assert (caught.value.code, facts["path"], facts["found"]) == (
        "MEMORY_VALUE_INVALID",
        path,
        found,
    )
    assert notes.store.list() == []


# --- in a run ------------------------------------------------------------------------------------


async def test_the_counter_advances_once_per_completed_task_and_never_for_a_failed_one():
    async def work(_world, _agent, job):
        return bad(retryable=False) if job.task_title == "B" else ok()

    world = RunWorld(memory=True, work=work)
    await world.run(spec("A"), spec("B"), spec("C"))
    assert world.snapshot()["turnCount"] == 2


async def test_idea_08_in_the_same_store_notes_are_not_embedded_but_the_counter_is():
    world = RunWorld(memory="file")
    await world.run(spec("A", assignee="a"))
    saved = world.snapshot()
    assert "sharedMemory" not in saved
    assert saved["turnCount"] == 1
    note = f"a/task:{saved['queue']['tasks'][0]['id']}:result"
    assert world.store.get(note).value == "A done"


async def test_idea_09_a_separate_store_is_embedded_and_comes_back():
    world = RunWorld(memory=True)
    await world.run(spec("A", assignee="a"), spec("B", "A", memory_scope="all"))
    crashed = world.crashed(1)
    saved = crashed.snapshot()
    assert [e["value"] for e in saved["sharedMemory"]["entries"]] == ["A done"]
    assert saved["sharedMemory"]["turnCount"] == 1
    crashed.prompts = {}
    await crashed.restore()
    assert "A done" in crashed.prompts["B"]
    assert crashed.snapshot()["sharedMemory"]["turnCount"] == 2


async def test_idea_06_abort_after_the_first_task_then_restore_runs_only_the_second():
    async def work(world, _agent, job):
        if job.task_title == "A":
            return ok("note of A")
        world.token.stop(StopReason.CANCEL)
        return bad("stopped", aborted=True)

    world = RunWorld(memory=True, work=work)
    result = await world.run(spec("A", assignee="a"), spec("B", "A", memory_scope="all"))
    assert result.status.code == "cancelled"
    world.work, world.prompts = None, {}
    result = await world.restore()
    assert statuses(result) == {"A": "completed", "B": "completed"}
    assert list(world.prompts) == ["B"]
    assert "note of A" in world.prompts["B"]


async def test_values_come_back_as_they_were_written():
    notes = memory()
    for value in ("text", '{"looks": "like json"}', 3, None, [1, {"a": True}]):
        await notes.write("a", "k", value)
        assert await notes.read("a", "k") == value


async def test_p_07_json_that_redaction_of_the_peer_broke_is_read_as_text():
    notes = memory()
    marked = {"sharedMemoryValueEncoding": "json", "agent": "operator"}
    broken = '{"password":[redacted],"port":5432}'
    notes.store.set("operator/conf", broken, marked)
    assert await notes.read("operator", "conf") == broken
    assert broken in await notes.summary()


async def test_reserved_keys_are_neither_shown_nor_written():
    notes = memory()
    notes.store.set("__oma_checkpoint__/latest", "x")
    notes.store.set("__oma_approval__/apr_1", "x")
    assert (await notes.picture()).entries == ()
    assert await notes.read("__oma_checkpoint__", "latest") is None
    with pytest.raises(InvalidInput, match="MEMORY_KEY_RESERVED"):
        await notes.write("__oma_approval__", "apr_1", "y")
    await notes.restore({"version": 1, "turnCount": 3, "entries": []})
    assert len(notes.store.list()) == 2
    assert notes.turn_count == 3


async def test_restoring_replaces_notes_and_keeps_expiry():
    notes = memory()
    await notes.write("a", "old", "x")
    row = {"key": "a/new", "value": "1", "createdAt": "2026-01-01T00:00:00.000Z",
           "metadata": {"agent": "a"}, "expiresAtTurn": 5}  # fmt: skip
    await notes.restore({"version": 1, "turnCount": 4, "entries": [row]})
    assert [e.key for e in notes.store.list()] == ["a/new"]
    assert await notes.read("a", "new") == "1"
    notes.advance()
    assert await notes.read("a", "new") is None
    assert len(notes.store.list()) == 1, "hidden, not deleted"
    with pytest.raises(InvalidInput, match="MEMORY_SNAPSHOT_INVALID"):
        await notes.restore({"version": 2, "turnCount": 0, "entries": []})


async def test_a_summary_of_some_tasks_only():
    notes = memory()
    for task in ("t1", "t2"):
        await notes.write("a", f"task:{task}:result", f"r {task}")
    await notes.write("a", "other", "x")
    text = await notes.summary(["t2"])
    assert "r t2" in text
    assert "r t1" not in text
    assert "other" not in text


def test_nothing_to_tell_is_an_empty_summary():
    assert summarize(()) == ""


def test_messages_reach_one_agent_or_all_others():
    ids = iter("abc")
    bus = MessageBus(now=lambda: "now", new_id=lambda: next(ids))
    bus.send("a", "b", "to b")
    bus.send("a", "*", "to all")
    bus.send("b", "a", "back")
    assert [m["content"] for m in bus.addressed_to("b")] == ["to b", "to all"]
    assert [m["content"] for m in bus.addressed_to("a")] == ["back"]
    bus.mark_read("b", ["a"])
    assert [m["content"] for m in bus.unread("b")] == ["to all"]
    other = MessageBus(now=lambda: "now", new_id=lambda: "x")
    other.restore(bus.snapshot())
    assert other.snapshot() == bus.snapshot()
    assert other.unread("b") == bus.unread("b")
    with pytest.raises(InvalidInput, match="BUS_SNAPSHOT_VERSION"):
        other.restore({"version": 2, "messages": [], "readState": []})


class CountedFiles(FileCalls):
    """Counts the replaced files; fails while `full`."""

    full = False
    replaced = 0

    def replace(self, source, target):
        if self.full:
            raise OSError(28, "no space")
        super().replace(source, target)
        self.replaced += 1


async def test_w34_notes_are_put_back_in_one_write_or_not_at_all(tmp_path):
    files = CountedFiles()
    store = FileStore(tmp_path / "run.json", clock=VirtualClock(), calls=files)
    notes = SharedMemory(store, InlineLanes())
    await notes.write("a", "old", "stays until all is there")
    rows = [{"key": f"a/{n}", "value": "v", "createdAt": "2026-01-01T00:00:00.000Z"} for n in "xyz"]
    rows[2]["expiresAtTurn"] = 9
    snapshot = {"version": 1, "turnCount": 4, "entries": rows}
    files.full = True
    with pytest.raises(WriteFailed):
        await notes.restore(snapshot)
    assert [e.key for e in store.list()] == ["a/old"]
    assert notes.turn_count == 0
    files.full, files.replaced = False, 0
    await notes.restore(snapshot)
    assert files.replaced == 1
    assert [(e.key, e.expires_at_turn) for e in store.list()] == [
        ("a/x", None),
        ("a/y", None),
        ("a/z", 9),
    ]
    assert notes.turn_count == 4
