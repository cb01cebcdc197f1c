"""Messages are checked at the door of every adapter, before any I/O (engine.md 8.1)."""

from __future__ import annotations

from typing import cast

from oma_desktop.model.errors import Refused
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.message import Message


def check_messages(messages: list[Message]) -> None:
    """Raise Refused INVALID_MESSAGE with the place of the first violation.

    Only tool results are looked at in depth; unknown block types pass (formats.md 4).
    """
    if not isinstance(messages, list):
        raise _bad("messages", "not a list")
    for m, message in enumerate(messages):
        where = f"messages[{m}]"
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise _bad(where, "no content list")
        if message.get("role") not in {"user", "assistant"}:
            raise _bad(where, "unknown role")
        for b, block in enumerate(message["content"]):
            _check_block(cast("JsonObject", block), f"{where}.content[{b}]")


def _check_block(block: JsonObject, where: str) -> None:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise _bad(where, "no type")
    if block["type"] == "tool_result":
        _check_result(block, where)


def _check_result(block: JsonObject, where: str) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise _bad(where, "no tool_use_id")
    if not isinstance(block.get("is_error", False), bool):
        raise _bad(where, "is_error is not a boolean")
    content = block.get("content")
    if isinstance(content, str):
        return
    if block.get("is_error") or not isinstance(content, list) or not content:
        raise _bad(where, "content is neither text nor a list of parts")
    for part in content:
        if not _is_part(part):
            raise _bad(where, "a part of the content is malformed")


def _is_part(part: object) -> bool:
    if not isinstance(part, dict):
        return False
    if part.get("type") == "text":
        return isinstance(part.get("text"), str)
    named = part.get("type") == "image" or bool(str(part.get("filename") or "").strip())
    return part.get("type") in {"image", "file"} and named and _is_source(part.get("source"))


def _is_source(source: object) -> bool:
    if not isinstance(source, dict) or not isinstance(source.get("media_type"), str):
        return False
    kind = source.get("type")
    if kind == "url":
        return str(source.get("url", "")).startswith(("http://", "https://"))
    return kind == "base64" and isinstance(source.get("data"), str) and bool(source["data"])


def _bad(where: str, problem: str) -> Refused:
    return Refused("INVALID_MESSAGE", where=where, problem=problem, retryable=False)
