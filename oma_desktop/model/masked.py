"""Values that were masked before they reached the disk (formats.md 1.5; issue 3, point 4).

`[redacted]` is no value: nobody can tell any more what stood there. A saved call that holds it must
not act with it by itself. It may have been written by a model, too; that cannot be told apart, so
it counts as masked.
"""

from __future__ import annotations

from oma_desktop.model.json_value import JsonValue
from oma_desktop.model.redaction import REDACTED


def is_masked(value: JsonValue) -> bool:
    """Whether the mask stands anywhere in a value, names of members and parts of text included."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            if REDACTED in item:
                return True
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            todo += item.values()
            if any(REDACTED in name for name in item):
                return True
    return False
