"""The order in which the peer writes tasks and the lists of a queue (formats.md 2.6)."""

from __future__ import annotations

from typing import Final

TASK_KEYS: Final = (
    "id", "title", "description", "status", "assignee", "dependsOn", "memoryScope",
    "dependencyPayload", "role", "priority", "metadata", "requires", "result", "createdAt",
    "updatedAt", "maxRetries", "retryDelayMs", "retryBackoff", "supersededByRevision",
    "recoveredByRevision",
)  # fmt: skip
PARTITIONS: Final = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
    "failed": "failed",
    "blocked": "blocked",
    "skipped": "skipped",
}
"""Key of a queue's partition by task status, in the order they are written."""
