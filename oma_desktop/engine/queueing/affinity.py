"""How well agents fit tasks, and what they can do (engine.md 2.6). Looked up once per agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from oma_desktop.engine.queueing.keywords import keywords
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.team import AgentConfig

Grants: TypeAlias = Callable[[AgentConfig], frozenset[str]]

TEXT_LIMIT: Final = 4000
"""How much of a text is read for matching; what a text is about stands at its beginning."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What matching and filtering need of one agent. `tools` are those it is granted in the end.

    An agent that is a program of its own has neither tools nor a provider of ours.
    """

    capabilities: frozenset[str]
    tools: frozenset[str]
    backend: str
    provider: str | None
    tags: tuple[str, ...]
    text: str
    words: frozenset[str]


class Profiles:
    """Profiles by agent name, made on first use and kept."""

    def __init__(self, grants: Grants, default_provider: str | None) -> None:
        self._grants = grants
        self._default_provider = default_provider
        self._known: dict[str, Profile] = {}

    def of(self, agent: AgentConfig) -> Profile:
        """Return the profile of an agent of the roster."""
        found = self._known.get(agent.name)
        if found is None:
            found = self._known[agent.name] = self._profile(agent)
        return found

    def _profile(self, agent: AgentConfig) -> Profile:
        backend = agent.model_dump(include={"backend"})["backend"]
        own = backend is not None
        text = " ".join(filter(None, (agent.name, agent.description, agent.system_prompt)))
        text = text[:TEXT_LIMIT].lower()
        return Profile(
            capabilities=frozenset(agent.capabilities),
            tools=frozenset() if own else self._grants(agent),
            backend=str(backend["kind"]) if own else "llm",
            provider=None if own else agent.provider or self._default_provider,
            tags=tuple(c.lower() for c in agent.capabilities),
            text=text,
            words=keywords(text),
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """What a task is about."""

    text: str
    words: frozenset[str]


def subject_of(task: TaskSnapshot) -> Subject:
    """Read title and description once, however many agents are compared."""
    text = f"{task['title']} {task['description']}"[:TEXT_LIMIT].lower()
    return Subject(text, keywords(text))


def fit(subject: Subject, agent: Profile) -> float:
    """Declared capabilities first, then words both ways: k hits give k/(k+1) of one capability."""
    declared = sum(tag in subject.text for tag in agent.tags)
    hits = _hits(subject.words, agent.text) + _hits(agent.words, subject.text)
    return declared + hits / (hits + 1)


def _hits(words: Iterable[str], text: str) -> int:
    return sum(word in text for word in words)
