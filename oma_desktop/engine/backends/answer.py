"""What passes between an external agent and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.gate import Gates
from oma_desktop.model.message import TokenUsage, ToolCallRecord
from oma_desktop.model.result import no_usage
from oma_desktop.model.team import AgentConfig


@dataclass(frozen=True, slots=True)
class Asked:
    """One piece of work. `on_text` hears drafts of the answer, `on_tool` (title, kind, status) what
    the agent says it does; `token` carries the agent's own time limit too.
    """

    agent: AgentConfig
    job: AgentJob
    prompt: str
    gates: Gates
    token: CancelToken
    on_text: Callable[[str], None]
    on_tool: Callable[[str, str, str], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `early`: the agent stopped at a limit of its own. `usage` None: it counts
    nothing, which is not the same as zero.
    """

    text: str
    usage: TokenUsage | None = None
    records: list[ToolCallRecord] = field(default_factory=list)
    early: bool = False

    @property
    def counted(self) -> TokenUsage:
        """The usage for sums."""
        return self.usage or no_usage()
