"""What an external agent is told: one text (engine.md 10.2, 10.4)."""

from __future__ import annotations

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.backends.faults import BackendUnusable
from oma_desktop.model.team import AgentConfig


def prompt_of(agent: AgentConfig, job: AgentJob) -> str:
    """Return the task's text. Raises BackendUnusable when there is none, or it is not a text."""
    if not isinstance(job.prompt, str):
        raise BackendUnusable("BACKEND_TAKES_TEXT", agent=agent.name)
    if not job.prompt.strip():
        raise BackendUnusable("BACKEND_EMPTY_PROMPT", agent=agent.name)
    return job.prompt


def with_system(agent: AgentConfig, prompt: str) -> str:
    """Return the prompt after the agent's standing instructions."""
    return f"{agent.system_prompt}\n\n{prompt}" if agent.system_prompt else prompt
