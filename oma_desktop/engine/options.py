"""What a caller may ask of one run or restore (engine.md 1.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.recovery_options import RecoveryOptions
from oma_desktop.model.egress import EgressPolicy
from oma_desktop.model.governance import Governance
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.model_routing import ModelRouting
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.runfile import Coordinator
from oma_desktop.model.team import AgentConfig, TaskSpec
from oma_desktop.store.memory import MemoryStore

ExecutionRouter: TypeAlias = Callable[[str, Sequence[AgentConfig]], Awaitable[object]]
"""Answers `single` or `team` for a goal and a roster; whatever else it gives is a failure."""


class HeldLock(Protocol):
    """The writer lock of the store (formats.md 1.7), as far as the engine uses it; blocking."""

    @property
    def held(self) -> bool:
        """Whether it is ours now."""
        ...

    def acquire(self) -> None:
        """Take it; raises Locked when another writer lives."""
        ...

    def beat(self) -> None:
        """Say that we live; raises Locked LOCK_LOST when it is no longer ours."""
        ...

    def release(self) -> bool:
        """Give it back."""
        ...


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Where a run is saved.

    `key` beats `run_id`; with neither, a new run uses its own run id (P11) and a restore takes the
    default key, else the only checkpoint of the store. `lock` is taken if it is not held yet and
    given back at the end of the attempt; None where nobody else can write (a store in memory).
    With `enabled` false one run is not saved although the engine's own options would save it.
    """

    store: MemoryStore
    run_id: str | None = None
    key: str | None = None
    lock: HeldLock | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `run_tasks` and `run_from_plan`.

    `max_token_budget` and `max_cost_budget` combine with the orchestrator's by minimum; `recovery`,
    `checkpoint` and `model_routing` replace the engine's own as a whole. `egress_policy` narrows
    where model calls may go, beside the orchestrator's and the agents' own.
    """

    run_id: str | None = None
    metadata: JsonObject | None = None
    checkpoint: CheckpointOptions | None = None
    max_token_budget: int | None = None
    max_cost_budget: float | None = None
    egress_policy: EgressPolicy | None = None
    model_routing: ModelRouting | None = None
    token: CancelToken = field(default_factory=CancelToken)
    goal: str | None = None
    recovery: RecoveryOptions | None = None


@dataclass(frozen=True, slots=True)
class RunAgentOptions:
    """Options of `run_agent`; its run is never saved, so a stop of any kind ends it."""

    run_id: str | None = None
    metadata: JsonObject | None = None
    max_token_budget: int | None = None
    max_cost_budget: float | None = None
    egress_policy: EgressPolicy | None = None
    token: CancelToken = field(default_factory=CancelToken)


@dataclass(frozen=True, slots=True)
class TeamRunOptions(RunOptions):
    """Options of `run_team` (engine.md 1.6). Its goal is an argument; `goal` is not looked at.

    `coordinator` describes who plans and sums up; what it leaves open comes from the orchestrator,
    then from the first agent. `mode` wins over every router. `plan_only`: make the plan, run none
    of it; with mode `single` that is refused. `governance` names roles that must take part; a mode
    wins over them, and the result says so.
    """

    coordinator: Coordinator = field(default_factory=Coordinator)
    mode: Literal["single", "team"] | None = None
    router: ExecutionRouter | None = None
    governance: Governance | None = None
    plan_only: bool = False


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """Options of `restore`.

    `specs` or `plan` are run when the store holds no checkpoint, and ignored otherwise; at most one
    of them may be given. `retry_failed`
    opens failed tasks again, with what failed or was skipped because of them. `run_masked` names
    the calls (ids) that may run although their saved input holds `[redacted]`: a person saw them;
    None means all. `coordinator` sums up a run of a goal again; without one its closing answer is
    missing (engine.md 4.5). `recovery` as in RunOptions; what earlier attempts revised counts on.
    """

    checkpoint: CheckpointOptions
    run_id: str | None = None
    metadata: JsonObject | None = None
    max_token_budget: int | None = None
    max_cost_budget: float | None = None
    egress_policy: EgressPolicy | None = None
    model_routing: ModelRouting | None = None
    token: CancelToken = field(default_factory=CancelToken)
    goal: str | None = None
    retry_failed: bool = False
    run_masked: frozenset[str] | None = frozenset()
    specs: tuple[TaskSpec, ...] | None = None
    plan: PlanArtifact | None = None
    coordinator: Coordinator | None = None
    recovery: RecoveryOptions | None = None
