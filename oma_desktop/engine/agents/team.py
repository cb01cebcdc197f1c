"""A team ready to work: its description plus live tools, models and gates (engine.md 1.2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from oma_desktop.engine.agents.boundaries import Boundaries
from oma_desktop.engine.agents.hooks import AgentHooks
from oma_desktop.engine.agents.stream import OnAgentStream
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelAdapter
from oma_desktop.engine.tools.gate import GateCall, Gates
from oma_desktop.engine.tools.registry import Delegate, SendMessage, ToolRegistry
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.message import Message
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.team import AgentConfig, TeamConfig


class External(Protocol):
    """Runs agents that are programs of their own (engine.md 10); see backends.external."""

    async def run(self, team: Team, agent: AgentConfig, job: AgentJob) -> AgentRunResult:
        """Do the whole job; what goes wrong ends in the result."""
        ...

    async def close(self) -> None:
        """End what still runs."""
        ...


@dataclass(frozen=True, slots=True)
class Team:
    """The runtime wiring of one team.

    `adapter_for` returns the model endpoint of an agent and may raise OmaError when it is not
    usable. Credentials live behind it, never in here. `hooks` are by agent name. `on_agent_stream`
    hears every agent, also delegated ones, as it speaks; it must be quick and cannot fail a run.
    `external` runs the agents with a backend; without it their tasks fail.
    """

    config: TeamConfig
    tools: ToolRegistry
    adapter_for: Callable[[AgentConfig], ModelAdapter]
    gates: Gates = field(default_factory=Gates)
    max_parallel_tool_calls: int = 4
    hooks: Mapping[str, AgentHooks] = field(default_factory=dict)
    on_agent_stream: OnAgentStream | None = None
    external: External | None = None

    def agent(self, name: str) -> AgentConfig | None:
        """Return the agent's description, or None when the roster has no such name."""
        return next((a for a in self.config.agents if a.name == name), None)


@dataclass(frozen=True, slots=True)
class AgentJob:
    """One piece of work for one agent: what the runner needs to know, nothing about the queue.

    `prompt` is the first user message (text, or ready messages). `resume` continues a saved state
    instead: the prompt is then ignored and decisions are read from its pending calls
    (`approvalDecision`). `boundaries` None means nothing is saved and no call can be suspended.
    `task_id` and `task_title` are empty for an agent that runs alone. `attempt` counts task retries
    from 1. The runner works on a copy of `resume`. `before_tool` is
    awaited right before a tool really runs (for a start log, ux.md C24.2); when it raises, the tool
    does not run. `run_masked`: see RestoreOptions; it concerns the open calls of `resume` only.
    `delegate` is how this agent hands work to others, `send_message` how its tools write to them;
    None: it works for no team. `run_token` is for delegated work, whose `token` hears of aborts
    only: a suspend waits for it, but not for a person at one of its gates.
    `check` looks at an answer that fits the agent's output schema and returns what is wrong with it
    in words for the model, or None; it takes part in the one repair. `bus` is where the agent's
    events are told; None: where the executor was made for.
    """

    run_id: str
    task_id: str
    task_title: str
    prompt: str | list[Message]
    token: CancelToken
    boundaries: Boundaries | None = None
    resume: InFlightEntry | None = None
    attempt: int = 1
    before_tool: Callable[[GateCall], Awaitable[None]] | None = None
    run_masked: frozenset[str] | None = frozenset()
    delegate: Delegate | None = None
    send_message: SendMessage | None = None
    run_token: CancelToken | None = None
    check: Callable[[JsonValue], str | None] | None = None
    bus: EventBus | None = None
