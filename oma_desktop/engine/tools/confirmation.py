"""Does anybody stand behind what agents do to the world? (engine.md 5.7, DEV-16)

One object per run, handed to every executor of that run with the gates: delegated agents, routed
workers and a lone agent are asked in the same place as everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from oma_desktop.engine.tools.grants import granted
from oma_desktop.engine.tools.registry import ToolRegistry, ToolSpec
from oma_desktop.model.approval import ApprovalDecision
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.team import AgentConfig
from oma_desktop.model.view import Effect

CONFIRMATION_MISSING: Final = "CONFIRMATION_MISSING"
NO_INDEPENDENCE: Final = "consequential-no-independence"
"""Flag of a run whose agents may change the world while nobody else checks them."""


@dataclass(slots=True)
class Confirmation:
    """What one run knows of it.

    `required`: consequential calls need a tool gate or an approved plan. `given`: a plan gate let
    the plan through. `missing` names the tools of calls that were refused for want of both.
    `governed`: roles that check each other were declared, which takes the place of all this.
    """

    required: bool = False
    given: bool = False
    missing: list[str] = field(default_factory=list)
    governed: bool = False

    @property
    def wanted(self) -> bool:
        """Whether a consequential call that no gate answers for must be refused."""
        return self.required and not self.given


def is_consequential(tool: ToolSpec) -> bool:
    """Say whether a tool changes the world by what its author declared; never guessed."""
    return tool.consequential or tool.effect is Effect.CONSEQUENTIAL


def flags_of(agents: Iterable[AgentConfig], tools: ToolRegistry) -> list[str]:
    """Return the flags of a run of these agents without a declared governance."""
    may_act = any(is_consequential(tool) for agent in agents for tool in granted(agent, tools))
    return [NO_INDEPENDENCE] if may_act else []


def facts_of(confirmation: Confirmation) -> JsonObject | None:
    """Return what a checkpoint keeps of it (formats.md 2.12), or None where there is nothing."""
    facts: JsonObject = {}
    if confirmation.given:
        facts["planApproved"] = True
    if confirmation.governed:
        facts["governed"] = True
    if confirmation.missing:
        facts["missing"] = list(confirmation.missing)
    return facts or None


def continued(own: JsonObject, decisions: Iterable[ApprovalDecision]) -> Confirmation:
    """Return what a restored run knows: an approved plan counts again, a refusal is not forgotten.

    `own` are our own facts of the snapshot; without them only durable decisions are known.
    """
    kept = own.get("confirmation")
    facts = kept if isinstance(kept, dict) else {}
    approved = any(d["scope"] == "plan" and d["decision"] == "approved" for d in decisions)
    named = facts.get("missing")
    return Confirmation(
        given=approved or facts.get("planApproved") is True,
        missing=[str(name) for name in named] if isinstance(named, list) else [],
        governed=facts.get("governed") is True,
    )
