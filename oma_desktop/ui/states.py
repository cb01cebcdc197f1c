"""From a state to the names of its shape and colours (look.md 2 and 5). Holds no colours.

A state value of `model.view` is the name of its shape; each shape borrows the colour of one of the
nine task states, so that no view ever chooses a colour for a state.
"""

from __future__ import annotations

from typing import Final

# shape name -> task state whose colour it uses (sheet i1)
_FAMILY: Final[dict[str, str]] = {
    "waiting": "waiting",
    "blocked": "blocked",
    "running": "running",
    "needsyou": "needsyou",
    "done": "done",
    "failed": "failed",
    "replaced": "replaced",
    "skipped": "skipped",
    "unknown": "unknown",
    "suspending": "running",
    "suspended": "waiting",
    "rejected": "failed",
    "cancelled": "waiting",
    "timeout": "failed",
    "budget": "failed",
    "interrupted": "unknown",
    "saved": "done",
    "savederror": "failed",
    "savedjournal": "done",
    "torun": "waiting",
    "callrunning": "running",
    "outcome": "unknown",
    "approved": "done",
    "denied": "failed",
}

SHAPES: Final = tuple(_FAMILY)


def shape_role(name: str) -> str:
    """Return the colour role of a shape or of a strip segment."""
    return f"state.{_FAMILY[name]}"


def text_role(name: str) -> str:
    """Return the colour role of the word of a state."""
    return f"state.{_FAMILY[name]}.text"


def tint_role(name: str) -> str:
    """Return the colour role of the area of a state."""
    return f"state.{_FAMILY[name]}.tint"


def edge_role(name: str) -> str:
    """Return the colour role of the outline of an area in this state."""
    family = _FAMILY[name]
    return "state.needsyou.edge" if family == "needsyou" else f"state.{family}"
