"""Redacting JSON by its structure (formats.md 1.5.2), and stores' values (1.5, 8 W14, W15, P18).

Walks without recursion and changes nothing: what comes back is new. What is structure and what is
content in a document is said by a `Shape`: structure is left alone, so that a redacted checkpoint
can still be restored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from oma_desktop.model.js_text import join_halves
from oma_desktop.model.json_text import js_trim, stringify, try_parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members, quote
from oma_desktop.model.redaction import REDACTED, TextRules, is_sensitive_name

_BASE64: Final = re.compile(r"[A-Za-z0-9+/]++")
_ENCODED: Final = "sharedMemoryValueEncoding"


@dataclass(frozen=True, slots=True)
class Keep:
    """Structure: ids, references, states, times, numbers, opaque bytes of a provider."""


@dataclass(frozen=True, slots=True)
class Content:
    """What models, tools and people wrote: every rule applies."""


@dataclass(frozen=True, slots=True)
class Base64:
    """Encoded bytes, left alone as long as they really are."""


@dataclass(frozen=True, slots=True)
class Each:
    """An array of things of one shape; anything else there is content."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Named:
    """An object whose named members have their own shape; the others are content."""

    members: Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class Note:
    """A shared-memory entry: its value is JSON text where its metadata says so (1.6)."""


Shape: TypeAlias = Keep | Content | Base64 | Each | Named | Note

Recall: TypeAlias = dict[tuple[str | int, bool], tuple[str, str]]
"""Texts of one document and what became of them, by text and whether it is JSON; long ones by
their identity: even finding their hash would keep other threads waiting."""

_WORTH_RECALLING: Final = 64
_LONG: Final = 1 << 16
KEEP: Final = Keep()
CONTENT: Final = Content()


def redact_object(value: JsonValue, patterns: Sequence[re.Pattern[str]] = ()) -> JsonValue:
    """Return a redacted copy, as the peer (formats.md 1.5.2); `__proto__` is kept (exception)."""
    return _Walk(TextRules(patterns)).run(value, CONTENT)


def redact_document(text: str, patterns: Sequence[re.Pattern[str]] = ()) -> str:
    """Return a store value as the peer writes it (formats.md 1.5): objects and arrays by structure,
    everything else as text."""
    rules = TextRules(patterns)
    found = container_in(text)
    if found is None:
        return rules(text)
    return in_pieces(_Walk(rules).run(found, CONTENT))


