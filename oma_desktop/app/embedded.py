"""The runs this very process executes: starting, stopping, what they do right now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from oma_desktop.base.text import tr
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.coordination.coordinator import DECOMPOSE, SYNTHESIS
from oma_desktop.engine.coordination.profiling import ROUTE
from oma_desktop.engine.launching.launch import Prepared
from oma_desktop.engine.tasks.judging import JUDGING
from oma_desktop.model.result import TeamRunResult
from oma_desktop.model.view import RunRef
from oma_desktop.store.address import store_id
from oma_desktop.viewmodel.feed import Feed, LiveActivity, LiveRun

BUSY_EVENTS = {"model_call": "model", "tool_start": "tool"}
IDLE_EVENTS = frozenset({"tool_end", "task_complete", "task_failed", "agent_complete"})
_OVER = frozenset({"completed", "failed"})
"""Ends of what a program does, in the words of the Agent Client Protocol."""


@dataclass(slots=True)
class EmbeddedRun:
    """One attempt of this process.

    `busy` names by task what a suspend waits for, `begun` when each task began, `agents` who
    works on it.
    """

    ref: RunRef
    bus: EventBus
    token: CancelToken = field(default_factory=CancelToken)
    busy: dict[str, str] = field(default_factory=dict)
    begun: dict[str, datetime] = field(default_factory=dict)
    agents: dict[str, str | None] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    suspending: bool = False
    answering_since: datetime | None = None

    def live(self) -> LiveRun:
        """Return what the window shows of it."""
        waits = tuple(self.busy.values())
        return LiveRun(self.ref, self.suspending, waits, dict(self.begun), self.answering_since)


class EmbeddedRuns:
    """All attempts of this process; tells the feed about them.

    `hint` is called with a store path whenever its file was written by us.
    """

    def __init__(
        self, feed: Feed, hint: Callable[[str], None], *, now: Callable[[], datetime]
    ) -> None:
        self._now = now
        self._feed = feed
        self._hint = hint
        self._runs: dict[RunRef, EmbeddedRun] = {}
        self._leaving: set[asyncio.Event] = set()  # over, but servers and lock still held
        self._closing = False

    def __len__(self) -> int:
        return len(self._runs)

    async def play(self, prepared: Prepared, bus: EventBus) -> TeamRunResult:
        """Run one prepared attempt to its end and release it; errors pass through."""
        ref = RunRef(store_id(prepared.store_path), prepared.key or "")
        run = EmbeddedRun(ref, bus)
        titles = {ROUTE: tr("the goal"), DECOMPOSE: tr("the plan"), SYNTHESIS: tr("the answer")}
        forget = bus.subscribe(lambda event: self._hear(run, titles, event))
        self._runs[ref] = run
        self._announce()
        if self._closing:  # asked for before the window closed, opened after
            run.token.stop(StopReason.SUSPEND)
        try:
            return await prepared.go(run.token)
        finally:
            forget()
            del self._runs[ref]
            self._leaving.add(run.done)
            try:
                await prepared.close()
            finally:
                run.done.set()
                self._leaving.discard(run.done)
            self._announce()
            self._hint(ref.store)

    def stop(self, ref: RunRef, reason: StopReason) -> bool:
        """Ask one run to stop; False when this process does not run it."""
        run = self._runs.get(ref)
        if run is None:
            return False
        run.suspending = True
        run.token.stop(reason)
        self._announce()
        return True

    def runs(self, ref: RunRef) -> bool:
        """True while this process runs `ref`."""
        return ref in self._runs

    async def suspend_all(self, timeout_s: float) -> int:
        """Suspend everything and wait; return how many did not reach a safe point in time."""
        self._closing = True
        runs = list(self._runs.values())
        for run in runs:
            self.stop(run.ref, StopReason.SUSPEND)
        ends = [*(run.done for run in runs), *self._leaving]
        waits = [asyncio.wait_for(done.wait(), timeout_s) for done in ends]
        results = await asyncio.gather(*waits, return_exceptions=True)
        return sum(isinstance(r, TimeoutError) for r in results)

    # ------------------------------------------------------------------ events of the engine

    def _hear(self, run: EmbeddedRun, titles: dict[str, str], event: ProgressEvent) -> None:
        if event.type == "checkpoint_saved":
            self._hint(run.ref.store)
            return
        task = event.task
        if task is None:
            return
        if event.type == "task_start":
            run.busy.pop(DECOMPOSE, None)  # tasks run, so the plan is made
            titles[task] = str(event.data.get("title", task))
            run.begun[task] = self._now()
            run.agents[task] = event.agent
            self._announce()
        elif JUDGING in task:
            self._judge(run, task, titles, event)
        elif event.type == "consensus_verdict":
            self._judged(run, task, event)
        elif event.agent is not None and event.agent != run.agents.get(task, event.agent):
            self._inside(run, task, event)
        elif event.type in BUSY_EVENTS:
            self._busy(run, task, titles.get(task, task), event)
        elif event.type in IDLE_EVENTS:
            self._idle(run, task)
        else:
            self._say(LiveActivity(run.ref, task, ""), event)

    def _say(self, of: LiveActivity, event: ProgressEvent) -> None:
        """Pass on text that is being written, and what a program says it does."""
        if event.type == "text_delta" and event.data.get("kind", "text") == "text":
            self._feed.activity.emit(replace(of, kind="text", text=str(event.data.get("text", ""))))
        elif event.type == "external_tool":
            over = event.data.get("status") in _OVER
            title = "" if over else str(event.data.get("title", ""))
            self._feed.activity.emit(replace(of, kind="text" if over else "tool", text=title))

    def _inside(self, run: EmbeddedRun, task: str, event: ProgressEvent) -> None:
        """Of an agent the task's own delegated to: another conversation than the task's."""
        own = LiveActivity(run.ref, task, "", agent=event.agent)
        if event.type in BUSY_EVENTS:
            tool = str(event.data.get("tool", ""))
            self._feed.activity.emit(replace(own, kind=BUSY_EVENTS[event.type], text=tool))
        elif event.type == "agent_complete":
            self._feed.activity.emit(replace(own, kind="idle"))
        else:
            self._say(own, event)

    def _judge(
        self, run: EmbeddedRun, judged: str, titles: dict[str, str], event: ProgressEvent
    ) -> None:
        """Of a judge: while it is asked, the work of the task itself rests."""
        task = judged.partition(JUDGING)[0]
        own = LiveActivity(run.ref, task, "", agent=event.agent, judging=True)
        if event.type == "model_call":
            self._idle(run, task)
            title = titles.get(task, task)
            run.busy[judged] = tr("{task}: judged by {agent}", task=title, agent=event.agent or "?")
            self._feed.activity.emit(replace(own, kind="model"))
            self._announce_if_suspending(run)
        else:
            self._say(own, event)

    def _judged(self, run: EmbeddedRun, task: str, event: ProgressEvent) -> None:
        for busy in [b for b in run.busy if b.startswith(f"{task}{JUDGING}")]:
            if busy.endswith(f":{event.agent}"):
                del run.busy[busy]
        own = LiveActivity(run.ref, task, "idle", agent=event.agent, judging=True)
        self._feed.activity.emit(own)
        self._announce_if_suspending(run)

    def _idle(self, run: EmbeddedRun, task: str) -> None:
        if run.busy.pop(task, None) is not None:
            self._feed.activity.emit(LiveActivity(run.ref, task, "idle"))
            self._announce_if_suspending(run)

    def _busy(self, run: EmbeddedRun, task: str, title: str, event: ProgressEvent) -> None:
        kind = BUSY_EVENTS[event.type]
        tool = str(event.data.get("tool", ""))
        if task == SYNTHESIS and run.answering_since is None:
            run.answering_since = self._now()
            self._announce()
        run.busy[task] = f"{title}: {tool}" if kind == "tool" else title
        self._feed.activity.emit(LiveActivity(run.ref, task, kind, tool))
        self._announce_if_suspending(run)

    def _announce_if_suspending(self, run: EmbeddedRun) -> None:
        if run.suspending:
            self._announce()

    def _announce(self) -> None:
        self._feed.set_live(tuple(run.live() for run in self._runs.values()))
