"""From a routing policy to the agents that really work (engine.md 1.6, 2.6, 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, cast

from oma_desktop.engine.agent_defaults import thinking_fields
from oma_desktop.engine.llm.presets import DEFAULT_PROVIDER
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.context_options import Summarize
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.model_routing import ModelRouting, Phase, RouteFacts, RouteTarget
from oma_desktop.model.team import AgentConfig, OrchestratorOptions


class ModelRoutes:
    """Gives every piece of work its agent: the one of the team, or a fresh copy on another model.

    A copy has the same name, grants, prompts and limits; it passes the same tools, gates and
    guards. External agents bring their own model and are never routed.
    """

    def __init__(
        self,
        policy: ModelRouting | None,
        options: OrchestratorOptions,
        *,
        is_leaf: Callable[[str], bool],
    ) -> None:
        self._policy = policy
        self._options = options
        self._is_leaf = is_leaf

    def ways(
        self, agent: AgentConfig, *, phase: Phase, task: TaskSnapshot | None = None
    ) -> tuple[AgentConfig, ...]:
        """Who may do it, in order: more than one where the route has fallbacks."""
        if self._policy is None or agent.backend is not None:
            return (agent,)
        route = self._policy.route(self._facts(agent, phase, task))
        if route is None:
            return (agent,)
        return tuple(routed(agent, target, self._options) for target in route.targets())

    def first(self, task: TaskSnapshot, agent: AgentConfig) -> AgentConfig:
        """The agent as it would begin this task; requirements look at this one."""
        return self.ways(agent, phase="worker", task=task)[0]

    def _facts(self, agent: AgentConfig, phase: Phase, task: TaskSnapshot | None) -> RouteFacts:
        if task is None:
            return RouteFacts(phase, agent.name)
        return RouteFacts(
            phase,
            agent.name,
            task_role=task.get("role"),
            task_priority=task.get("priority"),
            leaf=self._is_leaf(task["id"]),
            has_dependencies=bool(task.get("dependsOn")),
        )


def routed(agent: AgentConfig, target: RouteTarget, options: OrchestratorOptions) -> AgentConfig:
    """The agent on another model. An address belongs to its provider, keys follow it."""
    standard = options.default_provider or DEFAULT_PROVIDER
    provider = target.provider or agent.provider or standard
    same = provider == (agent.provider or standard)
    address = target.base_url
    if address is None and same:
        address = agent.base_url
    elif address is None and provider == standard:
        address = options.default_base_url
    changes: JsonObject = {
        "model": target.model,
        "provider": target.provider or agent.provider,
        "base_url": address,
        "region": target.region or (agent.region if same else None),
    }
    if agent.thinking is not None and not same:
        changes["extra_body"] = _extra_body(agent, provider)
    copy = agent.model_copy(update=changes)
    strategy = agent.context_strategy
    if same or not isinstance(strategy, Summarize):
        return copy
    # a summary model is one of the agent's own provider
    own = strategy.model_copy(update={"summary_model": None})
    return copy.model_copy(update={"context_strategy": own})


def _extra_body(agent: AgentConfig, provider: str) -> JsonObject:
    """Wire fields that stand for `thinking` have other names at another provider."""
    assert agent.thinking is not None
    old = thinking_fields(agent.thinking, agent.provider or "")
    own = {k: v for k, v in (agent.extra_body or {}).items() if k not in old or old[k] != v}
    return {**thinking_fields(agent.thinking, provider), **own}


OF_AGENTS: Final = frozenset((None, "worker", "short-circuit"))
OF_COORDINATOR: Final = frozenset((None, "coordinator", "decomposition", "synthesis"))


def every_way(
    agent: AgentConfig, options: OrchestratorOptions, *, of: Collection[str | None]
) -> Iterator[AgentConfig]:
    """The agent on every model it may be sent to in these phases; to be seen before a run."""
    policy = options.model_routing
    if policy is None or agent.backend is not None:
        return
    for rule in policy.rules:
        if rule.match.agent in {None, agent.name} and rule.match.phase in of:
            for target in rule.route.targets():
                yield routed(agent, target, options)


def same_endpoint(one: AgentConfig, other: AgentConfig) -> bool:
    """Whether both ask the same service, so that what one is told of waiting counts for both."""
    where = ("provider", "base_url", "region")
    return all(cast("object", getattr(one, k)) == getattr(other, k) for k in where)
