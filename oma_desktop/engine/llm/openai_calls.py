"""Tool calls put together from stream deltas, whatever the server does with ids and indexes.

Rules of engine.md 8.3 and cases s29, s30: a new non-empty id, or a new name after complete JSON,
starts a new call even at the same index; a missing index means the position; a repeated id after
complete JSON is a resend, not a continuation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from oma_desktop.engine.llm.base import InvalidArguments
from oma_desktop.model.errors import Refused
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ToolUseBlock


def text_of(value: object) -> str:
    """Return `value` when it is a string, else the empty string."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> JsonObject:
    """Return `value` when it is a JSON object, else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON")


def parse_arguments(raw: str) -> JsonObject | str:
    """Return the arguments as an object, or the problem in words for the model (DEV-27).

    Nothing at all, blanks and `null` mean "no arguments" (case s29).
    """
    if raw.strip() in {"", "null"}:
        return {}
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        return str(problem) or "too deeply nested"
    if not isinstance(value, dict):
        return f"expected a JSON object, found {type(value).__name__}"
    return cast("JsonObject", value)


def _is_complete(raw: str) -> bool:
    return bool(raw.strip()) and isinstance(parse_arguments(raw), dict)


@dataclass(slots=True)
class _Call:
    slot: int
    id: str = ""
    name: str = ""
    raw: str = ""


class CallAssembler:
    """Collects the deltas of one turn; `finish` gives the calls in the order they began."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._calls: list[_Call] = []
        self._new_id = new_id

    def __bool__(self) -> bool:
        """True once any call began."""
        return bool(self._calls)

    def take(self, deltas: object) -> None:
        """Merge one `tool_calls` list. Raises Refused for a call that is not a function."""
        if not isinstance(deltas, list):
            return
        for position, delta in enumerate(deltas):
            if isinstance(delta, dict):
                self._merge(delta, position)

    def take_legacy(self, function_call: object) -> None:
        """Merge the old `function_call` delta: one call, no id."""
        if isinstance(function_call, dict):
            self._merge({"function": function_call}, 0)

    def _merge(self, delta: JsonObject, position: int) -> None:
        kind = text_of(delta.get("type"))
        if kind not in {"", "function"}:
            raise Refused("UNSUPPORTED_TOOL_CALL", found=kind)
        function = object_of(delta.get("function"))
        index = delta.get("index")
        given = isinstance(index, int) and not isinstance(index, bool)
        slot = cast("int", index) if given else position
        call_id, name = text_of(delta.get("id")), text_of(function.get("name"))
        arguments = function.get("arguments")
        whole = isinstance(arguments, (dict, list))
        piece = json.dumps(arguments, ensure_ascii=False) if whole else text_of(arguments)
        call = self._find(slot, call_id, by_id_anywhere=not given)
        if call is None or _starts_anew(call, call_id, name, piece):
            call = _Call(slot)
            self._calls.append(call)
        resent = bool(call_id) and call.id == call_id and _is_complete(call.raw)
        call.id = call_id or call.id
        call.name = name or call.name
        if whole or (resent and _is_complete(piece)):
            call.raw = piece
        else:
            call.raw += piece

    def _find(self, slot: int, call_id: str, *, by_id_anywhere: bool) -> _Call | None:
        if call_id:
            for call in self._calls:
                if call.id == call_id and (by_id_anywhere or call.slot == slot):
                    return call
        here = [call for call in self._calls if call.slot == slot]
        return here[-1] if here else None

    def finish(self, *, truncated: bool) -> tuple[list[ToolUseBlock], list[InvalidArguments]]:
        """Return the calls with unique non-empty ids (DEV-02), and those that must not run.

        `truncated`: the output limit was hit, so a last call without arguments may have lost them.
        """
        blocks: list[ToolUseBlock] = []
        bad: list[InvalidArguments] = []
        seen: set[str] = set()
        for call in self._calls:
            call_id = self._unique(call.id, seen)
            arguments = parse_arguments(call.raw)
            cut = truncated and call is self._calls[-1] and not call.raw.strip()
            if cut:
                arguments = "the output limit was reached before the arguments"
            if isinstance(arguments, str):
                bad.append(InvalidArguments(call_id, call.raw, arguments))
                arguments = {}
            blocks.append(
                {"type": "tool_use", "id": call_id, "name": call.name, "input": arguments}
            )
        return blocks, bad

    def _unique(self, call_id: str, seen: set[str]) -> str:
        while not call_id or call_id in seen:
            call_id = self._new_id()
        seen.add(call_id)
        return call_id


def _starts_anew(call: _Call, call_id: str, name: str, piece: str) -> bool:
    """Say whether a delta for the same slot belongs to a new call (case s30)."""
    if call_id and call.id and call_id != call.id:
        return True
    if not name or (call_id and call_id == call.id) or not _is_complete(call.raw):
        return False
    return name != call.name or bool(piece.strip())
