"""Real runs in several states, made by the engine itself, for pictures and trials of the window."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oma_desktop.app.scene_files import write_goal, write_live_goal, write_repair
from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.launching.launch import Launcher
from oma_desktop.engine.launching.sample import STORE_FILE, unpack_sample
from oma_desktop.model.keys import checkpoint_key
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.origin import Origin, write_origin
from oma_desktop.store.writers import writing

APP = "oma-desktop scenes"


@dataclass(frozen=True, slots=True)
class Scenes:
    """Stores by what became of the run. `live` is a run file to be played."""

    folder: Path
    suspended: Path
    interrupted: Path
    finished: Path
    planned: Path
    repaired: Path
    live: Path


class _Keeper:
    """Copies the store aside when a call starts: exactly what a crash right then would leave."""

    def __init__(self, store: Path, target: Path, call_id: str) -> None:
        self._store, self._target, self._call_id = store, target, call_id

    def __call__(self, event: ProgressEvent) -> None:
        if event.type == "tool_start" and event.data.get("toolCallId") == self._call_id:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self._store, self._target)


class SceneMaker:
    """Plays the sample without delays, each time under another run id."""

    def __init__(self, folder: Path, *, clock: Clock, supervisor: Supervisor, lanes: Lanes) -> None:
        self._folder = folder
        self._clock = clock
        self._lanes = lanes
        self._launcher = Launcher(
            clock=clock, supervisor=supervisor, lanes=lanes, app=APP, speed=0.0
        )

    async def make(self) -> Scenes:
        """Return runs in one folder: suspended at a call and at a plan, interrupted (two),
        finished, and finished over a repaired plan."""
        _, origin = await self._lanes.work(unpack_sample, self._folder / "files")
        suspended = await self._play("q3-supply-risk", origin)
        finished = await self._play("港口延误周报", origin)
        await self._finish(finished, origin)
        sending = await self._crash("nightly-audit", origin, at_call="call_let_2")
        await self._crash("rare-earth-scan", origin, at_call="call_lead_1")
        planned = await self._play("port-report", await self._file("goal", write_goal))
        repaired = await self._play("port-archive", await self._file("repair", write_repair))
        live = await self._file("live", write_live_goal)
        assert live.run_file is not None
        return Scenes(self._folder, suspended, sending, finished, planned, repaired, live.run_file)

    async def _file(self, name: str, write: Callable[[Path], Path]) -> Origin:
        place = self._folder.parent / f"{self._folder.name}-files" / name
        return Origin(run_file=await self._lanes.work(write, place))

    async def _play(self, run_id: str, origin: Origin, bus: EventBus | None = None) -> Path:
        aside = bus is not None
        base = self._folder.parent / f"{self._folder.name}-aside" if aside else self._folder
        store = base / run_id / STORE_FILE
        prepared = await self._launcher.new_run(
            origin, bus=bus or EventBus(), store=store, run_id=run_id
        )
        try:
            await prepared.go(CancelToken())
        finally:
            await prepared.close()
        return store

    async def _crash(self, run_id: str, origin: Origin, *, at_call: str) -> Path:
        """Play the whole run elsewhere and keep only what was saved when a call began."""
        target = self._folder / run_id / STORE_FILE
        bus = EventBus()
        aside = self._folder.parent / f"{self._folder.name}-aside" / run_id / STORE_FILE
        bus.subscribe(_Keeper(aside, target, at_call))
        await self._play(run_id, origin, bus)
        await self._finish(aside, origin, bus)
        await self._lanes.store(write_origin, target, checkpoint_key(run_id), origin)
        return target

    async def _finish(self, store: Path, origin: Origin, bus: EventBus | None = None) -> None:
        await self._lanes.store(self._approve_all, store)
        prepared = await self._launcher.saved_run(origin, bus=bus or EventBus(), store=store)
        try:
            await prepared.go(CancelToken())
        finally:
            await prepared.close()

    def _approve_all(self, path: Path) -> None:
        with writing(path, app=APP, clock=self._clock) as store:
            ledger = ApprovalLedger(store, clock=self._clock)
            for row in ledger.list():
                request = row["request"]
                ledger.decide(
                    request["id"], request["requestHash"], "approve", {"id": "operator-1"}
                )
