"""The agent's turn loop: model, tools, boundaries, resume by phase (engine.md 3.2, 3.4, 3.13).

One path, always streaming (DEV-07, DEV-22): drafts go to the bus, only whole turns enter the
conversation. Nothing a model, tool, gate or hook does wrong is raised out of `run`: it ends in the
result.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

from oma_desktop.base.clock import Clock
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.engine.agents import structured_output
from oma_desktop.engine.agents.agent_voice import AgentVoice
from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.agents.context.control import ContextControl
from oma_desktop.engine.agents.deadline import Deadline
from oma_desktop.engine.agents.hooks import NO_HOOKS, HookCalls
from oma_desktop.engine.agents.loop_watch import LoopWatch
from oma_desktop.engine.agents.model_call import ModelCall
from oma_desktop.engine.agents.run_ending import RunEnding
from oma_desktop.engine.agents.runner_state import RunnerState, text_of
from oma_desktop.engine.agents.stream import AgentStream
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.agents.tool_round import ToolRound
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import StopReason
from oma_desktop.engine.llm.base import ModelReply
from oma_desktop.engine.llm.provider_error import usage_in
from oma_desktop.engine.spans import span
from oma_desktop.engine.tools.ids import normalise
from oma_desktop.engine.tools.pipeline import CallSite, ToolPipeline
from oma_desktop.engine.tools.race import Race
from oma_desktop.model.errors import EngineError, OmaError
from oma_desktop.model.message import Message, ToolUseBlock
from oma_desktop.model.result import AgentRunResult, add_usage, is_countable
from oma_desktop.model.team import AgentConfig, FailOn


class RunnerLimit(EngineError):
    """MAX_TURNS_REACHED or OUTPUT_TRUNCATED, where the agent counts it as a failure (DEV-18).

    Facts: `agent`.
    """


def new_call_id() -> str:
    """The part after `call_` of an id we have to make up."""
    return str(uuid.uuid4())


class AgentRunner:
    """Runs one agent on one job. One instance per run; `run` is called once."""

    def __init__(
        self,
        job: AgentJob,
        *,
        agent: AgentConfig,
        team: Team,
        clock: Clock,
        bus: EventBus,
        supervisor: Supervisor,
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self._job = job
        self._agent = agent
        self._bus = bus
        self._new_id = new_id
        self._state = (
            RunnerState.resume(job.resume)
            if job.resume is not None
            else RunnerState.begin(task_id=job.task_id, agent=agent.name, prompt=job.prompt)
        )
        self._suspended = False
        self._deadline = Deadline(
            job.token, limit_ms=agent.timeout_ms, clock=clock, supervisor=supervisor
        )
        self._token = self._deadline.token
        self._ending = RunEnding(self._state, agent=agent, job=job, deadline=self._deadline)
        self._stream = AgentStream(team.on_agent_stream, agent=agent.name, task=job.task_id)
        self._voice = AgentVoice(bus, self._stream, agent=agent.name, task=job.task_id)
        self._emit, self._warn = self._voice.emit, self._voice.warn
        self._model = ModelCall(
            job,
            agent=agent,
            team=team,
            clock=clock,
            supervisor=supervisor,
            on_draft=self._voice.draft,
        )
        self._hooks = team.hooks.get(agent.name, NO_HOOKS)
        self._calls = HookCalls(Race(supervisor=supervisor, clock=clock), self._token)
        self._context = ContextControl(
            agent, custom=self._hooks.compress, call=self._calls, ask=self._sum_up
        )
        self._loops = LoopWatch(
            agent, self._state, on_loop=self._hooks.on_loop, call=self._calls, tell=self._voice.loop
        )
        pipeline = ToolPipeline(
            CallSite(
                agent,
                job.run_id,
                job.task_id,
                before_tool=job.before_tool,
                delegate=job.delegate,
                send_message=job.send_message,
                run_token=job.run_token,
                tokens_left=self._tokens_left,
            ),
            tools=team.tools,
            gates=team.gates,
            max_parallel=team.max_parallel_tool_calls,
            token=self._token,
            clock=clock,
            bus=bus,
            supervisor=supervisor,
        )
        self._round = ToolRound(
            self._state,
            pipeline=pipeline,
            boundaries=job.boundaries,
            token=self._token,
            save=self._save,
            emit=self._emit,
            on_result=lambda block: self._stream.tell("tool_result", block),
            warn=self._voice.note,
            run_masked=job.run_masked if job.resume is not None else None,
        )

    async def run(self) -> AgentRunResult:
        """Work until the final answer, a suspension, a stop, a limit or a failure.

        Raises only what is a defect of the program, and asyncio's own cancellation.
        """
        agent, job = self._agent, self._job
        about = span(
            "agent",
            "invoke_agent",
            agent_name=agent.name,
            task_id=job.task_id or None,
            agent_model=agent.model,
            agent_try=job.attempt,
            agent_resumed=job.resume is not None,
        )
        with about as recorded, self._stream:
            with self._deadline:
                try:
                    await self._begin()
                    await self._loop()
                    result = await self._after(self._result())
                except OmaError as error:
                    result = self._ending.failure(error, self._voice.warnings)
            recorded.ended(result)
            self._stream.end(result)
            return result

    async def _begin(self) -> None:
        """`beforeRun` changes what a run begins with; a resumed run has begun (engine.md 3.11)."""
        if self._job.resume is None and not self._token.stopped:
            state = self._state
            state.conversation = await self._calls.before(
                self._hooks, self._agent, state.conversation
            )

    async def _after(self, result: AgentRunResult) -> AgentRunResult:
        """`afterRun` sees what was not raised, suspended or stopped; a stop meanwhile wins."""
        if not (result.success or result.budget_exceeded) or self._token.aborted:
            return result
        result = await self._calls.after(self._hooks, result)
        return self._ending.stopped(result) if self._token.aborted else result

    # -- the loop -------------------------------------------------------------------------------

    async def _loop(self) -> None:
        while not self._suspended:
            if self._state.phase == "completed":
                if not await self._final_answer_is_bad():
                    return
            elif self._state.phase == "executing_tools":
                if not await self._tools():
                    return
            elif not await self._may_call_model():
                return
            else:
                await self._turn()

    async def _may_call_model(self) -> bool:
        """Steps 3 and 4, and a budget that was exceeded before a restore."""
        if self._token.reason is StopReason.SUSPEND:
            self._suspended = True
            return False
        if self._token.aborted:
            return False
        if self._state.budget_exceeded:
            await self._complete(Boundary.TERMINATED)
            return False
        if self._state.turns >= self._turn_limit():
            self._limit("MAX_TURNS_REACHED")
            return False
        return True

    def _turn_limit(self) -> int:
        """A repair after the last allowed turn gets the one turn it needs."""
        if self._state.turns == self._agent.max_turns and self._repair_is_open():
            return self._agent.max_turns + 1
        return self._agent.max_turns

    def _repair_is_open(self) -> bool:
        last = self._state.messages[-1:] or self._state.conversation[-1:]
        return structured_output.was_repaired(last)

    async def _turn(self) -> None:
        """Steps 5 to 12: one model turn and what follows from it."""
        state = self._state
        state.conversation = await self._context.before_call(state.conversation, turns=state.turns)
        self._check_budget()
        if state.budget_exceeded:
            await self._complete(Boundary.TERMINATED)
            return
        self._emit("model_call", turn=state.turns, attempt=self._job.attempt)
        reply = await self._paid(self._model.ask(state.conversation, self._token, turn=state.turns))
        content, unusable = normalise(reply.content, reply.invalid_arguments, new_id=self._new_id)
        turn: Message = {"role": "assistant", "content": content}
        state.append(turn)
        state.turns += 1
        self._count(reply)
        state.final_output = text_of(turn)
        self._check_budget()
        calls: list[ToolUseBlock] = [b for b in content if b["type"] == "tool_use"]
        self._look_at(reply, calls)
        warning, ended = await self._loops.look(turn)
        if ended:
            state.close_open_calls()
            await self._complete(Boundary.TERMINATED)
        elif calls:
            for call in calls:
                self._stream.tell("tool_use", call)
            state.open_round(calls, warning)
            self._round.refuse_unusable(unusable)
            await self._save(Boundary.TOOLS_REQUESTED)
        elif state.budget_exceeded or warning is None:
            over = state.budget_exceeded
            await self._complete(Boundary.TERMINATED if over else Boundary.FINAL_ANSWER)
        else:
            state.say(warning)
            await self._save(Boundary.LOOP_WARNED)

    async def _paid(self, asked: Awaitable[ModelReply]) -> ModelReply:
        """A call that broke off is paid for all the same: what it reported is kept."""
        try:
            return await asked
        except OmaError as error:
            spent = usage_in(error)
            if spent is not None and is_countable(spent):
                self._state.usage = add_usage(self._state.usage, spent)
            raise

    def _count(self, reply: ModelReply) -> None:
        if reply.usage is None or not is_countable(reply.usage):
            self._warn("USAGE_UNKNOWN")
        else:
            self._state.usage = add_usage(self._state.usage, reply.usage)

    def _look_at(self, reply: ModelReply, calls: list[ToolUseBlock]) -> None:
        """What a person should know about an answer without calls."""
        if calls:
            return
        if self._state.turns == 1 and self._model.ignores_tools_often:
            self._warn("TOOLS_NOT_USED")
        if reply.stop_reason == "max_tokens":
            self._limit("OUTPUT_TRUNCATED")

    async def _sum_up(self, instruction: str, text: str) -> str:
        """The summary of a transcript, counted like any other call (engine.md 3.9)."""
        self._emit("model_call", turn=self._state.turns, attempt=self._job.attempt, phase="summary")
        reply = await self._paid(
            self._model.sum_up(instruction, text, self._token, turn=self._state.turns)
        )
        self._count(reply)
        return text_of({"role": "assistant", "content": reply.content})

    async def _tools(self) -> bool:
        """Steps 3.4: run the open round; False leaves the loop with the round still open."""
        closed = await self._round.run()
        if not closed:
            self._suspended = self._round.suspended
            return False
        self._check_budget()
        if self._state.budget_exceeded:
            self._state.phase = "completed"
        await self._save(Boundary.ROUND_CLOSED)
        return True

    async def _complete(self, boundary: Boundary) -> None:
        self._state.phase = "completed"
        self._state.final_output = self._state.final_output or self._state.last_text()
        await self._save(boundary)

    # -- what is looked at after a turn ---------------------------------------------------------

    def _tokens_left(self) -> int | None:
        budget = self._agent.max_token_budget
        spent = self._state.spent()
        return (
            None
            if budget is None
            else budget - sum((spent["input_tokens"], spent["output_tokens"]))
        )

    def _check_budget(self) -> None:
        """Strictly more than the limit counts (engine.md 3.8); the round still gets its results."""
        budget = self._agent.max_token_budget
        state = self._state
        if budget is None or state.budget_exceeded or state.tokens() <= budget:
            return
        state.budget_exceeded = True
        self._voice.budget(self._ending.over_budget())

    async def _final_answer_is_bad(self) -> bool:
        """Judge structured output; True when a repair was asked for and the loop goes on."""
        state = self._state
        if state.budget_exceeded or self._token.aborted:
            return False
        problem = self._ending.problem()
        if problem is None:
            return False
        if state.loop_detected or structured_output.was_repaired(state.messages):
            return False
        state.phase = "awaiting_model"
        state.say(structured_output.feedback(problem))
        await self._save(Boundary.LOOP_WARNED)
        return True

    # -- saving and telling ---------------------------------------------------------------------

    async def _save(self, boundary: Boundary, *, strict: bool = False) -> None:
        """Save at a boundary; a best-effort failure was reported by the orchestrator already."""
        entry = self._ending.entry = self._state.entry()
        boundaries = self._job.boundaries
        if boundaries is None:
            return
        if strict:
            await boundaries.save_strict(entry, boundary)
        else:
            await boundaries.save(entry, boundary)

    def _limit(self, code: FailOn) -> None:
        """A limit was hit: a warning, or a failure where the agent says so (DEV-18)."""
        self._warn(code)
        if code in (self._agent.fail_on or ()):
            raise RunnerLimit(code, agent=self._agent.name)

    def _result(self) -> AgentRunResult:
        return self._ending.result(
            self._voice.warnings, suspended=self._suspended, requests=self._round.requests()
        )
