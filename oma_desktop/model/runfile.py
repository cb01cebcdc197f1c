# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""The run file (product.md 7): what people write, and its published JSON Schema.

Shapes only. Reading with problems and their places is in `runfile_reading`, rules over several
keys in `runfile_rules`, what this version cannot run yet in `runfile_limits`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from oma_desktop.model.hook_names import CallableName, LoopDetection
from oma_desktop.model.json_value import JsonObject, JsonScalar
from oma_desktop.model.plan import PlanArtifact
from oma_desktop.model.recovery_rules import Recovery
from oma_desktop.model.team import Described, OrchestratorOptions, TaskSpec, TeamConfig, Text

Action = Literal["suspend", "allow", "deny"]
EffectName = Literal["read_only", "repeatable", "consequential", "unknown"]

TOOL_NAME_PATTERN: Final = r"^[A-Za-z0-9_-]{1,64}$"
SERVER_NAME_PATTERN: Final = r"^[A-Za-z0-9_/-]{1,48}$"
NOT_BLANK_PATTERN: Final = r"\S"

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


class ToolRule(Described):
    """One rule over tool calls; every given condition must hold, the first rule that fits decides.

    `tool` and `agent` are names or patterns with `*` and `?`; `arguments` maps argument names to
    the value, or for text to a pattern. A pattern with a wildcard never allows a text with a `..`
    path segment.
    """

    tool: Text | None = None
    effect: EffectName | None = None
    agent: Text | None = None
    arguments: dict[str, JsonScalar] = {}
    action: Action = "suspend"
    reason: str | None = None


class DispatchRule(Described):
    """One rule over tasks before they start; the first rule that fits decides."""

    title: Text | None = None
    assignee: Text | None = None
    role: Text | None = None
    action: Action = "suspend"
    reason: str | None = None


def _action(value: object) -> object:
    """`true` means suspend, `false` allow."""
    if isinstance(value, bool):
        return "suspend" if value else "allow"
    return value


def _rules(name: str, rule: Any) -> BeforeValidator:  # noqa: ANN401 - a type
    """Accept the short forms: one action for all, names, or a mapping from name to action."""

    def spell_out(value: object) -> object:
        value = _action(value)
        if isinstance(value, str):
            return [{"action": value}]
        if isinstance(value, dict):
            return [{name: key, "action": _action(action)} for key, action in value.items()]
        if isinstance(value, list):
            return [{name: item} if isinstance(item, str) else item for item in value]
        return value

    short = dict[str, Action | bool] | Action | bool
    return BeforeValidator(spell_out, json_schema_input_type=list[rule | str] | short)


class Approvals(Described):
    """Which gates ask a person. Without a rule that fits, consequential calls ask, others run."""

    plan: Annotated[Action, BeforeValidator(_action, json_schema_input_type=Action | bool)] = (
        "allow"
    )
    rounds: Annotated[Action, BeforeValidator(_action, json_schema_input_type=Action | bool)] = (
        "allow"
    )
    dispatch: Annotated[list[DispatchRule], _rules("title", DispatchRule)] = []
    tools: Annotated[list[ToolRule], _rules("tool", ToolRule)] = []


class Redaction(Described):
    """What is masked before anything is saved, beyond the built-in rules.

    `patterns` are regular expressions in the syntax of Python, searched in every saved text.
    """

    patterns: list[Text] = []


class Checkpoint(Described):
    """Where the run is saved; paths are relative to the run file.

    With `redact` secrets are masked on disk, and no decision can be recorded there. `maskedInputs`
    says what a restore does with a call whose saved input is masked and that nobody approved:
    `refuse` tells the model so, `run` runs the tool with the mask as its input.
    """

    path: Text | None = None
    run_id: Annotated[str | None, Field(min_length=1, max_length=128)] = None
    key: Text | None = None
    redact: bool | Redaction | None = None
    masked_inputs: Literal["refuse", "run"] = "refuse"


class Journal(Described):
    """Where events are recorded, or `false` for nowhere."""

    path: Text | None = None
    enforce_lineage: bool = False
    redact: bool | JsonObject | None = None


class Coordinator(Described):
    """The agent that decomposes a goal, the JSON-able part.

    `verifyJudges` names agents who judge the tasks it wants judged; without any, nothing is judged.
    With `revealCoordinator` every task is told the goal and who is in the team.
    """

    verify_judges: list[Text] = []
    reveal_coordinator: bool = False
    model: str | None = None
    provider: str | None = None
    base_url: Annotated[str | None, Field(alias="baseURL")] = None
    system_prompt: str | None = None
    instructions: str | None = None
    max_turns: Annotated[int | None, Field(ge=1)] = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    temperature: float | None = None
    top_p: Annotated[float | None, Field(alias="topP")] = None
    tools: list[str] | None = None
    tool_preset: Literal["readonly", "readwrite", "full"] | None = None
    disallowed_tools: list[str] = []
    timeout_ms: Annotated[int | None, Field(ge=1)] = None
    loop_detection: LoopDetection | None = None
    extra_body: JsonObject | None = None


