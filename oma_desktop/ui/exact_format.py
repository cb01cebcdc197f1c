"""How a drawn line becomes formatted text: chips, wide glyphs, hanging indents, side notes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.visible_pages import PageLine
from oma_desktop.model.visible_text import Mark, Piece
from oma_desktop.ui import review_words as words
from oma_desktop.ui.theme import theme

LINE: Final = 22
PAD: Final = 12
_HAN: Final = re.compile(r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\uff60]+")


_BLOCK: Final = 60
_CHIP: Final = 40
_WIDE: Final = 7


def cost_of(entry: PageLine) -> int:
    """Return what writing and laying out a line costs, in the units of `slices`: measured."""
    text = entry.line.text
    wide = sum(len(run.group()) for run in _HAN.finditer(text))
    return _BLOCK + len(text) + _WIDE * wide + _CHIP * len(entry.line.pieces)


def note_of(entry: PageLine) -> str:
    """Return what stands at the right end of a line with something to point out."""
    if entry.line.blank_run:
        return ntr(
            "{n} blank line, more follows", "{n} blank lines, more follows", entry.line.blank_run
        )
    marks = entry.line.marks
    if len(marks) == 1:
        return tr("{what}, line {n}", what=words.mark_word(marks[0]), n=entry.number)
    if marks:
        return tr("{what}, line {n}", what=words.hidden_count(len(marks)), n=entry.number)
    return ""


def merged(pieces: tuple[Piece, ...]) -> Iterable[tuple[str, Mark | None]]:
    """Return the pieces with neighbours without marks melted together."""
    text = ""
    for piece in pieces:
        if piece.mark is None:
            text += piece.text
            continue
        if text:
            yield text, None
        text = ""
        yield piece.text, piece.mark
    if text:
        yield text, None


def block_format(entry: PageLine, cell: float) -> QTextBlockFormat:
    """Return height, indent and margins of a line; wrapped parts hang two cells in."""
    made = QTextBlockFormat()
    height = QTextBlockFormat.LineHeightTypes.FixedHeight
    made.setLineHeight(theme().px(LINE), height.value)
    text = entry.line.text
    indent = min(len(text) - len(text.lstrip(" ")) + 2, 24) * cell
    made.setLeftMargin(theme().px(PAD) + indent)
    made.setTextIndent(-indent)
    made.setRightMargin(theme().px(PAD))
    return made


def formats() -> tuple[QTextCharFormat, ...]:
    """Return the formats of plain text, chips, chip edges and line-break escapes."""
    now = theme()
    plain = _format(now.font("mono"), now.color("text"))
    chip = _format(now.font("mono"), now.color("warning.text"))
    edge = _format(now.font("mono"), now.color("warning.tint"))
    quiet = _format(now.font("mono"), now.color("text.muted"))
    return plain, chip, edge, quiet


def _format(font: QFont, color: QColor) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setFont(font)
    made.setForeground(color)
    return made


def insert_plain(cursor: QTextCursor, text: str, plain: QTextCharFormat) -> None:
    """Insert text; Han glyphs get the width of two cells (look.md 4)."""
    at = 0
    for run in _HAN.finditer(text):
        cursor.insertText(text[at : run.start()], plain)
        cursor.insertText(run.group(), _han(plain))
        at = run.end()
    cursor.insertText(text[at:], plain)


def _han(plain: QTextCharFormat) -> QTextCharFormat:
    metrics = QFontMetricsF(plain.font())
    made = QTextCharFormat(plain)
    made.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
    space = 2 * metrics.horizontalAdvance("0") - metrics.horizontalAdvance("\u4e2d")
    made.setFontLetterSpacing(max(space, 0.0))
    return made
