"""Where in a value stands what JSON cannot express."""

from __future__ import annotations

import math
from typing import Final

_DEPTH: Final = 1000


def not_json_at(value: object) -> tuple[str, str] | None:
    """Return (path, what stands there) of the first member JSON cannot express, or None.

    Paths look like `$.a[0]`. Accepted: text, finite numbers, booleans, None, lists and objects with
    text keys that do not contain themselves, at most 1,000 deep.
    """
    stack: list[tuple[str, object, frozenset[int]]] = [("$", value, frozenset())]
    while stack:
        path, item, above = stack.pop()
        problem = _problem(item, above)
        if problem is not None:
            return path, problem
        inside = above | {id(item)}
        if isinstance(item, dict):
            stack += [(f"{path}.{k}", v, inside) for k, v in reversed(list(item.items()))]
        elif isinstance(item, list):
            stack += [(f"{path}[{i}]", item[i], inside) for i in range(len(item) - 1, -1, -1)]
    return None


def _problem(item: object, above: frozenset[int]) -> str | None:
    if item is None or isinstance(item, str | bool | int):
        return None
    if isinstance(item, float):
        return None if math.isfinite(item) else "non_finite"
    if not isinstance(item, dict | list):
        return type(item).__name__
    if id(item) in above or len(above) >= _DEPTH:
        return "cycle"
    if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
        return "key"
    return None
