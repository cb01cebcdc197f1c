"""Which tools an agent may use: nothing, unless somebody said so (engine.md 3.3)."""

from __future__ import annotations

from typing import Final

from oma_desktop.engine.tools.registry import ToolRegistry, ToolSpec
from oma_desktop.model.team import BUILTIN_TOOLS, AgentConfig

DELEGATE: Final = "delegate_to_agent"
PRESETS: Final[dict[str, frozenset[str]]] = {
    "readonly": frozenset({"file_read", "grep", "glob"}),
    "readwrite": frozenset({"file_read", "grep", "glob", "file_write", "file_edit"}),
    "full": frozenset({"file_read", "grep", "glob", "file_write", "file_edit", "bash"}),
}


def is_granted(agent: AgentConfig, tool: str) -> bool:
    """Whether the agent's own description allows this name.

    Built-in tools: the preset, cut down to the allow-list where both are given. Every other tool:
    only when the allow-list names it. The deny-list has the last word and grants nothing by itself.
    """
    if tool in agent.disallowed_tools:
        return False
    listed = agent.tools is not None and tool in agent.tools
    if tool == DELEGATE:
        return agent.delegate or listed
    if tool not in BUILTIN_TOOLS or agent.tool_preset is None:
        return listed
    return tool in PRESETS[agent.tool_preset] and (agent.tools is None or listed)


def granted(agent: AgentConfig, tools: ToolRegistry) -> list[ToolSpec]:
    """The registered tools the agent may use, in registration order."""
    return [tool for tool in tools if is_granted(agent, tool.name)]
