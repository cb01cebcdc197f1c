"""Hybrid routing: one question to a model about a goal that looks simple (engine.md 4.1 row 4).

The question is a run of an agent like any other: its tokens and its cost count, ceilings, policies
of where calls may go and a stop hold for it. It has no tools and nothing of it is saved.
"""

from __future__ import annotations

from typing import ClassVar, Final, cast

from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.engine.attempt import Attempt
from oma_desktop.engine.control import fatal
from oma_desktop.engine.coordination.coordinator import coordinator_agent
from oma_desktop.engine.coordination.route_profile import (
    SYSTEM,
    Profile,
    Verdict,
    judge_profile,
    profile_prompt,
    profile_schema,
)
from oma_desktop.engine.coordination.routing import Route, best_agent
from oma_desktop.engine.spans import Recorded, span
from oma_desktop.engine.tasks.ceiling import over_ceiling
from oma_desktop.engine.tasks.task_work import fault
from oma_desktop.model.errors import EngineError, OmaError
from oma_desktop.model.execution_routing import ExecutionRouting
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.result import AgentRunResult
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, OrchestratorOptions

ROUTER: Final = "router"
ROUTE: Final = "@route"
_TURNS: Final = 2  # the answer, and its one repair


class RoutingTimedOut(EngineError):
    """ROUTING_TIMEOUT: the model took too long, and nothing may stand in for it (engine.md 1.9).

    Facts: `timeout_ms`, `usage`.
    """

    retryable: ClassVar[bool] = True


class RoutingProfilerFailed(EngineError):
    """ROUTING_PROFILER_FAILED: the model gave no usable profile. Facts: `error`, `usage`."""


class DeclarationRequired(EngineError):
    """ROUTING_DECLARATION_REQUIRED: who takes the goal is for a person to say.

    Facts: `reasons` (codes of `route_profile`), `agents` (names in one text), `usage`.
    """


def profiler_agent(
    settings: Coordinator, *, options: OrchestratorOptions, roster: list[AgentConfig]
) -> AgentConfig:
    """Return who is asked: the model `executionRouting` names, else the coordinator's."""
    routing = options.execution_routing or ExecutionRouting()
    same = routing.provider in {None, settings.provider}
    wish = Coordinator(
        provider=routing.provider or settings.provider,
        model=routing.model or (settings.model if same else None),
        base_url=routing.base_url or (settings.base_url if same else None),
        extra_body=settings.extra_body if same else None,
        tools=[],
        max_turns=_TURNS,
    )
    agent = coordinator_agent(wish, options=options, roster=roster)
    changes = {
        "name": ROUTER,
        "cwd": None,
        "timeout_ms": routing.timeout_ms,
        "system_prompt": SYSTEM,
        "output_schema": profile_schema(roster),
    }
    return agent.model_copy(update=changes)


class Profiling:
    """Asks once and tells what follows. `declared` as in `judge_profile`."""

    def __init__(self, attempt: Attempt, *, settings: Coordinator, declared: bool) -> None:
        self._attempt = attempt
        self._routing = attempt.options.execution_routing or ExecutionRouting()
        self._roster = attempt.team.config.agents
        self._declared = declared
        self._agent = profiler_agent(settings, options=attempt.options, roster=self._roster)

    async def route(self, goal: str) -> Route | None:
        """Return who takes the goal; None when the run was told to stop, for whatever reason."""
        with span("routing", "profile_execution_route", routing_candidate="single") as recorded:
            start = {"phase": "routing", "goal": goal}
            self._attempt.services.bus.emit("agent_start", agent=ROUTER, data=start)
            result = await self._ask(goal)
            recorded.ended(result)
            self._attempt.state.budget.settle_coordination(result.token_usage)
            if over_ceiling(self._attempt, agent=ROUTER) or self._attempt.control.stop is not None:
                return None
            return self._after(goal, result, recorded)

    async def _ask(self, goal: str) -> AgentRunResult:
        job = AgentJob(
            run_id=self._attempt.state.identity.run_id,
            task_id=ROUTE,
            task_title=ROUTE,
            prompt=profile_prompt(goal, self._roster, self._attempt.team.tools),
            token=self._attempt.control.token,
        )
        try:
            return await self._attempt.services.execute(self._attempt.team, self._agent, job)
        except OmaError as error:
            return fault(error)

    def _after(self, goal: str, result: AgentRunResult, recorded: Recorded) -> Route | None:
        if not result.success or not result.has_structured:
            return self._failed(_failure(result, self._routing.timeout_ms))
        profile = Profile.of(result.structured)
        verdict = judge_profile(
            profile,
            taker=best_agent(goal, self._roster),
            roster=self._roster,
            tools=self._attempt.team.tools,
            threshold=self._routing.threshold,
            declared=self._declared,
        )
        self._disclose(verdict, result)
        recorded.set(
            routing_recommendation=verdict.recommendation, routing_confidence=profile.confidence
        )
        if verdict.recommendation == "needs-declaration":
            facts = {"reasons": list(verdict.reasons), "agents": ", ".join(profile.agents)}
            error = DeclarationRequired(
                "ROUTING_DECLARATION_REQUIRED", **facts, usage=dict(result.token_usage)
            )
            self._attempt.control.ask(fatal(error))
            return None
        return Route(verdict.recommendation, "hybrid", ", ".join(verdict.reasons))

    def _failed(self, error: OmaError) -> Route | None:
        if not self._routing.may_fall_back:
            self._attempt.control.ask(fatal(error))
            return None
        late = f"> {self._routing.timeout_ms} ms"
        said = {"error": late, **error.facts, "code": error.code}
        self._attempt.services.bus.emit("warning", data=said)
        self._attempt.state.coordination.assessment = {
            "recommendation": "single",
            "reasons": [error.code],
            "tokenUsage": cast("JsonValue", error.facts["usage"]),
        }
        return Route("single", "deterministic", error.code)

    def _disclose(self, verdict: Verdict, result: AgentRunResult) -> None:
        profile = cast("JsonObject", result.structured)
        assessment: JsonObject = {
            "recommendation": verdict.recommendation,
            "reasons": list(verdict.reasons),
            "confidence": profile["confidence"],
            "threshold": self._routing.threshold,
            "profile": profile,
            "model": self._agent.model,
            "tokenUsage": cast("JsonValue", result.token_usage),
        }
        self._attempt.state.coordination.assessment = {
            key: value for key, value in assessment.items() if value is not None
        }


def _failure(result: AgentRunResult, timeout_ms: int) -> OmaError:
    info = result.error_info
    usage = dict(result.token_usage)
    if result.status.code == "timeout" or (info is not None and info.kind == "timeout"):
        return RoutingTimedOut("ROUTING_TIMEOUT", timeout_ms=timeout_ms, usage=usage)
    why = (info.message or info.code) if info is not None else result.status.message
    return RoutingProfilerFailed(
        "ROUTING_PROFILER_FAILED", error=why or result.status.code, usage=usage
    )
