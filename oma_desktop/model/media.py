"""Rich content of messages and tool results: text parts as text, media as chips (formats.md 4)."""

from __future__ import annotations

from dataclasses import dataclass

from oma_desktop.model.json_text import stringify
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.lenient import maybe_text_at, object_at, text_at


@dataclass(frozen=True, slots=True)
class Chip:
    """What is shown instead of inline data: type, size in bytes (0 for an address), label."""

    media_type: str
    size: int
    label: str


def chip_of(part: JsonObject) -> Chip | None:
    """Return the chip of an image or file part, None for anything else."""
    if part.get("type") not in ("image", "file"):
        return None
    source = object_at(part, "source")
    data = maybe_text_at(source, "data")
    label = text_at(part, "filename") or text_at(source, "url")
    size = 0 if data is None else decoded_size(data)
    return Chip(text_at(source, "media_type") or text_at(part, "type"), size, label)


def decoded_size(base64_text: str) -> int:
    """Return how many bytes a base64 text stands for, without decoding it."""
    padding = len(base64_text) - len(base64_text.rstrip("="))
    return max(0, len(base64_text) * 3 // 4 - padding)


def content_text(content: JsonValue) -> str:
    """Return the text of a tool result: its string, or its text parts; media show as a mark."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else stringify(content)
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: JsonValue) -> str:
    if not isinstance(part, dict):
        return stringify(part)
    chip = chip_of(part)
    if chip is not None:
        return f"[{chip.label or chip.media_type}]"
    return text_at(part, "text") if part.get("type") == "text" else stringify(part)
