"""A small world for runner tests: virtual time, scripted turns, boundaries that only record."""

from __future__ import annotations

import asyncio
import copy
import heapq
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.agents.runner import AgentRunner
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.bus import EventBus, ProgressEvent
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import InvalidArguments, ModelReply, TextDelta
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.engine.tools.registry import ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.approval_rules import create_request, make_decision
from oma_desktop.model.errors import AtomicStoreRequired, OmaError, ProviderError, WriteFailed
from oma_desktop.model.team import AgentConfig, TeamConfig

START = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """Time stands still until `drive` finds nothing else to do."""

    def __init__(self):
        self.time = 0.0
        self._sleepers = []
        self._number = itertools.count()

    def now(self):
        return START + timedelta(milliseconds=round(self.time * 1000))

    def monotonic(self):
        return self.time

    async def sleep(self, delay_s):
        if delay_s <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + delay_s, next(self._number), woken))
        await woken

    def advance(self):
        """Wake the next sleeper; False when there is none."""
        while self._sleepers:
            at, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                self.time = max(self.time, at)
                woken.set_result(None)
                return True
        return False


def say(text="", *calls, usage=(10, 1), stop=None, invalid=()):
    """One model turn; calls are (id, name, input)."""
    content = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
    spent = None if usage is None else {"input_tokens": usage[0], "output_tokens": usage[1]}
    return ModelReply(
        content=content,
        stop_reason=stop or ("tool_use" if calls else "end_turn"),
        usage=spent,
        invalid_arguments=tuple(InvalidArguments(*i) for i in invalid),
    )


def problem(message="boom", status=500):
    return ProviderError("LLM_SERVER_ERROR", status=status, provider="fake", message=message)


class FakeModel:
    """Plays turns by their number; records every request. `summary` answers summary calls.

    A turn may be a ModelReply, an OmaError, or a coroutine function (request, token) -> either.
    """

    name = "fake"
    is_local = False

    def __init__(self, *turns):
        self.turns = turns
        self.requests = []
        self.summary = say("in short", usage=(7, 3))

    async def stream(self, request, token):
        self.requests.append(request)
        index = max(request.turn, sum(1 for m in request.messages if m["role"] == "assistant"))
        turn = self.turns[min(index, len(self.turns) - 1)]
        if request.phase == "summary":
            turn = self.summary
        if callable(turn):
            turn = await turn(request, token)
        await asyncio.sleep(0)
        if isinstance(turn, OmaError):
            raise turn
        if turn is None:
            return
        for block in turn.content:
            if block["type"] in {"text", "reasoning"}:
                yield TextDelta(block["text"], block["type"])
        yield turn

    async def close(self):
        pass


async def until_stopped(_request, token):
    """A model that never answers but honours its token."""
    await token.wait()
    return ProviderError("LLM_CALL_ABORTED", provider="fake", retryable=False)


@dataclass
class Ledger:
    """Records every save as a deep copy; suspends calls the way an orchestrator does."""

    run_id: str = "run-1"
    saves: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    atomic: bool = True
    fail_strict: bool = False
    slow: Callable[[], Awaitable[None]] | None = None

    async def save(self, entry, boundary):
        self.saves.append((boundary, copy.deepcopy(entry)))
        await asyncio.sleep(0)

    async def save_strict(self, entry, boundary):
        if self.fail_strict:
            raise WriteFailed("STORE_WRITE_FAILED")
        await self.save(entry, boundary)

    async def request_approval(self, entry, call_id, content, reason):
        if not self.atomic:
            raise AtomicStoreRequired("APPROVAL_ATOMIC_STORE_REQUIRED")
        request = create_request(
            run_id=self.run_id,
            scope="tool_call",
            boundary=f"{entry['taskId']}:{call_id}",
            content=content,
            requested_at=START,
            reason=reason,
        )
        pending = next(p for p in entry["pendingToolCalls"] if p["call"]["id"] == call_id)
        pending["approvalRequest"] = request
        if self.slow is not None:
            await self.slow()
        await self.save_strict(entry, Boundary.CALL_SUSPENDED)
        self.requests.append(request)
        return request

    def trace(self):
        return [boundary.value for boundary, _ in self.saves]

    def last(self):
        return copy.deepcopy(self.saves[-1][1])


