"""A monitor with its surroundings, and waiting for pictures instead of sleeping."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.errors import OmaError
from oma_desktop.model.view import StoreView
from oma_desktop.monitor.facade import Monitor

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = Path(__file__).parents[2] / "cases"
DEADLINE_S = 20.0
"""Generous: the tests run on loaded machines. Nothing waits this long when it works."""


class Seen:
    """What a monitor has told so far."""

    def __init__(self) -> None:
        self.views: dict[str, StoreView] = {}
        self.history: list[StoreView] = []
        self.gone: list[str] = []
        self.notices: list[OmaError] = []
        self.failures: list[BaseException] = []
        self._news = asyncio.Event()

    def on_view(self, view: StoreView) -> None:
        self.views[view.path] = view
        self.history.append(view)
        self._news.set()

    def on_gone(self, path: str) -> None:
        self.views.pop(path, None)
        self.gone.append(path)
        self._news.set()

    def on_notice(self, error: OmaError) -> None:
        self.notices.append(error)
        self._news.set()

    def on_failure(self, name: str, error: BaseException) -> None:
        self.failures.append(error)
        self._news.set()

    async def eventually(self, holds: Callable[[], Any], *, within_s: float = DEADLINE_S) -> None:
        """Wait for news until `holds`; fail at the deadline."""
        async with asyncio.timeout(within_s):
            while not holds():
                self._news.clear()
                await self._news.wait()


class Setting:
    """The monitor under test with its lanes and supervisor."""

    def __init__(self, monitor: Monitor, seen: Seen, supervisor: Supervisor, lanes: Lanes) -> None:
        self.monitor = monitor
        self.seen = seen
        self.supervisor = supervisor
        self.lanes = lanes

    def view(self, path: Path) -> StoreView | None:
        return self.seen.views.get(str(path))

    def goal(self, path: Path) -> str | None:
        """The goal of the only run: tests write it as a mark of the version."""
        view = self.view(path)
        return view.runs[0].goal if view and view.runs else None


@asynccontextmanager
async def monitoring(**options: Any) -> AsyncIterator[Setting]:
    """Give a running monitor and close it; any failed task fails the test."""
    seen = Seen()
    lanes = Lanes()
    supervisor = Supervisor(seen.on_failure)
    monitor = Monitor(
        options.pop("clock", None) or SystemClock(),
        supervisor,
        lanes,
        seen.on_view,
        seen.on_gone,
        seen.on_notice,
        **options,
    )
    try:
        yield Setting(monitor, seen, supervisor, lanes)
    finally:
        await monitor.close()
        assert await supervisor.close() == []
        lanes.close()
        assert not seen.failures


@dataclass(frozen=True)
class StuckJob:
    """A job of the worker process that never ends by itself."""

    path: str

    def run(self) -> None:
        threading.Event().wait()


def store_text(goal: str, *, n_tasks: int = 1, status: str = "completed", pad: str = "") -> str:
    """A small v4 store whose run has this goal."""
    tasks = [
        {
            "id": f"t{i}",
            "title": f"Task {i}",
            "description": pad,
            "status": status,
            "assignee": "worker",
            "createdAt": "2026-01-05T08:00:00.000Z",
            "updatedAt": "2026-01-05T08:00:05.000Z",
        }
        for i in range(n_tasks)
    ]
    ids = [t["id"] for t in tasks]
    partitions = ("pending", "in_progress", "completed", "failed", "blocked", "skipped")
    names = ("pending", "inProgress", "completed", "failed", "blocked", "skipped")
    queue: dict[str, Any] = {"version": 1, "tasks": tasks}
    queue |= {n: ids if p == status else [] for n, p in zip(names, partitions, strict=True)}
    snapshot = {
        "version": 4,
        "mode": "runTasks",
        "createdAt": "2026-01-05T08:00:05.000Z",
        "identity": {
            "runId": "run-1",
            "attempt": 1,
            "lastTraceId": "0" * 31 + "1",
            "lastRootSpanId": "0" * 15 + "1",
        },
        "goal": goal,
        "queue": queue,
        "completedTaskResults": [],
        "inFlightTasks": [],
        "pendingApprovals": [],
        "approvalDecisions": [],
    }
    entry = {
        "key": "__oma_checkpoint__/run-1/latest",
        "value": json.dumps(snapshot),
        "createdAt": "2026-01-05T08:00:00.000Z",
    }
    return json.dumps({"version": 1, "entries": [entry]}, separators=(",", ":"))


def replace_file(path: Path, text: str) -> None:
    """Write as the engines do: a sibling, then a rename."""
    temp = path.with_name(f"{path.name}.tmp-1-0")
    temp.write_text(text, "utf-8")
    temp.replace(path)
