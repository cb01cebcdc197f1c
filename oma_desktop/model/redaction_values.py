"""Redacting JSON by its structure (formats.md 1.5.2), and stores' values (1.5, 8 W14, W15, P18).

Walks without recursion and changes the value in place; callers own what they hand over. What is
structure and what is content in a document is said by a `Shape`: structure is left alone, so that
a redacted checkpoint can still be restored.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from oma_desktop.model.json_text import js_trim, stringify, try_parse
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.json_writer import js_members, quote
from oma_desktop.model.redaction import REDACTED, TextRules, is_sensitive_name

_BASE64: Final = re.compile(r"[A-Za-z0-9+/]++={0,2}+\Z")
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

Recall: TypeAlias = dict[tuple[str, bool], str]
"""Texts of one document, whether they are JSON, and what became of them."""

_WORTH_RECALLING: Final = 64
KEEP: Final = Keep()
CONTENT: Final = Content()


def redact_object(value: JsonValue, patterns: Sequence[re.Pattern[str]] = ()) -> JsonValue:
    """Return a redacted copy, as the peer (formats.md 1.5.2); `__proto__` is kept (exception)."""
    holder = [copy.deepcopy(value)]
    _Walk(TextRules(patterns)).run(holder, CONTENT)
    return holder[0]


def redact_document(text: str, patterns: Sequence[re.Pattern[str]] = ()) -> str:
    """Return a store value as the peer writes it (formats.md 1.5): objects and arrays by structure,
    everything else as text."""
    rules = TextRules(patterns)
    found = container_in(text)
    if found is None:
        return rules(text)
    _Walk(rules).run([found], CONTENT)
    return in_pieces(found)


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
        holder: list[JsonValue] = [value]
        walk = _Walk(self._rules, nested=True, known=self._known if recall else None)
        walk.run(holder, shape)
        if recall:
            self._known = walk.seen
        return in_pieces(holder[0])


def container_in(text: str) -> JsonValue:
    """Return the object or array a text is; None for anything else (formats.md 1.5)."""
    if not js_trim(text[:64]).startswith(("{", "[")) and not (
        text[:1].isspace() and js_trim(text).startswith(("{", "["))
    ):
        return None
    found = try_parse(text)
    return found[0] if found is not None else None


def in_pieces(value: JsonValue, levels: int = 3) -> str:
    """Return `stringify(value)`; the upper levels one by one, so that other threads get a turn."""
    if levels and isinstance(value, dict):
        members = (f"{quote(k)}:{in_pieces(v, levels - 1)}" for k, v in js_members(value))
        return "{" + ",".join(members) + "}"
    if levels and isinstance(value, list):
        return "[" + ",".join(in_pieces(item, levels - 1) for item in value) + "]"
    return stringify(value)


class _Walk:
    """One walk over one document. `n_changes` counts what was replaced."""

    def __init__(
        self, rules: Callable[[str], str], *, nested: bool = False, known: Recall | None = None
    ) -> None:
        self._rules = rules
        self._nested = nested
        self._known = known
        self.seen: Recall = {}
        self._todo: list[tuple[JsonValue, Shape]] = []
        self.n_changes = 0

    def run(self, holder: list[JsonValue], shape: Shape) -> None:
        """Redact the one value in `holder`, in place."""
        holder[0] = self._value(holder[0], shape)
        while self._todo:
            container, shape = self._todo.pop()
            if isinstance(container, dict):
                self._members(container, shape)
            elif isinstance(container, list):
                item_shape = shape.shape if isinstance(shape, Each) else CONTENT
                for index, item in enumerate(container):
                    container[index] = self._value(item, item_shape)

    def _members(self, members: JsonObject, shape: Shape) -> None:
        if isinstance(shape, Note):
            shape = _note_shape(members)
        named = shape.members if isinstance(shape, Named) else {}
        for name, value in members.items():
            known = named.get(name)
            if known is not None:
                members[name] = self._value(value, known)
            elif is_sensitive_name(name):
                members[name] = REDACTED
                self.n_changes += value != REDACTED
            else:
                members[name] = self._value(value, CONTENT)

    def _value(self, value: JsonValue, shape: Shape) -> JsonValue:
        """Return a leaf redacted; containers are put on the list and returned as they are."""
        if isinstance(shape, Keep):
            return value
        if isinstance(value, str):
            if isinstance(shape, Base64) and _BASE64.match(value):
                return value
            return self._counted(value, self._recalled(value, isinstance(shape, _Encoded)))
        if isinstance(value, dict | list):
            self._todo.append((value, shape))
        return value

    def _counted(self, before: str, after: str) -> str:
        if after == before:
            return before
        self.n_changes += 1
        return after

    def _recalled(self, text: str, encoded: bool) -> str:
        if self._known is None or len(text) < _WORTH_RECALLING:
            return self._text(text, encoded=encoded)
        key = (text, encoded)
        masked = self._known.get(key)
        if masked is None:
            masked = self.seen.get(key)
        if masked is None:
            masked = self._text(text, encoded=encoded)
        self.seen[key] = masked
        return masked

    def _text(self, text: str, *, encoded: bool) -> str:
        if not self._nested:
            return self._rules(text)
        found = try_parse(text) if encoded else None
        value = found[0] if found is not None else container_in(text)
        if value is None:
            return text if found is not None else self._rules(text)
        holder: list[JsonValue] = [value]
        inner = _Walk(self._rules, nested=True)
        inner.run(holder, CONTENT)
        return in_pieces(holder[0]) if inner.n_changes else text


@dataclass(frozen=True, slots=True)
class _Encoded(Content):
    """JSON text of any kind, scalars included."""


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
