"""Roles that must take part, whoever would route the goal otherwise (engine.md 4.1 row 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.team import AgentConfig, TaskSpec

Conclusion: TypeAlias = Literal["satisfied", "unsatisfied", "not_applicable"]


@dataclass(frozen=True, slots=True)
class Governance:
    """A declaration. `order` names roles in the order they work; those it leaves out come after.

    `under_budget` `degrade`: with intent `preferred`, a run with a token ceiling does without it.
    """

    intent: Literal["required", "preferred", "none"] = "none"
    roles: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    under_budget: Literal["enforce", "degrade"] = "enforce"

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

    def applies(self, *, ceiling: int | None) -> bool:
        """Whether the roles decide how this run goes."""
        degraded = (
            self.intent == "preferred" and self.under_budget == "degrade" and ceiling is not None
        )
        return self.intent != "none" and not degraded

    def conclusion(
        self,
        statuses: Mapping[str, str],
        *,
        ceiling: int | None,
        mode_given: bool,
    ) -> tuple[Conclusion, str | None]:
        """What came of the declaration, and why it was not kept (engine.md 1.7).

        `statuses` are those of the tasks by role.
        """
        if self.intent == "none":
            return "not_applicable", None
        if mode_given:
            return "unsatisfied", "overridden"
        if not self.applies(ceiling=ceiling):
            return "unsatisfied", "budget"
        done = all(statuses.get(role) == "completed" for role in self.roles)
        return ("satisfied", None) if done else ("unsatisfied", "missing_roles")

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
