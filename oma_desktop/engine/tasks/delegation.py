"""One agent hands work to another (engine.md 3.12): who may, how it runs, what it costs.

The delegated agent works in a conversation of its own, with its own grants, through the same tool
pipeline, gates and confirmation guard as any other (DEV-16). It has no checkpoint: interrupted, it
begins again from its start, and a call that would need a durable decision is refused. Model routing
leaves it alone: its rules go by phase and task (engine.md 1.6), and this is neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from oma_desktop.engine.agents.agent_outcome import failed
from oma_desktop.engine.agents.boundaries import Boundary
from oma_desktop.engine.agents.team import AgentJob, Team
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.budget import smallest
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.queueing.nested_usage import NestedUsage, Path
from oma_desktop.engine.tasks.settling import failure_text
from oma_desktop.engine.tools.grants import DELEGATE, is_granted
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.errors import AtomicStoreRequired, InvalidInput, OmaError, StoreError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig, TeamConfig

_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def with_delegation(team: Team) -> Team:
    """The team of a run: with the tool to delegate where one of its agents is granted it."""
    granted = any(is_granted(agent, DELEGATE) for agent in team.config.agents)
    if not granted or team.tools.get(DELEGATE) is not None:
        return team
    return replace(team, tools=ToolRegistry([*team.tools, delegate_tool(team.config)]))


def delegate_tool(config: TeamConfig) -> ToolSpec:
    """The tool as models see it."""
    roster = [": ".join(filter(None, (f"- {a.name}", a.description))) for a in config.agents]
    about = (
        "Give a piece of work to another agent of your team and wait for the answer. The agent "
        "knows nothing of your conversation: write down all it needs. Agents of the team:"
    )
    return ToolSpec(
        name=DELEGATE,
        description="\n".join([about, *roster]),
        input_schema={
            "type": "object",
            "properties": {
                "target_agent": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The name of the agent that shall do it.",
                },
                "prompt": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The whole work order.",
                },
            },
            "required": ["target_agent", "prompt"],
        },
        run=_run,
    )


async def _run(input_: JsonObject, context: ToolContext) -> ToolOutput:
    if context.delegate is None:
        return _refusal("You do not work in a team now, so there is nobody to delegate to.")
    return await context.delegate(str(input_["target_agent"]), str(input_["prompt"]), context)


@dataclass(frozen=True, slots=True)
class Delegation:
    """What the agent that works on `job` may delegate; made anew for every level.

    `chain` names the agents from the task's own down to this one, `path` says where in the run it
    works. The depth of an agent is the number of agents above it.
    """

    attempt: Attempt
    job: AgentJob
    chain: tuple[str, ...]
    path: Path

    async def __call__(self, target: str, prompt: str, context: ToolContext) -> ToolOutput:
        """Let `target` work on `prompt` to its end."""
        agent = self.attempt.team.agent(target)
        why = self._why_not(target, agent, context.tokens_left)
        if why is not None or agent is None:
            return _refusal(why or "")
        limit = smallest(agent.max_token_budget, context.tokens_left)
        agent = agent.model_copy(update={"max_token_budget": limit})
        path = (*self.path, context.tool_call_id)
        nested = self.attempt.state.nested
        async with self.attempt.pool.slot():  # free since `_why_not`, so nothing waits here
            result = await self._work(agent, prompt, context.token, path)
        usage = nested.finish(path, result.token_usage)
        self.attempt.state.warnings += result.warnings
        await self._audit(agent, result)
        text = result.output
        if not result.success:
            text = f'The agent "{target}" did not finish: {failure_text(result)}'
            if result.budget_exceeded and result.output:
                text = f"{text}\n\nWhat it had until then:\n{result.output}"
        return ToolOutput(data=text, is_error=not result.success, usage=usage)

    def _why_not(self, target: str, agent: AgentConfig | None, left: int | None) -> str | None:
        limit = self.attempt.options.max_delegation_depth
        if target == self.chain[-1]:
            return "An agent cannot delegate to itself."
        if agent is None:
            names = ", ".join(a.name for a in self.attempt.team.config.agents)
            return f'There is no agent called "{target}". The team has: {names}.'
        if target in self.chain:
            return f'"{target}" already waits for this answer ({" > ".join(self.chain)}).'
        if len(self.chain) > limit:
            return f"Work was handed on {limit} times already, which is the limit. Do it yourself."
        if left is not None and left <= 0:
            return "Your token budget is used up."
        if not self.attempt.pool.has_room:
            size = self.attempt.pool.size
            return f"No slot is free: all {size} agents that may work at once do. Do it yourself."
        return None

    async def _work(
        self, agent: AgentConfig, prompt: str, above: CancelToken, path: Path
    ) -> AgentRunResult:
        token = CancelToken()
        forget = above.on_stop(lambda reason: _pass_on(reason, token))
        if above.reason is not None:
            _pass_on(above.reason, token)
        job = replace(
            self.job,
            task_title="",
            prompt=prompt,
            token=token,
            boundaries=_Unsaved(path, self.attempt.state.nested),
            resume=None,
            run_masked=frozenset(),
            run_token=self.attempt.control.token,
            send_message=partial(self.attempt.state.messages.send, agent.name),
        )
        job = replace(job, delegate=Delegation(self.attempt, job, (*self.chain, agent.name), path))
        try:
            return await self.attempt.services.execute(self.attempt.team, agent, job)
        except OmaError as error:
            used = self.attempt.state.nested.own(path)
            return failed(AgentRunResult(False, "", token_usage=used), error)
        finally:
            forget()

    async def _audit(self, agent: AgentConfig, result: AgentRunResult) -> None:
        """Leave a note of the delegation in shared memory; that it fails stops nobody."""
        memory = self.attempt.state.memory
        if memory is None:
            return
        services = self.attempt.services
        caller = self.chain[-1]
        now = int(services.clock.now().timestamp() * 1000)
        key = f"delegation:{agent.name}:{now}-{_base36(services.ids.span_id())}"
        about: JsonObject = {
            "agent": caller,
            "delegatedTo": agent.name,
            "success": "true" if result.success else "false",
        }
        try:
            await memory.write(caller, key, result.output, about)
        except (StoreError, InvalidInput) as error:
            said = {"kind": "memory_write_failed", "code": error.code}
            services.bus.emit("error", task=self.job.task_id, data=said)


class _Unsaved:
    """The boundaries of a delegated run: nothing is saved, its tokens are known all the same."""

    def __init__(self, path: Path, nested: NestedUsage) -> None:
        self._path = path
        self._nested = nested

    async def save(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Only count."""
        self._nested.note(self._path, entry)

    async def save_strict(self, entry: InFlightEntry, boundary: Boundary) -> None:
        """Only count: no decision waits here that would have to be on disk."""
        self._nested.note(self._path, entry)

    async def request_approval(
        self, entry: InFlightEntry, call_id: str, content: JsonObject, reason: str | None
    ) -> ApprovalRequest:
        """Fail closed: a run without a checkpoint of its own cannot wait for a decision."""
        raise AtomicStoreRequired("APPROVAL_ATOMIC_STORE_REQUIRED", call=call_id)


def _pass_on(reason: StopReason, token: CancelToken) -> None:
    """A suspend waits for delegated work as for any other tool: stopped, it would begin again."""
    if reason is not StopReason.SUSPEND:
        token.stop(reason)


def _refusal(text: str) -> ToolOutput:
    return ToolOutput(data=text, is_error=True)


def _base36(hexadecimal: str) -> str:
    """Up to eight base-36 characters of a random number (formats.md 1.6)."""
    number, text = int(hexadecimal, 16) % 36**8, ""
    while number:
        number, digit = divmod(number, 36)
        text = _BASE36[digit] + text
    return text or "0"
