"""The conversation view over many and long messages: the longest turn of the loop (ux.md D2).

Run it with `python -m tests.bench.bench_conversation`.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from oma_desktop.app.loop import StallGuard
from oma_desktop.app.main import make_application
from oma_desktop.model.view import ConversationView as Said
from oma_desktop.model.view import MessageView
from oma_desktop.ui.conversation_view import ConversationView
from oma_desktop.viewmodel.conversation import Conversation
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.selection import Place, Selection
from tests.bench.turns import Turns
from tests.ui import scenes


def said(n: int, text: str) -> Said:
    """Return `n` messages, every third with a tool call."""
    call = scenes.conversation().messages[3]
    plain = MessageView("assistant", 1, (scenes.block("text", text),))
    messages = tuple(call if i % 3 == 2 else plain for i in range(n))
    return Said("t10", "writer", messages, "in_flight")


def open_conversation(view: Said, turns: Turns) -> ConversationView:
    """Show a conversation, turn the loop until it is written, let one message arrive, resize."""
    feed, selection = Feed(), Selection()
    feed.put(scenes.main_store())
    model = Conversation(feed, scenes.Recorder(), selection)
    page = ConversationView(model, selection)
    page.kept = feed, selection, model  # type: ignore[attr-defined]
    page.resize(800, 600)
    page.show()
    selection.select(Place(scenes.MAIN, "t10"))
    turns.some(40, "empty")
    turns.do("load", lambda: feed.conversation_loaded.emit((scenes.MAIN, view)))
    turns.until(lambda: page.is_written, "write")
    more = Said("t10", "writer", (*view.messages, view.messages[0]), "in_flight")
    turns.do("one more", lambda: feed.conversation_loaded.emit((scenes.MAIN, more)))
    turns.some(2, "one more")
    turns.until(lambda: page.is_written, "one more")
    turns.do("resize", lambda: page.resize(700, 600))
    turns.some(2, "resized")
    turns.until(lambda: page.is_written, "write again")
    return page


def main() -> None:
    """Measure and print."""
    app = make_application()
    app.setQuitOnLastWindowClosed(False)
    cases = {
        "4 messages": scenes.conversation(),
        "500 messages": said(500, "hello there " * 60),
        "10,000 messages": said(10_000, "hello there " * 60),
        "500 Chinese": said(500, "港口延误周报，" * 100),
        "64 KB of text": said(1, "hello there\n" * 5_400),
    }
    for name, view in cases.items():
        turns = Turns(StallGuard(wall_s=0.05, cpu_s=0.05))
        begun = time.perf_counter()
        page = open_conversation(view, turns)
        took = time.perf_counter() - begun
        print(
            f"{name}: {turns.n} turns in {took:.2f} s, longest {turns.worst_cpu_s * 1e3:.0f} ms CPU"
            f" ({turns.worst_what}), {turns.guard.worst_wall_s * 1e3:.0f} ms wall"
        )
        page.close()
        page.deleteLater()


if __name__ == "__main__":
    main()
