"""Rows painted by ourselves: runs and group heads, tool calls, small task lines (look.md 7).

Delegates read semantic rows (`Role.ROW`), never text, and hold no facts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem
from typing_extensions import override

from oma_desktop.base.text import listed, tr
from oma_desktop.model.view import OwnerKind, RunState
from oma_desktop.ui import states, words
from oma_desktop.ui.badges import BADGE_HEIGHT, badge_width, paint_badge
from oma_desktop.ui.fonts import tabular
from oma_desktop.ui.icons import icon_pixmap, state_pixmap
from oma_desktop.ui.numbers import NONE, age_text, elapsed_text
from oma_desktop.ui.painting import (
    RIGHT,
    device_ratio,
    draw_focus,
    draw_text,
    ground_role,
    has_focus,
    text_width,
)
from oma_desktop.ui.strip import paint_strip
from oma_desktop.ui.theme import Theme, theme
from oma_desktop.viewmodel.ages import Age, age_of, quiet_for
from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.runs import GroupRow, RunGroup, RunRow

Index = QModelIndex | QPersistentModelIndex
GROUP_HEIGHT: Final = 24
COUNT_FROM: Final = 340  # width of a one-line row that has room for strip and count
_LIVE: Final = frozenset({RunState.RUNNING, RunState.SUSPENDING})


class RunDelegate(QStyledItemDelegate):
    """Paints heads and runs. `now` is read at paint time: ages tick by repainting."""

    def __init__(self, now: Callable[[], datetime], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look = theme()
        head = isinstance(index.data(Role.ROW), GroupRow)
        return QSize(look.px(200), look.px(GROUP_HEIGHT) if head else look.height("run"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Role.ROW)
        look = theme()
        rect: QRect = option.rect
        painter.save()
        painter.fillRect(rect, look.color(ground_role(option)))
        if isinstance(row, GroupRow):
            _paint_head(painter, rect, row, look)
        elif isinstance(row, RunRow):
            paint = _paint_compact if look.density == "compact" else _paint_run
            paint(painter, rect, row, look, self._now())
        if has_focus(option):
            draw_focus(painter, rect, look)
        painter.restore()


def group_word(group: RunGroup) -> str:
    """Return the word of a head."""
    match group:
        case RunGroup.NEEDS_YOU:
            return tr("Needs you")
        case RunGroup.RUNNING:
            return tr("Running")
        case RunGroup.STOPPED:
            return tr("Stopped")


def _paint_head(painter: QPainter, rect: QRect, row: GroupRow, look: Theme) -> None:
    size = look.px(12)
    chevron = "chevron.right" if row.folded else "chevron.down"
    mark = icon_pixmap(chevron, size, "text.muted", device_ratio(painter))
    painter.drawPixmap(rect.x() + look.px(12), rect.center().y() - size // 2 + 1, mark)
    area = rect.adjusted(look.px(30), 0, -look.px(12), 0)
    font = look.font("section")
    wide = draw_text(painter, area, group_word(row.group), font=font, role="text.muted", look=look)
    area.setLeft(area.left() + wide + look.px(6))
    number = tabular(look.font("caption"))
    draw_text(painter, area, str(row.n_runs), font=number, role="text.muted", look=look)


def data_age(row: RunRow, now: datetime) -> tuple[str, str]:
    """Return the age of a run's facts as text and its colour role (ux.md C2, C6 "quiet").

    A live run that says nothing for a minute is called quiet, nothing worse; data of a file that
    cannot be read any more turns to the warning colour.
    """
    role = "text.muted" if row.readable else "warning.text"
    age: Age | None = age_of(row.heard_at, now=now)
    if row.state in _LIVE and (quiet := quiet_for(row.heard_at, now=now)) is not None:
        return tr("quiet {age}", age=age_text(quiet)), role
    return age_text(age), role


def progress_text(row: RunRow) -> str:
    """Return "6 of 14", with the process that runs it when it is not this one."""
    done = tr("{done} of {total}", done=row.n_done, total=len(row.tasks))
    if row.owner is OwnerKind.OTHER_PROCESS and row.pid is not None:
        return tr("{progress}, another process, PID {pid}", progress=done, pid=row.pid)
    return done


def full_name(row: RunRow) -> str:
    """Return the name of a run, and its place where another one bears the same."""
    return tr("{name} ({place})", name=row.name, place=row.place) if row.place else row.name


def run_sentence(row: RunRow, now: datetime) -> str:
    """Return a whole row in words, for screen readers (ux.md C18)."""
    parts = [
        tr("Run {name}", name=full_name(row)),
        words.run_word(row.state),
        progress_text(row),
        tr("data {age} old", age=age_text(age_of(row.heard_at, now=now))),
    ]
    if row.n_waiting:
        parts.insert(2, tr("decisions waiting: {n}", n=row.n_waiting))
    if not row.readable:
        parts.append(tr("the file cannot be read"))
    return listed(parts)


def _paint_run(painter: QPainter, rect: QRect, row: RunRow, look: Theme, now: datetime) -> None:
    px = look.px
    spare = rect.height() - px(56)
    x, top, right = rect.x(), rect.y() + spare // 3, rect.right() + 1 - px(12)
    painter.drawPixmap(
        x + px(12), top + px(8), state_pixmap(row.state.value, px(16), dpr=device_ratio(painter))
    )
    line = QRect(x + px(36), top + px(6), right - x - px(36), px(20))
    _paint_name_line(painter, line, row, look, now)
    _paint_word_line(painter, line.translated(0, px(18)), row, look, now)
    strip = QRect(x + px(36), top + px(46) + spare // 3, right - x - px(36), px(4))
    paint_strip(painter, strip, row.tasks, look=look)


def _paint_name_line(
    painter: QPainter, line: QRect, row: RunRow, look: Theme, now: datetime
) -> None:
    area = QRect(line)
    area.setRight(_paint_age(painter, line, row, look, now) - look.px(8))
    _paint_name(painter, area, row, look)


def _paint_name(painter: QPainter, area: QRect, row: RunRow, look: Theme) -> None:
    """Draw the name, and the place where others bear it too."""
    wide = draw_text(painter, area, row.name, font=look.font("name"), role="text", look=look)
    if row.place:
        rest = area.adjusted(wide + look.px(6), 0, 0, 0)
        font = look.font("caption")
        draw_text(painter, rest, row.place, font=font, role="text.muted", look=look)


def _paint_age(painter: QPainter, line: QRect, row: RunRow, look: Theme, now: datetime) -> int:
    """Draw age and badge at the right end; return where they begin."""
    text, role = data_age(row, now)
    font = tabular(look.font("caption"))
    left = line.right() + 1 - text_width(text, font)
    draw_text(painter, line, text, font=font, role=role, look=look, align=RIGHT)
    if not row.n_waiting:
        return left
    wide, high = badge_width(row.n_waiting, look), look.px(BADGE_HEIGHT)
    left -= look.px(8) + wide
    badge = QRect(left, line.center().y() - high // 2 + 1, wide, high)
    paint_badge(painter, badge, row.n_waiting, look=look, needs_you=True)
    return left


def _paint_word_line(
    painter: QPainter, line: QRect, row: RunRow, look: Theme, now: datetime
) -> None:
    elapsed = elapsed_text(row.started_at, row.ended_at or now)
    if row.state is RunState.UNKNOWN:
        elapsed = NONE
    number = tabular(look.font("secondary"))
    draw_text(painter, line, elapsed, font=number, role="text.muted", look=look, align=RIGHT)
    area = QRect(line)
    area.setRight(line.right() - text_width(elapsed, number) - look.px(8))
    word = words.run_word(row.state)
    wide = draw_text(
        painter,
        area,
        word,
        font=look.font("state"),
        role=states.text_role(row.state.value),
        look=look,
    )
    area.setLeft(area.left() + wide + look.px(6))
    font = look.font("secondary")
    draw_text(painter, area, progress_text(row), font=font, role="text.muted", look=look)


def _paint_compact(painter: QPainter, rect: QRect, row: RunRow, look: Theme, now: datetime) -> None:
    """Draw the one-line form: shape, name, count, strip 96 wide, age."""
    px = look.px
    middle = rect.center().y()
    size = px(16)
    painter.drawPixmap(
        rect.x() + px(12),
        middle - size // 2 + 1,
        state_pixmap(row.state.value, size, dpr=device_ratio(painter)),
    )
    line = rect.adjusted(px(36), 0, -px(12), 0)
    right = min(_paint_age(painter, line, row, look, now), line.right() + 1 - px(44)) - px(8)
    done = tr("{done} of {total}", done=row.n_done, total=len(row.tasks))
    font = tabular(look.font("secondary"))
    # Where there is little room the strip gets narrower and says the count alone
    long = rect.width() >= px(COUNT_FROM)
    wide = px(96) if long else px(56)
    strip = QRect(right - wide, middle - px(1), wide, px(4))
    paint_strip(painter, strip, row.tasks, look=look)
    area = QRect(line)
    area.setRight(strip.left() - px(8))
    if long:
        draw_text(painter, area, done, font=font, role="text.muted", look=look, align=RIGHT)
        area.setRight(area.right() - text_width(done, font) - px(8))
    _paint_name(painter, area, row, look)
