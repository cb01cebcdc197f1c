"""Who takes a goal: one agent or the team (engine.md 4.1 row 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.coordination.goal_shape import complexity, estimate, is_simple
from oma_desktop.engine.options import ExecutionRouter
from oma_desktop.engine.queueing.affinity import TEXT_LIMIT, Profiles, Subject, fit
from oma_desktop.engine.queueing.keywords import keywords
from oma_desktop.model.errors import EngineError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import AgentConfig

Mode: TypeAlias = Literal["single", "team"]


class RoutingFailed(EngineError):
    """ROUTING_FAILED: a router raised or gave no known answer, and nothing may stand in for it.

    Facts: `found`.
    """


@dataclass(frozen=True, slots=True)
class Route:
    """The choice, who made it, and why."""

    mode: Mode
    source: Literal["mode", "governance", "router", "deterministic", "hybrid", "plan_only"]
    reason: str

    def to_json(self) -> JsonObject:
        """`{mode, source, reason}`."""
        return {"mode": self.mode, "source": self.source, "reason": self.reason}


def deterministic(goal: str, roster: Sequence[AgentConfig]) -> Route:
    """By the wording of the goal alone."""
    if not roster:
        return Route("team", "deterministic", "no agents")
    if is_simple(goal):
        return Route("single", "deterministic", "simple goal")
    return Route("team", "deterministic", complexity(goal) or f"long goal ({estimate(goal)})")


async def route(
    goal: str,
    roster: Sequence[AgentConfig],
    *,
    routers: Sequence[ExecutionRouter | None],
    bus: EventBus,
    may_fall_back: bool,
) -> Route:
    """Ask the first router there is, else look at the wording.

    Raises RoutingFailed when a router fails and nothing may stand in for it.
    """
    router = next((r for r in routers if r is not None), None)
    if router is None:
        return deterministic(goal, roster)
    found = await _ask(router, goal, roster)
    if found == "single":
        return Route("single", "router", "asked")
    if found == "team":
        return Route("team", "router", "asked")
    if not may_fall_back:
        raise RoutingFailed("ROUTING_FAILED", found=found)
    bus.emit("warning", data={"code": "ROUTING_FAILED", "error": found})
    return deterministic(goal, roster)


async def _ask(router: ExecutionRouter, goal: str, roster: Sequence[AgentConfig]) -> str:
    try:
        answer = await router(goal, roster)
    except Exception as error:  # noqa: BLE001 - a router is written by others, as gates are
        return type(error).__name__
    return answer if isinstance(answer, str) else type(answer).__name__


def best_agent(goal: str, roster: Sequence[AgentConfig]) -> AgentConfig:
    """The agent whose words fit the goal best; of equals the first by name."""
    profiles = Profiles(lambda _agent: frozenset(), None)
    subject = Subject(goal[:TEXT_LIMIT].lower(), keywords(goal[:TEXT_LIMIT]))
    return min(roster, key=lambda agent: (-fit(subject, profiles.of(agent)), agent.name))
