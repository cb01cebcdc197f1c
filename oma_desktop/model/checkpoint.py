"""CheckpointSnapshot v1..v5 as it lies in a store (formats.md 2).

Loading and validation: `model.checkpoint_loader`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from oma_desktop.model.approval import ApprovalDecision, ApprovalRequest
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import (
    Message,
    TokenUsage,
    ToolCallRecord,
    ToolResultBlock,
    ToolUseBlock,
)

CHECKPOINT_KEY_PREFIX = "__oma_checkpoint__/"
DEFAULT_CHECKPOINT_KEY = "__oma_checkpoint__/latest"

RunMode: TypeAlias = Literal["runTeam", "runTasks", "runFromPlan"]
TaskStatus: TypeAlias = Literal[
    "pending", "in_progress", "completed", "failed", "blocked", "skipped"
]
Phase: TypeAlias = Literal["awaiting_model", "executing_tools", "completed"]


class TaskRequires(TypedDict, total=False):
    """Hard filter on agents."""

    requiredTools: list[str]
    requiredCapabilities: list[str]
    requiredBackend: Literal["llm", "process", "acp"]
    requiredProvider: str


class TaskSnapshot(TypedDict):
    """One task; keys are written in this order (formats.md 2.6.3)."""

    id: str
    title: str
    description: str
    status: TaskStatus
    assignee: NotRequired[str]
    dependsOn: NotRequired[list[str]]
    memoryScope: NotRequired[Literal["dependencies", "all"]]
    dependencyPayload: NotRequired[Literal["output", "structured", "both"]]
    role: NotRequired[str]
    priority: NotRequired[Literal["low", "normal", "high", "critical"]]
    metadata: NotRequired[JsonObject]
    requires: NotRequired[TaskRequires]
    result: NotRequired[str]
    createdAt: str
    updatedAt: str
    maxRetries: NotRequired[int]
    retryDelayMs: NotRequired[float]
    retryBackoff: NotRequired[float]
    supersededByRevision: NotRequired[int]
    recoveredByRevision: NotRequired[int]


class QueueSnapshot(TypedDict):
    """Version 1, or 2 with `planRevision` and `planRevisions` (formats.md 2.6.1, 2.6.2)."""

    version: Literal[1, 2]
    tasks: list[TaskSnapshot]
    pending: list[str]
    inProgress: list[str]
    completed: list[str]
    failed: list[str]
    blocked: list[str]
    skipped: list[str]
    planRevision: NotRequired[int]
    planRevisions: NotRequired[list[JsonObject]]


class ToolCommit(TypedDict):
    """The saved result of one tool call."""

    result: ToolResultBlock
    record: ToolCallRecord
    delegationUsage: NotRequired[TokenUsage]


class PendingToolCall(TypedDict):
    """One call of the open round; `commit` excludes both approval keys (L33)."""

    call: ToolUseBlock
    commit: NotRequired[ToolCommit]
    approvalRequest: NotRequired[ApprovalRequest]
    approvalDecision: NotRequired[ApprovalDecision]


class InFlightEntry(TypedDict):
    """State of one running agent at its last safe boundary (formats.md 2.8)."""

    taskId: str
    assignee: str
    phase: Phase
    conversationMessages: list[Message]
    messages: list[Message]
    tokenUsage: TokenUsage
    toolCalls: list[ToolCallRecord]
    turns: int
    pendingToolCalls: NotRequired[list[PendingToolCall]]
    pendingToolResultText: NotRequired[str]
    finalOutput: NotRequired[str]
    loopWarned: NotRequired[bool]
    loopDetected: NotRequired[bool]
    budgetExceeded: NotRequired[bool]
    conversationLineage: NotRequired[list[list[list[int] | None]]]
    journalSeq: NotRequired[int]


class StoreEntrySnapshot(TypedDict):
    """One store entry as written to disk (formats.md 1.2)."""

    key: str
    value: str
    metadata: NotRequired[JsonObject]
    createdAt: str
    expiresAtTurn: NotRequired[float]


class SharedMemorySnapshot(TypedDict):
    """formats.md 1.6.4."""

    version: Literal[1]
    turnCount: int
    entries: list[StoreEntrySnapshot]


class MessageBusSnapshot(TypedDict):
    """formats.md 1.6.6."""

    version: Literal[1]
    messages: list[JsonObject]
    readState: list[JsonObject]


class CompletedTaskResult(TypedDict):
    """formats.md 2.7. `agentResult` is the JSON-safe AgentRunResult without `error`."""

    taskId: str
    assignee: NotRequired[str]
    result: NotRequired[str]
    agentResult: NotRequired[JsonObject]


class IdentitySnapshot(TypedDict):
    """formats.md 2.10.1: trace id 32 hex, root span id 16 hex."""

    runId: str
    attempt: int
    lastTraceId: str
    lastRootSpanId: str


class CheckpointSnapshot(TypedDict):
    """All versions in one type: which keys are required depends on `version` (formats.md 2.3)."""

    version: Literal[1, 2, 3, 4, 5]
    mode: RunMode
    createdAt: str
    metadata: NotRequired[JsonObject]
    runId: NotRequired[str]
    identity: NotRequired[IdentitySnapshot]
    goal: NotRequired[str]
    queue: QueueSnapshot
    sharedMemory: NotRequired[SharedMemorySnapshot]
    messageBus: NotRequired[MessageBusSnapshot]
    turnCount: NotRequired[int]
    completedTaskResults: list[CompletedTaskResult]
    inFlightTasks: NotRequired[list[InFlightEntry]]
    pendingApprovals: NotRequired[list[ApprovalRequest]]
    approvalDecisions: NotRequired[list[ApprovalDecision]]
    journalWatermarkSeq: NotRequired[int]
    journalRef: NotRequired[JsonObject]
    omaDesktop: NotRequired[JsonValue]
