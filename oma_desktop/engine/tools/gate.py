"""The gates that may hold or refuse work (engine.md 5.1, 5.2): their questions and answers.

Only a documented answer allows anything: whatever else a gate returns is a gate failure, and a gate
failure never runs a tool (case s40). Nothing here knows who decides: a person, a rule, a script.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from oma_desktop.engine.tools.confirmation import Confirmation, is_consequential
from oma_desktop.engine.tools.registry import ToolSpec
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import EngineError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Effect

Action: TypeAlias = Literal["allow", "deny", "suspend"]


class GateFailed(EngineError):
    """GATE_FAILED: a gate raised, ran out of time or answered with something undocumented.

    Facts: `gate`, and `problem` (`raised`, `timeout`, `answer`) with `found`.
    """


@dataclass(frozen=True, slots=True)
class GateDecision:
    """One answer; `reason` is shown to the model (deny) or to the reviewer (suspend)."""

    action: Action
    reason: str | None = None


ALLOW = GateDecision("allow")


def deny(reason: str | None = None) -> GateDecision:
    """Return a refusal."""
    return GateDecision("deny", reason)


def suspend(reason: str | None = None) -> GateDecision:
    """Return the wish to wait for a durable decision."""
    return GateDecision("suspend", reason)


@dataclass(frozen=True, slots=True)
class GateCall:
    """What a tool gate is asked: the validated `input`, beside what the model really sent."""

    tool: str
    input: JsonObject
    raw_input: JsonObject
    agent: str
    consequential: bool
    effect: Effect
    run_id: str
    task_id: str
    tool_call_id: str


# Gates are written by others, so their answers are `object` until `read_answer` has judged them.
ToolGate: TypeAlias = Callable[[GateCall], Awaitable[object]]
DispatchGate: TypeAlias = Callable[[TaskSnapshot], Awaitable[object]]
PlanGate: TypeAlias = Callable[[Sequence[TaskSnapshot]], Awaitable[object]]
RoundGate: TypeAlias = Callable[[Sequence[TaskSnapshot], Sequence[TaskSnapshot]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Gates:
    """All gates of a team; an absent gate allows.

    `tool_limit_s` bounds the wait for one tool gate; None waits as long as a person needs.
    `round` gets (completed tasks, next tasks). With `confirm_consequential` a consequential call
    that no tool gate answers for is refused, unless `confirmation` knows of an approved plan; the
    engine fills that in for each run (engine.md 5.7).
    """

    tool: ToolGate | None = None
    dispatch: DispatchGate | None = None
    plan: PlanGate | None = None
    round: RoundGate | None = None
    tool_limit_s: float | None = None
    confirm_consequential: bool = False
    confirmation: Confirmation | None = None

    def refuses_unconfirmed(self, tool: ToolSpec) -> bool:
        """Whether a call of this tool that no gate was asked about must not run; notes that."""
        known = self.confirmation
        wanted = self.confirm_consequential if known is None else known.wanted
        if not (wanted and is_consequential(tool)):
            return False
        if known is not None:
            known.missing.append(tool.name)
        return True


def read_answer(answer: object, *, gate: str, accepts_bool: bool = False) -> GateDecision:
    """Turn what a gate returned into a decision (engine.md 5.1).

    Accepted: a GateDecision, a mapping `{"action": ..., "reason"?: text}` and, for plan, round and
    dispatch gates (`accepts_bool`), True or False. Raises GateFailed for everything else.
    """
    if accepts_bool and isinstance(answer, bool):
        return ALLOW if answer else deny()
    if isinstance(answer, GateDecision):
        action: object = answer.action
        reason: object = answer.reason
    elif isinstance(answer, Mapping):
        action, reason = answer.get("action"), answer.get("reason")
    else:
        raise GateFailed("GATE_FAILED", gate=gate, problem="answer", found=type(answer).__name__)
    if reason is not None and not isinstance(reason, str):
        raise GateFailed("GATE_FAILED", gate=gate, problem="answer", found=repr(reason)[:80])
    match action:
        case "allow":
            return GateDecision("allow", reason or None)
        case "deny":
            return GateDecision("deny", reason or None)
        case "suspend":
            return GateDecision("suspend", reason or None)
    raise GateFailed("GATE_FAILED", gate=gate, problem="answer", found=repr(action)[:80])
