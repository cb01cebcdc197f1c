"""Follows stores in databases: notices when they come, a poll beside them (product.md 3.9).

One supervised task per store takes turns on the watch lane. A turn waits for a notice, looks when
there was one or it is time, and hands what it saw to the follower; the loop never waits for a
server. Decisions of other desktops arrive with the notice, a writer that died with the poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.errors import OmaError, StoreError, WatchUnavailable
from oma_desktop.model.view import Owner
from oma_desktop.monitor.follower import Follower
from oma_desktop.monitor.ownership import NO_WRITER, Look, owner_of_lease
from oma_desktop.store.access import connect
from oma_desktop.store.address import DatabaseAddress
from oma_desktop.store.database import DatabaseStore, Notices
from oma_desktop.store.lease import judge_lease

WAIT_S: Final = 0.4
"""How long one turn waits for a notice."""
POLL_S: Final = 2.0
"""Notices are only hints: every store is looked at this often all the same."""
DEAF_POLL_S: Final = 0.5
"""The same where notices do not come, so that decisions are seen within a second (issue 3)."""
CLOSE_S: Final = 3.0
AGAIN_S: Final = 1.0
"""After a look that failed."""


class DatabaseFollower(Follower):
    """A follower whose looks are brought to it."""

    _seen: Look | None = None

    def follow(self, address: DatabaseAddress) -> None:
        """Say where the store is; to be called once, at first."""
        self._address = address

    def show(self, look: Look) -> None:
        """Take what was seen and picture it, if it is news."""
        self._seen = look
        self.look_again()

    @override
    async def _look(self) -> Look:
        return self._seen or Look(None, NO_WRITER)

    @override
    def _note_writer(self, look: Look) -> None:
        """Every writer of a database has a lease; decisions need none."""

    @override
    def _effective(self, look: Look) -> Owner:
        return look.owner

    @override
    def _missing(self) -> None:
        """Nothing was seen yet, or nothing is in it: both is no reason to say that it is gone."""


class DatabaseWatch:
    """Watches one store until `close`. `on_deaf` is told once when notices do not come."""

    def __init__(
        self,
        address: DatabaseAddress,
        follower: DatabaseFollower,
        *,
        clock: Clock,
        lanes: Lanes,
        supervisor: Supervisor,
        on_deaf: Callable[[WatchUnavailable], None],
    ) -> None:
        self.follower = follower
        self._address = address
        self._clock = clock
        self._lanes = lanes
        self._on_deaf = on_deaf
        self._store: DatabaseStore | None = None
        self._notices: Notices | None = None
        self._deaf = False
        self._told = False
        self._asked = True
        self._looked_at = float("-inf")
        self._closed = False
        self._ended = asyncio.Event()
        follower.follow(address)
        supervisor.spawn(self._run(), name=f"watch {address.text}")

    def look_again(self) -> None:
        """Look at the next turn, also without a notice."""
        self._asked = True

    @property
    def ended(self) -> bool:
        """Whether no turn is under way any more and the connections are closed."""
        return self._ended.is_set()

    def stop(self) -> None:
        """Begin no further turn."""
        self._closed = True
        self.follower.close()

    async def close(self) -> None:
        """Stop and wait for the turn that is under way, three seconds at most."""
        self.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), CLOSE_S)

    async def _run(self) -> None:
        try:
            while not self._closed:
                look = await self._lanes.watch(self._turn)
                if look is not None and not self._closed:
                    self.follower.show(look)
                self._tell()
                if look is not None and look.error is not None and not self._closed:
                    await self._clock.sleep(AGAIN_S)
                elif look is None and self._deaf and not self._closed:
                    await self._clock.sleep(DEAF_POLL_S)
            await self._lanes.watch(self._shut)
        finally:
            self._closed = True  # a turn that is under way shuts the connections itself
            self._ended.set()

    def _turn(self) -> Look | None:
        """On the watch lane: wait for a notice, then look where that is called for."""
        if self._store is None or self._notices is None:
            # Here and not on the loop: it imports the client library, which takes a second.
            self._store = connect(self._address)
            self._notices = self._store.notices()
        try:
            return self._wait_and_look(self._store, self._notices)
        finally:
            if self._closed:
                self._shut()

    def _wait_and_look(self, store: DatabaseStore, notices: Notices) -> Look | None:
        heard = self._wait(notices)
        every = DEAF_POLL_S if self._deaf else POLL_S
        due = self._clock.monotonic() - self._looked_at >= every
        if not (heard or due or self._asked) or self._closed:
            return None
        self._asked = False
        self._looked_at = self._clock.monotonic()
        return _look(store)

    def _shut(self) -> None:
        for connection in (self._notices, self._store):
            if connection is not None:
                connection.close()

    def _wait(self, notices: Notices) -> bool:
        wait_s = 0.0 if self._asked else WAIT_S
        try:
            heard = notices.wait(wait_s)
        except StoreError:
            self._deaf = True
            return False
        self._deaf = False
        return heard

    def _tell(self) -> None:
        """Say once that only polling is left, if the server answers everything else."""
        seen = self.follower.view
        if self._deaf and not self._told and seen is not None and seen.readable:
            self._told = True
            self._on_deaf(WatchUnavailable("WATCH_DATABASE_POLLED", path=self._address.text))


def _look(store: DatabaseStore) -> Look:
    try:
        glance = store.glance()
    except OmaError as error:
        return Look(None, NO_WRITER, error=error)
    owners = {
        run: owner_of_lease(judge_lease(row, now=glance.now)) for run, row in glance.leases.items()
    }
    return Look(glance.stamp, NO_WRITER, owners=owners)
