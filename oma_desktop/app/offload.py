"""Big layouts on a work lane: how a view model hands computing away without knowing lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor

T = TypeVar("T")


class Offloader:
    """Calls `work` on a lane and `done` with its result on the loop; a failure is reported once."""

    def __init__(self, supervisor: Supervisor, lanes: Lanes) -> None:
        self._supervisor = supervisor
        self._lanes = lanes

    def __call__(self, work: Callable[[], T], done: Callable[[T], None], /) -> None:
        """Start at once; nothing happens any more while the program is closing."""
        if not self._supervisor.closed:
            self._supervisor.spawn(self._run(work, done), name="layout")

    async def _run(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        done(await self._lanes.work(work))
