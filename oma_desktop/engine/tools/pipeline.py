"""The one way a tool call can run: checked, gated, executed, judged (engine.md 3.5, DEV-16).

Order: granted? registered? stopped? arguments valid? allowed? stopped? run, judge. Every refusal is
an error result for the model; nothing here raises for what a tool, a gate or a model did wrong.
Saving is the runner's business: the pipeline knows no checkpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from oma_desktop.base.clock import Clock
from oma_desktop.base.sentences import catalogue, describe
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.spans import span
from oma_desktop.engine.tools import results
from oma_desktop.engine.tools.confirmation import CONFIRMATION_MISSING
from oma_desktop.engine.tools.decision import check_decision, tool_content
from oma_desktop.engine.tools.gate import GateCall, GateDecision, GateFailed, Gates, read_answer
from oma_desktop.engine.tools.grants import is_granted
from oma_desktop.engine.tools.race import Ended, Outcome, Race
from oma_desktop.engine.tools.registry import (
    Delegate,
    SendMessage,
    ToolContext,
    ToolOutput,
    ToolRegistry,
    ToolSpec,
)
from oma_desktop.engine.tools.schema import Checked, copy_json
from oma_desktop.model.checkpoint import PendingToolCall, ToolCommit
from oma_desktop.model.errors import ApprovalError, OmaError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import TokenUsage, ToolResultBlock, ToolUseBlock
from oma_desktop.model.team import AgentConfig

STALE: Final = "APPROVAL_STALE_DECISION"
APPROVED_TOOL_GONE: Final = "APPROVED_TOOL_GONE"
GATE_GRACE_S: Final = 1.0
"""How long a gate may still answer for delegated work after a suspend: rules do, people do not."""
ABORT_GRACE_S: Final = 2.0
"""How long a tool may go on after an abort before it is given up."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The call has its answer. `ran` tells whether the tool itself was started.

    `warning` is a code for the result of the run, announced already.
    """

    commit: ToolCommit
    ran: bool = False
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class MustWait:
    """A gate wants a durable decision about `content` first."""

    content: JsonObject
    reason: str | None


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A stop came first: nothing ran, nothing is decided."""


CallEnd: TypeAlias = Finished | MustWait | NotStarted


@dataclass(frozen=True, slots=True)
class CallSite:
    """Whose calls these are, and who wants to know before one starts (AgentJob.before_tool).

    `run_token` is given where the agent's own token does not hear of a suspend (delegated work):
    nobody is waited for at a gate then.
    """

    agent: AgentConfig
    run_id: str
    task_id: str
    before_tool: Callable[[GateCall], Awaitable[None]] | None = None
    delegate: Delegate | None = None
    send_message: SendMessage | None = None
    run_token: CancelToken | None = None
    tokens_left: Callable[[], int | None] = lambda: None


