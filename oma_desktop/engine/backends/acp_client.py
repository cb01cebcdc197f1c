"""Our side of an ACP connection: hears updates, answers permission questions (engine.md 10.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp import RequestError
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)

from oma_desktop.engine.backends.answer import Asked
from oma_desktop.engine.tools.gate import GateCall, GateFailed, read_answer
from oma_desktop.model.backend import AcpBackend
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ToolCallRecord
from oma_desktop.model.view import Effect

_READING: Final = frozenset(("read", "search", "think"))


class AcpClient:
    """Collects one answer at a time; `begin` starts a new one. Offers the agent no files and no
    terminals of ours.
    """

    def __init__(self, backend: AcpBackend) -> None:
        self._backend = backend
        self._asked: Asked | None = None
        self._calls: dict[str, ToolCallRecord] = {}
        self._text: list[str] = []
        self.context_tokens: int | None = None

    def begin(self, asked: Asked) -> None:
        """What comes from now on belongs to this work."""
        self._asked = asked
        self._calls.clear()
        self._text.clear()

    def end(self) -> None:
        """Hear nothing until the next work begins."""
        self._asked = None

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    @property
    def records(self) -> list[ToolCallRecord]:
        """Tool calls the agent told about, in the order of their start."""
        return list(self._calls.values())

    def on_connect(self, conn: object) -> None:
        """Nothing to do; the protocol class wants it."""

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:  # noqa: ANN401
        """One piece of news."""
        asked = self._asked
        match update:
            case UsageUpdate():
                self.context_tokens = update.used
            case AgentMessageChunk(content=TextContentBlock(text=text)) if asked is not None:
                self._text.append(text)
                asked.on_text(text)
            case ToolCallStart() | ToolCallProgress() if asked is not None:
                self._note(update, asked)
            case _:
                return

    def _note(self, update: ToolCallStart | ToolCallProgress, asked: Asked) -> None:
        """Keep what is known of a call; later news replace only what they name."""
        known = self._calls.get(update.tool_call_id)
        kind = update.kind or (known["toolName"] if known else "other")
        title = update.title or ""
        output = "" if update.raw_output is None else str(update.raw_output)
        self._calls[update.tool_call_id] = {
            "toolName": kind,
            "input": _input(update.raw_input, title) or (known["input"] if known else {}),
            "output": output or (known["output"] if known else ""),
            "duration": 0,
        }
        asked.on_tool(title, kind, update.status or "pending")

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: Any,  # noqa: ANN401
    ) -> RequestPermissionResponse:
        """Answer a question; whatever is not a clear yes is a no."""
        asked = self._asked
        yes = asked is not None and await self._agrees(tool_call, asked)
        wanted = ("allow_once", "allow_always") if yes else ("reject_once", "reject_always")
        for kind in wanted:
            for option in options:
                if option.kind == kind:
                    chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                    return RequestPermissionResponse(outcome=chosen)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def _agrees(self, call: ToolCallUpdate, asked: Asked) -> bool:
        match self._backend.permission:
            case "auto-approve":
                return True
            case "reject":
                return False
            case "ask":
                return await self._rules_agree(call, asked)

    async def _rules_agree(self, call: ToolCallUpdate, asked: Asked) -> bool:
        """Ask the run's own gate; a wish to suspend cannot be kept here (seed CK, limits)."""
        gate = asked.gates.tool
        reads = call.kind in _READING
        if gate is None:
            return reads
        kind = call.kind or "other"
        wanted = _input(call.raw_input, call.title or "")
        question = GateCall(
            tool=f"acp:{kind}",
            input=wanted,
            raw_input=wanted,
            agent=asked.agent.name,
            consequential=not reads,
            effect=Effect.READ_ONLY if reads else Effect.CONSEQUENTIAL,
            run_id=asked.job.run_id,
            task_id=asked.job.task_id,
            tool_call_id=call.tool_call_id,
        )
        try:
            return read_answer(await gate(question), gate="tool").action == "allow"
        except GateFailed:
            return False

    async def _not_offered(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise RequestError.method_not_found("not offered by this client")

    write_text_file = read_text_file = create_terminal = terminal_output = _not_offered
    release_terminal = wait_for_terminal_exit = kill_terminal = _not_offered
    create_elicitation = complete_elicitation = ext_method = ext_notification = _not_offered


def _input(raw: object, title: str) -> JsonObject:
    if isinstance(raw, Mapping):
        return {str(key): _json(value) for key, value in raw.items()}
    return {"title": title} if title else {}


def _json(value: object) -> JsonValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return str(value)
