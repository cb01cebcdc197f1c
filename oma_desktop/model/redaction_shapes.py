"""Which parts of a checkpoint are structure (formats.md 2.3-2.8, 7.5; 8 W14).

A name below is left alone wherever it stands in its document: ids, references between tasks,
states, counters, times, and what a provider must get back byte for byte. Everything not named is
content. Masking one of these would make the checkpoint unreadable or bind it to the wrong task.
"""

from __future__ import annotations

from typing import Final

from oma_desktop.model.redaction_values import CONTENT, KEEP, Base64, Each, Named, Note, Shape


def _kept(*names: str, **others: Shape) -> Named:
    return Named({**dict.fromkeys(names, KEEP), **others})


_TASK: Final = _kept(
    "id",
    "status",
    "assignee",
    "dependsOn",
    "memoryScope",
    "dependencyPayload",
    "role",
    "priority",
    "requires",
    "createdAt",
    "updatedAt",
    "maxRetries",
    "retryDelayMs",
    "retryBackoff",
    "supersededByRevision",
    "recoveredByRevision",
)
_REVISION: Final = _kept(
    "id",
    "version",
    "triggerTaskId",
    "trigger",
    "addedTasks",
    "retargetedTasks",
    "supersededTaskIds",
    "createdAt",
)
_QUEUE: Final = _kept(
    "version",
    "pending",
    "inProgress",
    "completed",
    "failed",
    "blocked",
    "skipped",
    "planRevision",
    tasks=Each(_TASK),
    planRevisions=Each(_REVISION),
)
_SOURCE: Final = _kept("type", "media_type", data=Base64())
_PART: Final = _kept("type", source=_SOURCE)
_BLOCK: Final = _kept(
    "type",
    "id",
    "name",
    "tool_use_id",
    "is_error",
    "signature",
    "redactedData",
    "provenance",
    source=_SOURCE,
    content=Each(_PART),
)
_MESSAGES: Final = Each(_kept("role", content=Each(_BLOCK)))
_RECORD: Final = _kept("toolName", "duration")
_REQUEST: Final = _kept("version", "id", "runId", "scope", "boundary", "requestHash", "requestedAt")
_PENDING_CALL: Final = _kept(
    "approvalDecision",
    call=_BLOCK,
    commit=_kept("delegationUsage", result=_BLOCK, record=_RECORD),
    approvalRequest=_REQUEST,
)
_ENTRY: Final = _kept(
    "taskId",
    "assignee",
    "phase",
    "tokenUsage",
    "turns",
    "conversationLineage",
    "journalSeq",
    conversationMessages=_MESSAGES,
    messages=_MESSAGES,
    toolCalls=Each(_RECORD),
    pendingToolCalls=Each(_PENDING_CALL),
)
_AGENT_RESULT: Final = _kept(
    "success",
    "tokenUsage",
    "identity",
    "flags",
    "approvalDecisions",
    messages=_MESSAGES,
    toolCalls=Each(_RECORD),
    status=_kept("code"),
    errorInfo=_kept("kind", "code", "name", "provider", "httpStatus", "retryable", "attempt"),
    pendingApprovals=Each(_REQUEST),
)
_COMPLETED: Final = _kept("taskId", "assignee", agentResult=_AGENT_RESULT)
_MEMORY: Final = _kept("version", "turnCount", entries=Each(Note()))
_BUS: Final = _kept(
    "version", "readState", messages=Each(_kept("id", "from", "to", "timestamp", "type"))
)
_OWN: Final = _kept("usage", "end", "retries", "unsure")

CHECKPOINT: Final = _kept(
    "version",
    "mode",
    "createdAt",
    "runId",
    "identity",
    "turnCount",
    "approvalDecisions",
    "journalWatermarkSeq",
    "journalRef",
    metadata=CONTENT,
    queue=_QUEUE,
    sharedMemory=_MEMORY,
    messageBus=_BUS,
    completedTaskResults=Each(_COMPLETED),
    inFlightTasks=Each(_ENTRY),
    pendingApprovals=Each(_REQUEST),
    omaDesktop=_OWN,
)
"""The whole snapshot. Plan revisions keep their references (W14), so i4 cannot happen to ours."""
