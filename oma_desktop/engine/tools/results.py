"""From whatever a tool handed back to the result block the model reads (engine.md 3.5 steps 8-9).

Tools are written by others: nothing they return is trusted. The sentences here are read by models;
they are part of the protocol, not of the program's face.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import urlsplit

from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.engine.tools.schema import copy_json
from oma_desktop.model.json_text import cut_utf16, stringify, utf16_length
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import TokenUsage, ToolResultBlock, ToolResultPart
from oma_desktop.model.result import add_usage, is_countable, no_usage

HEAD_SHARE: Final = 0.7
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")


def error_result(call_id: str, text: str) -> ToolResultBlock:
    """An error the model may react to; always plain text (formats.md 4)."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": True}


def judge(output: object, *, tool: str, call_id: str, limit: int | None) -> ToolResultBlock:
    """Return the result block for what a tool returned; unusable output becomes an error result.

    `limit` cuts plain text (UTF-16 units; None or <= 0: off). Explicit `model_output` is never cut.
    """
    if not isinstance(output, ToolOutput):
        return _unusable(call_id, tool, f"it returned {type(output).__name__}")
    flag: object = output.is_error
    if flag is not None and not isinstance(flag, bool):
        return _unusable(call_id, tool, "its error flag is neither true nor false")
    content = _content(output, limit)
    if content is None:
        return _unusable(call_id, tool, "its data is not text and it names no output for the model")
    problem = None if isinstance(content, str) else parts_problem(content)
    if problem is not None:
        return _unusable(call_id, tool, problem)
    if flag and not isinstance(content, str):
        content = text_view(content)
    block: ToolResultBlock = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if flag is not None:
        block["is_error"] = flag
    return block


def usage_of(output: object) -> TokenUsage | None:
    """Return the tokens of nested model work; None where it names none that can be counted."""
    usage: object = output.usage if isinstance(output, ToolOutput) else None
    named = isinstance(usage, dict) and is_countable(cast("TokenUsage", usage))
    return add_usage(cast("TokenUsage", usage), no_usage()) if named else None


def _unusable(call_id: str, tool: str, why: str) -> ToolResultBlock:
    return error_result(call_id, f'The tool "{tool}" ran, but its result cannot be used: {why}.')


def _content(output: ToolOutput, limit: int | None) -> str | list[ToolResultPart] | None:
    explicit: object = output.model_output
    if isinstance(explicit, str):
        return explicit
    if explicit is not None:
        if not isinstance(explicit, list):
            return None
        return cast("list[ToolResultPart]", copy_json(cast("JsonValue", explicit)))
    if isinstance(output.data, str):
        return truncate(output.data, limit)
    if output.is_error:
        return truncate(stringify(output.data), limit)
    return None


def truncate(text: str, limit: int | None) -> str:
    """Cut to `limit` UTF-16 units: head 70 %, tail 30 %, the marker counted inside the limit."""
    length = utf16_length(text)
    if limit is None or limit <= 0 or length <= limit:
        return text
    marker = f"\n[... {length} characters in all, the middle is left out ...]\n"
    room = limit - len(marker)
    if room <= 0:
        return _whole(cut_utf16(text, limit))
    head = int(room * HEAD_SHARE)
    return _whole(cut_utf16(text, head)) + marker + _tail(text, room - head)


def _whole(text: str) -> str:
    """Drop half a pair that a cut left at the end."""
    return text[:-1] if text and "\ud800" <= text[-1] <= "\udbff" else text


def _tail(text: str, units: int) -> str:
    """The last `units` UTF-16 units, without half a pair at the front."""
    if units <= 0:
        return ""
    end = text[-units:].encode("utf-16-le", "surrogatepass")[-2 * units :]
    tail = end.decode("utf-16-le", "surrogatepass")
    return tail[1:] if tail and "\udc00" <= tail[0] <= "\udfff" else tail


def text_view(content: str | list[ToolResultPart]) -> str:
    """Text for ToolCallRecord.output: media are named, not shown (formats.md 2.8)."""
    if isinstance(content, str):
        return content
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: ToolResultPart) -> str:
    if part["type"] == "text":
        return part["text"]
    source = part["source"]
    kind = "URL reference" if source["type"] == "url" else "inline data"
    if part["type"] == "image":
        return f"[image: {source['media_type']}; {kind}]"
    return f"[file: {part['filename']}; {source['media_type']}; {kind}]"


def parts_problem(parts: object) -> str | None:
    """Say what is wrong with a rich result, or None (formats.md 4)."""
    if not isinstance(parts, list) or not parts:
        return "its output for the model is not a list with something in it"
    for number, part in enumerate(parts, 1):
        problem = _part_problem(part)
        if problem is not None:
            return f"part {number} {problem}"
    return None


def _part_problem(part: object) -> str | None:
    if not isinstance(part, Mapping):
        return "is not an object"
    match part.get("type"):
        case "text":
            return None if isinstance(part.get("text"), str) else "has no text"
        case "image":
            return _source_problem(part.get("source"))
        case "file":
            name = part.get("filename")
            if not isinstance(name, str) or not name.strip():
                return "has no file name"
            return _source_problem(part.get("source"))
    return "has an unknown type"


def _source_problem(source: object) -> str | None:
    if not isinstance(source, Mapping):
        return "has no source"
    media_type = source.get("media_type")
    if not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        return "has no usable media type"
    if source.get("type") == "base64":
        return None if _is_base64(source.get("data")) else "has data that is not base64"
    if source.get("type") == "url":
        return None if _is_http(source.get("url")) else "has no absolute http(s) address"
    return "has a source of unknown type"


def _is_base64(data: object) -> bool:
    if not isinstance(data, str) or not data:
        return False
    try:
        return base64.b64encode(base64.b64decode(data, validate=True)).decode() == data
    except (binascii.Error, ValueError):
        return False


def _is_http(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parsed = urlsplit(url)
    except ValueError:
        return False
    return parsed.scheme in {"http", "https"} and bool(parsed.netloc)


def issues_text(tool: str, issues: tuple[str, ...]) -> str:
    """The error text for arguments a schema refuses."""
    lines = "\n".join(f"- {issue}" for issue in issues)
    return f'The arguments for "{tool}" are not valid, so it was not run:\n{lines}'


def as_object(value: JsonValue) -> JsonObject:
    """Validated arguments are objects; an empty one stands for anything else."""
    return value if isinstance(value, dict) else {}
