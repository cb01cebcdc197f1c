"""Long lists without holding the loop (product.md 3.3): no callback of it takes above 50 ms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

SLICE: Final = 500


async def breathe() -> None:
    """Give the loop a turn between two pieces of work."""
    await asyncio.sleep(0)


async def in_slices(items: Iterable[T], size: int = SLICE) -> AsyncIterator[T]:
    """Go through the items; after each `size` of them the loop gets a turn."""
    for index, item in enumerate(items):
        if index and index % size == 0:
            await breathe()
        yield item
