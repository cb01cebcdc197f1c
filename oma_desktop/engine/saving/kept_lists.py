"""Arrays of a snapshot whose written form is kept from save to save.

Items are compared by identity: documents of a run are replaced, never changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, compress, count
from operator import is_not
from typing import Final, TypeAlias

from oma_desktop.store.ready_text import SLICE, Pieces, gathered

Write: TypeAlias = Callable[[object], Pieces]

_BLOCK: Final = 4 * SLICE


class _Block:
    """Neighbours in an array, written together, each with a comma before it.

    `ends` says where each item ends; an item too big to share a block has one of its own.
    """

    __slots__ = ("ends", "items", "pieces")

    def __init__(self, items: list[object], ends: list[int], pieces: Pieces) -> None:
        self.items = items
        self.ends = ends
        self.pieces = pieces

    def opened(self) -> Iterator[tuple[object, Pieces]]:
        """Each item with its own bytes again."""
        if len(self.items) == 1:
            yield self.items[0], self.pieces
            return
        data, start = self.pieces[0], 0
        for item, end in zip(self.items, self.ends, strict=True):
            yield item, (data[start:end],)
            start = end


class KeptList:
    """The items of one array as last written, and their bytes in blocks."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._items: tuple[object, ...] = ()
        self._blocks: list[_Block] = []
        self._ready: list[Pieces] = []

    def update(self, items: tuple[object, ...]) -> list[Pieces]:
        """Return the pieces of `items`, writing only what is new.

        Only the blocks between the first and the last change are looked into.
        """
        if items is not self._items:
            self._change(items)
        return self._ready

    def _change(self, items: tuple[object, ...]) -> None:
        old = self._items
        shorter = min(len(old), len(items))
        start = _same(old, items, shorter)
        end = _same(reversed(old), reversed(items), shorter - start)
        head, start = _within(self._blocks, start)
        tail, end = _within(self._blocks[: len(head) - 1 if head else None : -1], end)
        changed = self._blocks[len(head) : len(self._blocks) - len(tail)]
        known = {id(item): pieces for block in changed for item, pieces in block.opened()}
        middle = self._pieces(items[start : len(items) - end], known)
        self._blocks = [*head, *_packed(middle), *reversed(tail)]
        self._items = items
        self._ready = [block.pieces for block in self._blocks]

    def _pieces(
        self, items: Iterable[object], known: Mapping[int, Pieces]
    ) -> Iterator[tuple[object, Pieces]]:
        for item in items:
            pieces = known.get(id(item))
            if pieces is None:
                pieces = self._write(item)
                pieces = tuple(gathered((b",", *pieces), at_least=SLICE))
            yield item, pieces


class KeptPages:
    """An array that comes in pages; a page without a change is the very same tuple as before."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._pages: list[KeptList] = []

    def update(self, pages: tuple[tuple[object, ...], ...]) -> list[Pieces]:
        """Return the pieces of all items; unchanged pages cost nothing but their place."""
        while len(self._pages) < len(pages):
            self._pages.append(KeptList(self._write))
        del self._pages[len(pages) :]
        ready = (kept.update(page) for kept, page in zip(self._pages, pages, strict=True))
        return [*chain.from_iterable(ready)]


def _same(one: Iterable[object], other: Iterable[object], at_most: int) -> int:
    """How many things are the very same at the start of both, `at_most` so many."""
    return min(at_most, next(compress(count(), map(is_not, one, other)), at_most))


def _within(blocks: Iterable[_Block], items: int) -> tuple[list[_Block], int]:
    """The blocks that lie wholly within so many items, and how many items those are."""
    found: list[_Block] = []
    reached = 0
    for block in blocks:
        if reached + len(block.items) > items:
            break
        found.append(block)
        reached += len(block.items)
    return found, reached


def _packed(items: Iterable[tuple[object, Pieces]]) -> Iterator[_Block]:
    """Put small neighbours into blocks."""
    held: list[object] = []
    ends: list[int] = []
    data: list[bytes] = []
    for item, pieces in items:
        big = len(pieces) > 1 or len(pieces[0]) > SLICE
        if held and (big or ends[-1] + len(pieces[0]) > _BLOCK):
            yield _Block(held, ends, (b"".join(data),))
            held, ends, data = [], [], []
        if big:
            yield _Block([item], [], pieces)
            continue
        held.append(item)
        data.append(pieces[0])
        ends.append((ends[-1] if ends else 0) + len(pieces[0]))
    if held:
        yield _Block(held, ends, (b"".join(data),))
