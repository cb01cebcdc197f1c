"""What a click sets in motion: `Commands`, over engine, monitor and feed (house.md 2.4).

Every verb spawns one supervised task, exclusive per thing it acts on. A known error becomes a
notice; anything else is a bug and goes to `failure`. Nothing here edits a view.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Final

from oma_desktop.app.arrivals import Arrival, beside, offer_of, what_is
from oma_desktop.app.embedded import EmbeddedRuns
from oma_desktop.app.outcomes import notice_of
from oma_desktop.app.pictures import Pictures
from oma_desktop.app.planning import Planning
from oma_desktop.app.telling import Telling
from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.launching.consent import AskTrust, Consent
from oma_desktop.engine.launching.launch import Launcher, Prepared, declared_effects
from oma_desktop.engine.launching.sample import (
    EFFECTS_FILE,
    RUN_ID,
    STORE_FILE,
    effects_beside,
    unpack_sample,
)
from oma_desktop.model.approval import ApprovalDecision, Reviewer
from oma_desktop.model.errors import AlreadyDecided, ApprovalError, InvalidInput, OmaError
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.view import OwnerKind, RunRef, StoreView
from oma_desktop.monitor.facade import Monitor
from oma_desktop.store.access import deciding
from oma_desktop.store.address import is_database, parse_address, store_id
from oma_desktop.store.ledger import ApprovalLedger
from oma_desktop.store.lock_file import LockOwner
from oma_desktop.store.origin import Origin, lost_files, read_origin
from oma_desktop.viewmodel.commands import DecisionIntent, ResumeIntent
from oma_desktop.viewmodel.feed import DecisionOutcome, Feed, Notice
from oma_desktop.viewmodel.start_offer import StartOffer

SUSPEND_S: Final = 5.0
APP: Final = "oma-desktop"

ChooseFiles = Callable[[RunRef], Awaitable[Origin | None]]
"""Asks the operator which files belong to a run that does not say; None: not now."""
ConfirmStart = Callable[[StartOffer], Awaitable[bool]]
"""Asks the operator whether a run file that was opened shall run; silence is a no."""


class Session:
    """The verbs of the window. Lives on the loop; `close` ends everything in order."""

    def __init__(
        self,
        feed: Feed,
        *,
        clock: Clock,
        supervisor: Supervisor,
        lanes: Lanes,
        choose_files: ChooseFiles,
        confirm_start: ConfirmStart,
        ask_trust: AskTrust | None = None,
        on_watched: Callable[[tuple[str, ...]], None],
        speed: float = 1.0,
    ) -> None:
        self._feed = feed
        self._clock = clock
        self._supervisor = supervisor
        self._lanes = lanes
        self._choose_files = choose_files
        self._confirm_start = confirm_start
        self._on_watched = on_watched
        self._watched: list[str] = []
        self._speed = speed
        self._closed = False
        self._pictures = Pictures(feed)
        self._planning = Planning(self._pictures.put, feed.store, now=clock.now)
        self._monitor = Monitor(
            clock,
            supervisor,
            lanes,
            self._planning.show,
            self._pictures.drop,
            self._on_monitor_notice,
            on_scanned=feed.note_bare,
        )
        self._runs = EmbeddedRuns(feed, self._monitor.hint, now=clock.now)
        self._launcher = Launcher(
            clock=clock,
            supervisor=supervisor,
            lanes=lanes,
            app=APP,
            speed=speed,
            reader=self._monitor.read_file,
            consent=Consent(ask=ask_trust),
        )

    # ------------------------------------------------------------------ Commands

    def watch_paths(self, paths: list[str]) -> None:
        """Watch store files, folders, or stores in databases."""
        for path in paths:
            try:
                self._watch(_watched(path))
            except InvalidInput as error:
                self._feed.notice.emit(Notice("error", error.code, error.facts))

    def open_paths(self, paths: list[str]) -> None:
        """Open what was named, chosen or dropped: run files are offered, the rest is watched."""
        for path in paths:
            if is_database(path):
                self.watch_paths([path])
            else:
                self._spawn(self._arrive(Path(path)), ("arrive", path))

    def forget_path(self, path: str) -> None:
        """Stop watching; nothing on disk changes."""
        path = _watched(path)
        self._monitor.remove(path)
        if path in self._watched:
            self._watched.remove(path)
            self._on_watched(tuple(self._watched))

    def start_run(self, run_file: str) -> None:
        """Start a run file in this process."""
        self._spawn(self._start(Origin(run_file=Path(run_file))), ("start", run_file))

    def start_sample(self) -> None:
        """Play the bundled sample in a fresh temporary folder."""
        self._spawn(self._sample(None), ("start", "sample"))

    def play_sample_in(self, folder: Path) -> None:
        """Play the sample in a given folder, or go on with the one that lies there."""
        self._spawn(self._sample(folder), ("start", str(folder)))

    def suspend(self, run: RunRef) -> None:
        """Stop at the next safe point; resumable."""
        if not self._runs.stop(run, StopReason.SUSPEND):
            self._feed.notice.emit(Notice("warning", "RUN_NOT_OURS", {}, run))

    def cancel(self, run: RunRef) -> None:
        """Stop now."""
        if not self._runs.stop(run, StopReason.CANCEL):
            self._feed.notice.emit(Notice("warning", "RUN_NOT_OURS", {}, run))

    def request_resume_plan(self, run: RunRef) -> None:
        """Compute the resume plan; it arrives as `Feed.plan_ready`."""
        self._spawn(self._plan(run), ("plan", run))

    def resume(self, intent: ResumeIntent) -> None:
        """Restore and run."""
        self._spawn(self._resume(intent), ("resume", intent.run))

    def decide(self, intent: DecisionIntent) -> None:
        """Record one decision by compare-and-set."""
        self._spawn(self._decide(intent), ("decide", intent.store, intent.request_id))

    def load_conversation(self, run: RunRef, task_id: str) -> None:
        """Read the messages of one task."""
        self._spawn(self._conversation(run, task_id), ("conversation", run, task_id))

    def load_call(self, run: RunRef, task_id: str, call_id: str) -> None:
        """Read whole input and output of one call."""
        self._spawn(self._call(run, task_id, call_id), ("call", run, task_id, call_id))

    def look_again(self) -> None:
        """Re-read everything now."""
        self._monitor.look_again()

    def _watch(self, path: str) -> None:
        self._monitor.add(path)
        if path not in self._watched:
            self._watched.append(path)
            self._on_watched(tuple(self._watched))

    # ------------------------------------------------------------------ runs

    async def _start(self, origin: Origin) -> None:
        telling = Telling(self._feed)
        prepared = await self._launcher.new_run(origin, bus=telling.bus)
        path = prepared.store_path
        self._watch(str(path))
        ref = RunRef(store_id(path), prepared.key)
        with self._planning.following(telling.bus, ref, prepared.run_id or ""):
            notice = notice_of(await self._play(prepared, telling))
        if notice is not None:
            self._feed.notice.emit(notice)
            if isinstance(path, Path) and not await self._lanes.work(path.is_file):
                self.forget_path(str(path))

    async def _arrive(self, path: Path) -> None:
        match await self._lanes.work(what_is, path):
            case Arrival.WATCH:
                self.watch_paths([str(path)])
            case Arrival.START:
                offer = await self._lanes.work(offer_of, path)
                if await self._confirm_start(offer):
                    self.start_run(str(path))
            case Arrival.JOURNAL:
                store = await self._lanes.work(beside, path)
                if store is not None:
                    self.watch_paths([str(store)])
                code = "JOURNAL_NOT_SHOWN" if store is None else "JOURNAL_NOT_SHOWN_STORE_OPENED"
                self._feed.notice.emit(Notice("info", code, {"path": str(path)}))

    async def _sample(self, folder: Path | None) -> None:
        place, origin = await self._lanes.work(unpack_sample, folder)
        store = place / STORE_FILE
        self._watch(str(store))
        telling = Telling(self._feed)
        bus = telling.bus
        effects = place / EFFECTS_FILE
        if await self._lanes.work(store.is_file):
            prepared = await self._launcher.saved_run(origin, bus=bus, store=store, effects=effects)
        else:
            prepared = await self._launcher.new_run(
                origin, bus=bus, store=store, run_id=RUN_ID, effects=effects
            )
        await self._play(prepared, telling)

    async def _resume(self, intent: ResumeIntent) -> None:
        store = parse_address(intent.run.store)
        origin = await self._lanes.work(read_origin, store, intent.run.key)
        lost = await self._lanes.work(lost_files, store, intent.run.key)
        if origin.is_empty or lost:  # without its script a run would ask real models
            chosen = await self._choose_files(intent.run)
            if chosen is None:
                return
            origin = chosen
        telling = Telling(self._feed)
        prepared = await self._launcher.saved_run(
            origin,
            bus=telling.bus,
            store=store,
            key=intent.run.key,
            retry_failed=intent.retry_failed,
            run_masked=frozenset(intent.run_again),
            effects=await self._lanes.work(effects_beside, store),
        )
        await self._play(prepared, telling)

    async def _plan(self, run: RunRef) -> None:
        effects = await self._lanes.work(
            declared_effects, parse_address(run.store), clock=self._clock, key=run.key
        )
        plan = await self._monitor.resume_plan(run, effects=effects)
        self._feed.plan_ready.emit((run, plan))

    async def _play(self, prepared: Prepared, telling: Telling) -> TeamRunResult:
        telling.run = RunRef(store_id(prepared.store_path), prepared.key or "")
        return await self._runs.play(prepared, telling.bus)

    # ------------------------------------------------------------------ decisions

    async def _decide(self, intent: DecisionIntent) -> None:
        if self._owned_elsewhere(intent.store):
            self._refused(intent, "STORE_OWNED_ELSEWHERE", {})
            return
        dead: list[LockOwner] = []
        try:
            await self._lanes.store(self._record, intent, dead)
        except AlreadyDecided as error:
            self._refused(intent, error.code, error.facts)
        except ApprovalError as error:
            self._refused(intent, error.code, error.facts)
        except OmaError as error:
            self._refused(intent, error.code, error.facts)
            raise
        else:
            self._feed.decided.emit(DecisionOutcome(intent.store, intent.request_id, ok=True))
        finally:
            self._monitor.hint(intent.store)
            for owner in dead:
                facts = {**owner.facts(), "path": intent.store}
                self._feed.notice.emit(Notice("warning", "LOCK_TAKEN_OVER", facts))

    def _record(self, intent: DecisionIntent, dead: list[LockOwner]) -> ApprovalDecision:
        """On the store lane: the row is read again and written by compare-and-set."""
        reviewer: Reviewer = {"id": intent.reviewer_id}
        if intent.reviewer_name:
            reviewer["displayName"] = intent.reviewer_name
        address = parse_address(intent.store)
        reader = self._monitor.read_file
        with deciding(
            address,
            app=f"{APP} review",
            clock=self._clock,
            reader=reader,
            on_taken_over=dead.append,
        ) as store:
            ledger = ApprovalLedger(store, clock=self._clock)
            return ledger.decide(intent.request_id, intent.request_hash, intent.verdict, reviewer)

    def _owned_elsewhere(self, store: str) -> bool:
        view: StoreView | None = self._feed.store(store)
        return view is not None and view.owner.kind is OwnerKind.OTHER_PROCESS

    def _refused(self, intent: DecisionIntent, code: str, facts: dict[str, object]) -> None:
        self._feed.decided.emit(
            DecisionOutcome(intent.store, intent.request_id, ok=False, code=code, facts=facts)
        )

    # ------------------------------------------------------------------ reading on demand

    async def _conversation(self, run: RunRef, task_id: str) -> None:
        view = await self._monitor.conversation(run, task_id)
        self._feed.conversation_loaded.emit((run, view))

    async def _call(self, run: RunRef, task_id: str, call_id: str) -> None:
        detail = await self._monitor.call_detail(run, task_id, call_id)
        self._feed.call_loaded.emit((run, detail))

    # ------------------------------------------------------------------ life

    def _on_monitor_notice(self, error: OmaError) -> None:
        self._feed.notice.emit(Notice("warning", error.code, error.facts))

    def _spawn(self, work: Coroutine[object, object, None], what: tuple[object, ...]) -> None:
        """One task per thing; refused while closing."""
        if self._closed:
            work.close()
            return
        name = " ".join(str(part) for part in what[:2])
        if self._supervisor.spawn(self._guarded(work), name=name, exclusive=what) is None:
            work.close()  # the same thing is being done already: a second click is nothing

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        """The command boundary (house.md 2.6): known errors become notices, bugs pass through."""
        try:
            await work
        except OmaError as error:
            self._feed.notice.emit(Notice("error", error.code, error.facts))

    async def close(self) -> int:
        """Suspend live runs (at most 5 s), stop watching; return how many runs were left behind."""
        self._closed = True
        late = await self._runs.suspend_all(SUSPEND_S)
        await self._monitor.close()
        self._pictures.close()
        return late


def _watched(path: str) -> str:
    """Return the one name of a watched place; raises InvalidInput for a database that is none."""
    if is_database(path):
        return str(parse_address(path))
    return os.path.abspath(path)  # noqa: PTH100 - paths of views are strings
