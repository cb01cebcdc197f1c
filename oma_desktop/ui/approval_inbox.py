"""The inbox tab of the left dock: every open request of every run, and what became of the others.

Cards of look.md 7, painted by one delegate. Opening a card asks for a review window; nothing can
be decided from here (ux.md C7).
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QLineEdit,
    QListView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.base.text import listed, tr
from oma_desktop.model.view import Effect
from oma_desktop.ui import review_words as words
from oma_desktop.ui.icons import icon_pixmap, state_pixmap
from oma_desktop.ui.review_header import plain
from oma_desktop.ui.review_parts import Panel, Picture, Text, make_button
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import (
    Group,
    HeadRow,
    Inbox,
    InboxRow,
    InboxRows,
    RequestKey,
    RequestRow,
)
from oma_desktop.viewmodel.roles import Role

Index = QModelIndex | QPersistentModelIndex
HEAD: Final = 28
GUARD_S: Final = 0.5
"""After the list moved, a click may have been meant for another card (case s38)."""


class InboxPanel(QWidget):
    """Filter and list; `review_wanted` carries the key of a request the person asked to see."""

    review_wanted = Signal(object)  # RequestKey

    def __init__(self, inbox: Inbox, *, clock: Clock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._inbox, self._clock = inbox, clock
        self._moved_at = float("-inf")
        self.rows = InboxRows(inbox, self, text=spoken)
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.list = _InboxList(clock=clock)
        self.list.setModel(self.rows)
        self.empty = _Empty()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.empty)
        self._lay_out()
        self._connect()
        self._retranslate()

    def _lay_out(self) -> None:
        top = Panel(ground="surface", bottom=True)
        row = QVBoxLayout(top)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self.filter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(top)
        column.addWidget(self._stack, 1)

    def _connect(self) -> None:
        self.filter.textChanged.connect(self._on_filter)
        self._inbox.changed.connect(self._refresh)
        for moved in (self.rows.rowsInserted, self.rows.rowsRemoved, self.rows.modelReset):
            moved.connect(self._on_moved)
        self.list.opened.connect(self._on_opened)
        self.empty.clear.clicked.connect(self.filter.clear)
        theme_host().theme_changed.connect(self._on_theme_changed)
        self._ages = QTimer(self)
        self._ages.setInterval(10_000)
        self._ages.timeout.connect(self._on_ages)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ages.start()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ages.stop()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self.filter.setPlaceholderText(tr("Filter requests"))
        self.list.setAccessibleName(tr("Requests that wait for a decision"))
        self.empty.clear.setText(tr("Clear filter"))
        self._refresh()
        self.list.viewport().update()

    def select(self, key: RequestKey) -> None:
        """Make a request the current card, if it is in the list."""
        place = self.rows.row_of(key)
        if place >= 0:
            self.list.setCurrentIndex(self.rows.index(place, 0))

    def _on_filter(self, text: str) -> None:
        self.rows.set_filter(text)
        self._refresh()

    def _on_moved(self) -> None:
        self._moved_at = self._clock.monotonic()

    def _on_ages(self) -> None:
        self.list.viewport().update()

    def _on_theme_changed(self) -> None:
        self.list.scheduleDelayedItemsLayout()

    def _on_opened(self, index: QModelIndex) -> None:
        row = index.data(Role.ROW)
        if isinstance(row, HeadRow):
            self.rows.toggle(row.group)
            self._moved_at = float("-inf")
        elif isinstance(row, RequestRow) and (self._clock.monotonic() - self._moved_at >= GUARD_S):
            self.review_wanted.emit(row.key)

    def _refresh(self) -> None:
        nothing = self.rows.rowCount() == 0
        self._stack.setCurrentWidget(self.empty if nothing else self.list)
        if nothing:
            self.empty.show_reason(
                filtered=bool(self.filter.text()) and self.rows.n_all > 0,
                n_all=self.rows.n_all,
                last=self._last(),
            )

    def _last(self) -> str:
        row = self._inbox.last_decided
        return "" if row is None else words.verdict_sentence(row.request)


class _InboxList(QListView):
    """A list whose cards open by Enter or a double click; heads fold by a click."""

    opened = Signal(object)  # QModelIndex

    def __init__(self, *, clock: Clock) -> None:
        super().__init__()
        self.setItemDelegate(_InboxDelegate(clock=clock, parent=self))
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.doubleClicked.connect(self._on_double_click)
        self.clicked.connect(self._on_click)

    def _on_double_click(self, index: QModelIndex) -> None:
        if isinstance(index.data(Role.ROW), RequestRow):
            self.opened.emit(index)

    def _on_click(self, index: QModelIndex) -> None:
        if isinstance(index.data(Role.ROW), HeadRow):
            self.opened.emit(index)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        # The keys act on the current card: it must be seen which one that is
        if not self.selectedIndexes() and event.reason() is not Qt.FocusReason.MouseFocusReason:
            now = self.currentIndex()
            self.setCurrentIndex(now if _is_card(now) else self._first_card())

    def _first_card(self) -> QModelIndex:
        every = (self.model().index(i, 0) for i in range(self.model().rowCount()))
        return next(filter(_is_card, every), self.model().index(0, 0))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if enter and not event.isAutoRepeat() and self.currentIndex().isValid():
            self.opened.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


def _is_card(index: QModelIndex) -> bool:
    return isinstance(index.data(Role.ROW), RequestRow)


class _InboxDelegate(QStyledItemDelegate):
    """Paints heads and cards whole: no child widgets, no markup (look.md 10)."""

    def __init__(self, *, clock: Clock, parent: QWidget) -> None:
        super().__init__(parent)
        self._clock = clock

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        head = isinstance(index.data(Role.ROW), HeadRow)
        return QSize(theme().px(200), theme().px(HEAD) if head else theme().height("inbox"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Role.ROW)
        painter.save()
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        if isinstance(row, HeadRow):
            _paint_head(painter, area, row)
            _paint_focus(painter, area, state)
        elif isinstance(row, RequestRow):
            self._paint_card(painter, area, row, state)
        painter.restore()

    def _paint_card(
        self, painter: QPainter, area: QRect, row: RequestRow, state: QStyle.StateFlag
    ) -> None:
        now = theme()
        painter.fillRect(area, now.color(_ground(state)))
        painter.fillRect(area.left(), area.bottom(), area.width(), 1, now.color("border"))
        _paint_focus(painter, area, state)
        dpr = painter.device().devicePixelRatioF()
        pad, shape = now.px(12), now.px(20)
        top = area.top() + now.px(8)
        painter.drawPixmap(area.left() + pad, top, state_pixmap(_shape(row), size=shape, dpr=dpr))
        left = area.left() + pad + shape + now.px(12)
        right = area.right() - pad
        right = _paint_age(painter, right, top, _age(row, self._clock))
        line = QRect(left, top - 1, right - left, now.px(18))
        second = QRect(left, top + now.px(18), area.right() - pad - left, now.px(16))
        if not _paint_first_line(painter, line, row):  # the name of the tool comes first
            second.setLeft(_paint_risk(painter, second, row) + now.px(8))
        painter.setFont(now.font("secondary"))
        painter.setPen(now.color("text.2"))
        _draw_elided(painter, second, _second_line(row))


def _paint_focus(painter: QPainter, area: QRect, state: QStyle.StateFlag) -> None:
    if state & QStyle.StateFlag.State_HasFocus:
        now = theme()
        painter.setPen(QPen(now.color("focus"), now.focus_width))
        painter.drawRect(area.adjusted(1, 1, -1, -1))


def _ground(state: QStyle.StateFlag) -> str:
    if state & QStyle.StateFlag.State_Selected:
        active = state & QStyle.StateFlag.State_Active
        return "selection" if active else "selection.inactive"
    return "hover" if state & QStyle.StateFlag.State_MouseOver else "surface"


def _shape(row: RequestRow) -> str:
    match row.request.state:
        case "approved" | "rejected":
            return "approved" if row.request.state == "approved" else "denied"
        case _:
            return "needsyou" if row.group in {Group.NEEDS_YOU, Group.NOT_HERE} else "skipped"


def _age(row: RequestRow, clock: Clock) -> str:
    at = row.request.decided_at or row.request.requested_at
    return words.age(at, clock.now())


def _paint_age(painter: QPainter, right: int, top: int, text: str) -> int:
    now = theme()
    painter.setFont(now.font("caption"))
    painter.setPen(now.color("text.muted"))
    width = QFontMetrics(now.font("caption")).horizontalAdvance(text)
    spot = QRect(right - width, top, width, now.px(16))
    painter.drawText(spot, int(Qt.AlignmentFlag.AlignVCenter), text)
    return right - width - now.px(8)


def _paint_first_line(painter: QPainter, area: QRect, row: RequestRow) -> bool:
    """Draw what is asked and its risk; false when the risk did not fit beside the whole name."""
    now = theme()
    what, mono = what_of(row)
    font = now.font("mono.strong" if mono else "name")
    metrics = QFontMetrics(font)
    wanted = metrics.horizontalAdvance(what)
    fits = wanted + now.px(8) + _risk_width(row) <= area.width()
    shown = metrics.elidedText(what, Qt.TextElideMode.ElideRight, area.width())
    painter.setFont(font)
    painter.setPen(now.color("text"))
    painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), shown)
    if fits:
        _paint_risk(painter, area.adjusted(wanted + now.px(8), 0, 0, 0), row)
    return fits or not _risk(row)[0]


def _risk_width(row: RequestRow) -> int:
    risk = _risk(row)[0]
    wide = QFontMetrics(theme().font("caption")).horizontalAdvance(risk)
    return wide + theme().px(12 + 4) if risk else 0


def _paint_risk(painter: QPainter, area: QRect, row: RequestRow) -> int:
    """Draw icon and word of the risk at the left end; return where they end."""
    risk, role = _risk(row)
    if not risk:
        return area.left()
    now = theme()
    icon = now.px(12)
    dpr = painter.device().devicePixelRatioF()
    meaning = "world" if role == "danger.text" else "not.known"
    pixmap = icon_pixmap(meaning, size=icon, role=role, dpr=dpr)
    painter.drawPixmap(area.left(), area.top() + (area.height() - icon) // 2, pixmap)
    painter.setFont(now.font("caption"))
    painter.setPen(now.color(role))
    rest = area.adjusted(icon + now.px(4), 0, 0, 0)
    painter.drawText(rest, int(Qt.AlignmentFlag.AlignVCenter), risk)
    return area.left() + _risk_width(row)


def _risk(row: RequestRow) -> tuple[str, str]:
    if row.acts_on_world:
        return tr("acts on the world"), "danger.text"
    if row.request.scope == "tool_call" and row.request.effect is Effect.UNKNOWN:
        return tr("not declared"), "warning.text"
    return "", ""


def what_of(row: RequestRow) -> tuple[str, bool]:
    """Return the first line of a card and whether it is an identifier."""
    name, wants, mono = words.title(row)
    return (
        (plain(name), True) if mono else (tr("{name}: {what}", name=plain(name), what=wants), False)
    )


def _second_line(row: RequestRow) -> str:
    request = row.request
    if row.group is Group.DECIDED:
        return words.verdict_sentence(request)
    parts = (row.run_name, request.task_title or request.task_id, request.agent)
    return ", ".join(plain(p) for p in parts if p)


def spoken(row: InboxRow, _column: int) -> str:
    """Return a row as a screen reader says it."""
    group = words.group_word(row.group)
    if isinstance(row, HeadRow):
        return tr("{group}: {n}", group=group, n=row.n)
    parts = (what_of(row)[0], _risk(row)[0], _second_line(row))
    return tr("{group}: {what}", group=group, what=listed(parts))


def _draw_elided(painter: QPainter, area: QRect, text: str) -> None:
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), shown)


def _paint_head(painter: QPainter, area: QRect, row: HeadRow) -> None:
    now = theme()
    painter.fillRect(area, now.color("surface"))
    painter.fillRect(area.left(), area.bottom(), area.width(), 1, now.color("border"))
    dpr = painter.device().devicePixelRatioF()
    size = now.px(12)
    meaning = "chevron.right" if row.folded else "chevron.down"
    if row.group is Group.NOT_HERE:
        meaning = "bound"
    chevron = icon_pixmap(meaning, size=size, role="text.muted", dpr=dpr)
    painter.drawPixmap(area.left() + now.px(16), area.center().y() - size // 2, chevron)
    painter.setFont(now.font("section"))
    painter.setPen(now.color("text.muted"))
    spot = area.adjusted(now.px(44), 0, -now.px(12), 0)
    painter.drawText(spot, int(Qt.AlignmentFlag.AlignVCenter), words.group_word(row.group))
    flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    painter.drawText(spot, int(flags), str(row.n))


class _Empty(QWidget):
    """Nothing in the list: why, and at most one way on (look.md 7)."""

    def __init__(self) -> None:
        super().__init__()
        centre = Qt.AlignmentFlag.AlignHCenter
        self.title = Text(use="strong", wrap=True)
        self.line = Text(use="secondary", role="text.muted", wrap=True)
        self.title.setAlignment(centre)
        self.line.setAlignment(centre)
        self.clear = make_button("")
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 20)
        column.addStretch(1)
        column.addWidget(Picture(meaning="inbox", size=24, role="text.muted"), 0, centre)
        column.addWidget(self.title)
        column.addWidget(self.line)
        column.addWidget(self.clear, 0, centre)
        column.addStretch(2)

    def show_reason(self, *, filtered: bool, n_all: int, last: str) -> None:
        """Say whether the filter hides all, or nothing waits."""
        self.clear.setVisible(filtered)
        if filtered:
            self.title.setText(tr("0 of {n} shown", n=n_all))
            self.line.say("")
            return
        self.title.setText(tr("Nothing needs you."))
        self.line.say(tr("Last decision: {what}", what=last) if last else "")
