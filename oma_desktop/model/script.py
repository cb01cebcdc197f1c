"""A script file: scripted replies, tools and gates for samples and tests (product.md 5, --script).

The peer's `peer_script.json` fits as it is. Our own optional keys: `effect` of a tool, `delayMs` of
a reply or a tool result, `chunkMs` of a reply or of the whole file, `usage` of a tool result,
`rawInput` of a call, `stream` of a reply, `text` and `usage` beside `error`. All of it is
told in resources/docs/scripts.md.
Texts may hold lone surrogates (formats.md 9), which pydantic's own text type refuses: `Words`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PlainValidator, model_validator

from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.recovery_rules import ScriptedRecovery
from oma_desktop.model.team import AgentConfig, Described, OrchestratorOptions
from oma_desktop.model.view import Effect


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("should be a text")  # noqa: TRY004 - pydantic expects ValueError
    return value


def _anything(value: object) -> object:
    return value


def _object(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("should be an object")  # noqa: TRY004 - pydantic expects ValueError
    return value


def _list(value: object) -> object:
    if not isinstance(value, list):
        raise ValueError("should be a list")  # noqa: TRY004 - pydantic expects ValueError
    return value


Words: TypeAlias = Annotated[str, PlainValidator(_words)]
RawJson: TypeAlias = Annotated[JsonValue, PlainValidator(_anything)]
RawObject: TypeAlias = Annotated[JsonObject, PlainValidator(_object)]
RawParts: TypeAlias = Annotated[list[JsonObject], PlainValidator(_list)]
Milliseconds: TypeAlias = Annotated[float, Field(ge=0)]


class ScriptedCall(Described):
    """One tool call of a reply; an empty id is allowed and normalised later (DEV-02).

    `rawInput` is what a server sent as arguments, in its own words: it need not be JSON (DEV-27).
    """

    id: Words
    name: Words
    input: RawObject = Field(default_factory=dict)
    raw_input: Words | None = None


class ScriptedError(Described):
    """A failing model call; without a status it is a failure of unknown kind.

    `retryAfterS` is what the endpoint says of waiting, in seconds (`Retry-After`).
    """

    message: Words
    status: Annotated[int | None, Field(ge=400, le=599)] = None
    retry_after_s: Annotated[float | None, Field(ge=0)] = None


class ScriptedReasoning(Described):
    """Reasoning in front of the text."""

    text: Words
    signature: Words | None = None
    redacted_data: Words | None = None
    provenance: Words | None = None


class ScriptedStream(Described):
    """The bytes of an answer as a server sends them, good or bad; read like any other.

    `body` ends where the connection ends. It arrives in pieces of `pieceBytes` (default: whole).
    """

    wire: Literal["openai", "anthropic"] = "openai"
    body: Words
    piece_bytes: Annotated[int | None, Field(ge=1)] = None


class ScriptedReply(Described):
    """One model turn. With `error`, `text` is what came before it and `usage` what it cost."""

    text: Words = ""
    tools: list[ScriptedCall] = Field(default_factory=list)
    usage: TokenUsage | None = None
    reasoning: ScriptedReasoning | None = None
    error: ScriptedError | None = None
    stop_reason: str | None = None
    delay_ms: Milliseconds = 0
    chunk_ms: Milliseconds | None = None
    stream: ScriptedStream | None = None

    @model_validator(mode="after")
    def _says_it_once(self) -> ScriptedReply:
        said = self.text or self.tools or self.reasoning or self.error or self.usage
        if self.stream is not None and (said or self.stop_reason):
            raise ValueError("a reply with `stream` has its whole answer there")
        return self


class ScriptedAttempts(Described):
    """Replies of a task that is retried: one list per attempt, the last one repeats."""

    attempts: Annotated[list[list[ScriptedReply]], Field(min_length=1)]


class ScriptedResult(Described):
    """What a tool call gives: data, an error, or an exception (`throw`)."""

    data: RawJson = None
    is_error: bool | None = None
    throw: Words | None = None
    model_output: RawParts | Words | None = None
    usage: TokenUsage | None = None
    delay_ms: Milliseconds = 0


class ScriptedTool(Described):
    """One tool. `schema` is shorthand (SCRIPTS.md); `results` go by call id, then `*`."""

    fields: RawObject = Field(default_factory=dict, alias="schema")
    description: str = ""
    consequential: bool = False
    effect: Effect | None = None
    results: dict[str, ScriptedResult] = Field(default_factory=dict)
    max_output_chars: int | None = None


class ScriptedDecision(Described):
    """A gate's answer with its reason."""

    action: Literal["allow", "deny", "suspend"]
    reason: Words | None = None


