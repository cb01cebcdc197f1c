"""Follows one store file: decides when to read, keeps the last good picture, says what is wrong.

Events and hints only say "look again"; what counts is the stamp of the file and the lock beside it
(house.md 2.3). The picture also changes without the file: when the writer dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.problem import problem_of
from oma_desktop.model.view import Owner, OwnerKind, Problem, StoreView
from oma_desktop.monitor.debounce import Debounce
from oma_desktop.monitor.jobs import StoreJob, modified_at
from oma_desktop.monitor.ownership import (
    NOT_KNOWN,
    Look,
    are_same_owners,
    is_same_owner,
    look_at,
)
from oma_desktop.monitor.reader import Reader
from oma_desktop.store.access import Stamp
from oma_desktop.store.address import StoreAddress

log = logging.getLogger(__name__)

FOREIGN_S: Final = 10.0
"""How long after a change by a writer without a lock the owner counts as not known."""
GONE_AFTER_S: Final = 3.0
"""Editors and some writers remove a file before they write it anew (cases s23)."""
YOUNG: Final = timedelta(seconds=2)
RETRIES: Final = 5
RETRY_S: Final = 0.2


class Follower:
    """One store. `on_view` gets every new picture, on the loop.

    Invariants: at most one read at a time; the stamp belongs to the bytes of the published picture;
    a store that cannot be read keeps its last good runs and says since when (ux.md C15).
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        reader: Reader,
        gate: asyncio.Semaphore,
        on_view: Callable[[StoreView], None],
        on_gone: Callable[[str], None],
    ) -> None:
        self.path = path
        self.view: StoreView | None = None
        self._address: StoreAddress | None = None
        self._clock = clock
        self._lanes = lanes
        self._reader = reader
        self._gate = gate
        self._on_view = on_view
        self._on_gone = on_gone
        self._debounce = Debounce(
            self._refresh, name=f"follow {path}", clock=clock, supervisor=supervisor
        )
        self._stamp: Stamp | None = None
        self._owner = NOT_KNOWN
        self._owners: Mapping[str, Owner] | None = None
        self._troubled = False
        self._ours = False
        self._foreign_until = 0.0
        self._lock_seen_at = float("-inf")
        self._missing_since: float | None = None
        self._n_retries = 0
        self._closed = False

    def look_again(self) -> None:
        """Something may have changed."""
        self._debounce.ask()

    def lock_changed(self) -> None:
        """The lock file beside the store was created, rewritten or removed."""
        self._lock_seen_at = self._clock.monotonic()
        self._debounce.ask()

    def written_here(self) -> None:
        """This process has written the store: the change is no foreign one."""
        self._ours = True
        self._debounce.ask()

    def close(self) -> None:
        """Publish nothing any more."""
        self._closed = True
        self._debounce.close()

    def is_news(self, look: Look) -> bool:
        """Whether a look from the sweep differs from what the picture shows."""
        if self.view is None or look.stamp is None:
            return True
        return look.stamp != self._stamp or not is_same_owner(self._effective(look), self._owner)

    def missed(self, look: Look) -> bool:
        """Whether the file itself changed and nobody has told."""
        return self.view is not None and look.stamp not in (None, self._stamp)

    @property
    def size(self) -> int:
        """Bytes of the file at the last look."""
        return self._stamp.size if self._stamp else 0

    async def _refresh(self) -> None:
        try:
            async with self._gate:
                await self._read_if_changed()
        except OmaError as error:
            await self._failed(error)
        except Exception as error:  # the follower of one run is one of the four places
            log.exception("cannot picture %s", self.path)
            self._publish_failure(Problem("PICTURE_FAILED", "error", facts={"error": repr(error)}))

    async def _read_if_changed(self) -> None:
        look = await self._look()
        self._troubled |= bool(look.trouble or look.error)
        if look.error is not None:
            self._publish_failure(problem_of(look.error, ""))
        elif look.trouble:
            facts: JsonObject = {"path": self.path, "reason": look.trouble}
            self._publish_failure(Problem("STORE_UNREADABLE", "error", facts=facts))
        elif look.stamp is None:
            self._missing()
        else:
            self._missing_since = None
            self._note_writer(look)
            owner = self._effective(look)
            is_known = self.view is not None and look.stamp == self._stamp and not self._troubled
            is_owned = is_same_owner(owner, self._owner)
            if not is_known or not is_owned or not are_same_owners(look.owners, self._owners):
                await self._read(look, owner)

    async def _look(self) -> Look:
        return await self._lanes.work(look_at, self.path, clock=self._clock)

    async def _read(self, look: Look, owner: Owner) -> None:
        job = StoreJob(
            self.path, owner, self._clock.now(), owners=look.owners, address=self._address
        )
        self._ours = False
        reading = await self._reader.store(job, size=look.stamp.size if look.stamp else 0)
        if reading.stamp is None:
            return self._missing()
        self._stamp, self._owner, self._n_retries = reading.stamp, owner, 0
        self._owners, self._troubled = look.owners, False
        self._publish(reading.view)
        return None

    def _note_writer(self, look: Look) -> None:
        """Notice a change that no lock announced: a peer's engine writes (formats.md 1.7)."""
        now = self._clock.monotonic()
        changed = self._stamp is not None and look.stamp != self._stamp
        had_lock = look.owner.kind is not OwnerKind.NO_WRITER or self._owner.pid is not None
        if changed and not had_lock and not self._ours and now - self._lock_seen_at > FOREIGN_S:
            self._foreign_until = now + FOREIGN_S

    def _effective(self, look: Look) -> Owner:
        is_foreign = self._clock.monotonic() < self._foreign_until
        if look.owner.kind is OwnerKind.NO_WRITER and is_foreign:
            return NOT_KNOWN
        return look.owner

    async def _failed(self, error: OmaError) -> None:
        """Read a young file again for about a second: it may be half written (cases s23)."""
        look = await self._look()
        at = modified_at(look.stamp)
        if self._n_retries < RETRIES and at is not None and self._clock.now() - at < YOUNG:
            self._n_retries += 1
            await self._clock.sleep(RETRY_S)
            self._debounce.ask()
            return
        self._n_retries = 0
        self._stamp = look.stamp
        self._troubled |= self._address is not None  # a server that answers again is asked again
        self._publish_failure(problem_of(error, ""))

    def _missing(self) -> None:
        now = self._clock.monotonic()
        if self.view is None:
            # A missing file alone means "new" (cases s13).
            missing = Problem("STORE_MISSING", "warning", facts={"path": self.path})
            self._publish(StoreView(self.path, read_at=self._clock.now(), problems=(missing,)))
            return
        if self._stamp is None:
            return
        if self._missing_since is None:
            self._missing_since = now
        elif now - self._missing_since >= GONE_AFTER_S:
            self._stamp = None
            gone = Problem("STORE_GONE", "error", facts={"path": self.path})
            if not self.view.runs and not self.view.readable:
                gone = Problem("STORE_GONE_UNREAD", "error", facts={"path": self.path})
            self._publish_failure(gone)
            self._on_gone(self.path)

    def _publish_failure(self, problem: Problem) -> None:
        """Keep the last good picture and say since when it is not the truth any more."""
        last = self.view or StoreView(self.path)
        if not last.readable and last.problems == (problem,):
            return
        since: datetime | None = last.unreadable_since or self._clock.now()
        self._publish(replace(last, readable=False, unreadable_since=since, problems=(problem,)))

    def _publish(self, view: StoreView) -> None:
        if self._closed:
            return
        revision = self.view.revision + 1 if self.view else 1
        self.view = replace(view, revision=revision)
        self._on_view(self.view)