class World:
    """Everything one runner needs; `run` drives it to its end in virtual time."""

    def __init__(
        self,
        *turns,
        tools=(),
        gate=None,
        gate_limit_s=None,
        parallel=4,
        confirm=False,
        hooks=None,
        on_stream=None,
        **agent,
    ):
        self.clock = VirtualClock()
        self.bus = EventBus()
        self.events: list[ProgressEvent] = []
        self.bus.subscribe(self.events.append)
        self.model = FakeModel(*turns)
        names = [tool.name for tool in tools]
        self.agent = AgentConfig.model_validate({"name": "w", "tools": names, **agent})
        self.team = Team(
            config=TeamConfig(name="t", agents=[self.agent]),
            tools=ToolRegistry(tools),
            adapter_for=lambda _agent: self.model,
            gates=Gates(tool=gate, tool_limit_s=gate_limit_s, confirm_consequential=confirm),
            max_parallel_tool_calls=parallel,
            hooks={"w": hooks} if hooks is not None else {},
            on_agent_stream=on_stream,
        )
        self.ledger = Ledger()
        self.token = CancelToken()

    def runner(
        self,
        supervisor,
        *,
        resume=None,
        prompt="# Task",
        boundaries=True,
        before_tool=None,
        run_masked=frozenset(),
    ):
        job = AgentJob(
            run_id="run-1",
            task_id="t1",
            task_title="Task",
            prompt=prompt,
            token=self.token,
            boundaries=self.ledger if boundaries else None,
            resume=resume,
            before_tool=before_tool,
            run_masked=run_masked,
        )
        ids = (f"new{n}" for n in itertools.count(1))
        return AgentRunner(
            job,
            agent=self.agent,
            team=self.team,
            clock=self.clock,
            bus=self.bus,
            supervisor=supervisor,
            new_id=lambda: next(ids),
        )

    async def run(self, *, then=lambda: None, **job):
        supervisor = Supervisor()
        task = supervisor.spawn(self.runner(supervisor, **job).run(), name="runner")
        await drive(task, self.clock)
        then()
        await asyncio.sleep(0)  # the supervisor is told of its end one turn of the loop later
        assert supervisor.names == [], "work goes on after the runner has returned"
        assert self.token._listeners == []
        await supervisor.close()
        return task.result()

    def types(self):
        return [event.type for event in self.events]

    def of(self, type_):
        return [event.data for event in self.events if event.type == type_]


async def drive(task, clock):
    """Run the loop until `task` is done, moving time on whenever nothing else moves."""
    idle = 0
    while not task.done():
        for _ in range(40):
            await asyncio.sleep(0)
        if not task.done() and not clock.advance():
            idle += 1
            assert idle < 50, "the runner hangs"


@dataclass
class Probe:
    """A tool that logs its calls and answers what it is told."""

    name: str = "look"
    answer: object = "found"
    delays: dict = field(default_factory=dict)
    clock: VirtualClock | None = None
    calls: list = field(default_factory=list)
    running: int = 0
    most: int = 0
    on_call: Callable | None = None

    async def run(self, input_, context):
        self.calls.append((context.tool_call_id, input_))
        self.running += 1
        self.most = max(self.most, self.running)
        if self.clock is not None:
            await self.clock.sleep(self.delays.get(context.tool_call_id, 0))
        if self.on_call is not None:
            self.on_call(context)
        self.running -= 1
        answer = self.answer(input_, context) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return ToolOutput(data=answer) if isinstance(answer, str) else answer

    def spec(self, schema=None, **facts):
        return ToolSpec(
            name=self.name,
            description="",
            input_schema=schema or {"type": "object"},
            run=self.run,
            **facts,
        )

    @property
    def ids(self):
        return [call_id for call_id, _ in self.calls]


def decide(entry, call_id, verdict, *, reviewer="ann"):
    """Put a decision on a pending call, as a restore does after reading the ledger."""
    for pending in entry["pendingToolCalls"]:
        if pending["call"]["id"] == call_id:
            pending["approvalDecision"] = make_decision(
                pending["approvalRequest"],
                verdict=verdict,
                reviewer={"id": reviewer},
                decided_at=START,
            )
    return entry


def results_of(message):
    """(call id, content, is error) of every result of a message."""
    return [
        (b["tool_use_id"], b["content"], b.get("is_error", False))
        for b in message["content"]
        if b["type"] == "tool_result"
    ]
