"""What one agent run gave (engine.md 1.7, 1.8, 1.9), and its JSON form in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from oma_desktop.model.agent_results import AgentKey, results_by_agent
from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest
from oma_desktop.model.checkpoint import InFlightEntry, TaskSnapshot
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import Message, TokenUsage, ToolCallRecord
from oma_desktop.model.verify import Verification

StatusCode: TypeAlias = Literal[
    "ok",
    "error",
    "cancelled",
    "timeout",
    "budget_exhausted",
    "rejected",
    "suspended",
    "skipped",
]
ErrorKind: TypeAlias = Literal[
    "provider",
    "tool",
    "framework",
    "callback",
    "validation",
    "timeout",
    "cancellation",
    "budget",
    "store",
    "exporter",
    "unknown",
]
STATUS_MESSAGE_LIMIT = 256
ERROR_MESSAGE_LIMIT = 1024


def no_usage() -> TokenUsage:
    """Zero tokens, a fresh value."""
    return {"input_tokens": 0, "output_tokens": 0}


def is_countable(usage: TokenUsage) -> bool:
    """Whether tokens can be added up and saved: from 0 on, and exact in a double (L23)."""
    amounts = (usage.get("input_tokens"), usage.get("output_tokens"))
    return all(isinstance(n, int | float) and 0 <= n < 2**53 for n in amounts)


def add_usage(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    """The sum, a fresh value."""
    return {
        "input_tokens": one["input_tokens"] + other["input_tokens"],
        "output_tokens": one["output_tokens"] + other["output_tokens"],
    }


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How something ended. `message` is cut to 256 characters; it holds no secrets."""

    code: StatusCode
    message: str | None = None

    def to_json(self) -> JsonObject:
        """`{code, message?}`."""
        if self.message is None:
            return {"code": self.code}
        return {"code": self.code, "message": self.message[:STATUS_MESSAGE_LIMIT]}


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why something failed, as facts (engine.md 1.9). `retryable` None: not known.

    `retry_after_s` is how long the endpoint asked to be left alone; it is for this attempt only and
    never stored.
    """

    kind: ErrorKind
    code: str | None = None
    name: str | None = None
    message: str | None = None
    retryable: bool | None = None
    http_status: int | None = None
    provider: str | None = None
    attempt: int | None = None
    retry_after_s: float | None = None

    def to_json(self) -> JsonObject:
        """The peer's key names; absent facts are absent."""
        message = None if self.message is None else self.message[:ERROR_MESSAGE_LIMIT]
        facts: JsonObject = {
            "kind": self.kind,
            "code": self.code,
            "name": self.name,
            "message": message,
            "retryable": self.retryable,
            "httpStatus": self.http_status,
            "provider": self.provider,
            "attempt": self.attempt,
        }
        return {key: value for key, value in facts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """One attempt of a run (formats.md 2.10): trace id 32 hex, root span id 16 hex, not all zero.

    `links` name the attempt this one continues: `{traceId, spanId, relation: continued_from}`.
    """

    run_id: str
    attempt: int
    trace_id: str
    root_span_id: str
    links: tuple[JsonObject, ...] = ()

    def to_json(self) -> JsonObject:
        """`{runId, attempt, traceId, rootSpanId, links?}`."""
        doc: JsonObject = {
            "runId": self.run_id,
            "attempt": self.attempt,
            "traceId": self.trace_id,
            "rootSpanId": self.root_span_id,
        }
        if self.links:
            doc["links"] = list(self.links)
        return doc


@dataclass(frozen=True, slots=True)
class AgentRunResult:
    """What one agent run gave. Lists are the runner's own and are not changed afterwards.

    `messages` are those the run produced (the prompt excluded). `entry` is the state of the runner
    at its last safe boundary: for a suspended or stopped run it is what a resume continues from;
    None when no boundary was reached. `token_usage` counts failed model calls too (DEV-09).
    `warnings` are codes (MAX_TURNS_REACHED, OUTPUT_TRUNCATED, USAGE_UNKNOWN). `verification`: what
    the judges of a task came to; kept in shared memory, no part of the JSON form. `flags` and
    `confirmation_required` (engine.md 5.7) are those of an agent that ran alone; the agents of a
    run leave both to its own result.
    """

    success: bool
    output: str
    messages: list[Message] = field(default_factory=list)
    token_usage: TokenUsage = field(default_factory=no_usage)
    tool_calls: list[ToolCallRecord] = field(default_factory=list)
    status: RunStatus = RunStatus("ok")
    error_info: ErrorInfo | None = None
    identity: RunIdentity | None = None
    structured: JsonValue = None
    has_structured: bool = False
    loop_detected: bool = False
    budget_exceeded: bool = False
    suspended: bool = False
    aborted: bool = False
    pending_approvals: tuple[ApprovalRequest, ...] = ()
    warnings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    confirmation_required: bool = False
    entry: InFlightEntry | None = None
    verification: Verification | None = None

    def to_json(self) -> JsonObject:
        """The JSON form kept in `completedTaskResults` (formats.md 2.7), in the peer's key order.

        Message and record objects are shared, not copied.
        """
        doc: JsonObject = {"success": self.success}
        if self.identity is not None:
            doc["identity"] = self.identity.to_json()
        doc["status"] = self.status.to_json()
        if self.error_info is not None:
            doc["errorInfo"] = self.error_info.to_json()
        doc["output"] = self.output
        doc["messages"] = cast("JsonValue", self.messages)
        doc["tokenUsage"] = cast("JsonValue", self.token_usage)
        doc["toolCalls"] = cast("JsonValue", self.tool_calls)
        if self.has_structured:
            doc["structured"] = self.structured
        if self.loop_detected:
            doc["loopDetected"] = True
        if self.budget_exceeded:
            doc["budgetExceeded"] = True
        if self.flags:
            doc["flags"] = list(self.flags)
        if self.confirmation_required:
            doc["confirmationRequired"] = True
        if self.pending_approvals:
            doc["pendingApprovals"] = cast("JsonValue", list(self.pending_approvals))
        return doc


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """Numbers of a run (engine.md 1.7). `total_tokens` and times are those of this attempt."""

    completed: int
    failed: int
    unfinished: int
    total_tokens: TokenUsage
    retries: int = 0
    durations_ms: tuple[int, ...] = ()

    def to_json(self) -> JsonObject:
        """The peer's key names; times are absent when no task ran."""
        doc: JsonObject = {
            "completedCount": self.completed,
            "failureCount": self.failed,
            "errorCount": self.failed + self.unfinished,
            "totalTokens": cast("JsonValue", self.total_tokens),
            "totalRetries": self.retries,
        }
        if self.durations_ms:
            doc["minDurationMs"] = min(self.durations_ms)
            doc["maxDurationMs"] = max(self.durations_ms)
            doc["avgDurationMs"] = round(sum(self.durations_ms) / len(self.durations_ms))
            doc["totalDurationMs"] = sum(self.durations_ms)
        return doc


@dataclass(frozen=True, slots=True)
class TeamRunResult:
    """What the operations of the orchestrator give back (engine.md 1.7).

    `task_results` holds one JSON AgentRunResult per task that has one, also of earlier attempts.
    `total_usage` counts all attempts. `confirmation_required`: a consequential call was refused
    because nobody confirmed it (engine.md 5.7). `log` is what a `RunLog` heard, when there was one.
    `total_cost` counts them too, in the unit of the prices; None: not known.
    `coordinator` holds what the coordinator gave in this attempt: plan, closing answer, in this
    order. `final_answer` is the closing answer alone (DEV-13), also where an earlier attempt wrote
    it. `routing` says who took the goal and why, `assessment` what a model
    said of the goal before (engine.md 4.1 row 4). `governance` says what came of declared roles,
    and why; absent while the run waits. `saved`: this attempt wrote its checkpoint.
    """

    status: RunStatus
    identity: RunIdentity
    tasks: tuple[TaskSnapshot, ...] = ()
    task_results: Mapping[str, JsonObject] = field(default_factory=dict)
    total_usage: TokenUsage = field(default_factory=no_usage)
    total_cost: float | None = None
    pending_approvals: tuple[ApprovalRequest, ...] = ()
    approval_decisions: tuple[ApprovalDecision, ...] = ()
    plan_revisions: tuple[JsonObject, ...] = ()
    metrics: RunMetrics | None = None
    error_info: ErrorInfo | None = None
    goal: str | None = None
    plan_only: bool = False
    metadata: JsonObject | None = None
    flags: tuple[str, ...] = ()
    confirmation_required: bool = False
    warnings: tuple[str, ...] = ()
    log: JsonObject | None = None
    coordinator: tuple[JsonObject, ...] = ()
    final_answer: str | None = None
    routing: JsonObject | None = None
    assessment: JsonObject | None = None
    governance: tuple[str, str | None] | None = None
    saved: bool = False

    @property
    def success(self) -> bool:
        """Always `status.code == "ok"`."""
        return self.status.code == "ok"

    @property
    def agent_results(self) -> dict[AgentKey, JsonObject]:
        """One merged result per agent, `("agent", name)`, and of the coordinator (DEV-14)."""
        return results_by_agent(self.tasks, self.task_results, self.coordinator)
