"""Bytes made row by row are the bytes of the whole (formats.md 1.4.1; product.md 3.3)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.container import Container, ContainerEntry, encode_container, encode_entry
from oma_desktop.store import rows
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
    monkeypatch.setattr(rows, "_SLICE", 3)
    monkeypatch.setattr(rows, "_WRITE_AT_ONCE", 40)


@given(st.lists(ENTRY, max_size=5), EXTRA)
def test_the_file_is_what_the_container_writes(entries: list[ContainerEntry], extra: dict) -> None:  # type: ignore[type-arg]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_SLICE", 3)
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


def test_a_big_row_is_handed_on_without_a_copy() -> None:
    row = Row(ContainerEntry("k", "x" * (64 * rows._SLICE), NOW))
    pieces = list(file_pieces([row], {}))
    slices = [q for q in row.pieces if len(q) == rows._SLICE]
    assert len(slices) == 64
    assert all(any(p is q for p in pieces) for q in slices)
