"""A hand-written document, JSON or YAML 1.2, as plain JSON values that know their lines.

YAML is read by the core schema of version 1.2: `yes`, `no`, `on`, dates and `12:30` are text,
repeated keys are errors, tags and other means to make objects are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_text import parse_with_bom
from oma_desktop.model.json_value import JsonScalar, JsonValue

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 100

Path = tuple[str | int, ...]

_NAN: Final = re.compile(r"[-+]?\.(?:nan|NaN|NAN|inf|Inf|INF)")
_STR: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"
_INT: Final = "tag:yaml.org,2002:int"
_FLOAT: Final = "tag:yaml.org,2002:float"
_CONTAINERS: Final = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(frozen=True, slots=True)
class Document:
    """The value, and where known the line (from 1) on which each place begins.

    `lines` is asked only when there is a problem to place: for JSON that is a second, slow reading.
    """

    value: JsonValue
    name: str
    lines: Callable[[], Mapping[Path, int]] = dict

    def place(self, path: Path) -> str:
        """Return `name:line $.path`; the line of the nearest known ancestor."""
        line, lines = None, self.lines()
        for end in range(len(path), -1, -1):
            line = lines.get(path[:end])
            if line is not None:
                break
        return f"{self.name}{f':{line}' if line else ''} {json_path(path)}"


def json_path(path: Path) -> str:
    """Return `$.team.agents[0]`; keys that are no plain words are quoted."""
    parts = ["$"]
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", part):
            parts.append(f".{part}")
        else:
            quoted = part.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{quoted}"]')
    return "".join(parts)


class _CoreLoader(yaml.SafeLoader):
    """SafeLoader with the implicit types of the YAML 1.2 core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    (_NULL, r"(?:~|null|Null|NULL|)", ["~", "n", "N", ""]),
    (_BOOL, r"(?:true|True|TRUE|false|False|FALSE)", list("tTfF")),
    (_INT, r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)", list("-+0123456789")),
    (
        _FLOAT,
        (
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
        ),
        list("-+.0123456789"),
    ),
):
    _CoreLoader.add_implicit_resolver(_tag, re.compile(f"{_pattern}$"), _first)


def read_document(data: bytes, *, name: str) -> Document:
    """Return the document in `data`; `name` decides by its suffix, else the first character.

    Raises InvalidInput: DOCUMENT_TOO_LARGE, DOCUMENT_NOT_TEXT, YAML_*; Corrupt `JSON_*` for JSON.
    """
    if len(data) > MAX_BYTES:
        raise InvalidInput("DOCUMENT_TOO_LARGE", place=name, limit=MAX_BYTES)
    if is_yaml(data, name=name):
        return _read_yaml(data, name)
    value, _bom = parse_with_bom(data, where="$", max_depth=MAX_DEPTH)
    return Document(value, name, cache(partial(_lines_of_json, data)))


def is_yaml(data: bytes, *, name: str) -> bool:
    """Say whether the bytes are to be read as YAML."""
    suffix = name.lower().rpartition(".")[2]
    if suffix in {"yaml", "yml", "json"}:
        return suffix != "json"
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start not in {b"{", b"[", b""}


def _read_yaml(data: bytes, name: str) -> Document:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("DOCUMENT_NOT_TEXT", place=name) from None
    reader = _YamlReader(name)
    try:
        value = reader.read(yaml.compose(text, Loader=_CoreLoader))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise InvalidInput("YAML_INVALID", place=place, problem=problem.problem or "") from None
    except yaml.YAMLError:
        raise InvalidInput("DOCUMENT_NOT_TEXT", place=name) from None
    except RecursionError:
        raise InvalidInput("DOCUMENT_TOO_DEEP", place=name, limit=MAX_DEPTH) from None
    return Document(value, name, lambda: reader.lines)


def _lines_of_json(data: bytes) -> dict[Path, int]:
    """Return the lines of valid JSON, which YAML can nearly always read too; else none."""
    reader = _YamlReader("")
    with suppress(yaml.YAMLError, InvalidInput, RecursionError, UnicodeError):
        reader.read(yaml.compose(data.decode("utf-8-sig"), Loader=_CoreLoader))
    return reader.lines


class _YamlReader:
    """Turns nodes into values; counts what aliases expand to, so that none can explode."""

    def __init__(self, name: str) -> None:
        self.lines: dict[Path, int] = {}
        self._name = name
        self._n_nodes = 0

    def read(self, node: Node | None, path: Path = ()) -> JsonValue:
        if node is None:
            return None
        self._n_nodes += 1
        self.lines.setdefault(path, node.start_mark.line + 1)
        if self._n_nodes > MAX_NODES:
            raise InvalidInput("DOCUMENT_TOO_LARGE", place=self._place(node), limit=MAX_NODES)
        if len(path) > MAX_DEPTH:
            raise InvalidInput("DOCUMENT_TOO_DEEP", place=self._place(node), limit=MAX_DEPTH)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag not in _CONTAINERS:
            raise InvalidInput("YAML_TAG", place=self._place(node), tag=node.tag)
        if isinstance(node, SequenceNode):
            return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
        assert isinstance(node, MappingNode)
        return self._mapping(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, JsonValue]:
        members: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode) or key_node.tag != _STR:
                raise InvalidInput("YAML_KEY_NOT_TEXT", place=self._place(key_node))
            key = str(key_node.value)
            if key in members:
                raise InvalidInput("YAML_KEY_TWICE", place=self._place(key_node), key=key)
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            members[key] = self.read(value_node, (*path, key))
        return members

    def _scalar(self, node: ScalarNode) -> JsonScalar:
        text = str(node.value)
        try:
            if node.tag == _STR:
                return text
            if node.tag == _NULL:
                return None
            if node.tag == _BOOL:
                return {"true": True, "false": False}[text.lower()]
            if node.tag == _INT:
                return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
            if node.tag == _FLOAT and math.isfinite(number := float(_NAN.sub("nan", text))):
                return number
        except (ValueError, KeyError):
            raise InvalidInput(
                "YAML_INVALID", place=self._place(node), problem=f"{text[:40]!r}"
            ) from None
        if node.tag == _FLOAT:
            raise InvalidInput("YAML_NOT_FINITE", place=self._place(node), found=text[:40])
        raise InvalidInput("YAML_TAG", place=self._place(node), tag=node.tag)

    def _place(self, node: Node) -> str:
        return f"{self._name}:{node.start_mark.line + 1}"
