"""What a tool is, and the set of tools a team knows. Registering grants nothing (engine.md 3.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.tools.schema import ArgumentSchema
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import TokenUsage, ToolDefinition, ToolResultPart
from oma_desktop.model.view import Effect


class Delegate(Protocol):
    """Hands work to another agent of the running team and waits for it (engine.md 3.12)."""

    async def __call__(self, target: str, prompt: str, context: ToolContext) -> ToolOutput:
        """Return the other agent's answer, or an error result that says why there is none."""
        ...


SendMessage: TypeAlias = Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know about its call. runId + taskId + toolCallId is an idempotency key.

    `delegate` and `send_message(to, content)`, with `*` for all others, are None outside of a team
    run. A message is in the prompt of every task its receiver begins from then on. `tokens_left` is
    what the agent's own budget still allows; None: no limit.
    """

    run_id: str
    task_id: str
    tool_call_id: str
    agent: str
    cwd: str | None
    token: CancelToken
    delegate: Delegate | None = None
    send_message: SendMessage | None = None
    tokens_left: int | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool hands back.

    `data` is text, or any JSON value when `model_output` says what the model sees. `is_error` None
    leaves the key out of the stored result; an explicit False is stored (formats.md 4). `usage`
    counts tokens of nested model work (delegation).
    """

    data: JsonValue = None
    is_error: bool | None = None
    model_output: str | list[ToolResultPart] | None = None
    usage: TokenUsage | None = None


# What comes back is judged by the pipeline: tools are written by others.
ToolRun: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `consequential` is a static attribute, never guessed from text (engine.md 5.7).

    `problems` says what keeps an input that fits the schema from being used; nobody is asked about
    such a call. Without `validated` the schema is only shown to the model: whoever runs the tool
    checks its input. `max_output_chars` cuts plain text output (UTF-16 units); None or <= 0 leaves
    the agent's limit.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: ToolRun
    effect: Effect = Effect.UNKNOWN
    consequential: bool = False
    max_output_chars: int | None = None
    problems: Callable[[JsonObject], tuple[str, ...]] | None = None
    validated: bool = True

    @property
    def definition(self) -> ToolDefinition:
        """What the model is told."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }


class ToolRegistry:
    """Tools by name, in registration order. Invariant: one tool per name."""

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._tools: dict[str, ToolSpec] = {}
        self._schemas: dict[str, ArgumentSchema] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: ToolSpec) -> None:
        """Add a tool; raises InvalidInput TOOL_NAME_TAKEN when the name is known already."""
        if tool.name in self._tools:
            raise InvalidInput("TOOL_NAME_TAKEN", tool=tool.name)
        self._tools[tool.name] = tool

    def get(self, name: str) -> ToolSpec | None:
        """Return the tool, or None."""
        return self._tools.get(name)

    def schema_of(self, tool: ToolSpec) -> ArgumentSchema:
        """Return what checks a tool's arguments: made once, it costs far more than a check."""
        schema = self._schemas.get(tool.name)
        if schema is None:
            schema = self._schemas[tool.name] = ArgumentSchema(tool.input_schema)
        return schema

    @property
    def names(self) -> list[str]:
        """All names in registration order."""
        return list(self._tools)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._tools.values())