class PythonTool(Described):
    """One Python function, `module:function`; the module is a file in the run file's folder.

    It is imported only after a person agreed to the folder. Its type hints and docstring tell
    models how to call it; agents need its name among their `tools`. `effect` and `consequential`
    count more than what the function's own author says.
    """

    use: CallableName
    name: Annotated[str | None, Field(pattern=TOOL_NAME_PATTERN)] = None
    effect: EffectName = "unknown"
    consequential: bool | None = None

    @model_validator(mode="after")
    def _models_can_say_it(self) -> PythonTool:
        function = self.use.partition(":")[2]
        if self.name is None and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function):
            raise ValueError("models call tools by plain letters: add a name")
        return self


class McpServer(Described):
    """One MCP server over stdio, started with the run after a person agreed to the folder.

    Its tool `t` is called `NAME_t`; agents need that among their `tools`. `effects` says by the
    server's own names what its tools do: a tool of which nobody says that it is harmless asks a
    person. `tools` leaves only those named. It sees few variables of the environment; `env` adds
    some, and `${NAME}` in a value stands for a variable of ours, so that no secret is in the file.
    """

    command: Text
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    tools: list[str] | None = None
    effects: dict[str, EffectName] = {}


class BashTool(Described):
    """The shell. `env` names variables its commands see beside the usual few; never secrets."""

    env: list[Text] = []


def _use(value: object) -> object:
    return {"use": value} if isinstance(value, str) else value


class Tools(Described):
    """Tools beyond the built-in ones, and what the built-in shell may see."""

    bash: BashTool = BashTool()

    python: list[
        Annotated[PythonTool, BeforeValidator(_use, json_schema_input_type=PythonTool | str)]
    ] = []
    mcp: dict[Annotated[str, Field(pattern=SERVER_NAME_PATTERN)], McpServer] = {}


def _tools(value: object) -> object:
    return {"python": value} if isinstance(value, list) else value


class ProviderEntry(Described):
    """A named endpoint. Never holds a key: `keyEnv` names variables that do.

    `type` scripted reads replies from `script`, relative to the run file. `stream` false asks for
    whole answers, for servers that cannot send them in pieces. `echoReasoning` gives a server of
    chat completions its own reasoning back (`reasoning_content`) in rounds of tool calls; default:
    where the service of that name wants it. `apiVersion` and
    `deployment` are for azure-openai; a deployment stands for every model asked for there.
    """

    type: Literal["openai", "anthropic", "azure-openai", "scripted"] = "openai"
    base_url: Annotated[str | None, Field(alias="baseURL")] = None
    key_env: Annotated[
        list[Text],
        BeforeValidator(
            lambda value: [value] if isinstance(value, str) else value,
            json_schema_input_type=list[Text] | Text,
        ),
    ] = []
    script: Text | None = None
    stream: bool = True
    echo_reasoning: bool | None = None
    api_version: Text | None = None
    deployment: Text | None = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> ProviderEntry:
        if self.type != "azure-openai" and (self.api_version or self.deployment):
            raise ValueError("apiVersion and deployment are for the type azure-openai")
        return self


class RunFile(Described):
    """A run file, or one of the peer's two files in the same form.

    Who reaches a `goal` is found out, unless `mode` says it: `single` one agent, `team` the team by
    a plan of the coordinator. With `governanceIntent` `required` or `preferred` each of the
    `requiredRoles` (an agent's name, or one of its capabilities) works on the goal, those of
    `requiredOrder` first and in its order; `none` says that no roles are needed. With
    `preferredUnderBudget` `degrade` roles that are only preferred give way to one agent where the
    run has a budget.
    """

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    team: TeamConfig | None = None
    tasks: list[TaskSpec] | None = None
    goal: Annotated[str, Field(min_length=1, pattern=NOT_BLANK_PATTERN)] | None = None
    mode: Literal["single", "team"] | None = None
    governance_intent: Literal["required", "preferred", "none"] | None = None
    required_roles: list[Text] = []
    required_order: list[Text] = []
    preferred_under_budget: Literal["attempt", "degrade"] | None = None
    plan: Annotated[PlanArtifact | Text | None, Field(union_mode="left_to_right")] = None
    orchestrator: OrchestratorOptions = OrchestratorOptions()
    coordinator: Coordinator | None = None
    checkpoint: Checkpoint = Checkpoint()
    journal: Annotated[Journal | Literal[False] | None, Field(union_mode="left_to_right")] = None
    cwd: Text | None = None
    approvals: Approvals = Approvals()
    recovery: Recovery = Recovery()
    tools: Annotated[
        Tools, BeforeValidator(_tools, json_schema_input_type=Tools | list[PythonTool | str])
    ] = Tools()
    providers: dict[str, ProviderEntry] = {}


def run_file_schema() -> dict[str, Any]:
    """Return the published JSON Schema (`check --schema`), for editors."""
    schema = RunFile.model_json_schema(by_alias=True)
    return {"$schema": SCHEMA_ID, **schema, "title": "OMA Desktop run file"}
