"""One open round of tool calls: run, commit each on its own, close or hold (engine.md 3.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from oma_desktop.engine.agents.boundaries import Boundaries, Boundary
from oma_desktop.engine.agents.runner_state import RunnerState
from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import InvalidArguments
from oma_desktop.engine.tools import results
from oma_desktop.engine.tools.ids import occurrence
from oma_desktop.engine.tools.pipeline import Finished, MustWait, ToolPipeline
from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import PendingToolCall, ToolCommit
from oma_desktop.model.errors import AtomicStoreRequired
from oma_desktop.model.masked import is_masked
from oma_desktop.model.message import ToolResultBlock, ToolUseBlock


class Save(Protocol):
    """How the round saves the runner's state."""

    async def __call__(self, boundary: Boundary, *, strict: bool = False) -> None:
        """Strict raises WriteFailed; otherwise a failure was reported already."""
        ...


class Emit(Protocol):
    """How the round tells what happens."""

    def __call__(self, type_: str, **data: object) -> None:
        """One progress event of this agent and task."""
        ...


class ToolRound:
    """Brings every call of `state.pending` to its end, side by side.

    Invariants: a committed call never runs again; a call waiting for a decision does not run; one
    failing sibling neither stops nor hides the others (they drain, then the error is raised).

    `on_result` hears every result when the round closes, replayed ones too (engine.md 1.11).
    `warn` keeps a code for the result.

    `run_masked` is for a round that comes from a file: calls whose input holds `[redacted]` run
    only when named there; None: no such limit. Rounds after it have inputs fresh from the model.
    """

    def __init__(
        self,
        state: RunnerState,
        *,
        pipeline: ToolPipeline,
        boundaries: Boundaries | None,
        token: CancelToken,
        save: Save,
        emit: Emit,
        on_result: Callable[[ToolResultBlock], None],
        warn: Callable[[str], None],
        run_masked: frozenset[str] | None = None,
    ) -> None:
        self._state = state
        self._pipeline = pipeline
        self._boundaries = boundaries
        self._token = token
        self._save = save
        self._emit = emit
        self._on_result = on_result
        self._warn = warn
        self._run_masked = run_masked
        self._requesting = asyncio.Lock()
        self.suspended = False

    def requests(self) -> list[ApprovalRequest]:
        """The open requests of this round, in call order."""
        return [p["approvalRequest"] for p in self._state.pending if _is_waiting(p)]

    def refuse_unusable(self, unusable: Mapping[str, InvalidArguments]) -> None:
        """Commit an error for calls whose arguments were not an object: they never run (DEV-27).

        Done before the first save, so that a restore cannot run them either.
        """
        for index, pending in enumerate(self._state.pending):
            problem = unusable.get(pending["call"]["id"])
            if problem is not None:
                self._state.commit(index, _unusable_commit(pending["call"], problem))

    async def run(self) -> bool:
        """Run what is open. True: the round is closed and its results are in the conversation.

        False: it stays open, `suspended` (a decision or the operator's suspend) or aborted. Raises
        OmaError when a request for a decision or its record could not be written.
        """
        open_calls = [i for i, p in enumerate(self._state.pending) if _is_open(p)]
        outcomes = await asyncio.gather(*map(self._one, open_calls), return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise errors[0]
        if all("commit" in pending for pending in self._state.pending):
            self._run_masked = None
            for block in self._state.close_round():
                self._emit("tool_result", toolCallId=block["tool_use_id"])
                self._on_result(block)
            return True
        if not self._token.aborted:
            self.suspended = True
            # Strict where a person is asked. An operator's suspend asks nobody: what was saved
            # before is safe to go on from, and a full disk must not fail the task for it.
            await self._save(Boundary.ROUND_SUSPENDED, strict=bool(self.requests()))
        return False

    async def _one(self, index: int) -> None:
        pending = self._state.pending[index]
        call = pending["call"]
        if self._is_masked(pending):
            self._emit("warning", code="RESUME_INPUT_MASKED", toolCallId=call["id"])
            await self._commit(index, _refused(call, _MASKED.format(tool=call["name"])), ran=False)
            return
        nth = self._occurrence(call["id"])
        end = await self._pipeline.execute(pending, occurrence=nth)
        commit: ToolCommit | None = None
        if isinstance(end, MustWait):
            commit = await self._request(index, end)
        elif isinstance(end, Finished):
            commit = end.commit
            if end.warning is not None:
                self._warn(end.warning)
        if commit is not None:
            await self._commit(index, commit, ran=isinstance(end, Finished) and end.ran)

    def _occurrence(self, call_id: str) -> int:
        """Counted in both views: one may begin earlier, the other may have lost turns (3.9)."""
        return max(
            occurrence(call_id, self._state.conversation), occurrence(call_id, self._state.messages)
        )

    def _is_masked(self, pending: PendingToolCall) -> bool:
        """Whether nobody can know what this call would do: its saved input is masked, and neither
        a reviewer decided on these very bytes nor a person at the restore."""
        if self._run_masked is None or "approvalDecision" in pending:
            return False
        call = pending["call"]
        return call["id"] not in self._run_masked and is_masked(call["input"])

    async def _commit(self, index: int, commit: ToolCommit, *, ran: bool) -> None:
        """Save one result on its own (B2); an error seen while aborting is no result (3.4.7)."""
        is_error = commit["result"].get("is_error", False)
        if is_error and self._token.aborted:
            return
        async with self._requesting:
            self._state.commit(index, commit)
        await self._save(Boundary.CALL_COMMITTED)
        self._emit(
            "tool_end",
            toolCallId=commit["result"]["tool_use_id"],
            tool=commit["record"]["toolName"],
            isError=is_error,
            ran=ran,
            durationMs=commit["record"]["duration"],
        )

    async def _request(self, index: int, wish: MustWait) -> ToolCommit | None:
        """Suspend one call (B3). Without a place for a durable decision the call is refused.

        Commits of siblings wait meanwhile: their entry must hold this request too, or the ledger
        would know a request that the newest checkpoint does not.
        """
        call = self._state.pending[index]["call"]
        try:
            if self._boundaries is None:
                raise AtomicStoreRequired("APPROVAL_ATOMIC_STORE_REQUIRED", call=call["id"])
            async with self._requesting:
                request = await self._boundaries.request_approval(
                    self._state.entry(), call["id"], wish.content, wish.reason
                )
                self._state.hold(index, request)
        except AtomicStoreRequired:
            text = (
                f'This call of "{call["name"]}" needs a decision by a person, and no decision can '
                "be recorded here; it did not run."
            )
            return _refused(call, text)
        return None


_MASKED: Final = (
    'The input of this call of "{tool}" was masked on disk, so it did not run now. Whether it ran '
    "before the run was interrupted is not known."
)


def _is_waiting(pending: PendingToolCall) -> bool:
    return "approvalRequest" in pending and "approvalDecision" not in pending


def _is_open(pending: PendingToolCall) -> bool:
    return "commit" not in pending and not _is_waiting(pending)


def _refused(call: ToolUseBlock, text: str) -> ToolCommit:
    return {
        "result": results.error_result(call["id"], text),
        "record": {"toolName": call["name"], "input": call["input"], "output": text, "duration": 0},
    }


def _unusable_commit(call: ToolUseBlock, problem: InvalidArguments) -> ToolCommit:
    text = (
        f'The arguments for "{call["name"]}" were not a JSON object, so it was not run: '
        f"{problem.problem}. What was sent began with: {problem.raw[:200]!r}"
    )
    return _refused(call, text)
