"""The closing answer of a run of a goal, fresh or restored (engine.md 4.4, 4.5; P13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import cast

from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import Stop
from oma_desktop.engine.coordination.coordinator import (
    COORDINATOR,
    SYNTHESIS,
    ask,
    coordinator_agent,
)
from oma_desktop.engine.coordination.prompts import answering_prompt, results_prompt
from oma_desktop.engine.options import RestoreOptions
from oma_desktop.engine.run_state import RunState
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.model.errors import StoreError
from oma_desktop.model.result import AgentRunResult, ErrorInfo, RunStatus
from oma_desktop.model.runfile import Coordinator

FAILED = "synthesis_failed"
Closing = Callable[[Attempt], Awaitable[None]]


def closing_of(state: RunState, options: RestoreOptions) -> Closing | None:
    """What a restore does after the last task; nothing where an answer is known or none is due.

    Sets `due`, so that a stop before the answer does not make the run a finished one.
    """
    if state.mode != "runTeam" or state.goal is None or state.coordination.answer is not None:
        return None
    state.coordination.due = True
    return lambda attempt: conclude(attempt, options.coordinator)


async def conclude(attempt: Attempt, settings: Coordinator | None) -> None:
    """Write the answer, unless the run stops or waits. What goes wrong becomes the run's status."""
    state = attempt.state
    if _stop_of(attempt) is not None or state.undecided() or not state.queue.complete:
        return
    if settings is None:
        info = ErrorInfo("framework", code="COORDINATOR_MISSING", message="COORDINATOR_MISSING")
        _fail(attempt, AgentRunResult(False, "", status=_status(info), error_info=info))
        return
    result = await _ask(attempt, settings)
    if _stop_of(attempt) is not None and not result.success:
        return  # stopped before the answer: it stays due
    state.coordination.due = False
    if over_ceiling(attempt, agent=COORDINATOR):
        stop = _stop_of(attempt)
        status = RunStatus("budget_exhausted") if stop is None else stop.status
        state.coordination.synthesis = replace(result, success=False, status=status)
        return
    if not result.success:
        _fail(attempt, result)
        return
    state.coordination.synthesis = result
    state.coordination.answer = result.output
    state.warnings += result.warnings
    data = cast("dict[str, object]", result.to_json())
    attempt.services.bus.emit("agent_complete", agent=COORDINATOR, data=data)


def _stop_of(attempt: Attempt) -> Stop | None:
    """Why the run stops, asked anew: it changes while others work."""
    return attempt.control.stop


async def _ask(attempt: Attempt, settings: Coordinator) -> AgentRunResult:
    state = attempt.state
    agent = coordinator_agent(
        settings, options=attempt.options, roster=attempt.team.config.agents
    ).model_copy(update={"system_prompt": answering_prompt(settings)})
    prompt = results_prompt(state.goal or "", state.queue.tasks, memory=await _memory(attempt))
    return await ask(attempt, agent, title=SYNTHESIS, prompt=prompt)


async def _memory(attempt: Attempt) -> str:
    """The notes of the team; an answer without them is better than none."""
    memory = attempt.state.memory
    if memory is None:
        return ""
    try:
        return await memory.summary()
    except StoreError as error:
        data = {"kind": "memory_read_failed", "code": error.code}
        attempt.services.bus.emit("error", data=data)
        return ""


def _status(info: ErrorInfo) -> RunStatus:
    return RunStatus("error", info.code)


def _fail(attempt: Attempt, result: AgentRunResult) -> None:
    """Keep why there is no answer; raw results stay, and the failed text is no answer."""
    attempt.state.coordination.due = False
    attempt.state.coordination.failure = result
    info = result.error_info
    error = (info.message or info.code) if info is not None else result.status.message
    code = info.code if info is not None else None
    attempt.services.bus.emit("error", data={"kind": FAILED, "code": code, "error": error})
