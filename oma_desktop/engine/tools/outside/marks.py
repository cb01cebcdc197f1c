"""What a tool author says of a function, kept on the function itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload

from oma_desktop.model.view import Effect

EffectName: TypeAlias = Literal["read_only", "repeatable", "consequential", "unknown"]
F = TypeVar("F", bound=Callable[..., Any])
_MARK: Final = "__oma_tool__"


@dataclass(frozen=True, slots=True)
class ToolMark:
    """Facts of a decorated function; the run file has the last word on each."""

    effect: Effect = Effect.UNKNOWN
    consequential: bool | None = None


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    effect: EffectName = ...,
    consequential: bool | None = ...,
) -> Callable[[F], F]: ...


def tool(
    function: F | None = None,
    /,
    *,
    effect: EffectName = "unknown",
    consequential: bool | None = None,
) -> F | Callable[[F], F]:
    """Mark a function as a tool and say what it does to the world.

    `effect` tells people what a second run would mean (`read_only`, `repeatable`, `consequential`);
    `consequential` makes every call ask a person first, by default where the effect says so. The
    function itself is not changed.
    """
    mark = ToolMark(Effect(effect), consequential)

    def put(marked: F) -> F:
        setattr(marked, _MARK, mark)
        return marked

    return put if function is None else put(function)


def mark_of(function: object) -> ToolMark:
    """Return what the author said, or that nothing was said."""
    mark = getattr(function, _MARK, None)
    return mark if isinstance(mark, ToolMark) else ToolMark()
