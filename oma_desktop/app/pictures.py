"""Merges pictures of stores on their way to the screen: at most thirty announcements a second.

(house.md 2.3 step 8.) The follower that made a picture goes on at once; what the window makes of it
happens in a callback of its own.
"""

from __future__ import annotations

import asyncio
from typing import Final

from oma_desktop.model.view import StoreView
from oma_desktop.viewmodel.feed import Feed

PAUSE_S: Final = 1 / 30


class Pictures:
    """The newest picture of each store is kept until it is time; the first one goes at once.

    Invariant: what `drop` was told comes no more. Only on the loop.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._waiting: dict[str, StoreView] = {}
        self._next: asyncio.Handle | None = None

    def put(self, view: StoreView) -> None:
        """Announce a picture soon."""
        self._waiting[view.path] = view
        if self._next is None:
            self._next = asyncio.get_running_loop().call_soon(self._announce)

    def drop(self, path: str) -> None:
        """Forget a store that is no longer watched, now."""
        self._waiting.pop(path, None)
        self._feed.drop(path)

    def close(self) -> None:
        """Announce nothing any more."""
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _announce(self) -> None:
        waiting, self._waiting = self._waiting, {}
        self._next = None
        if waiting:
            # the pause begins before anybody listens: who listens may put the next picture
            self._next = asyncio.get_running_loop().call_later(PAUSE_S, self._announce)
            self._feed.put_all(waiting.values())
