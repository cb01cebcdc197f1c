"""Every way to fail, as data. No sentence lives here: `base.text` maps a code to one.

    OmaError(code, **facts)
      UserError        InvalidInput, NotAllowed, NotFound
      StoreError       Corrupt, SchemaTooNew, WriteFailed, Locked, Conflict, ChangedOnDisk
      ApprovalError    StaleDecision, AlreadyDecided, IntegrityMismatch, ApprovalInvalid,
                       ApprovalNotFound, AtomicStoreRequired
      EngineError      TaskFailed, PlanRejected, BudgetExceeded
        ProviderError  Unreachable, RateLimited, Refused, BadReply, CallTimeout
        ToolError      ToolNotFound, ToolTimedOut, ToolFailed
      WatchError       WatchUnavailable

Suspension, drain and cancellation are results, not exceptions (house.md 2.6).
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override


class OmaError(Exception):
    """Something that may be shown to a person.

    `code` is stable and never translated (for the ledger it is the peer's code, formats.md 3.5).
    `facts` are the places and values a sentence needs: `path`, `where` (JSON path), `found`,
    `owner`, ... They never hold secrets. `retryable` says whether the same act may succeed later.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, code: str, /, **facts: object) -> None:
        super().__init__(code)
        self.code = code
        self.facts = facts

    @override
    def __str__(self) -> str:
        """For logs only; people read `base.text.describe(error)`."""
        facts = ", ".join(f"{k}={v!r}" for k, v in self.facts.items())
        return f"{self.code}({facts})" if facts else self.code

    @override
    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling between processes: keyword facts need help."""
        return (_rebuild, (type(self), self.code, self.facts))


def _rebuild(cls: type[OmaError], code: str, facts: dict[str, object]) -> OmaError:
    return cls(code, **facts)


class UserError(OmaError):
    """What a person asked for cannot be done as asked."""


class InvalidInput(UserError):
    """A file, option or argument is wrong."""


class NotAllowed(UserError):
    """The act is refused by a rule, for instance the one-writer rule."""


class NotFound(UserError):
    """The named run, request or file does not exist."""


class StoreError(OmaError):
    """A store could not be read or written."""


class Corrupt(StoreError):
    """The bytes are damaged; the file is left exactly as it is."""


class SchemaTooNew(StoreError):
    """Written by a newer version; read-only at most."""


class WriteFailed(StoreError):
    """A save did not reach the disk; the old state is intact."""

    retryable = True


class Locked(StoreError):
    """Another live writer owns the store (formats.md 1.7)."""

    retryable = True


class Conflict(StoreError):
    """The place is taken: the key or file exists already."""


class ChangedOnDisk(StoreError):
    """Another program wrote the file since it was read (formats.md W17)."""


class ApprovalError(OmaError):
    """A durable approval cannot be created, read or decided (formats.md 3.5)."""


class StaleDecision(ApprovalError):
    """APPROVAL_STALE_DECISION: what was reviewed is not what is there now."""


class AlreadyDecided(ApprovalError):
    """APPROVAL_CONFLICT: another decision or another content won."""


class IntegrityMismatch(ApprovalError):
    """APPROVAL_INTEGRITY_ERROR: the row contradicts itself, its key or the checkpoint."""


class ApprovalInvalid(ApprovalError):
    """APPROVAL_VALIDATION_ERROR: the request, reviewer or decision is malformed."""


class ApprovalNotFound(ApprovalError):
    """APPROVAL_NOT_FOUND."""


class AtomicStoreRequired(ApprovalError):
    """APPROVAL_ATOMIC_STORE_REQUIRED: no checkpoint, or a store without compare-and-set."""


class ApprovalNotSaved(ApprovalError):
    """APPROVAL_NOT_SAVED: the store failed around a request; nothing is let through."""


class EngineError(OmaError):
    """A run cannot go on as asked."""


class TaskFailed(EngineError):
    """One task failed for a reason of the engine's own."""


class PlanRejected(EngineError):
    """A task list or plan is not executable (cycle, unknown dependency, unknown agent...)."""


class EgressDenied(EngineError):
    """A model call would go where a policy forbids it (engine.md 8.7); nothing was sent.

    EGRESS_POLICY_DENIED (`agent`, `origin`), EGRESS_POLICY_UNSUPPORTED (`agent`).
    """


class BudgetExceeded(EngineError):
    """A token or cost ceiling was crossed."""


class ProviderError(EngineError):
    """A model endpoint failed. Facts: `status`, `provider`, `retry_after_s` where known."""

    retryable = True


class Unreachable(ProviderError):
    """No connection, or it broke before or while streaming."""


class RateLimited(ProviderError):
    """HTTP 429, 529 or 503 with a wish to wait."""


class Refused(ProviderError):
    """HTTP 4xx that a repeat will not change."""

    retryable = False


class BadReply(ProviderError):
    """The stream or document is not what the protocol says."""


class CallTimeout(ProviderError):
    """LLM_CALL_TIMEOUT."""


class ToolError(EngineError):
    """A tool could not do its work; becomes an error result for the model."""


class ToolNotFound(ToolError):
    """The tool is not registered or not granted."""


class ToolTimedOut(ToolError):
    """The tool ran longer than allowed."""


class ToolFailed(ToolError):
    """The tool raised or returned something unusable."""


class WatchError(OmaError):
    """File watching is not available; polling goes on (house.md 2.6)."""


class WatchUnavailable(WatchError):
    """The observer could not start or went silent."""
