"""What a function that runs on a thread of its own may do to the run (engine.md 1.2)."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import replace

from oma_desktop.engine.tools.race import guarded_call
from oma_desktop.engine.tools.registry import SendMessage, ToolContext


def from_aside(context: ToolContext) -> ToolContext:
    """Return the context for a function that does not run on the loop; called on the loop.

    Messages of a team live there, with all who listen to them: sending waits until the loop did it.
    """
    if context.send_message is None:
        return context
    return replace(context, send_message=_on_the_loop(context.send_message))


def _on_the_loop(send: SendMessage) -> SendMessage:
    loop = asyncio.get_running_loop()

    def handed_over(to: str, content: str) -> object:
        done: Future[object] = Future()

        def deliver() -> None:
            outcome = guarded_call(lambda message: send(*message), (to, content))
            if outcome.error is not None:
                done.set_exception(outcome.error)
            else:
                done.set_result(outcome.value)

        loop.call_soon_threadsafe(deliver)
        return done.result()

    return handed_over
