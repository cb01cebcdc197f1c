"""What a docstring says of a function and of its parameters, for a model to read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

_SECTION: Final = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?):\s*$"
)
_ARGUMENTS: Final = frozenset({"Args", "Arguments", "Parameters"})
_ENTRY: Final = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_FIELD: Final = re.compile(r":param\s+(?:[\w.\[\], |]+\s+)?(\w+):\s*(.*)$")


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description, and what is said of each parameter.

    Understood are an `Args:` section and `:param name:` lines; the description is all before them.
    """
    lines = (inspect.getdoc(function) or "").splitlines()
    told: dict[str, str] = {}
    first = len(lines)
    inside = False
    name: str | None = None
    indent = -1
    for number, line in enumerate(lines):
        text = line.strip()
        section = _SECTION.match(text) if line == text else None
        field = _FIELD.match(text)
        if section is not None or (field is not None) or text.startswith((":return", ":raise")):
            first = min(first, number)
            inside = section is not None and section.group(1) in _ARGUMENTS
            name, indent = None, -1
            if field is not None:
                name = field.group(1)
                told[name] = field.group(2)
            continue
        if not text:
            name = name if inside else None
            continue
        depth = len(line) - len(line.lstrip())
        entry = _ENTRY.match(text) if inside and depth > 0 else None
        if entry is not None and (indent < 0 or depth <= indent):
            indent, name = depth, entry.group(1)
            told[name] = entry.group(2)
        elif name is not None:
            told[name] = f"{told[name]} {text}".strip()
    return "\n".join(lines[:first]).strip(), told
