"""Bytes made row by row are the bytes of the whole (formats.md 1.4.1; product.md 3.3)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.container import Container, ContainerEntry, encode_container, encode_entry
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.store import ready_text, rows
from oma_desktop.store.ready_text import ReadyText, ready
from oma_desktop.store.rows import Row, file_pieces

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT | st.sampled_from(["0", "10", "2", "entries"]), JSON, max_size=4)
FIXED = {"key", "value", "metadata", "createdAt", "expiresAtTurn", "version"}
EXTRA = OBJECT.map(lambda d: {k: v for k, v in d.items() if k not in FIXED | {"entries"}})
ENTRY = st.builds(
    ContainerEntry,
    key=TEXT,
    value=TEXT,
    created_at=st.just(NOW),
    metadata=st.none() | OBJECT,
    expires_at_turn=st.none() | st.integers(0, 9),
    extra=EXTRA,
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so small that every branch is taken."""
    monkeypatch.setattr(rows, "SLICE", 3)
    monkeypatch.setattr(ready_text, "SLICE", 3)
    monkeypatch.setattr(rows, "_WRITE_AT_ONCE", 40)


@given(st.lists(ENTRY, max_size=5), EXTRA)
def test_the_file_is_what_the_container_writes(entries: list[ContainerEntry], extra: dict) -> None:  # type: ignore[type-arg]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "SLICE", 3)
        patch.setattr(ready_text, "SLICE", 3)
        patch.setattr(rows, "_WRITE_AT_ONCE", 40)
        written = b"".join(file_pieces(map(Row, entries), extra))
    assert written == encode_container(Container(entries, extra))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "value", ["ab\ud83d\udd25cd", "\ud83d\ud83d\ud83d\udd25", "abc\ud83d", "🔥" * 7]
)
def test_halves_of_a_pair_are_never_separated(value: str) -> None:
    entry = ContainerEntry("k", value, NOW)
    assert b"".join(Row(entry).pieces) == encode_entry(entry)


def test_an_unchanged_row_is_encoded_once() -> None:
    row = Row(ContainerEntry("k", "v", NOW))
    assert row.pieces is row.pieces


def test_a_big_row_is_written_a_megabyte_at_once() -> None:
    row = Row(ContainerEntry("k", "x" * (96 * rows.SLICE), NOW))
    assert {len(q) for q in row.pieces[1:-1]} == {rows.SLICE}
    chunks = [*map(len, file_pieces([row], {}))]
    assert len(chunks) == 4, "the frame is counted too, so little is left for the last one"
    assert all(1024 * 1024 <= size < 1024 * 1024 + rows.SLICE for size in chunks[:-1])


@given(JSON, EXTRA, st.none() | OBJECT, st.integers(1, 30))
def test_ready_pieces_are_the_bytes_of_the_plain_value(
    value: JsonValue, extra: JsonObject, metadata: JsonObject | None, size: int
) -> None:
    """pieces path == stringify path, however finely it is cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "SLICE", size)
        patch.setattr(ready_text, "SLICE", size)
        text = stringify(value)
        for quoted in (True, False):
            made = ReadyText(ready(value, quoted=quoted), quoted=quoted)
            assert made.text == text
        made = ReadyText(ready(value))
        late = Row(ContainerEntry("k", "", NOW, metadata, 2, extra), made)
        plain = Row(ContainerEntry("k", text, NOW, metadata, 2, extra))
        assert b"".join(late.pieces) == b"".join(plain.pieces)
        assert late.public == plain.public
        assert plain.public == late.public
        assert late.same_as(plain)
        assert plain.same_as(late)


@pytest.mark.parametrize("depth", [0, 3, 39, 40, 41, 300])
def test_big_values_at_any_depth(depth: int) -> None:
    value: JsonValue = ["é\ud83d" * 40_000, {"10": 1, "9": [None, 1e21]}, "\\" * 70_000]
    for _ in range(depth):
        value = {"deep": value, "1": depth}
    made = ReadyText(ready(value))
    assert made.text == stringify(value)
    assert max(map(len, made.pieces)) < 12 * ready_text.SLICE or depth >= 40


def test_a_ring_is_refused_like_anywhere() -> None:
    ring: list[JsonValue] = ["x" * 40_000]
    ring.append(ring)
    with pytest.raises(ValueError, match="cycle"):
        ready(ring)
