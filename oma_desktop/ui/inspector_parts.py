"""Two parts of the Inspector: the buttons of a selection, and the tasks around it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.text import tr
from oma_desktop.model.view import TaskView
from oma_desktop.ui import icons, words
from oma_desktop.ui.actions import Actions
from oma_desktop.ui.labels import Label, dress
from oma_desktop.ui.painting import RIGHT, draw_focus, draw_text
from oma_desktop.ui.run_bar import ActionButton
from oma_desktop.ui.theme import theme


class Verb(QWidget):
    """Review request (primary), Restore, Conversation: only what fits the selection is there."""

    review_pressed = Signal()
    conversation_pressed = Signal()

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.review = dress(QPushButton(), "name")
        self.review.setProperty("kind", "primary")
        self.restore = ActionButton(actions["restore"], "restore")
        self.conversation = dress(QPushButton(), "name")
        self.conversation.setProperty("kind", "ghost")
        self._wide = 0
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 12, 12, 12)
        row.setSpacing(8)
        row.addWidget(self.review)
        row.addWidget(self.restore)
        row.addStretch(1)
        row.addWidget(self.conversation)
        self.review.clicked.connect(self.review_pressed)
        self.conversation.clicked.connect(self.conversation_pressed)

    def show_verbs(self, *, review: bool, conversation: bool, run: bool) -> None:
        """Show the buttons that apply."""
        self.review.setVisible(review)
        self.restore.setVisible(run and self.restore.isEnabled())
        self.conversation.setVisible(conversation)
        self.setVisible(review or conversation or run)

    def retranslate(self) -> None:
        """Set texts and icons again."""
        self.review.setText(tr("Review request"))
        self.review.setIcon(icons.icon("review", "on.accent"))
        self.conversation.setText(tr("Conversation"))
        self.conversation.setIcon(icons.icon("conversation"))
        self.conversation.setToolTip(tr("Conversation"))
        self.conversation.setAccessibleName(tr("Conversation"))
        self._wide = self.conversation.sizeHint().width()
        self._fit()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Leave only the icon of the second button where both texts have no room."""
        first = (
            max(b.sizeHint().width() for b in (self.review, self.restore) if not b.isHidden())
            if not (self.review.isHidden() and self.restore.isHidden())
            else 0
        )
        room = self.width() - first - theme().px(24 + 16)
        self.conversation.setText(tr("Conversation") if room >= self._wide else "")


class TaskLine(QAbstractButton):
    """One task as a line that leads to it: shape, title, id."""

    def __init__(self, task: TaskView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._task = task
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAccessibleName(words.task_sentence(task, n_open=0))
        self.setToolTip(self.accessibleName())

    @property
    def task_id(self) -> str:
        return self._task.id

    @override
    def sizeHint(self) -> QSize:
        return QSize(theme().px(120), theme().height("row"))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), look.color("hover" if self.underMouse() else "surface"))
        size = look.px(16)
        picture = icons.state_pixmap(self._task.state.value, size, dpr=self.devicePixelRatioF())
        painter.drawPixmap(look.px(12), (self.height() - size) // 2, picture)
        line = self.rect().adjusted(look.px(36), 0, -look.px(12), 0)
        font = look.font("mono")
        id_ = self._task.id if len(self._task.id) <= 12 else f"{self._task.id[:8]}…"
        draw_text(painter, line, id_, font=font, role="text.2", look=look, align=RIGHT)
        line.setRight(line.right() - QFontMetrics(font).horizontalAdvance(id_) - look.px(8))
        title = look.font("secondary")
        draw_text(painter, line, self._task.title, font=title, role="text", look=look)
        if self.hasFocus():
            draw_focus(painter, self.rect(), look)
        painter.end()


class Neighbours(QWidget):
    """Depends on, needed by: a heading with the counts, then one line per task."""

    chosen = Signal(object)  # task id

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[TaskView, ...] = ()
        self._head = Label("section", "text.2")
        self._head.setContentsMargins(12, 8, 12, 4)
        self._lines: list[TaskLine] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 8)
        self._column.setSpacing(0)
        self._column.addWidget(self._head)

    def show_task(self, task: TaskView, tasks: tuple[TaskView, ...]) -> None:
        """Show the tasks a task needs and those that need it."""
        needs = [t for t in tasks if t.id in task.depends_on]
        needed = [t for t in tasks if task.id in t.depends_on]
        self.setVisible(bool(needs or needed))
        self._head.setText(
            tr("Depends on {n}, needed by {m}", n=len(task.depends_on), m=len(needed))
        )
        shown = (*needs, *needed)
        if shown != self._shown:
            self._shown = shown
            self._replace_lines()

    def restyle(self) -> None:
        """Follow the theme."""
        self._replace_lines()

    def _replace_lines(self) -> None:
        for line in self._lines:
            self._column.removeWidget(line)
            line.deleteLater()
        self._lines = [TaskLine(task, self) for task in self._shown]
        for line in self._lines:
            self._column.addWidget(line)
            line.clicked.connect(self._on_line_clicked)

    def _on_line_clicked(self) -> None:
        line = self.sender()
        if isinstance(line, TaskLine):
            self.chosen.emit(line.task_id)
