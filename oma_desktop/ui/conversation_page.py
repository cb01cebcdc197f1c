"""Writes a conversation into a QTextDocument: plain text only, cards as frames (look.md 7).

Everything from a file goes through `insertText`, so no markup of a file is ever interpreted; links
and pictures are ours alone: `call:<n>` and `more:<n>` number what was written, and shapes are added
as resources by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextImageFormat,
    QTextOption,
)

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import CallState
from oma_desktop.ui import icons, states, words
from oma_desktop.ui.fonts import FontUse, italic
from oma_desktop.ui.numbers import size_text
from oma_desktop.ui.slices import SLICE
from oma_desktop.ui.theme import Theme
from oma_desktop.viewmodel.conversation import Draft, Entry, Part

INDENT: Final = 36
_PARAGRAPH: Final = 4096
_HEAD: Final = 200
_CALL: Final = 500
# Marks the hairline between messages: an empty paragraph that must stay; the reader draws it
LINE: Final = int(QTextFormat.Property.UserProperty) + 1
# Marks the frame of a tool call: its box is drawn by the reader, documents know no round corners
CARD: Final = int(QTextFormat.Property.UserProperty) + 2


@dataclass(slots=True)
class Page:
    """Writes at the end of `document`; `calls` are the link targets in order of writing.

    `written` are the messages that stand there whole, `starts` where each begins and how many calls
    stood before it.
    """

    document: QTextDocument
    look: Theme
    width: int
    ratio: float
    calls: list[str] = field(default_factory=list)
    written: list[Entry] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def writing(self, entries: Iterable[Entry], *, agent: str) -> Iterator[int]:
        """Write messages one after the other; yields what each step costs (see `slices`)."""
        for entry in entries:
            cursor = QTextCursor(self.document)
            cursor.movePosition(QTextCursor.MoveOperation.End)
            self.starts.append((cursor.position(), len(self.calls)))
            cursor.beginEditBlock()
            if self.written:
                self._write_line(cursor)
            self._write_entry_head(cursor, entry, agent=agent)
            cost = _HEAD
            for part in entry.parts:
                for spent in self._write_part(cursor, part, entry):
                    cost += spent
                    if cost > SLICE // 4:
                        cursor.endEditBlock()
                        yield cost
                        cursor.beginEditBlock()
                        cost = 0
            cursor.endEditBlock()
            self.written.append(entry)
            yield cost

    def take_back(self, n_kept: int) -> None:
        """Remove all messages but the first `n_kept`."""
        if n_kept < len(self.starts):
            position, n_calls = self.starts[n_kept]
            cursor = QTextCursor(self.document)
            cursor.setPosition(position)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            del self.calls[n_calls:], self.starts[n_kept:], self.written[n_kept:]

    def write_earlier(self, n: int) -> None:
        """Write the way to messages before the first one, at the very beginning."""
        cursor = QTextCursor(self.document)
        self._new_block(cursor, self._block(indent=12, top=4, bottom=4))
        text = ntr("show {n} earlier message", "show {n} earlier messages", n)
        cursor.insertText(text, self._link(f"earlier:{n}", "secondary"))

    def write_draft(self, draft: Draft, *, agent: str) -> None:
        """Write text that is in no file yet: italic, on the window ground, and said so.

        `agent` is whose conversation this is; who else speaks in it is set in one step further.
        """
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        frame = QTextFrameFormat()
        frame.setBackground(self.look.color("window"))
        frame.setTopMargin(self.look.px(6))
        frame.setPadding(0)
        inset = 0
        if draft.agent is not None:
            inset = self.look.px(INDENT + 12)
            frame.setLeftMargin(self.look.px(INDENT))
            frame.setRightMargin(self.look.px(12))
        self._thin(cursor, QTextBlockFormat(), 1)
        cursor.insertFrame(frame)
        who, note = _draft_head(draft, agent)
        self._write_head(cursor, "model", who, "", note, inset=inset)
        font = italic(self.look.font("body"))
        block = self._block(indent=INDENT)
        chars = self._chars_of(font, "text")
        for _ in self._write_text(cursor, draft.text, block, chars, stay=True):
            pass
        cursor.insertBlock(QTextBlockFormat())
        cursor.setBlockCharFormat(self._chars("caption", "text"))

    # -- messages ---------------------------------------------------------------------------

    def _write_entry_head(self, cursor: QTextCursor, entry: Entry, *, agent: str) -> None:
        speaker, icon = _speaker(entry, agent)
        turn = tr("turn {n}", n=entry.turn) if entry.role == "assistant" and entry.turn else ""
        note = "" if entry.saved else tr("not saved yet")
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._write_head(cursor, icon, speaker, turn, note)

    def _write_head(
        self, cursor: QTextCursor, icon: str, who: str, turn: str, note: str, *, inset: int = 0
    ) -> None:
        block = self._block(indent=12, top=10, bottom=4)
        end = self.width - inset - self.look.px(24)
        tab = QTextOption.Tab(end, QTextOption.TabType.RightTab)
        block.setTabPositions([tab])
        self._new_block(cursor, block, stay=True)
        self._picture(cursor, icon, is_state=False)
        cursor.insertText("  " + who, self._chars("strong", "text"))
        if turn:
            cursor.insertText("  " + turn, self._chars("caption", "text.muted"))
        if note:
            cursor.insertText("\t" + note, self._chars("caption", "text.muted"))

    def _write_part(self, cursor: QTextCursor, part: Part, entry: Entry) -> Iterator[int]:
        if part.kind == "tool_use":
            self._write_call(cursor, part)
            yield _CALL
        elif part.kind == "media":
            self._write_media(cursor, part)
            yield _HEAD
        else:
            yield from self._write_words(cursor, part)
            self._write_more(cursor, part, entry)

    def _write_words(self, cursor: QTextCursor, part: Part) -> Iterator[int]:
        chars = self._chars("body", "text" if part.kind == "text" else "text.muted")
        if part.kind == "tool_result":
            chars = self._chars("mono", "state.failed.text" if part.is_error else "text.2")
        block = self._block(indent=INDENT, bottom=6)
        return self._write_text(cursor, part.text, block, chars)

    def _write_media(self, cursor: QTextCursor, part: Part) -> None:
        self._new_block(cursor, self._block(indent=INDENT, bottom=6))
        self._picture(cursor, "image", is_state=False)
        text = tr("{type}, {size}", type=part.media_type or "?", size=size_text(part.size))
        cursor.insertText("  " + text, self._chars("secondary", "text.2"))

    def _write_more(self, cursor: QTextCursor, part: Part, entry: Entry) -> None:
        if part.n_hidden:
            self._new_block(cursor, self._block(indent=INDENT, bottom=8))
            text = ntr("show {n} more line", "show {n} more lines", part.n_hidden)
            cursor.insertText(text, self._link(f"more:{entry.number}", "secondary"))
        if part.cut and not part.n_hidden:
            self._new_block(cursor, self._block(indent=INDENT, bottom=8))
            text = tr("cut here; {size} in all", size=size_text(part.size))
            cursor.insertText(text, self._chars("caption", "text.muted"))

    def _write_call(self, cursor: QTextCursor, part: Part) -> None:
        """Write one tool call as a card: shape, tool, state, input on one line, size."""
        state = part.call_state or CallState.TO_RUN
        needs_you = state is CallState.NEEDS_YOU
        frame = QTextFrameFormat()
        frame.setProperty(CARD, "needsyou" if needs_you else "plain")
        frame.setLeftMargin(self.look.px(INDENT))
        frame.setRightMargin(self.look.px(12))
        frame.setTopMargin(self.look.px(2))
        frame.setBottomMargin(self.look.px(4))
        frame.setPadding(self.look.px(6))
        outer = cursor.currentFrame()
        self._thin(cursor, QTextBlockFormat(), 1)  # the paragraph Qt wants before a frame
        cursor.insertFrame(frame)
        self._write_call_line(cursor, part, state)
        cursor.setPosition(outer.lastPosition())

    def _write_call_line(self, cursor: QTextCursor, part: Part, state: CallState) -> None:
        target = f"call:{len(self.calls)}"
        self.calls.append(part.call_id or "")
        line = QTextBlockFormat()
        line.setNonBreakableLines(True)
        inner = self.width - self.look.px(INDENT + 12 + 14)
        line.setTabPositions([QTextOption.Tab(inner, QTextOption.TabType.RightTab)])
        cursor.setBlockFormat(line)
        self._picture(cursor, state.value, is_state=True)
        tool = part.tool or "?"
        cursor.insertText("  " + tool, self._chars("mono", "text"))
        word = words.call_word(state)
        role = states.text_role(state.value)
        cursor.insertText("  " + word, self._chars("state", role))
        end = tr("Review") if state is CallState.NEEDS_YOU else size_text(part.size)
        taken = self._width("mono", f"  {tool}  ") + self._width("state", f"  {word}")
        taken += self._width("caption", end) + self.look.px(16 + 24)
        shown = self._elide(part.text, inner - taken)
        if shown:
            cursor.insertText("  " + shown, self._chars("mono", "text.muted"))
        cursor.insertText("\t", self._chars("caption", "text.muted"))
        cursor.insertText(end, self._link(target, "caption"))

    # -- strokes ----------------------------------------------------------------------------

    def _new_block(
        self, cursor: QTextCursor, block: QTextBlockFormat, *, stay: bool = False
    ) -> None:
        """Begin a paragraph at the end of the page, or with `stay` where the cursor is."""
        if not stay:
            cursor.movePosition(QTextCursor.MoveOperation.End)
        plain = QTextCharFormat()
        is_line = cursor.blockFormat().hasProperty(LINE)
        if cursor.block().length() == 1 and not is_line:
            cursor.setBlockFormat(block)  # the paragraph Qt leaves at the start and after a frame
            cursor.setBlockCharFormat(plain)
        else:
            cursor.insertBlock(block, plain)

    def _write_text(
        self,
        cursor: QTextCursor,
        text: str,
        block: QTextBlockFormat,
        chars: QTextCharFormat,
        *,
        stay: bool = False,
    ) -> Iterator[int]:
        pieces = list(paragraphs(text.replace("\r\n", "\n")))
        for i, piece in enumerate(pieces):
            made = QTextBlockFormat(block)
            if i:
                made.setTopMargin(0)
            if i + 1 < len(pieces):
                made.setBottomMargin(0)
            self._new_block(cursor, made, stay=stay)
            cursor.insertText(piece.replace("\n", "\u2028"), chars)
            yield _HEAD // 2 + len(piece)

    def _block(self, *, indent: int, top: int = 0, bottom: int = 0) -> QTextBlockFormat:
        block = QTextBlockFormat()
        block.setLeftMargin(self.look.px(indent))
        block.setRightMargin(self.look.px(12))
        block.setTopMargin(self.look.px(top))
        block.setBottomMargin(self.look.px(bottom))
        return block

    def _chars(self, use: FontUse, role: str) -> QTextCharFormat:
        return self._chars_of(self.look.font(use), role)

    def _chars_of(self, font: QFont, role: str) -> QTextCharFormat:
        chars = QTextCharFormat()
        chars.setFont(font)
        chars.setForeground(QColor(self.look.color(role)))
        return chars

    def _width(self, use: FontUse, text: str) -> int:
        return QFontMetrics(self.look.font(use)).horizontalAdvance(text)

    def _elide(self, text: str, room: int) -> str:
        metrics = QFontMetrics(self.look.font("mono"))
        if room < metrics.horizontalAdvance("{…}"):
            return ""
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)

    def _write_line(self, cursor: QTextCursor) -> None:
        """Make room for the hairline between two messages."""
        block = QTextBlockFormat()
        block.setTopMargin(self.look.px(6))
        block.setProperty(LINE, True)
        self._thin(cursor, block, 1)

    def _thin(self, cursor: QTextCursor, block: QTextBlockFormat, height: int) -> None:
        fixed = QTextBlockFormat.LineHeightTypes.FixedHeight
        block.setLineHeight(height, int(fixed.value))
        self._new_block(cursor, block)
        tiny = QTextCharFormat()
        font = QFont(self.look.font("caption"))
        font.setPixelSize(1)
        tiny.setFont(font)
        cursor.setBlockCharFormat(tiny)

    def _link(self, target: str, use: FontUse) -> QTextCharFormat:
        chars = self._chars(use, "link")
        chars.setAnchor(True)
        chars.setAnchorHref(target)
        return chars

    def _picture(self, cursor: QTextCursor, name: str, *, is_state: bool) -> None:
        size = self.look.px(16)
        url = f"{'state' if is_state else 'icon'}:{name}:{self.look.scheme}:{size}"
        if is_state:
            picture = icons.state_pixmap(name, size, dpr=self.ratio)
        else:
            picture = icons.icon_pixmap(name, size, dpr=self.ratio)
        kind = int(QTextDocument.ResourceType.ImageResource)
        self.document.addResource(kind, QUrl(url), picture)
        image = QTextImageFormat()
        image.setName(url)
        image.setWidth(size)
        image.setHeight(size)
        image.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        cursor.insertImage(image)


def paragraphs(text: str) -> Iterator[str]:
    """Cut a text at line ends (a longer line: anywhere) into pieces that lay out at once."""
    at = 0
    while len(text) - at > _PARAGRAPH:
        end = text.rfind("\n", at + 1, at + _PARAGRAPH)
        if end > at:
            yield text[at:end]
            at = end + 1
        else:
            yield text[at : at + _PARAGRAPH]
            at += _PARAGRAPH
    yield text[at:]


def _draft_head(draft: Draft, agent: str) -> tuple[str, str]:
    """Who writes, and what becomes of it."""
    if draft.agent is None:
        return agent, tr("not saved yet")
    if draft.judging:
        return tr("{agent}, judging the answer", agent=draft.agent), tr("not kept in the run")
    return tr("{agent}, asked by {other}", agent=draft.agent, other=agent or tr("agent")), tr(
        "only the result is kept"
    )


def _speaker(entry: Entry, agent: str) -> tuple[str, str]:
    if entry.role == "assistant":
        return agent or tr("agent"), "agent"
    only_results = entry.parts and all(p.kind == "tool_result" for p in entry.parts)
    if entry.role == "tool" or only_results:
        return tr("tool result"), "tool.result"
    if entry.role == "system":
        return tr("instructions"), "settings"
    return tr("to the agent"), "message"
