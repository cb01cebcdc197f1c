"""The covered content in its forms: exact text, tree, task list, and what the schema changed."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from oma_desktop.base.text import tr
from oma_desktop.ui import review_words as words
from oma_desktop.ui.exact_view import ExactView
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_compare import Compare
from oma_desktop.ui.review_facts import facts_fit
from oma_desktop.ui.review_parts import Picture, Text
from oma_desktop.ui.review_tasks import TaskLists
from oma_desktop.ui.review_tree import ContentTree
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import RequestRow, tasks_of
from oma_desktop.viewmodel.offload import Offload, at_once, is_small
from oma_desktop.viewmodel.review_paper import Paper, make_paper


def shows_input_only(row: RequestRow) -> bool:
    """Say whether the exact text is the input alone, the facts grid holding all the rest."""
    request = row.request
    return request.scope == "tool_call" and facts_fit(request.content, request.boundary)


class Body(QWidget):
    """Tabs over the forms. `shown_whole` comes when everything that is hashed was on screen."""

    shown_whole = Signal()
    laid_out = Signal()

    def __init__(self, offload: Offload = at_once) -> None:
        super().__init__()
        self._offload = offload
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setStyleSheet("QTabBar { background: transparent; }")
        self.text, self.compare = ExactView(), Compare()
        self.tree, self.tasks = ContentTree(), TaskLists()
        self._about = Text(use="secondary", role="text.muted")
        self._marks_picture = Picture(meaning="warning", size=14, role="warning")
        self._marks = Text(use="state", role="warning.text")
        self._stack = QStackedWidget()
        self._pages: list[QWidget] = []
        self._raw_differs = False
        self._text_is_input = False
        self._row: RequestRow | None = None
        self._paper: Paper | None = None
        for page in (self.text, self.tree, self.tasks, self.compare):
            self._stack.addWidget(page)
        self._lay_out()
        self.tabs.currentChanged.connect(self._on_tab)
        self.text.shown_whole.connect(self._on_shown)
        self.compare.shown_whole.connect(self._on_shown)
        self.text.laid_out.connect(self.laid_out)
        self.compare.laid_out.connect(self.laid_out)
        theme_host().theme_changed.connect(self._on_theme_changed)

    def _lay_out(self) -> None:
        head = FlowLayout(spacing=8)
        head.addWidget(self.tabs)
        head.addWidget(self._about)
        head.split()
        head.addWidget(self._marks_picture)
        head.addWidget(self._marks)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 4, 20, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._stack)
        self._stack.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def _on_theme_changed(self) -> None:
        self.laid_out.emit()

    def show_request(self, row: RequestRow) -> None:
        """Show another request from its beginning."""
        self._stack.setCurrentWidget(self.text)
        self._row, self._paper = row, None
        self._text_is_input = shows_input_only(row)
        self._raw_differs = False
        work = partial(make_paper, row, input_only=self._text_is_input)
        if is_small(row.request.content):
            self._on_paper(work())
            return
        self.text.show_reading()
        self._set_tabs()
        self.laid_out.emit()
        self._offload(work, self._on_paper)

    def forget(self) -> None:
        """The window closes: what is still being drawn is not shown any more."""
        self._row = None

    def _on_paper(self, paper: Paper) -> None:
        if paper.row is not self._row:
            return  # another request is shown meanwhile
        self._paper = paper
        self._raw_differs = paper.beside is not None
        self.text.show_value(paper.text)
        if paper.beside is not None:
            heads = tr("raw input, as the model asked"), tr("input, as it will run")
            self.compare.show_values(paper.beside, heads)
        self._set_tabs()
        self.laid_out.emit()

    def retranslate(self) -> None:
        """Set every word again; what was shown stays shown."""
        for i, page in enumerate(self._pages):
            self.tabs.setTabText(i, self._label(page))
        if self._row is not None:
            self._about.say(self._what_is_shown(self._row))
        n = self._paper.n_marks if self._paper is not None else 0
        self._marks_picture.setVisible(n > 0)
        self._marks.say(words.hidden_count(n) if n else "")
        self.text.retranslate()
        self.compare.retranslate()

    def _label(self, page: QWidget) -> str:
        if page is self.compare:
            beside = self._paper.beside if self._paper is not None else None
            return tr("Changed from raw input: {n}", n=beside.places if beside else 0)
        if page is self.text:
            return tr("Text")
        return tr("Tree") if page is self.tree else tr("Tasks")

    def _what_is_shown(self, row: RequestRow) -> str:
        if row.request.scope != "tool_call" or not self._text_is_input:
            return tr("the whole content")
        if self._raw_differs:
            return tr("input, changed by the schema check")
        return tr("input, checked by schema")

    def _set_tabs(self) -> None:
        self.tabs.blockSignals(True)
        while self.tabs.count():
            self.tabs.removeTab(0)
        self._pages = [self.compare] if self._raw_differs else []
        self._pages.append(self.text)
        if self._paper is not None:
            self._pages.append(self.tree)
            row = self._paper.row
            if row.request.scope != "tool_call" and tasks_of(row.request.content):
                self._pages.append(self.tasks)
        for _ in self._pages:
            self.tabs.addTab("")
        self.retranslate()
        self.tabs.blockSignals(False)
        self._on_tab(0)

    def _on_tab(self, index: int) -> None:
        if not 0 <= index < len(self._pages):
            return
        page = self._pages[index]
        paper = self._paper
        if page is self.tree and paper is not None:
            self.tree.show_content(paper.content)
        elif page is self.tasks and paper is not None:
            self.tasks.show_lists(tasks_of(paper.row.request.content))
        now = QApplication.focusWidget()
        was_in = now is not None and self._stack.isAncestorOf(now)
        self._stack.setCurrentWidget(page)
        if was_in:
            self.take_focus()  # Qt would give it to what comes next: the field of the note
        self.laid_out.emit()

    def take_focus(self) -> None:
        """Give the keys to what is to be read."""
        page = self._stack.currentWidget()
        if isinstance(page, Compare):
            page = page.right
        part = page.text if isinstance(page, ExactView) else page
        if part is not None:
            part.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_shown(self) -> None:
        if self.whole_was_shown:
            self.shown_whole.emit()

    @property
    def whole_was_shown(self) -> bool:
        """Whether all that the hash covers was on screen: input, and raw input where it differs."""
        if self._paper is None:
            return False
        if not self._raw_differs:
            return self.text.whole_was_shown
        beside = self._text_is_input and self.compare.right.whole_was_shown
        return (self.text.whole_was_shown or beside) and self.compare.left.whole_was_shown

    def fit(self, available: int) -> None:
        """Take the height the present form wants, within what is available."""
        page = self._stack.currentWidget()
        wanted, least = _heights(page)
        height = max(least, min(wanted, available))
        if self._stack.height() != height:
            self._stack.setFixedHeight(height)


def _heights(page: QWidget | None) -> tuple[int, int]:
    if isinstance(page, ExactView | Compare | TaskLists):
        return page.wanted_height(), page.least_height()
    now = theme()
    return now.px(280), now.px(96)
