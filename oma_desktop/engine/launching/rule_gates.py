"""Gates made from the `approvals` of a run file (product.md 3.8, 7)."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from oma_desktop.engine.tools.gate import ALLOW, GateCall, GateDecision, Gates, suspend
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.runfile import Approvals, DispatchRule, ToolRule
from oma_desktop.model.view import Effect

Tasks: TypeAlias = Sequence[TaskSnapshot]
_WILD: Final = frozenset("*?[")


def gates_from_rules(approvals: Approvals) -> Gates:
    """Return the gates. The tool gate always exists: consequential calls ask unless a rule fits.

    Tasks run in rounds only where `rounds` wants a say between them (engine.md 2.4).
    """

    async def tool(call: GateCall) -> GateDecision:
        return decide_call(approvals.tools, call)

    async def dispatch(task: TaskSnapshot) -> GateDecision:
        return decide_dispatch(approvals.dispatch, task)

    async def between_rounds(_done: Tasks, _following: Tasks) -> GateDecision:
        return GateDecision(approvals.rounds)

    async def plan(_tasks: Tasks) -> GateDecision:
        return GateDecision(approvals.plan)

    return Gates(
        tool=tool,
        dispatch=dispatch if approvals.dispatch else None,
        round=None if approvals.rounds == "allow" else between_rounds,
        plan=plan if approvals.plan != "allow" else None,
    )


def decide_call(rules: Sequence[ToolRule], call: GateCall) -> GateDecision:
    """Return the decision of the first rule that fits, else suspend what is consequential."""
    for rule in rules:
        if _fits_call(rule, call):
            return GateDecision(rule.action, rule.reason)
    return suspend() if is_consequential(call) else ALLOW


def is_consequential(call: GateCall) -> bool:
    """Say whether a call changes the world by what its tool declares."""
    return call.consequential or call.effect is Effect.CONSEQUENTIAL


def decide_dispatch(rules: Sequence[DispatchRule], task: TaskSnapshot) -> GateDecision:
    """Return the decision of the first rule that fits, else allow."""
    for rule in rules:
        conditions = (
            (rule.title, task["title"]),
            (rule.assignee, task.get("assignee", "")),
            (rule.role, task.get("role", "")),
        )
        if all(wanted is None or fnmatchcase(found, wanted) for wanted, found in conditions):
            return GateDecision(rule.action, rule.reason)
    return ALLOW


def _fits_call(rule: ToolRule, call: GateCall) -> bool:
    effect = "consequential" if is_consequential(call) else str(call.effect)
    return (
        (rule.tool is None or fnmatchcase(call.tool, rule.tool))
        and (rule.effect is None or rule.effect == effect)
        and (rule.agent is None or fnmatchcase(call.agent, rule.agent))
        and all(
            name in call.input and _fits(wanted, call.input[name], allows=rule.action == "allow")
            for name, wanted in rule.arguments.items()
        )
    )


def _fits(wanted: JsonValue, found: JsonValue, *, allows: bool) -> bool:
    """Compare one argument: texts by pattern, everything else as the same JSON value.

    What allows must not be led astray: `drafts/*` does not allow `drafts/../secret`, nor a text of
    several lines.
    """
    if not (isinstance(wanted, str) and isinstance(found, str)):
        return type(wanted) is type(found) and wanted == found
    if allows and not _WILD.isdisjoint(wanted):
        steps = found.replace("\\", "/").split("/")
        if ".." in steps or "\n" in found or "\r" in found:
            return False
    return fnmatchcase(found, wanted)
