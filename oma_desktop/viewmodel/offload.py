"""How a view hands computing away without knowing lanes, and when it need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from oma_desktop.model.json_value import JsonValue

T = TypeVar("T")

SMALL: Final = 6_000
"""Up to about so many characters a value is drawn in a few milliseconds."""
_NODE: Final = 30


class Offload(Protocol):
    """Runs `work` on a lane and calls `done` with its result on the loop."""

    def __call__(self, work: Callable[[], T], done: Callable[[T], None], /) -> None: ...


def at_once(work: Callable[[], T], done: Callable[[T], None], /) -> None:
    """Do it here and now."""
    done(work())


def is_small(*values: JsonValue, limit: int = SMALL) -> bool:
    """Say whether values are small, looking at no more than a small part of big ones."""
    left, rest = limit, list(values)
    while rest and left > 0:
        value = rest.pop()
        left -= _NODE
        if isinstance(value, str):
            left -= len(value)
        elif isinstance(value, list):
            left -= _NODE * len(value)
            rest.extend(value[: limit // _NODE])
        elif isinstance(value, dict):
            left -= _NODE * len(value)
            rest.extend([*value.keys(), *value.values()] if len(value) < limit // _NODE else [])
    return left > 0
