"""Roles that must take part, whoever would route the goal otherwise (engine.md 4.1 row 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.team import AgentConfig, TaskSpec

Conclusion: TypeAlias = Literal["satisfied", "unsatisfied", "not-applicable"]
OVERRIDDEN: Final = "governance-overridden"
SKIPPED: Final = "review-skipped-due-to-budget"


@dataclass(frozen=True, slots=True)
class Governance:
    """A declaration. `order` names roles in the order they work; those it leaves out come after.

    `under_budget` `degrade`: with intent `preferred`, a run with a ceiling of tokens or cost goes
    to one agent.
    """

    intent: Literal["required", "preferred", "none"] = "none"
    roles: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    under_budget: Literal["attempt", "degrade"] = "attempt"

    def check(self, roster: Sequence[AgentConfig]) -> None:
        """Raise InvalidInput GOVERNANCE_INVALID when it contradicts itself or nobody has a role."""
        if self.intent != "none" and not self.roles:
            raise _invalid("roles", "none")
        for names in (self.roles, self.order):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise _invalid("twice", twice)
        unknown = next((name for name in self.order if name not in self.roles), None)
        if unknown is not None:
            raise _invalid("order", unknown)
        for role in self.roles:
            if self.intent != "none" and _holder(role, roster) is None:
                raise _invalid("nobody", role)

    @property
    def sequence(self) -> tuple[str, ...]:
        """The roles in the order they work."""
        return (*self.order, *(role for role in self.roles if role not in self.order))

    def applies(self, *, limited: bool) -> bool:
        """Whether the roles decide how this run goes; `limited`: it has a ceiling of its own."""
        return self.intent != "none" and not self.gives_way(limited=limited)

    def gives_way(self, *, limited: bool) -> bool:
        """Whether one agent takes the goal because the roles may cost too much."""
        return self.intent == "preferred" and self.under_budget == "degrade" and limited

    def conclusion(
        self, statuses: Mapping[str, str], *, mode_given: bool, exhausted: bool
    ) -> tuple[Conclusion, str | None]:
        """What came of the declaration, and why it was not kept (engine.md 1.7).

        Only what is required can be broken. `statuses` are those of the tasks by role; `exhausted`:
        the run ended at its ceiling.
        """
        if self.intent != "required":
            return "not-applicable", None
        if mode_given:
            return "unsatisfied", "overridden"
        if all(statuses.get(role) == "completed" for role in self.roles):
            return "satisfied", None
        return "unsatisfied", "budget" if exhausted else "missing_roles"

    def flags(self, *, mode_given: bool, limited: bool) -> tuple[str, ...]:
        """What a reader of the result must not overlook."""
        if self.intent == "required" and mode_given:
            return (OVERRIDDEN,)
        return (SKIPPED,) if self.gives_way(limited=limited) and not mode_given else ()

    def specs(self, goal: str, roster: Sequence[AgentConfig]) -> tuple[TaskSpec, ...]:
        """One task per role, each with the goal as it is, each after the one before."""
        names = self.sequence
        return tuple(
            TaskSpec(
                title=role,
                description=goal,
                assignee=_holder(role, roster),
                role=role,
                depends_on=list(names[index - 1 : index]) if index else [],
            )
            for index, role in enumerate(names)
        )


def _holder(role: str, roster: Sequence[AgentConfig]) -> str | None:
    """Who has a role: the agent of that name, else the first with it among its capabilities."""
    by_name = next((agent.name for agent in roster if agent.name == role), None)
    able = (agent.name for agent in roster if role in agent.capabilities)
    return by_name or next(able, None)


def _invalid(problem: str, role: str) -> InvalidInput:
    return InvalidInput("GOVERNANCE_INVALID", problem=problem, role=role)
