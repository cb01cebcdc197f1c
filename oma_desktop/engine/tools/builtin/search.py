"""The search behind grep; runs in a process of its own, because a pattern can take for ever.

Python's matching holds the interpreter: in a thread one bad pattern would stop window and engine.
A process is killed. This module imports little, it is loaded at every search.
"""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from oma_desktop.engine.tools.builtin.anchored import opened
from oma_desktop.engine.tools.builtin.glob import MAX_CHARS, relative
from oma_desktop.engine.tools.builtin.glob_pattern import GlobPattern
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted
from oma_desktop.engine.tools.builtin.text_file import MAX_BYTES, decode, lines_of
from oma_desktop.engine.tools.builtin.walk import Walk, is_file
from oma_desktop.engine.tools.builtin.workspace import Place, Workspace

MAX_RESULTS: Final = 100
MAX_LINE: Final = 500
"""Characters shown of one line, around the place that fits."""


class Pipe(Protocol):
    """What the answer goes through."""

    def send(self, answer: tuple[str, str], /) -> None:
        """Send `(text, "")` or `(text, code of the refusal)`."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for. `glob` limits the names; `path` None is the workspace."""

    workspace: Workspace
    pattern: str
    path: str | None = None
    glob: str | None = None
    max_results: int = MAX_RESULTS

    def run(self) -> str:
        """Return `file:line:text` for the first places, sorted; the limit is for all files together
        (DEV-26). Blocking. Raises Refusal.
        """
        wanted = compiled(self.pattern)
        place = self.workspace.place(self.path or str(self.workspace.root))
        walk = Walk(place)
        files = iter([place.steps]) if is_file(place) else self._named(place, walk)
        lines: list[str] = []
        room, skipped = MAX_CHARS, 0
        for steps in files:
            text = _text(place, steps)
            if text is None:
                skipped += 1
                continue
            name = relative(self.workspace, place, steps)
            for found in _matches(wanted, text):
                room -= len(name) + len(found) + 2
                if len(lines) == self.max_results or room < 0:
                    note = f"(Only the first {len(lines)} lines are listed; there are more.)"
                    return "\n".join([*lines, note])
                lines.append(f"{name}:{found}")
        if not lines:
            lines.append(f"No line fits {quoted(self.pattern)}.")
        if skipped:
            lines.append(f"({skipped} files are binary, too large or unreadable.)")
        return "\n".join([*lines, *walk.notes])

    def _named(self, place: Place, walk: Walk) -> Iterator[tuple[str, ...]]:
        named = GlobPattern(self.glob) if self.glob else None
        for steps in walk.files():
            if named is None or named.fits(steps[len(place.steps) :]):
                yield steps


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the expression. Raises Refusal PATTERN_INVALID."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        why = f"{quoted(pattern)} is not a regular expression: {error}."
        raise Refusal("PATTERN_INVALID", why) from error


def _text(place: Place, steps: tuple[str, ...]) -> str | None:
    try:
        with opened(place, steps[:-1]) as folder:
            data, _ = folder.read(steps[-1], limit=MAX_BYTES)
        return decode(data, name=steps[-1]).text
    except Refusal:
        return None


def _matches(wanted: re.Pattern[str], text: str) -> Iterator[str]:
    for number, line in enumerate(lines_of(text), 1):
        match = wanted.search(line)
        if match is not None:
            yield f"{number}:{_around(line, match.start())}"


def _around(line: str, at: int) -> str:
    if len(line) <= MAX_LINE:
        return line
    start = max(0, min(at - MAX_LINE // 4, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def serve(search: Search, pipe: Pipe, limit_s: int) -> None:
    """The process: search, answer, end. Ends by itself at the limit, should nobody be left to."""
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.alarm(limit_s)
    try:
        pipe.send((search.run(), ""))
    except Refusal as refusal:
        pipe.send((refusal.text, refusal.code))
