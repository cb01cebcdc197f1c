"""What tools do to the world, as far as it is known (ux.md C5, C8; engine.md 9.2).

Three sources, the strongest first: a request that says `consequential`, what the caller knows from
the run file, and the built-in tools. Everything else is "not declared", never "harmless".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.lenient import object_at, text_at
from oma_desktop.model.view import Effect

BUILT_IN_EFFECTS: Final[Mapping[str, Effect]] = {
    "file_read": Effect.READ_ONLY,
    "glob": Effect.READ_ONLY,
    "grep": Effect.READ_ONLY,
    "file_write": Effect.CONSEQUENTIAL,
    "file_edit": Effect.CONSEQUENTIAL,
    "bash": Effect.CONSEQUENTIAL,
}


def effect_of_content(content: JsonObject) -> Effect:
    """Return the effect of the call a tool request asks about (formats.md 3.2)."""
    if content.get("consequential") is True:
        return Effect.CONSEQUENTIAL
    return BUILT_IN_EFFECTS.get(text_at(content, "toolName"), Effect.UNKNOWN)


def known_effects(
    requests: Iterable[JsonObject], declared: Mapping[str, Effect] | None = None
) -> dict[str, Effect]:
    """Return the effect by tool name, from approval requests and what the run file declares.

    A tool once asked about as consequential stays so for the whole run: a declaration can raise
    the alarm but not silence it.
    """
    effects = {**BUILT_IN_EFFECTS, **(declared or {})}
    for request in requests:
        content = object_at(request, "content")
        if content.get("consequential") is True:
            effects[text_at(content, "toolName")] = Effect.CONSEQUENTIAL
    return effects
