# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""Teams, agents, task specs and orchestrator options in the peer's field names (engine.md 1.2-1.6).

These are what people write in run files, so pydantic validates them; unknown keys are refused with
their place. Python names are snake_case, JSON names are the peer's camelCase.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from oma_desktop.model.backend import Backend
from oma_desktop.model.checkpoint import TaskRequires
from oma_desktop.model.context_options import ContextStrategy, Threshold
from oma_desktop.model.described import Described as Described  # noqa: PLC0414 - re-exported
from oma_desktop.model.described import Text as Text  # noqa: PLC0414 - re-exported
from oma_desktop.model.egress import EgressPolicy
from oma_desktop.model.execution_routing import ExecutionRouting
from oma_desktop.model.hook_names import CallableName, LoopDetection
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message_rules import of_messages
from oma_desktop.model.model_routing import ModelRouting
from oma_desktop.model.prices import Price
from oma_desktop.model.schema_check import usable_schema
from oma_desktop.model.verify import Verify

BUILTIN_TOOLS = ("bash", "file_read", "file_write", "file_edit", "grep", "glob")
FailOn = Literal["MAX_TURNS_REACHED", "OUTPUT_TRUNCATED"]


class AgentConfig(Described):
    """One agent, the JSON-able part. No secrets: keys come from elsewhere.

    `costTier`, `latencyClass` and `permissionBoundary` are told to the model that looks at a goal
    (`executionRouting`), the first also to the coordinator; a goal that would cross boundaries is
    not routed without a person. Nothing else goes by them.
    `failOn` names warnings that make its run a failure (DEV-18); left out, the orchestrator's.
    `beforeRun`, `afterRun` and `loopDetection.onLoopDetected` may name a Python function,
    `module:function`. `history` seeds conversations with the agent, never tasks.
    `compressToolResults` replaces results the model has answered (default: from 500 characters on),
    `preserveReasoningAsText` sends reasoning back as text to models that take no other, shortened
    by `compressReasoningText` (default with it: from 1,200 characters on). `textToolCalls` says
    whether calls that the model writes as text count (default: on servers of one's own only).
    """

    name: Annotated[str, Field(min_length=1, max_length=128)]
    description: str | None = None
    capabilities: list[str] = []
    model: str | None = None
    provider: str | None = None
    base_url: Annotated[str | None, Field(alias="baseURL")] = None
    system_prompt: str | None = None
    tools: list[str] | None = None
    tool_preset: Literal["readonly", "readwrite", "full"] | None = None
    disallowed_tools: list[str] = []
    cwd: str | None = None
    max_turns: Annotated[int, Field(ge=1)] = 10
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    max_token_budget: Annotated[int | None, Field(ge=1)] = None
    temperature: float | None = None
    top_p: Annotated[float | None, Field(alias="topP")] = None
    top_k: Annotated[int | None, Field(alias="topK")] = None
    min_p: Annotated[float | None, Field(alias="minP")] = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    parallel_tool_calls: bool | None = None
    extra_body: JsonObject | None = None
    timeout_ms: Annotated[int | None, Field(ge=1)] = None
    call_timeout_ms: Annotated[int | None, Field(ge=1)] = None
    loop_detection: LoopDetection | None = None
    max_tool_output_chars: int | None = None
    output_schema: Annotated[JsonObject | None, AfterValidator(usable_schema)] = None
    delegate: bool = False
    cost_tier: Literal["low", "medium", "high"] | None = None
    latency_class: Literal["low", "medium", "high"] | None = None
    permission_boundary: str | None = None
    region: str | None = None
    history: Annotated[list[JsonObject] | None, AfterValidator(of_messages)] = None
    backend: Backend | None = None
    egress_policy: EgressPolicy | None = None
    context_strategy: ContextStrategy | None = None
    thinking: JsonObject | None = None
    compress_tool_results: bool | Threshold | None = None
    preserve_reasoning_as_text: bool | None = None
    compress_reasoning_text: bool | Threshold | None = None
    text_tool_calls: bool | None = None
    fail_on: list[FailOn] | None = None
    before_run: CallableName | None = None
    after_run: CallableName | None = None


class TaskSpec(Described):
    """One task as a person writes it; `dependsOn` holds titles or ids."""

    title: Text
    description: str
    assignee: str | None = None
    depends_on: list[str] = []
    memory_scope: Literal["dependencies", "all"] | None = None
    dependency_payload: Literal["output", "structured", "both"] | None = None
    role: str | None = None
    priority: Literal["low", "normal", "high", "critical"] | None = None
    metadata: JsonObject | None = None
    requires: TaskRequires | None = None
    max_retries: Annotated[int | None, Field(ge=0)] = None
    retry_delay_ms: Annotated[float | None, Field(ge=0)] = None
    retry_backoff: float | None = None
    verify: Verify | None = None


class TeamConfig(Described):
    """A team. `sharedMemory`: true or "memory" in memory, "file" in the checkpoint's own store."""

    name: Text
    agents: list[AgentConfig]
    shared_memory: bool | Literal["memory", "file"] = False
    max_concurrency: Annotated[int | None, Field(ge=1)] = None
    messages: list[JsonObject] = []


class SchedulingWeights(Described):
    """How the composite strategy weighs fit against load (engine.md 1.5)."""

    fit: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.7
    load: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.3

    @model_validator(mode="after")
    def _weigh_something(self) -> SchedulingWeights:
        if self.fit == self.load == 0:
            raise ValueError("one of fit and load must be above 0")
        return self


class OrchestratorOptions(Described):
    """Options of the orchestrator, the JSON-able part.

    `failOn` names warnings that make a task a failure, for agents that say nothing (DEV-18).
    `prices` say what models cost, by `provider/model`, `model`, or `*` for all others;
    `maxCostBudget` is an amount in the same unit and needs them. `modelRouting` sends work to other
    models than the agents' own.
    """

    max_concurrency: Annotated[int, Field(ge=1)] = 5
    scheduling_strategy: Literal[
        "dependency-first", "round-robin", "least-busy", "capability-match", "composite"
    ] = "dependency-first"
    max_token_budget: Annotated[int | None, Field(ge=1)] = None
    default_model: str | None = None
    default_provider: str | None = None
    default_base_url: Annotated[str | None, Field(alias="defaultBaseURL")] = None
    default_tool_preset: Literal["readonly", "readwrite", "full"] | None = None
    default_cwd: str | None = None
    max_parallel_tool_calls: Annotated[int, Field(ge=1)] = 4
    require_consequential_confirmation: bool = False
    scheduling_weights: SchedulingWeights | None = None
    strict_assignees: bool = True
    execution_routing: ExecutionRouting | None = None
    max_delegation_depth: Annotated[int, Field(ge=0)] = 3
    max_cost_budget: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    prices: dict[Text, Price] = {}
    model_routing: ModelRouting | None = None
    fail_on: list[FailOn] = []
    egress_policy: EgressPolicy | None = None

    @property
    def is_limited(self) -> bool:
        """Whether runs have a ceiling of tokens or of cost."""
        return self.max_token_budget is not None or self.max_cost_budget is not None