class ToolPipeline:
    """Runs the calls of one agent run; at most `max_parallel` tools at a time (DEV-21)."""

    def __init__(
        self,
        site: CallSite,
        *,
        tools: ToolRegistry,
        gates: Gates,
        max_parallel: int,
        token: CancelToken,
        clock: Clock,
        bus: EventBus,
        supervisor: Supervisor,
    ) -> None:
        self._site = site
        self._agent = site.agent
        self._tools = tools
        self._gates = gates
        self._token = token
        self._clock = clock
        self._bus = bus
        self._race = Race(supervisor=supervisor, clock=clock)
        self._slots = asyncio.Semaphore(max(1, max_parallel))

    async def execute(self, pending: PendingToolCall, *, occurrence: int) -> CallEnd:
        """Bring one call to its end. `occurrence` counts calls with this id so far (case s04).

        A decision on the pending call is consumed: approved content runs without asking the gate,
        rejected content never runs, stale decisions run nothing (formats.md 3.6).
        """
        call = pending["call"]
        decision = pending.get("approvalDecision")
        if decision is not None and decision["decision"] == "rejected":
            return self._refuse(call, f'A reviewer rejected this call of "{call["name"]}".')
        tool = self._tools.get(call["name"])
        if tool is None or not is_granted(self._agent, tool.name):
            if decision is not None:
                return self._gone(call)
            return self._refuse(call, f'The tool "{call["name"]}" is not available.')
        if self._token.stopped:
            return self._stopped(call)
        checked = self._checked(tool, call["input"])
        if checked.issues:
            if decision is not None:
                return self._stale(call)
            return self._refuse(call, results.issues_text(tool.name, checked.issues))
        asked = self._question(tool, call, results.as_object(checked.value))
        content = self._content(asked, occurrence)
        if decision is not None:
            request = pending.get("approvalRequest")
            try:
                if request is None:
                    return self._stale(call)
                check_decision(request, decision, run_id=self._site.run_id, content=content)
            except ApprovalError:
                return self._stale(call)
        else:
            held = await self._ask(call, asked, content, tool)
            if held is not None:
                return held
        return await self._run(tool, call, asked)

    def _checked(self, tool: ToolSpec, input_: JsonObject) -> Checked:
        """Return the input as the tool will get it, or why it gets none."""
        if not tool.validated:
            return Checked(input_)
        checked = self._tools.schema_of(tool).check(input_)
        if checked.issues or tool.problems is None:
            return checked
        try:
            return Checked(checked.value, tool.problems(results.as_object(checked.value)))
        except Exception as error:  # noqa: BLE001 - the boundary around tools
            return Checked(checked.value, (_error_text(tool.name, error),))

    def _question(self, tool: ToolSpec, call: ToolUseBlock, input_: JsonObject) -> GateCall:
        return GateCall(
            tool=tool.name,
            input=input_,
            raw_input=call["input"],
            agent=self._agent.name,
            consequential=tool.consequential,
            effect=tool.effect,
            run_id=self._site.run_id,
            task_id=self._site.task_id,
            tool_call_id=call["id"],
        )

    def _content(self, asked: GateCall, occurrence: int) -> JsonObject:
        return tool_content(
            tool=asked.tool,
            raw_input=asked.raw_input,
            input_=asked.input,
            agent=asked.agent,
            task_id=asked.task_id,
            call_id=asked.tool_call_id,
            consequential=asked.consequential,
            occurrence=occurrence,
        )

    async def _ask(
        self, call: ToolUseBlock, asked: GateCall, content: JsonObject, tool: ToolSpec
    ) -> CallEnd | None:
        """Ask the gate; None means the tool may run. Whatever is not a clear yes is a no."""
        gate = self._gates.tool
        if gate is None:
            if not self._gates.refuses_unconfirmed(tool):
                return None
            self._emit("warning", code=CONFIRMATION_MISSING, tool=tool.name, toolCallId=call["id"])
            return self._refuse(call, f'Nobody confirmed this call of "{asked.tool}".')
        self._emit("gate_call", gate="tool", toolName=asked.tool, toolCallId=asked.tool_call_id)

        async def ask() -> object:
            return await gate(asked)

        with span("callback", "tool_gate", callback_name="tool", tool_name=asked.tool) as recorded:
            outcome = await self._race.run(
                ask(),
                name=f"gate {asked.tool}",
                token=self._site.run_token or self._token,
                grace_s=0.0 if self._site.run_token is None else GATE_GRACE_S,
                limit_s=self._gates.tool_limit_s,
            )
            decision = getattr(outcome.value, "action", None)
            recorded.event("approval_decision", decision=decision)
        try:
            answer = _gate_answer(outcome)
        except GateFailed as failure:
            self._emit("warning", code=failure.code, toolCallId=call["id"], **failure.facts)
            why = f"{failure.facts['problem']}: {failure.facts['found']}"
            return self._refuse(
                call, f'The gate for "{asked.tool}" failed ({why}); it did not run.'
            )
        if answer is None and not self._token.stopped:
            why = "the run was suspended before anybody decided"
            return self._refuse(call, f'This call of "{asked.tool}" did not run: {why}.')
        if answer is None:
            return self._stopped(call)
        if answer.action == "suspend":
            return MustWait(content, answer.reason)
        if answer.action == "deny":
            why = answer.reason or "no reason was given"
            return self._refuse(call, f'This call of "{asked.tool}" was denied: {why}.')
        return None

    async def _run(self, tool: ToolSpec, call: ToolUseBlock, asked: GateCall) -> CallEnd:
        async with self._slots:
            if self._token.stopped:
                return self._stopped(call)
            if self._site.before_tool is not None:
                try:
                    await self._site.before_tool(asked)
                except OmaError as error:
                    return self._refuse(call, f"The start could not be recorded ({error.code}).")
            started = self._clock.monotonic()
            self._emit(
                "tool_start",
                toolCallId=call["id"],
                tool=tool.name,
                input=asked.input,
                effect=tool.effect.value,
            )
            about = span("tool", "execute_tool", tool_name=tool.name, tool_call_id=call["id"])
            with about as recorded:
                outcome = await self._race.run(
                    self._call_tool(tool, asked),
                    name=f"tool {tool.name}",
                    token=self._token,
                    only_abort=True,
                    grace_s=ABORT_GRACE_S,
                )
                duration = max(0, round((self._clock.monotonic() - started) * 1000))
                finished = self._judge(tool, call, outcome, duration)
                is_error = finished.commit["result"].get("is_error") is True
                recorded.set(tool_is_error=is_error)
        return finished

    async def _call_tool(self, tool: ToolSpec, asked: GateCall) -> ToolOutput:
        context = ToolContext(
            run_id=asked.run_id,
            task_id=asked.task_id,
            tool_call_id=asked.tool_call_id,
            agent=asked.agent,
            cwd=self._agent.cwd,
            token=self._token,
            delegate=self._site.delegate,
            send_message=self._site.send_message,
            tokens_left=self._site.tokens_left(),
        )
        return await tool.run(results.as_object(copy_json(asked.input)), context)

    def _judge(
        self, tool: ToolSpec, call: ToolUseBlock, outcome: Outcome[ToolOutput], duration: int
    ) -> Finished:
        usage: TokenUsage | None = None
        if outcome.ended is Ended.DONE:
            limit = tool.max_output_chars or self._agent.max_tool_output_chars
            block = results.judge(outcome.value, tool=tool.name, call_id=call["id"], limit=limit)
            usage = results.usage_of(outcome.value)
        elif outcome.ended is Ended.RAISED:
            block = results.error_result(call["id"], _error_text(tool.name, outcome.error))
        else:
            block = results.error_result(call["id"], f'The tool "{tool.name}" was stopped.')
        return Finished(_commit(call, block, duration, usage), ran=True)

    def _refuse(self, call: ToolUseBlock, text: str) -> Finished:
        return Finished(_commit(call, results.error_result(call["id"], text), 0, None))

    def _stale(self, call: ToolUseBlock) -> Finished:
        text = f'The approval does not fit what "{call["name"]}" would do now; it did not run.'
        return self._not_run(call, STALE, text)

    def _gone(self, call: ToolUseBlock) -> Finished:
        """A person decided, and nothing can carry it out: never silently (engine.md 5.4)."""
        text = f'The tool "{call["name"]}" was approved, but is not available now; it did not run.'
        return self._not_run(call, APPROVED_TOOL_GONE, text)

    def _not_run(self, call: ToolUseBlock, code: str, text: str) -> Finished:
        self._emit("warning", code=code, tool=call["name"], toolCallId=call["id"])
        return replace(self._refuse(call, text), warning=code)

    def _stopped(self, call: ToolUseBlock) -> CallEnd:
        if self._token.aborted:
            return self._refuse(call, "The run was stopped before this call began.")
        return NotStarted()

    def _emit(self, type_: str, **data: object) -> None:
        self._bus.emit(type_, agent=self._agent.name, task=self._site.task_id or None, data=data)


