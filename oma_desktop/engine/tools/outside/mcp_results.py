"""From the raw answer of an MCP server to what the pipeline judges (engine.md 10.1).

Servers are written by others: whatever is not exactly a known kind of content is told as text.
"""

from __future__ import annotations

import posixpath
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from oma_desktop.engine.tools.registry import ToolOutput
from oma_desktop.engine.tools.results import parts_problem, text_view
from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.message import ToolResultPart

_ANY_TYPE: Final = "application/octet-stream"


def output_of_answer(answer: JsonObject) -> ToolOutput:
    """Return the output for the `result` of one `tools/call`.

    The first of these that is there counts: the `toolResult` of old servers, content blocks, the
    structured content, the answer itself. Only pictures, binary resources and http(s) links stay
    rich; an error is always text. Text alone is cut like that of any tool.
    """
    is_error = answer.get("isError") is True
    parts = _parts(answer)
    if parts is None:
        return ToolOutput(_plain(answer), is_error=is_error or None)
    if is_error:
        return ToolOutput(text_view(parts), is_error=True)
    if all(part["type"] == "text" for part in parts):
        return ToolOutput(text_view(parts))
    return ToolOutput(cast("JsonValue", parts), model_output=parts)


def _plain(answer: JsonObject) -> str:
    for key in ("toolResult", "structuredContent"):
        if answer.get(key) is not None:
            value = answer[key]
            return value if isinstance(value, str) else stringify(value)
    content = answer.get("content")
    return "" if content == [] else stringify(answer)


def _parts(answer: JsonObject) -> list[ToolResultPart] | None:
    content = answer.get("content")
    if answer.get("toolResult") is not None or not isinstance(content, list) or not content:
        return None
    return [_part(block) for block in content]


def _part(block: JsonValue) -> ToolResultPart:
    part = _rich(block) if isinstance(block, dict) else None
    if part is not None and parts_problem([part]) is None:
        return part
    return {"type": "text", "text": _text(block)}


def _rich(block: JsonObject) -> ToolResultPart | None:
    match block.get("type"):
        case "image":
            source = {
                "type": "base64",
                "media_type": block.get("mimeType"),
                "data": block.get("data"),
            }
            return cast("ToolResultPart", {"type": "image", "source": source})
        case "resource":
            return _resource(block.get("resource"))
        case "resource_link":
            source = {
                "type": "url",
                "media_type": block.get("mimeType") or _ANY_TYPE,
                "url": block.get("uri"),
            }
            name = block.get("title") or block.get("name") or _file_name(block.get("uri"))
            return cast("ToolResultPart", {"type": "file", "filename": name, "source": source})
    return None


def _resource(resource: JsonValue) -> ToolResultPart | None:
    if not isinstance(resource, dict) or "blob" not in resource:
        return None
    media_type = resource.get("mimeType") or _ANY_TYPE
    source = {"type": "base64", "media_type": media_type, "data": resource.get("blob")}
    if isinstance(media_type, str) and media_type.startswith("image/"):
        return cast("ToolResultPart", {"type": "image", "source": source})
    name = _file_name(resource.get("uri"))
    return cast("ToolResultPart", {"type": "file", "filename": name, "source": source})


def _file_name(uri: JsonValue) -> str:
    """Return the last part of an address, or a word where it has none."""
    if not isinstance(uri, str):
        return "file"
    try:
        path = urlsplit(uri).path
    except ValueError:
        return "file"
    return unquote(posixpath.basename(path)).strip() or "file"


def _text(block: JsonValue) -> str:
    """Say a block in words: its own text, else what it is without its bytes."""
    if not isinstance(block, dict):
        return stringify(block)
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return cast("str", block["text"])
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return cast("str", resource["text"])
    if block.get("type") in {"audio", "image"}:
        data = block.get("data")
        length = len(data) if isinstance(data, str) else 0
        return f"[{block['type']}: {block.get('mimeType')}; {length} characters of base64]"
    if block.get("type") == "resource_link":
        return f"[link: {block.get('name')}; {block.get('uri')}]"
    return stringify(block)
