"""Checks of messages and of rich tool results (formats.md 4)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final
from urllib.parse import urlsplit

from oma_desktop.model.js_text import js_trim
from oma_desktop.model.json_value import JsonObject, JsonValue

_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+", re.ASCII)


def of_messages(messages: list[JsonObject] | None) -> list[JsonObject] | None:
    """Return messages a person wrote, as they are; raises ValueError that names the first bad one.

    Each has a role, `user` or `assistant`, and a list of blocks with a type; more is not asked.
    """
    for index, message in enumerate(messages or ()):
        content = message.get("content")
        if message.get("role") not in ("user", "assistant"):
            raise ValueError(f"message {index + 1} needs the role user or assistant")
        if not isinstance(content, list) or not all(map(_is_block, content)):
            raise ValueError(f"message {index + 1} needs content: a list of blocks with a type")
    return messages


def _is_block(block: JsonValue) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def parts_problem(parts: list[JsonValue]) -> tuple[str, str] | None:
    """Return (place in the list, what was expected) of the first violation, else None."""
    if not parts:
        return "", "at least one part"
    for index, part in enumerate(parts):
        problem = _part_problem(part)
        if problem is not None:
            return f"[{index}]{problem[0]}", problem[1]
    return None


def _part_problem(part: JsonValue) -> tuple[str, str] | None:
    if not isinstance(part, dict):
        return "", "object"
    kind = part.get("type")
    if kind == "text":
        return None if isinstance(part.get("text"), str) else (".text", "string")
    if kind not in ("image", "file"):
        return ".type", "text | image | file"
    name = part.get("filename")
    if kind == "file" and not (isinstance(name, str) and js_trim(name)):
        return ".filename", "non-blank string"
    problem = _source_problem(part.get("source"))
    return None if problem is None else (f".source{problem[0]}", problem[1])


def _source_problem(source: JsonValue) -> tuple[str, str] | None:
    if not isinstance(source, dict):
        return "", "object"
    media_type = source.get("media_type")
    if not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        return ".media_type", "type/subtype"
    kind = source.get("type")
    if kind == "base64":
        return None if _is_base64(source.get("data")) else (".data", "base64")
    if kind == "url":
        return None if _is_web_address(source.get("url")) else (".url", "http(s) address")
    return ".type", "base64 | url"


def _is_base64(data: JsonValue) -> bool:
    """Whether the text is canonical, non-empty base64; checked without keeping the bytes."""
    if not isinstance(data, str) or not data or len(data) % 4:
        return False
    try:
        tail = base64.b64decode(data[-4:], validate=True)
        binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return False
    return base64.b64encode(tail).decode() == data[-4:]


def _is_web_address(url: JsonValue) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
