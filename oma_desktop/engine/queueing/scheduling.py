"""Which task next, and which agent (engine.md 2.6). Pure: the dispatcher holds the state."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from oma_desktop.engine.queueing.affinity import Grants, Profiles, fit, subject_of
from oma_desktop.engine.queueing.queue import TERMINAL
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import PlanRejected
from oma_desktop.model.graph import dependencies_of, descendant_counts
from oma_desktop.model.team import AgentConfig, SchedulingWeights

Strategy: TypeAlias = Literal[
    "dependency-first", "round-robin", "least-busy", "capability-match", "composite"
]
Rank: TypeAlias = tuple[int, int, int, int]

_PRIORITY: Final = {"critical": 0, "high": 1, "normal": 2, "low": 3}
_BY_CRITICALITY: Final = frozenset(("dependency-first", "composite"))


class ReadyQueue:
    """Ready task ids, best first: reviewed dispatches, then criticality, priority, queue order.

    Invariant: an id is in it at most once; `remove` is lazy and cheap.
    """

    def __init__(self, strategy: Strategy, tasks: Sequence[TaskSnapshot]) -> None:
        self._strategy = strategy
        self._rank = self._ranks(tasks)
        self._heap: list[tuple[Rank, str]] = []
        self._here: set[str] = set()
        self._first: set[str] = set()

    def learn(self, tasks: Sequence[TaskSnapshot]) -> None:
        """The plan has changed: rank everything anew, what is here already too."""
        self._rank = self._ranks(tasks)
        self._heap = [(self._rank_of(task_id), task_id) for task_id in self._here]
        heapq.heapify(self._heap)

    def _ranks(self, tasks: Sequence[TaskSnapshot]) -> dict[str, Rank]:
        counts: dict[str, int] = {}
        if (
            self._strategy in _BY_CRITICALITY
        ):  # once per graph; the peer recounted in its sort (P19)
            deps = dependencies_of(tasks)
            counts = descendant_counts(list(deps), deps)
        return {
            t["id"]: (1, -counts.get(t["id"], 0), _PRIORITY[t.get("priority", "normal")], i)
            for i, t in enumerate(tasks)
        }

    def _rank_of(self, task_id: str) -> Rank:
        rank = self._rank[task_id]
        return (0, *rank[1:]) if task_id in self._first else rank

    def __len__(self) -> int:
        return len(self._here)

    def push(self, task_id: str, *, first: bool = False) -> None:
        """Add a ready task; `first` puts it before all others (an approved dispatch)."""
        if task_id in self._here:
            return
        self._here.add(task_id)
        (self._first.add if first else self._first.discard)(task_id)
        heapq.heappush(self._heap, (self._rank_of(task_id), task_id))

    def remove(self, task_id: str) -> None:
        """Forget a task, for instance because a failed dependency ended it."""
        self._here.discard(task_id)

    def pop(self) -> str | None:
        """Take the best one, or None."""
        while self._heap:
            _, task_id = heapq.heappop(self._heap)
            if task_id in self._here:
                self._here.discard(task_id)
                return task_id
        return None


class AgentChooser:
    """Chooses an agent for a task that names none; constant work per choice for a given roster.

    `grants` gives the final tool names of an agent, asked for once each; `weights` are those of the
    composite strategy; `route` gives the agent as it would begin a task. The round-robin cursor
    lives as long as this.
    """

    def __init__(
        self,
        strategy: Strategy,
        roster: Sequence[AgentConfig],
        *,
        grants: Grants,
        default_provider: str | None = None,
        weights: SchedulingWeights | None = None,
        route: Callable[[TaskSnapshot, AgentConfig], AgentConfig] = lambda _task, agent: agent,
    ) -> None:
        self._strategy = strategy
        self._roster = list(roster)
        self._profiles = Profiles(grants, default_provider)
        self._weights = weights or SchedulingWeights()
        self._route = route
        self._default_provider = default_provider
        self._cursor = 0

    def eligible(self, task: TaskSnapshot) -> list[AgentConfig]:
        """Agents that meet every hard requirement, in roster order."""
        if not task.get("requires"):
            return self._roster
        return [a for a in self._roster if not self.unmet(task, a)]

    def unmet(self, task: TaskSnapshot, agent: AgentConfig) -> list[str]:
        """Names of the requirements this agent does not meet, on the model it is routed to."""
        return self.unmet_by(task, self._route(task, agent))

    def unmet_by(self, task: TaskSnapshot, agent: AgentConfig) -> list[str]:
        """The same for the agent exactly as it is given."""
        return list(self._missing(task, agent))

    def missing(self, task: TaskSnapshot, agent: AgentConfig) -> dict[str, list[str]]:
        """What this agent lacks, by the name of the requirement, on the model it is routed to."""
        return self._missing(task, self._route(task, agent))

    def nearest(self, task: TaskSnapshot) -> AgentConfig:
        """Return the agent that lacks least, the first of several; the roster is not empty."""
        return min(
            self._roster, key=lambda agent: sum(map(len, self.missing(task, agent).values()))
        )

    def _missing(self, task: TaskSnapshot, agent: AgentConfig) -> dict[str, list[str]]:
        requires = task.get("requires", {})
        has = self._profiles.of(agent)
        provider = has.provider and (agent.provider or self._default_provider)
        found: dict[str, list[str]] = {
            "requiredTools": [t for t in requires.get("requiredTools", ()) if t not in has.tools],
            "requiredCapabilities": [
                c for c in requires.get("requiredCapabilities", ()) if c not in has.capabilities
            ],
        }
        if (backend := requires.get("requiredBackend", has.backend)) != has.backend:
            found["requiredBackend"] = [backend]
        if "requiredProvider" in requires and requires["requiredProvider"] != provider:
            found["requiredProvider"] = [requires["requiredProvider"]]
        return {name: lacking for name, lacking in found.items() if lacking}

    def choose(self, task: TaskSnapshot, load: Mapping[str, int]) -> str:
        """Return an agent's name; `load` counts tasks in progress per agent.

        Raises PlanRejected NO_ELIGIBLE_AGENT.
        """
        agents = self.eligible(task)
        if not agents:
            raise PlanRejected("NO_ELIGIBLE_AGENT", task=task["id"], title=task["title"])
        match self._strategy:
            case "least-busy":
                return min(agents, key=lambda a: load.get(a.name, 0)).name
            case "capability-match":
                return self._best_match(task, agents)
            case "composite":
                return self._best_mix(task, agents, load)
            case _:
                return self._next(agents).name

    def _next(self, agents: Sequence[AgentConfig]) -> AgentConfig:
        chosen = agents[self._cursor % len(agents)]
        self._cursor += 1
        return chosen

    def _best_match(self, task: TaskSnapshot, agents: Sequence[AgentConfig]) -> str:
        subject = subject_of(task)
        scores = [fit(subject, self._profiles.of(agent)) for agent in agents]
        best = max(scores)
        return self._next(agents).name if best == 0 else agents[scores.index(best)].name

    def _best_mix(
        self, task: TaskSnapshot, agents: Sequence[AgentConfig], load: Mapping[str, int]
    ) -> str:
        most = max(1, *(load.get(a.name, 0) for a in agents))
        subject = subject_of(task)

        def mix(agent: AgentConfig) -> float:
            free = 1 - load.get(agent.name, 0) / most
            fits = fit(subject, self._profiles.of(agent))
            return self._weights.fit * fits + self._weights.load * free

        return min(agents, key=lambda a: (-mix(a), a.name)).name


def check_requirements(
    tasks: Iterable[TaskSnapshot], chooser: AgentChooser, roster: Mapping[str, AgentConfig]
) -> None:
    """Refuse before anything runs when a task can have no fitting agent (engine.md 2.6).

    A name outside the roster is left to the missing-agent check. Raises PlanRejected
    INVALID_TASK_REQUIREMENTS with `issues`: the task, its agent or else the nearest one, and what
    that one lacks.
    """
    issues: list[str] = []
    for task in tasks:
        if task["status"] in TERMINAL:
            continue
        if (agent := unfit(task, chooser, roster)) is not None:
            lacking = in_words(chooser.missing(task, agent))
            issues.append(f"{task['title']}: {agent.name} ({lacking})")
    if issues:
        raise PlanRejected("INVALID_TASK_REQUIREMENTS", issues=issues)


def unfit(
    task: TaskSnapshot, chooser: AgentChooser, roster: Mapping[str, AgentConfig]
) -> AgentConfig | None:
    """Return who does not fit the task: the agent it names, or the nearest where nobody fits."""
    name = task.get("assignee")
    if name is None:
        return chooser.nearest(task) if roster and not chooser.eligible(task) else None
    return roster[name] if name in roster and chooser.unmet(task, roster[name]) else None


def in_words(missing: Mapping[str, Sequence[str]]) -> str:
    """Return what an agent lacks by the names a run file has for it."""
    return "; ".join(f"{name} {', '.join(values)}" for name, values in missing.items())
