"""The coordinator: an agent of its own beside the team, asked at the start and at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.llm.presets import DEFAULT_PROVIDER
from oma_desktop.engine.tasks.retry import is_provider_failure
from oma_desktop.engine.tasks.task_work import fault
from oma_desktop.model.errors import OmaError
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.model_routing import Phase
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, OrchestratorOptions

COORDINATOR: Final = "coordinator"
DECOMPOSE: Final = "@decompose"
SYNTHESIS: Final = "@synthesis"
MAX_TURNS: Final = 3
_PHASES: Final[dict[str, Phase]] = {DECOMPOSE: "decomposition", SYNTHESIS: "synthesis"}
_COPIED: Final = (
    "max_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_preset",
    "disallowed_tools",
    "timeout_ms",
    "loop_detection",
    "extra_body",
)


def coordinator_agent(
    settings: Coordinator, *, options: OrchestratorOptions, roster: Sequence[AgentConfig]
) -> AgentConfig:
    """Return the coordinator as an agent; its prompts are added per question.

    Endpoint and model: its own, else the orchestrator's, else those of the first agent. An address
    belongs to its provider: a key never goes to another service's address. The orchestrator's
    default tool preset does not count for it (engine.md 1.5).
    """
    first = roster[0] if roster else AgentConfig(name=COORDINATOR)
    standard = options.default_provider or DEFAULT_PROVIDER
    provider = settings.provider or options.default_provider or first.provider
    like_first = provider == (first.provider or standard)
    model = settings.model or options.default_model or (first.model if like_first else None)
    address = settings.base_url
    if address is None and provider == standard:
        address = options.default_base_url
    if address is None and like_first:
        address = first.base_url
    return AgentConfig(
        name=COORDINATOR,
        provider=provider,
        model=model,
        base_url=address,
        cwd=first.cwd,
        max_turns=settings.max_turns or MAX_TURNS,
        **{name: getattr(settings, name) for name in _COPIED},
    )


async def ask(
    attempt: Attempt,
    agent: AgentConfig,
    *,
    title: str,
    prompt: str,
    check: Callable[[JsonValue], str | None] | None = None,
) -> AgentRunResult:
    """Let the coordinator work on one question; what it used is counted whatever comes of it.

    Where an endpoint fails the next one of its route is asked (engine.md 1.6). It has no task, so
    nothing of it is saved and no tool call of it can be suspended.
    """
    job = AgentJob(
        run_id=attempt.state.identity.run_id,
        task_id=title,
        task_title=title,
        prompt=prompt,
        token=attempt.control.token,
        check=check,
    )
    for way in attempt.routes.ways(agent, phase=_PHASES[title]):
        try:
            result = await attempt.services.execute(attempt.team, way, job)
        except OmaError as error:
            result = fault(error)
        attempt.state.budget.settle_coordination(result.token_usage)
        if attempt.control.token.stopped or not is_provider_failure(result):
            break
    return result