def _gate_answer(outcome: Outcome[object]) -> GateDecision | None:
    """Return the gate's decision, None after a stop; raise GateFailed for everything else."""
    match outcome.ended:
        case Ended.DONE:
            return read_answer(outcome.value, gate="tool")
        case Ended.STOPPED:
            return None
        case Ended.RAISED:
            found = type(outcome.error).__name__
            raise GateFailed("GATE_FAILED", gate="tool", problem="raised", found=found)
        case Ended.LOST:
            raise GateFailed("GATE_FAILED", gate="tool", problem="raised", found="CancelledError")
        case Ended.TIMEOUT:
            raise GateFailed("GATE_FAILED", gate="tool", problem="timeout", found="no answer")


def _error_text(tool: str, error: Exception | None) -> str:
    if isinstance(error, OmaError) and error.code in catalogue():
        return describe(error.code, error.facts).title
    text = str(error)
    return text or f'The tool "{tool}" failed with {type(error).__name__}.'


def _commit(
    call: ToolUseBlock, result: ToolResultBlock, duration: int, usage: TokenUsage | None
) -> ToolCommit:
    commit: ToolCommit = {
        "result": result,
        "record": {
            "toolName": call["name"],
            "input": call["input"],
            "output": results.text_view(result["content"]),
            "duration": duration,
        },
    }
    if usage is not None:
        commit["delegationUsage"] = usage
    return commit