class ValueRedactor:
    """What our redacting store writes: everything the peer masks, and more, and still valid.

    JSON inside strings is redacted by structure and stays JSON (W15); malformed secrets go too
    (P18); with a shape, structure stays (W14). Calls may come from any thread.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._rules = TextRules(patterns, strict=True)
        self._known: Recall = {}

    def __call__(
        self, text: str, *, shape: Shape = CONTENT, encoded: bool = False, recall: bool = False
    ) -> str:
        """Return the text to store.

        `encoded`: it is JSON text, scalars included. `recall`: the next such document will repeat
        most texts of this one, as checkpoints do; they are looked up instead of searched again.
        """
        found = try_parse(text) if encoded else None
        value = found[0] if found is not None else container_in(text)
        if value is None:
            return text if found is not None else self._rules(text)
        walk = _Walk(self._rules, nested=True, known=self._known if recall else None)
        masked = walk.run(value, shape)
        if recall:
            self._known = walk.seen
        return in_pieces(masked)

    def part_by_part(self) -> PartMask:
        """Return what masks a document that is written part by part, like `__call__` would."""
        return PartMask(self._rules)


class PartMask:
    """Masks the parts of one document that is saved again and again; used by one thread at a time.

    Texts of the last save and of this one are looked up instead of searched again: what a tool
    said comes as its result, in its record, in the next message and in the output of its task.
    """

    def __init__(self, rules: TextRules) -> None:
        self._rules = rules
        self._known: Recall = {}
        self._seen: Recall = {}

    def __call__(self, value: JsonValue, shape: Shape) -> JsonValue:
        """Return the part masked; nothing of the one given is changed."""
        walk = _Walk(self._rules, nested=True, known=self._known, seen=self._seen, live=True)
        return walk.run(value, shape)

    def turn(self) -> None:
        """A save is complete: forget the texts of the one before it."""
        self._known, self._seen = self._seen, {}


def inside(shape: Shape, *steps: str) -> Shape:
    """Return the shape of a member deep in something; the step `[]` means any item."""
    for step in steps:
        if isinstance(shape, Keep):
            return shape
        if step == "[]":
            shape = shape.shape if isinstance(shape, Each) else CONTENT
        else:
            shape = shape.members.get(step, CONTENT) if isinstance(shape, Named) else CONTENT
    return shape


def container_in(text: str) -> JsonValue:
    """Return the object or array a text is; None for anything else (formats.md 1.5)."""
    found = try_parse(text) if _begins_like_container(text) else None
    return found[0] if found is not None else None


def _begins_like_container(text: str) -> bool:
    begin = js_trim(text[:64])
    return (begin or js_trim(text)).startswith(("{", "["))


def in_pieces(value: JsonValue, levels: int = 3) -> str:
    """Return `stringify(value)`; the upper levels one by one, so that other threads get a turn."""
    if levels and isinstance(value, dict):
        members = (f"{quote(k)}:{in_pieces(v, levels - 1)}" for k, v in js_members(value))
        return "{" + ",".join(members) + "}"
    if levels and isinstance(value, list):
        return "[" + ",".join(in_pieces(item, levels - 1) for item in value) + "]"
    return stringify(value)


class _Walk:
    """One walk over one document. `n_changes` counts what was replaced.

    `live`: the document was not read from text, so halves of a character may not be joined yet.
    """

    def __init__(
        self,
        rules: TextRules,
        *,
        nested: bool = False,
        known: Recall | None = None,
        seen: Recall | None = None,
        live: bool = False,
    ) -> None:
        self._rules = rules
        self._nested = nested
        self._known = known
        self.seen: Recall = {} if seen is None else seen
        self._live = live
        self._todo: list[tuple[JsonValue, JsonValue, Shape]] = []
        self.n_changes = 0

    def run(self, value: JsonValue, shape: Shape) -> JsonValue:
        """Return the value redacted."""
        result = self._value(value, shape)
        while self._todo:
            source, target, shape = self._todo.pop()
            if isinstance(source, dict) and isinstance(target, dict):
                self._members(source, target, shape)
            elif isinstance(source, list | tuple) and isinstance(target, list):
                item_shape = shape.shape if isinstance(shape, Each) else CONTENT
                target.extend(self._value(item, item_shape) for item in source)
        return result

    def _members(self, source: JsonObject, target: JsonObject, shape: Shape) -> None:
        if isinstance(shape, Note):
            shape = _note_shape(source)
        named = shape.members if isinstance(shape, Named) else {}
        for name, value in source.items():
            known = named.get(name)
            if known is not None:
                target[name] = self._value(value, known)
            elif is_sensitive_name(name):
                target[name] = REDACTED
                self.n_changes += value != REDACTED
            else:
                target[name] = self._value(value, CONTENT)

    def _value(self, value: JsonValue, shape: Shape) -> JsonValue:
        """Return a leaf redacted, or a new container that is filled later."""
        if isinstance(shape, Keep):
            return value
        if isinstance(value, str):
            if isinstance(shape, Base64) and _is_base64(value):
                return value
            text = join_halves(value) if self._live else value
            return self._counted(value, self._recalled(text, isinstance(shape, _Encoded)))
        if isinstance(value, dict | list | tuple):
            copy: JsonValue = {} if isinstance(value, dict) else []
            self._todo.append((value, copy, shape))
            return copy
        return value

    def _counted(self, before: str, after: str) -> str:
        if after == before:
            return before
        self.n_changes += 1
        return after

    def _recalled(self, text: str, encoded: bool) -> str:
        if self._known is None or len(text) < _WORTH_RECALLING:
            return self._text(text, encoded=encoded)
        key = (text if len(text) <= _LONG else id(text), encoded)
        found = self._known.get(key) or self.seen.get(key)
        if found is None:
            found = text, self._text(text, encoded=encoded)
        self.seen[key] = found
        return found[1]

    def _text(self, text: str, *, encoded: bool) -> str:
        if not self._nested:
            return self._rules(text)
        if not encoded and not _begins_like_container(text):
            return self._rules(text)
        if "\\u" not in text and not self._rules.may_change(text):
            return text  # nor can anything stand in the strings of such a JSON text
        found = try_parse(text) if encoded else None
        value = found[0] if found is not None else container_in(text)
        if value is None:
            return text if found is not None else self._rules(text)
        inner = _Walk(self._rules, nested=True)
        masked = inner.run(value, CONTENT)
        return in_pieces(masked) if inner.n_changes else text


@dataclass(frozen=True, slots=True)
class _Encoded(Content):
    """JSON text of any kind, scalars included."""


def _is_base64(text: str) -> bool:
    digits = len(text) - (2 if text.endswith("==") else text.endswith("="))
    starts = range(0, digits, _LONG)
    return digits > 0 and all(_BASE64.fullmatch(text, at, min(at + _LONG, digits)) for at in starts)


_NOTE_METADATA: Final = Named({"agent": KEEP, _ENCODED: KEEP})


def _note_shape(note: JsonObject) -> Named:
    metadata = note.get("metadata")
    encoded = isinstance(metadata, dict) and metadata.get(_ENCODED) == "json"
    return Named(
        {
            "key": KEEP,
            "createdAt": KEEP,
            "expiresAtTurn": KEEP,
            "metadata": _NOTE_METADATA,
            "value": _Encoded() if encoded else CONTENT,
        }
    )
