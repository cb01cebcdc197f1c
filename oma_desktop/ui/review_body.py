"""The covered content in its forms: exact text, tree, task list, and what the schema changed."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from oma_desktop.base.text import ntr, tr
from oma_desktop.model.json_value import JsonObject, JsonValue
from oma_desktop.model.visible_json import VisibleText, draw, exact_content, string_lines
from oma_desktop.ui import review_words as words
from oma_desktop.ui.exact_view import ExactView
from oma_desktop.ui.flow import FlowLayout
from oma_desktop.ui.review_compare import Compare
from oma_desktop.ui.review_facts import facts_fit
from oma_desktop.ui.review_parts import Picture, Text
from oma_desktop.ui.review_tasks import TaskLists
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.viewmodel.approvals import RequestRow, tasks_of


def exact_of(row: RequestRow) -> JsonObject:
    """Return the content with the digits of the file."""
    return exact_content(row.request.row_value, row.request.content)


def text_value(row: RequestRow) -> JsonValue:
    """Return what the exact text shows: the input where the facts grid holds all the rest."""
    content = exact_of(row)
    if row.request.scope == "tool_call" and facts_fit(row.request.content, row.request.boundary):
        return content["input"]
    return content


class Body(QWidget):
    """Tabs over the forms. `shown_whole` comes when everything that is hashed was on screen."""

    shown_whole = Signal()
    laid_out = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setStyleSheet("QTabBar { background: transparent; }")
        self.text, self.compare = ExactView(), Compare()
        self.tree, self.tasks = _make_tree(), TaskLists()
        self._about = Text(use="secondary", role="text.muted")
        self._marks_picture = Picture(meaning="warning", size=14, role="warning")
        self._marks = Text(use="state", role="warning.text")
        self._stack = QStackedWidget()
        self._pages: list[QWidget] = []
        self._raw_differs = False
        self._text_is_input = False
        self._places, self._n_marks = 0, 0
        self._row: RequestRow | None = None
        for page in (self.text, self.tree, self.tasks, self.compare):
            self._stack.addWidget(page)
        self._lay_out()
        self.tabs.currentChanged.connect(self._on_tab)
        for view in (self.text, self.compare.left, self.compare.right):
            view.shown_whole.connect(self._on_shown)
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
        self._text_is_input = facts_fit(row.request.content, row.request.boundary)
        drawn = draw(text_value(row))
        self.text.show_value(drawn)
        _fill_tree(self.tree, exact_of(row))
        places, raw = self._show_raw(row, drawn)
        lists = tasks_of(row.request.content)
        self.tasks.show_lists(lists)
        self._places, self._row = places, row
        self._n_marks = drawn.n_marks + (raw.n_marks if raw is not None else 0)
        self._set_tabs(has_tasks=bool(lists) and row.request.scope != "tool_call")
        self.laid_out.emit()

    def retranslate(self) -> None:
        """Set every word again; what was shown stays shown."""
        for i, page in enumerate(self._pages):
            self.tabs.setTabText(i, self._label(page))
        if self._row is not None:
            self._about.say(self._what_is_shown(self._row))
        n = self._n_marks
        self._marks_picture.setVisible(n > 0)
        self._marks.say(words.hidden_count(n) if n else "")
        for view in (self.text, self.compare.left, self.compare.right):
            view.retranslate()

    def _label(self, page: QWidget) -> str:
        if page is self.compare:
            return tr("Changed from raw input: {n}", n=self._places)
        if page is self.text:
            return tr("Text")
        return tr("Tree") if page is self.tree else tr("Tasks")

    def _show_raw(self, row: RequestRow, drawn: VisibleText) -> tuple[int, VisibleText | None]:
        content = exact_of(row)
        differs = row.request.scope == "tool_call" and repr(content.get("rawInput")) != repr(
            content.get("input")
        )
        self._raw_differs = differs
        if not differs:
            return 0, None
        raw = draw(content.get("rawInput"))
        checked = draw(content.get("input"))
        heads = tr("raw input, as the model asked"), tr("input, as it will run")
        return self.compare.show_values(raw, checked, heads), raw

    def _what_is_shown(self, row: RequestRow) -> str:
        if row.request.scope != "tool_call" or not self._text_is_input:
            return tr("the whole content")
        if self._raw_differs:
            return tr("input, changed by the schema check")
        return tr("input, checked by schema")

    def _set_tabs(self, *, has_tasks: bool) -> None:
        self.tabs.blockSignals(True)
        while self.tabs.count():
            self.tabs.removeTab(0)
        self._pages = [self.compare] if self._raw_differs else []
        self._pages += [self.text, self.tree]
        if has_tasks:
            self._pages.append(self.tasks)
        for _ in self._pages:
            self.tabs.addTab("")
        self.retranslate()
        self.tabs.blockSignals(False)
        self._on_tab(0)

    def _on_tab(self, index: int) -> None:
        if 0 <= index < len(self._pages):
            self._stack.setCurrentWidget(self._pages[index])
            self.laid_out.emit()

    def _on_shown(self) -> None:
        if self.whole_was_shown:
            self.shown_whole.emit()

    @property
    def whole_was_shown(self) -> bool:
        """Whether all that the hash covers was on screen: input, and raw input where it differs."""
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


def _make_tree() -> QTreeWidget:
    tree = QTreeWidget()
    tree.setColumnCount(2)
    tree.setHeaderLabels([tr("Key"), tr("Value")])
    tree.setUniformRowHeights(True)
    tree.setWordWrap(False)
    tree.setTabKeyNavigation(False)
    return tree


def _fill_tree(tree: QTreeWidget, content: JsonObject) -> None:
    tree.clear()
    for item in _items(content.items()):
        tree.addTopLevelItem(item)
    tree.expandToDepth(1)
    tree.resizeColumnToContents(0)


def _items(pairs: Iterable[tuple[object, JsonValue]]) -> Iterable[QTreeWidgetItem]:
    for key, value in pairs:
        item = QTreeWidgetItem([_one_line(str(key)), _summary(value)])
        members: Iterable[tuple[object, JsonValue]] = ()
        if isinstance(value, dict):
            members = value.items()
        elif isinstance(value, list):
            members = enumerate(value)
        for child in _items(members):
            item.addChild(child)
        yield item


def _one_line(text: str) -> str:
    return "".join(p.text for line in string_lines(text) for p in line)[1:-1]


def _summary(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ntr("{n} member", "{n} members", len(value))
    if isinstance(value, list):
        return ntr("{n} item", "{n} items", len(value))
    return draw(value).lines[0].text if not isinstance(value, str) else _one_line(value)
