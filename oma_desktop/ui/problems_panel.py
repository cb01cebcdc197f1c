"""The Problems panel: what is odd, in a sentence, where, and since when (ux.md C5)."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStackedLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.sentences import describe
from oma_desktop.base.text import tr
from oma_desktop.ui import icons
from oma_desktop.ui.empty_state import EmptyState
from oma_desktop.ui.fonts import tabular
from oma_desktop.ui.language import Retranslated
from oma_desktop.ui.numbers import time_text
from oma_desktop.ui.painting import (
    ELIDE_MIDDLE,
    RIGHT,
    device_ratio,
    draw_focus,
    draw_text,
    ground_role,
    has_focus,
    text_width,
)
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.problems import ProblemRow, ProblemRows
from oma_desktop.viewmodel.roles import Role
from oma_desktop.viewmodel.selection import Selection

Index = QModelIndex | QPersistentModelIndex
_WRAPPED = int(Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextWordWrap)
_ICONS = {"error": ("error", "danger.text"), "warning": ("warning", "warning.text")}


def problem_sentence(row: ProblemRow) -> str:
    """Return what happened, what is safe and what to do, as one line."""
    sentence = describe(row.code, {"where": row.where, "path": row.store, **dict(row.facts)})
    return sentence.whole


def severity_word(severity: str) -> str:
    """Return the word of a severity."""
    return tr("Error") if severity == "error" else tr("Warning")


def problem_height(row: ProblemRow, width: int) -> int:
    """Return the height at which a row shows its whole sentence."""
    look = theme()
    when = text_width(time_text(row.at), tabular(look.font("caption")))
    room = width - look.px(36) - look.px(12) - when - look.px(16)
    room -= min(look.px(240), room // 3) + look.px(16)
    metrics = QFontMetrics(look.font("secondary"))
    area = QRect(0, 0, max(room, look.px(80)), look.px(4000))
    text = metrics.boundingRect(area, _WRAPPED, problem_sentence(row))
    return max(look.height("row"), text.height() + look.px(12))


class ProblemDelegate(QStyledItemDelegate):
    """Icon, sentence, place, time in one line; the current row shows its sentence whole."""

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(theme().px(200), theme().height("row"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Role.ROW)
        if not isinstance(row, ProblemRow):
            return
        look = theme()
        rect: QRect = option.rect
        painter.save()
        painter.fillRect(rect, look.color(ground_role(option)))
        size = look.px(16)
        name, role = _ICONS.get(row.severity, ("info", "info.text"))
        picture = icons.icon_pixmap(name, size, role, device_ratio(painter))
        painter.drawPixmap(rect.x() + look.px(12), rect.center().y() - size // 2 + 1, picture)
        line = rect.adjusted(look.px(36), 0, -look.px(12), 0)
        number = tabular(look.font("caption"))
        when = time_text(row.at)
        draw_text(painter, line, when, font=number, role="text.muted", look=look, align=RIGHT)
        line.setRight(line.right() - text_width(when, number) - look.px(16))
        wide = min(look.px(240), line.width() // 3)
        place = QRect(line.right() - wide, line.y(), wide, line.height())
        draw_text(
            painter,
            place,
            place_text(row),
            font=look.font("mono.caption"),
            role="text.muted",
            look=look,
            elide=ELIDE_MIDDLE,
        )
        font = look.font("secondary")
        line.setRight(place.left() - look.px(16))
        if rect.height() > look.height("row"):
            painter.setFont(font)
            painter.setPen(look.color("text"))
            painter.drawText(line, _WRAPPED, problem_sentence(row))
        else:
            draw_text(painter, line, problem_sentence(row), font=font, role="text", look=look)
        if has_focus(option):
            draw_focus(painter, rect, look)
        painter.restore()


def place_text(row: ProblemRow) -> str:
    """Return where: the file, and the place inside it."""
    name = PurePath(row.store).name
    return f"{name}: {row.where}" if row.where and name else name or row.where


def problem_line(row: ProblemRow) -> str:
    """Return a problem as one line to copy: code, sentence, place."""
    return f"{row.code}: {problem_sentence(row)} {place_text(row)}".strip()


class ProblemsPanel(Retranslated):
    """A list of problems; Enter selects the run, Ctrl+C copies sentence and code."""

    def __init__(
        self, model: ProblemRows, selection: Selection, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._selection = selection
        model.set_text(_read)
        self.list = ProblemList(self)
        self.list.setModel(model)
        for column in range(1, model.columnCount()):
            self.list.hideColumn(column)
        self.list.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._empty = EmptyState("check")
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._empty)
        self.setProperty("ground", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.list.activated.connect(self._on_row_activated)
        for moved in (model.rowsInserted, model.rowsRemoved, model.layoutChanged):
            moved.connect(self._say)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.retranslate()

    @override
    def retranslate(self) -> None:
        self.list.setAccessibleName(tr("Problems"))
        self._empty.say(tr("No problems."), tr("Unreadable files and failed saves show here."))
        self._say()
        self.list.viewport().update()

    def _say(self) -> None:
        self._stack.setCurrentIndex(0 if self._model.rowCount() else 1)
        self.list.lay_heights()

    def _on_row_activated(self, index: QModelIndex) -> None:
        row = self._model.row_at(index.row())
        if row is not None and row.run is not None:
            self._selection.select_run(row.run)

    def _on_theme_changed(self) -> None:
        self.list.lay_heights()
        self.list.viewport().update()


class ProblemList(QTableView):
    """The list itself."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tall = QPersistentModelIndex()
        self.setItemDelegate(ProblemDelegate(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(16)

    def lay_heights(self) -> None:
        """Give the current row the height of its whole sentence, the others one line."""
        header, now = self.verticalHeader(), self.currentIndex()
        usual = theme().height("row")
        if header.defaultSectionSize() != usual:
            header.setDefaultSectionSize(usual)
        if self._tall.isValid() and self._tall.row() != now.row():
            header.resizeSection(self._tall.row(), usual)
        self._tall = QPersistentModelIndex(now)
        row = now.data(Role.ROW)
        if isinstance(row, ProblemRow):
            header.resizeSection(now.row(), problem_height(row, self.viewport().width()))

    @override
    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.lay_heights()
        self.scrollTo(current)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.lay_heights()


def _read(row: ProblemRow, _column: int) -> str:
    return tr(
        "{severity}: {sentence} {place}",
        severity=severity_word(row.severity),
        sentence=problem_sentence(row),
        place=place_text(row),
    ).strip()
