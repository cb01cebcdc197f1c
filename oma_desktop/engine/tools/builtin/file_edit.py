"""file_edit: one text for another, taken literally (engine.md 9.2, DEV-25)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oma_desktop.engine.tools.builtin.anchored import opened
from oma_desktop.engine.tools.builtin.file_read import file_name
from oma_desktop.engine.tools.builtin.refusal import Refusal, quoted
from oma_desktop.engine.tools.builtin.text_file import MAX_BYTES, decode
from oma_desktop.engine.tools.builtin.workspace import Workspace


def edit_file(
    workspace: Workspace, path: str, old: str, new: str, *, replace_all: bool = False
) -> str:
    """Replace `old` by `new`. Encoding, mark, line ends and permissions stay as they are.

    Blocking. Raises Refusal TEXT_NOT_FOUND, TEXT_AMBIGUOUS and what reading and writing say; the
    old file is then intact.
    """
    place = workspace.place(path)
    workspace.guard.check(place)
    name = file_name(place)
    with opened(place, place.steps[:-1]) as folder:
        data, seen = folder.read(name, limit=MAX_BYTES)
        found = decode(data, name=name)
        if not found.exact:
            raise Refusal("NOT_TEXT", f"{quoted(path)} holds bytes that are not text.")
        text, n_places = replaced(found.text, old, new, replace_all=replace_all, path=path)
        folder.replace(name, found.encode(text), expect=seen)
    places = "1 place" if n_places == 1 else f"{n_places} places"
    return f"Edited {quoted(path)} in {places}."


def replaced(
    text: str, old: str, new: str, *, replace_all: bool, path: str = ""
) -> tuple[str, int]:
    """Return the text with `old` replaced and the number of places.

    In a text with CRLF a line end of `old` fits both kinds, and what goes in takes the kind of the
    text: models write LF. Without `replace_all` there must be exactly one place, overlapping ones
    counted.
    """
    pattern = _pattern(text, old) if old else None
    places = [] if pattern is None else list(_places(pattern, text, all_=replace_all))
    if not places:
        raise Refusal("TEXT_NOT_FOUND", f"The text to replace does not occur in {quoted(path)}.")
    if len(places) > 1 and not replace_all:
        why = f"The text to replace occurs more than once in {quoted(path)}; give more of it."
        raise Refusal("TEXT_AMBIGUOUS", why)
    if text.count("\r\n") and text.count("\r\n") == text.count("\n"):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    pieces, at = [], 0
    for start, end in places:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]]), len(places)


def _pattern(text: str, old: str) -> re.Pattern[str]:
    if "\r\n" not in text:
        return re.compile(re.escape(old))
    return re.compile("\r?\n".join(map(re.escape, old.replace("\r\n", "\n").split("\n"))))


def _places(pattern: re.Pattern[str], text: str, *, all_: bool) -> Iterator[tuple[int, int]]:
    """Yield every place from the left; else the first and, to know of it, one that overlaps it."""
    match = pattern.search(text)
    while match is not None:
        yield match.span()
        start, end = match.span()
        if not all_:
            again = pattern.search(text, start + (2 if text.startswith("\r\n", start) else 1))
            if again is not None:
                yield again.span()
            return
        match = pattern.search(text, end)
