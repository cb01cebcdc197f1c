"""What becomes of an agent run at its end (engine.md 1.8, 3.8, 3.10): late answers lose."""

from __future__ import annotations

from dataclasses import replace

from oma_desktop.engine.agents import structured_output
from oma_desktop.engine.agents.agent_outcome import error_info, failed, result_of, stopped
from oma_desktop.engine.agents.deadline import Deadline
from oma_desktop.engine.agents.runner_state import RunnerState
from oma_desktop.engine.agents.team import AgentJob
from oma_desktop.model.approval import ApprovalRequest
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.errors import BudgetExceeded, EngineError, OmaError
from oma_desktop.model.result import AgentRunResult, RunStatus
from oma_desktop.model.team import AgentConfig


class StructuredOutputInvalid(EngineError):
    """STRUCTURED_OUTPUT_VALIDATION_FAILED: the answer does not fit the schema, even repaired.

    Facts: `agent`, `problem`.
    """


class RunEnding:
    """Judges one agent run from its state. `entry` is the last one that was made for a save."""

    def __init__(
        self, state: RunnerState, *, agent: AgentConfig, job: AgentJob, deadline: Deadline
    ) -> None:
        self._state = state
        self._agent = agent
        self._check = job.check
        self._deadline = deadline
        self._judged: structured_output.Judged | None = None
        self.entry: InFlightEntry | None = job.resume

    def problem(self) -> str | None:
        """Why the final answer does not fit the agent's schema; None when it does or has none."""
        schema = self._agent.output_schema
        if schema is None:
            return None
        self._judged = structured_output.judge(self._state.final_output, schema, self._check)
        return self._judged.problem

    def over_budget(self) -> BudgetExceeded:
        """The error of an agent that used more than its budget."""
        return BudgetExceeded(
            "TOKEN_BUDGET_EXCEEDED",
            agent=self._agent.name,
            used=self._state.tokens(),
            budget=self._agent.max_token_budget,
        )

    def result(
        self, warnings: tuple[str, ...], *, suspended: bool, requests: list[ApprovalRequest]
    ) -> AgentRunResult:
        """The result of a run that came to its end without an exception."""
        whole = self._whole(self._state.final_output or self._state.last_text(), warnings)
        if self._deadline.token.aborted:
            return self.stopped(whole)
        if suspended:
            return replace(
                whole,
                success=False,
                suspended=True,
                status=RunStatus("suspended"),
                pending_approvals=tuple(requests),
            )
        if self._state.budget_exceeded:
            return failed(whole, self.over_budget())
        return self._structured(whole)

    def failure(self, error: OmaError, warnings: tuple[str, ...]) -> AgentRunResult:
        """The result of a run that ended with an exception; what it used and said is kept."""
        if self._deadline.token.aborted:
            return self.stopped(self._whole(self._state.last_text(), warnings))
        return failed(self._whole(error_info(error).message or error.code, warnings), error)

    def stopped(self, whole: AgentRunResult) -> AgentRunResult:
        """The same result as that of a stopped run."""
        reason = self._deadline.token.reason
        assert reason is not None
        return stopped(whole, reason, retryable=self._deadline.expired or None)

    def _structured(self, whole: AgentRunResult) -> AgentRunResult:
        schema = self._agent.output_schema
        if schema is None:
            return whole
        judged = self._judged or structured_output.judge(whole.output, schema, self._check)
        if judged.problem is None:
            return replace(whole, structured=judged.value, has_structured=True)
        error = StructuredOutputInvalid(
            "STRUCTURED_OUTPUT_VALIDATION_FAILED", agent=self._agent.name, problem=judged.problem
        )
        return failed(whole, error)

    def _whole(self, output: str, warnings: tuple[str, ...]) -> AgentRunResult:
        return result_of(self._state, output=output, warnings=warnings, entry=self.entry)