GateRule: TypeAlias = Literal["allow", "deny", "suspend"] | ScriptedDecision


class ScriptedGates(Described):
    """Rules by name, then `*`. Tool: call id, tool name; dispatch: title; round: next titles."""

    tool: dict[str, GateRule] | None = None
    dispatch: dict[str, GateRule] | None = None
    plan: GateRule | None = None
    round: dict[str, GateRule] | None = None


class ScriptedTeam(Described):
    """The team of a script; its agents stand beside it."""

    name: str = "script"
    shared_memory: bool | Literal["memory", "file"] = False
    messages: list[JsonObject] = Field(default_factory=list)


class ScriptedCheckpoint(Described):
    """Where the checkpoint lives."""

    run_id: str | None = None
    key: str | None = None


class Script(Described):
    """A whole script file."""

    team: ScriptedTeam = ScriptedTeam()
    orchestrator: OrchestratorOptions = OrchestratorOptions()
    checkpoint: ScriptedCheckpoint | None = None
    restore_options: JsonObject = Field(default_factory=dict)
    agents: list[AgentConfig]
    tools: dict[str, ScriptedTool] = Field(default_factory=dict)
    gates: ScriptedGates = ScriptedGates()
    replies: dict[str, list[ScriptedReply] | ScriptedAttempts] = Field(default_factory=dict)
    coordinator: bool | JsonObject | None = None
    recovery: ScriptedRecovery | None = None
    chunk_ms: Milliseconds = 0

    @model_validator(mode="before")
    @classmethod
    def _expand_output_schemas(cls, document: object) -> object:
        """Turn the shorthand of agents' output schemas into JSON Schema."""
        if not isinstance(document, dict) or not isinstance(document.get("agents"), list):
            return document
        agents = [_with_schema(agent) for agent in document["agents"]]
        return {**document, "agents": agents}


def _with_schema(agent: object) -> object:
    if not isinstance(agent, dict) or not isinstance(agent.get("outputSchema"), dict):
        return agent
    return {**agent, "outputSchema": json_schema(agent["outputSchema"])}


_TYPES: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "any": {},
    "record": {"type": "object"},
    "string[]": {"type": "array", "items": {"type": "string"}},
    "number[]": {"type": "array", "items": {"type": "number"}},
}


def json_schema(fields: JsonObject) -> JsonObject:
    """Return the JSON Schema of a shorthand schema; a JSON Schema is returned as it is.

    `type?` and fields with a default may be left out, `any` too. Raises ValueError on an unknown
    type.
    """
    if fields.get("type") == "object" and isinstance(fields.get("properties", {}), dict):
        return fields
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for name, shorthand in fields.items():
        described: JsonObject = shorthand if isinstance(shorthand, dict) else {"type": shorthand}
        word = str(described.get("type"))
        base = word.removesuffix("?")
        if base not in _TYPES:
            raise ValueError(f"unknown type {word!r} of {name!r}")
        properties[name] = {**_TYPES[base], **_default(described)}
        if not (word.endswith("?") or base == "any" or "default" in described):
            required.append(name)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def _default(described: JsonObject) -> JsonObject:
    return {"default": described["default"]} if "default" in described else {}
