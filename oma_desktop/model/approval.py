"""Durable approvals as they lie in a store (formats.md 3)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from oma_desktop.model.json_value import JsonObject

ApprovalScope: TypeAlias = Literal["plan", "task_round", "task_dispatch", "tool_call"]
Verdict: TypeAlias = Literal["approved", "rejected"]

APPROVAL_KEY_PREFIX = "__oma_approval__/"


class ApprovalRequest(TypedDict):
    """Immutable request; `content` is exactly what the reviewer sees (formats.md 3.2)."""

    version: Literal[1]
    id: str
    runId: str
    scope: ApprovalScope
    boundary: str
    requestHash: str
    requestedAt: str
    reason: NotRequired[str]
    content: JsonObject


class Reviewer(TypedDict):
    """Who decided. `id` is not blank."""

    id: str
    displayName: NotRequired[str]


class ApprovalDecision(TypedDict):
    """ApprovalDecisionRecord: first decision wins and is immutable (formats.md 3.4)."""

    version: Literal[1]
    requestId: str
    runId: str
    scope: ApprovalScope
    requestHash: str
    decision: Verdict
    reviewer: Reviewer
    decidedAt: str


class ApprovalRow(TypedDict):
    """Value of the ledger row `__oma_approval__/<id>`; pending while `decision` is absent."""

    version: Literal[1]
    request: ApprovalRequest
    decision: NotRequired[ApprovalDecision]
