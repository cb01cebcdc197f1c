"""What agents leave to the orchestrator, the run file and the peer's defaults (engine.md 1.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oma_desktop.engine.llm.presets import DEFAULT_PROVIDER
from oma_desktop.engine.tools.grants import is_granted
from oma_desktop.model.backend import Backend
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.team import BUILTIN_TOOLS, AgentConfig, TeamConfig

_EFFORTS: Final = frozenset({"low", "medium", "high"})


def with_defaults(
    team: TeamConfig, run_file: RunFile, base_dir: Path, *, workspace: Path | None = None
) -> TeamConfig:
    """Return the team with all that its agents leave to the run file; paths become absolute.

    `workspace` is the folder of agents with built-in tools for which nobody named one.
    """
    agents = [_agent(agent, run_file, base_dir) for agent in team.agents]
    if workspace is not None:
        agents = [
            agent.model_copy(update={"cwd": str(workspace)}) if _lacks_workspace(agent) else agent
            for agent in agents
        ]
    return team.model_copy(update={"agents": agents})


def _lacks_workspace(agent: AgentConfig) -> bool:
    """Say whether an agent has built-in tools, or is a program, and has no folder to work in."""
    if agent.backend is not None:
        return agent.cwd is None and agent.backend.cwd is None
    return agent.cwd is None and any(is_granted(agent, tool) for tool in BUILTIN_TOOLS)


def _agent(agent: AgentConfig, run_file: RunFile, base_dir: Path) -> AgentConfig:
    """Fill in what the agent leaves to the orchestrator (engine.md 1.5)."""
    options = run_file.orchestrator
    default_provider = options.default_provider or DEFAULT_PROVIDER
    provider = agent.provider or default_provider
    changes: JsonObject = {"provider": provider, "model": agent.model or options.default_model}
    if provider == default_provider and agent.base_url is None:
        # only for its own provider: a key must never go to another service's address
        changes["base_url"] = options.default_base_url
    if agent.tools is None and agent.tool_preset is None:
        changes["tool_preset"] = options.default_tool_preset
    if agent.fail_on is None:
        changes["fail_on"] = list(options.fail_on)
    cwd = agent.cwd or run_file.cwd or options.default_cwd
    if cwd is not None:
        changes["cwd"] = str(base_dir / cwd)
    if agent.backend is not None:
        changes["backend"] = _program(agent.backend, base_dir)  # type: ignore[assignment]
    if agent.thinking is not None:
        changes["extra_body"] = {
            **thinking_fields(agent.thinking, provider),
            **(agent.extra_body or {}),
        }
    return agent.model_copy(update=changes)


def thinking_fields(thinking: JsonObject, provider: str) -> JsonObject:
    """Return the wire fields of a `thinking` option (engine.md 8.2, 8.8)."""
    wire_fields: JsonObject = {}
    effort = thinking.get("effort")
    enabled = thinking.get("enabled") is True
    if enabled and (effort in _EFFORTS or (effort == "max" and provider == "deepseek")):
        wire_fields["reasoning_effort"] = effort
    if provider == "deepseek":
        wire_fields["thinking"] = {"type": "enabled" if enabled else "disabled"}
    return wire_fields


def without_programs(team: TeamConfig) -> TeamConfig:
    """Return the team with every agent on a model: a script plays all of them (product.md 6)."""
    agents = [agent.model_copy(update={"backend": None}) for agent in team.agents]
    return team.model_copy(update={"agents": agents})


def _program(backend: Backend, base_dir: Path) -> Backend:
    """A command or folder written with a slash lies beside the run file; a bare name in PATH."""
    changes: dict[str, str] = {}
    if len(Path(backend.command).parts) > 1:
        changes["command"] = str((base_dir / backend.command).absolute())
    if backend.cwd is not None:
        changes["cwd"] = str((base_dir / backend.cwd).absolute())
    return backend.model_copy(update=changes)
