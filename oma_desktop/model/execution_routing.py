"""Who takes a goal: how that is found out (engine.md 1.5 `executionRouting`, 4.1 row 4)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from oma_desktop.model.described import Described, Text

TIMEOUT_MS: Final = 15_000
_HYBRID_ONLY: Final = ("threshold", "timeout_ms", "model", "provider", "base_url")


class ExecutionRouting(Described):
    """How it is decided whether one agent takes a goal or the team.

    `deterministic` goes by the wording alone. `hybrid` asks a model once about a goal whose wording
    is simple: does it need several agents, an independent look, permissions of more than one
    agent? An answer whose confidence is below `threshold` changes nothing; a combination that is
    risky ends the run until somebody declares `mode` or `governanceIntent`. `failurePolicy` says
    what happens when the model, or a router of the host, fails: `fallback` goes by the wording,
    `fail` runs nothing. The model may take `timeoutMs` (default 15,000); `model`, `provider` and
    `baseURL` name it, otherwise the coordinator's is asked.
    """

    strategy: Literal["deterministic", "hybrid"] = "deterministic"
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.7
    failure_policy: Literal["fallback", "fail"] = "fallback"
    timeout_ms: Annotated[int, Field(ge=1)] = TIMEOUT_MS
    model: Text | None = None
    provider: Text | None = None
    base_url: Annotated[Text | None, Field(alias="baseURL")] = None

    @model_validator(mode="after")
    def _nothing_without_effect(self) -> ExecutionRouting:
        """Keys of the question say nothing where no question is asked (DEV-19)."""
        unused = [name for name in _HYBRID_ONLY if name in self.model_fields_set]
        if self.strategy != "hybrid" and unused:
            raise ValueError(
                "threshold, timeoutMs, model, provider and baseURL are for the strategy hybrid"
            )
        return self

    @property
    def may_fall_back(self) -> bool:
        """Whether the wording decides where a router or the model fails."""
        return self.failure_policy == "fallback"
