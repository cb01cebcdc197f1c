"""What one agent is told of another: a few bounded facts (engine.md 4.3)."""

from __future__ import annotations

from typing import Final

from oma_desktop.engine.tools.grants import DELEGATE, granted, is_granted
from oma_desktop.engine.tools.registry import ToolRegistry
from oma_desktop.model.json_text import cut_whole
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import AgentConfig

MODEL_LIMIT: Final = 120
SUMMARY_LIMIT: Final = 140
CAPABILITY_LIMIT: Final = 20
TOOL_LIMIT: Final = 24


def manifest_entry(agent: AgentConfig, tools: ToolRegistry) -> JsonObject:
    """What an agent is to the others; never its whole system prompt."""
    entry: JsonObject = {"name": agent.name}
    summary = agent.description or (agent.system_prompt or "").strip().split("\n", 1)[0]
    names = [tool.name for tool in granted(agent, tools)]
    if is_granted(agent, DELEGATE) and DELEGATE not in names:
        names.append(DELEGATE)
    facts: JsonObject = {
        "model": cut_whole(agent.model or "", MODEL_LIMIT),
        "roleSummary": cut_whole(summary, SUMMARY_LIMIT),
        "capabilities": list(agent.capabilities[:CAPABILITY_LIMIT]),
        "tools": list(names[:TOOL_LIMIT]),
        "costTier": agent.cost_tier,
    }
    return entry | {key: value for key, value in facts.items() if value}
