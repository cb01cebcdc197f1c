"""Rules about who reaches a goal: every key must be able to have an effect (DEV-19)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.governance import Governance
from oma_desktop.model.runfile import RunFile
from oma_desktop.model.task_graph import problem
from oma_desktop.model.view import Problem

_KEYS: Final = {
    "mode": "mode",
    "governance_intent": "governanceIntent",
    "required_roles": "requiredRoles",
    "required_order": "requiredOrder",
    "preferred_under_budget": "preferredUnderBudget",
}
_NEEDS_INTENT: Final = ("required_roles", "required_order")
_CONTRADICTIONS: Final = {
    "roles": ("RUNFILE_NO_ROLES", "governanceIntent"),
    "twice": ("RUNFILE_ROLE_TWICE", "requiredRoles"),
    "order": ("RUNFILE_ROLE_UNKNOWN", "requiredOrder"),
    "nobody": ("RUNFILE_ROLE_OF_NOBODY", "requiredRoles"),
}


def governance_of(run_file: RunFile) -> Governance | None:
    """Return what the file declares; None where it says nothing about roles."""
    if run_file.governance_intent is None:
        return None
    return Governance(
        run_file.governance_intent,
        roles=tuple(run_file.required_roles),
        order=tuple(run_file.required_order),
        under_budget=run_file.preferred_under_budget or "attempt",
    )


def goal_rules(run_file: RunFile) -> Iterator[Problem]:
    """Return keys without effect, and a declaration that contradicts itself or the roster."""
    given = [name for name in _KEYS if getattr(run_file, name)]
    if run_file.goal is None:
        for name in given:
            yield problem("RUNFILE_NEEDS_GOAL", (_KEYS[name],), name=_KEYS[name])
        return
    yield from _inert(run_file, given)
    governance = governance_of(run_file)
    if governance is not None and run_file.team is not None:
        yield from _contradictions(governance, run_file)


def _inert(run_file: RunFile, given: list[str]) -> Iterator[Problem]:
    asked = run_file.governance_intent in {"required", "preferred"}
    for name in _NEEDS_INTENT:
        if name in given and not asked:
            yield problem("RUNFILE_NEEDS_INTENT", (_KEYS[name],), name=_KEYS[name])
    if "preferred_under_budget" in given and run_file.governance_intent != "preferred":
        yield problem("RUNFILE_NEEDS_PREFERRED", ("preferredUnderBudget",))
    if run_file.mode is not None and asked:
        yield problem("RUNFILE_MODE_BEATS_ROLES", ("mode",))
    if run_file.mode == "single" and run_file.approvals.plan != "allow":
        yield problem("RUNFILE_SINGLE_HAS_NO_PLAN", ("mode",))


def _contradictions(governance: Governance, run_file: RunFile) -> Iterator[Problem]:
    assert run_file.team is not None
    try:
        governance.check(run_file.team.agents)
    except InvalidInput as error:
        code, key = _CONTRADICTIONS[str(error.facts["problem"])]
        yield problem(code, (key,), role=error.facts["role"])
