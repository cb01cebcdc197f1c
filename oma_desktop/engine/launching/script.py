"""A team that plays a script: every agent scripted, tools and gates exactly the script's."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.ms_iso import to_ms_iso
from oma_desktop.engine.agents.team import Team
from oma_desktop.engine.launching.documents import refuse_pipe
from oma_desktop.engine.llm.scripted import NAP_S, ScriptedAdapter
from oma_desktop.engine.tools.gate import ALLOW, GateCall, GateDecision, Gates
from oma_desktop.engine.tools.registry import ToolContext, ToolOutput, ToolRegistry, ToolSpec
from oma_desktop.model.checkpoint import TaskSnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_text import STORE_DEPTH, parse
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.script import GateRule, Script, ScriptedResult, ScriptedTool, json_schema
from oma_desktop.model.team import TeamConfig
from oma_desktop.model.view import Effect


class ScriptedThrow(Exception):
    """What a scripted tool raises where the script says `throw`."""


def load_script(path: Path) -> Script:
    """Read a script file.

    Raises InvalidInput: SCRIPT_UNREADABLE (cannot be read), FILE_NOT_REGULAR (a pipe), a code of
    `json_text.parse` (no JSON) or SCRIPT_INVALID with `where` and `found`.
    """
    try:
        refuse_pipe(path)
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput("SCRIPT_UNREADABLE", path=str(path), found=str(error)) from error
    return read_script(parse(data, where=str(path), max_depth=STORE_DEPTH), path=str(path))


def read_script(document: object, *, path: str = "") -> Script:
    """Turn a parsed document into a Script; raises InvalidInput SCRIPT_INVALID."""
    try:
        script = Script.model_validate(document)
        for name, tool in script.tools.items():
            _checked_schema(name, tool)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise InvalidInput("SCRIPT_INVALID", path=path, where=where, found=first["msg"]) from error
    return script


def _checked_schema(name: str, tool: ScriptedTool) -> JsonObject:
    try:
        return json_schema(tool.fields)
    except ValueError as error:
        raise InvalidInput(
            "SCRIPT_INVALID", path="", where=f"tools.{name}.schema", found=str(error)
        ) from error


class EffectsLog:
    """What scripted tools really did: JSON Lines, one before and one after every execution.

    Each line is on disk (fsync) before the tool goes on: the ground truth of crash tests.
    """

    def __init__(self, path: Path, *, clock: Clock, lanes: Lanes | None = None) -> None:
        self._path = path
        self._clock = clock
        self._lanes = lanes

    async def write(
        self, event: Literal["started", "finished"], tool: str, input_: JsonObject, on: ToolContext
    ) -> None:
        """Append one line; returns when it is on disk. Raises OSError."""
        line = json.dumps(
            {
                "event": event,
                "runId": on.run_id,
                "taskId": on.task_id,
                "agent": on.agent,
                "toolCallId": on.tool_call_id,
                "tool": tool,
                "input": input_,
                "at": to_ms_iso(self._clock.now()),
            }
        )
        if self._lanes is None:
            self._append(line)
        else:
            await self._lanes.store(self._append, line)

    def _append(self, line: str) -> None:
        with self._path.open("ab") as log:
            log.write(line.encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())


def team_from_script(
    script: Script, *, clock: Clock, speed: float = 1.0, effects: EffectsLog | None = None
) -> Team:
    """Return the script's own team, ready to work. `speed` multiplies delays; 0 means none."""
    config = TeamConfig(
        name=script.team.name,
        agents=script.agents,
        shared_memory=script.team.shared_memory,
        messages=script.team.messages,
    )
    return _wire(config, script, clock=clock, speed=speed, effects=effects)


def apply_script(
    team: Team,
    script: Script,
    *,
    clock: Clock,
    speed: float = 1.0,
    effects: EffectsLog | None = None,
) -> Team:
    """Return `team` with its own agents, but models, tools and gates of the script only."""
    return _wire(team.config, script, clock=clock, speed=speed, effects=effects)


def _wire(
    config: TeamConfig, script: Script, *, clock: Clock, speed: float, effects: EffectsLog | None
) -> Team:
    adapter = ScriptedAdapter(script, clock=clock, speed=speed)
    tools = ToolRegistry(
        _tool(name, tool, clock=clock, speed=speed, effects=effects)
        for name, tool in script.tools.items()
    )
    return Team(
        config=config,
        tools=tools,
        adapter_for=lambda _agent: adapter,
        gates=gates_of(script),
        max_parallel_tool_calls=script.orchestrator.max_parallel_tool_calls,
    )


def _tool(
    name: str, tool: ScriptedTool, *, clock: Clock, speed: float, effects: EffectsLog | None
) -> ToolSpec:
    async def run(input_: JsonObject, context: ToolContext) -> ToolOutput:
        result = tool.results.get(context.tool_call_id) or tool.results.get("*")
        if effects is not None:
            await effects.write("started", name, input_, context)
        if result is not None:
            await _pause(result.delay_ms / 1000 * speed, clock, context)
        if effects is not None:
            await effects.write("finished", name, input_, context)
        return _output(name, result)

    guessed = Effect.CONSEQUENTIAL if tool.consequential else Effect.UNKNOWN
    return ToolSpec(
        name=name,
        description=tool.description or f"Scripted tool {name}.",
        input_schema=_checked_schema(name, tool),
        run=run,
        effect=tool.effect or guessed,
        consequential=tool.consequential,
        max_output_chars=tool.max_output_chars,
    )


async def _pause(delay_s: float, clock: Clock, context: ToolContext) -> None:
    while delay_s > 0 and not context.token.aborted:
        await clock.sleep(min(delay_s, NAP_S))
        delay_s -= NAP_S
    if context.token.aborted:
        raise ScriptedThrow("stopped before it was done")


def _output(name: str, result: ScriptedResult | None) -> ToolOutput:
    if result is None:
        raise ScriptedThrow(f"the script has no result for this call of {name}")
    if result.throw is not None:
        raise ScriptedThrow(result.throw)
    return ToolOutput(
        data=result.data,
        is_error=result.is_error,
        model_output=result.model_output,  # type: ignore[arg-type]
        usage=result.usage,
    )


def gates_of(script: Script) -> Gates:
    """Return the script's gates; a gate the script does not mention does not exist."""
    rules = script.gates

    async def tool(call: GateCall) -> GateDecision:
        return _look_up(rules.tool or {}, call.tool_call_id, call.tool)

    async def dispatch(task: TaskSnapshot) -> GateDecision:
        return _look_up(rules.dispatch or {}, task["title"])

    async def plan(_tasks: Sequence[TaskSnapshot]) -> GateDecision:
        return ALLOW if rules.plan is None else _decision(rules.plan)

    async def round_(_done: Sequence[TaskSnapshot], next_: Sequence[TaskSnapshot]) -> GateDecision:
        return _look_up(rules.round or {}, "|".join(sorted(task["title"] for task in next_)))

    return Gates(
        tool=None if rules.tool is None else tool,
        dispatch=None if rules.dispatch is None else dispatch,
        plan=None if rules.plan is None else plan,
        round=None if rules.round is None else round_,
    )


def _look_up(rules: dict[str, GateRule], *names: str) -> GateDecision:
    for name in (*names, "*"):
        if name in rules:
            return _decision(rules[name])
    return ALLOW


def _decision(rule: GateRule) -> GateDecision:
    return GateDecision(rule) if isinstance(rule, str) else GateDecision(rule.action, rule.reason)
