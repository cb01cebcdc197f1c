"""Functions of a run file, called where they can neither hold nor end the program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from oma_desktop.base.lanes import Lanes


class TriedToEnd(RuntimeError):
    """A function wanted the whole program to end."""


def contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for a thread of its own: whatever it raises is an `Exception`.

    An interrupt, an exit, a cancelled loop or a panic of native code is meant for whoever runs the
    thread, and that is us; on our loop it would end the run.
    """

    def call(*positional: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        try:
            return function(*positional, **named)
        except (SystemExit, KeyboardInterrupt) as error:
            raise TriedToEnd(f"it tried to end the program ({type(error).__name__})") from error
        except BaseException as error:
            if isinstance(error, Exception):
                raise
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return call


def aside(function: Callable[..., Any], lanes: Lanes) -> Callable[..., Any]:
    """Return the function as one to await: blocking ones run in a thread, as tools do."""
    is_async = inspect.iscoroutinefunction(function)
    apart = contained(function)

    async def call(*positional: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it takes
        try:
            if is_async:
                return await function(*positional, **named)
            answer = await lanes.aside(apart, *positional, **named)
            return await answer if inspect.isawaitable(answer) else answer
        except SystemExit as error:
            raise TriedToEnd("it tried to end the program (SystemExit)") from error

    return call
