# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""Which model works on what (engine.md 1.6 ModelRoutingPolicy). Never holds a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from oma_desktop.model.described import Described, Text

Phase: TypeAlias = Literal["worker", "decomposition", "synthesis", "short-circuit"]
COORDINATING: Final = frozenset(("decomposition", "synthesis"))


class RouteTarget(Described):
    """A model. Without `provider` it is asked at the agent's own provider and address."""

    model: Text
    provider: Text | None = None
    base_url: Annotated[str | None, Field(alias="baseURL")] = None
    region: str | None = None


class Route(RouteTarget):
    """A model and those to ask in its place, in this order, when its endpoint fails."""

    fallback: list[RouteTarget] = []

    def targets(self) -> Iterator[RouteTarget]:
        """The model itself, then its fallbacks."""
        yield self
        yield from self.fallback


class RouteMatch(Described):
    """What a rule is about; every given key must hold.

    `phase` `coordinator` stands for decomposition and synthesis. `leaf`: no other task waits for
    this one. `hasDependencies`: it waits for others. Keys about tasks hold for tasks only.
    """

    phase: Phase | Literal["coordinator"] | None = None
    agent: Text | None = None
    task_role: Text | None = None
    task_priority: Literal["low", "normal", "high", "critical"] | None = None
    leaf: bool | None = None
    has_dependencies: bool | None = None

    def fits(self, facts: RouteFacts) -> bool:
        """Whether this is about that piece of work."""
        coordinating = self.phase == "coordinator" and facts.phase in COORDINATING
        return (coordinating or self.phase in {None, facts.phase}) and all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.agent, facts.agent),
                (self.task_role, facts.task_role),
                (self.task_priority, facts.task_priority),
                (self.leaf, facts.leaf),
                (self.has_dependencies, facts.has_dependencies),
            )
        )


class RoutingRule(Described):
    """Work that fits `match` goes to `route`. A rule without conditions fits everything."""

    match: RouteMatch = RouteMatch()
    route: Route


class ModelRouting(Described):
    """Rules in order; the first that fits decides, and without one every agent keeps its model.

    They are about work on tasks and on goals, and about the coordinator. Judges, and agents that
    work for another agent, keep the models they were given: whoever names a judge wants that
    judge's model, not the one the author was sent to, and work that was handed on is part of a
    task whose role and priority say nothing of it.
    """

    rules: list[RoutingRule] = []

    def route(self, facts: RouteFacts) -> Route | None:
        """The route of the first rule that fits."""
        return next((rule.route for rule in self.rules if rule.match.fits(facts)), None)


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """A piece of work as rules see it; None where there is no task."""

    phase: Phase
    agent: str
    task_role: str | None = None
    task_priority: str | None = None
    leaf: bool | None = None
    has_dependencies: bool | None = None
