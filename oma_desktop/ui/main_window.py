"""The main window: puts the panels in their places and passes on what is asked for.

It decides nothing: verbs go to `Commands`, facts come from `Feed`, what is selected is in
`Selection`. Closing is only asked for (`close_requested`); the session decides (house.md 4.1 #4).
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QStackedWidget,
    QTabWidget,
    QToolBar,
    QWidget,
)
from typing_extensions import override

from oma_desktop.base.clock import Clock
from oma_desktop.base.text import ntr, tr
from oma_desktop.model.view import RunRef
from oma_desktop.ui import layout_state
from oma_desktop.ui.actions import Actions
from oma_desktop.ui.centre_tabs import CentreTabs
from oma_desktop.ui.conversation_view import ConversationView
from oma_desktop.ui.docks import Dock, polish_dock_tabs
from oma_desktop.ui.first_start import FirstStart, scrolled
from oma_desktop.ui.focus_ring import watch_focus
from oma_desktop.ui.frame import Frame
from oma_desktop.ui.inspector import Inspector
from oma_desktop.ui.layout_state import LayoutState
from oma_desktop.ui.look_control import LookControl
from oma_desktop.ui.menus import Menus
from oma_desktop.ui.notice_bar import NoticeBar
from oma_desktop.ui.panel_keys import PanelKeys
from oma_desktop.ui.problems_panel import ProblemsPanel
from oma_desktop.ui.row_menus import RowMenus
from oma_desktop.ui.run_bar import RunBar
from oma_desktop.ui.runs_panel import RunsPanel
from oma_desktop.ui.speech import Speech
from oma_desktop.ui.status_line import StatusLine
from oma_desktop.ui.theme import theme, theme_host
from oma_desktop.ui.window_verbs import WindowVerbs
from oma_desktop.viewmodel.announcer import Announcer
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.conversation import Conversation
from oma_desktop.viewmodel.feed import Feed, Notice
from oma_desktop.viewmodel.next_steps import NextSteps
from oma_desktop.viewmodel.notices import NoticeBoard
from oma_desktop.viewmodel.problems import ProblemRows
from oma_desktop.viewmodel.runs import RunRows
from oma_desktop.viewmodel.selection import Selection

TICK_MS = 1000
FIRST_S = 5.0
# Title bar and borders of the system, which are not known before the window is on the screen
_FRAME = (8, 40)
_AFTER_START = ("inspector", "problems")  # docks that say nothing while nothing is watched


class MainWindow(QMainWindow):
    """One window per workspace.

    `review_requested` carries (store path, request id), `resume_requested` a RunRef,
    `language_changed` the new language. Views that are not given are absent, not empty.
    """

    close_requested = Signal()
    review_requested = Signal(object)
    resume_requested = Signal(object)
    language_changed = Signal(str)

    def __init__(
        self,
        feed: Feed,
        commands: Commands,
        selection: Selection,
        *,
        clock: Clock,
        map_view: QWidget | None = None,
        outline_view: QWidget | None = None,
        inbox: QWidget | None = None,
        layout_path: Path | None = None,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.selection = selection
        self._layout = LayoutState(layout_path)
        self._watched = False
        self._begun: bool | None = None
        self._clock = clock
        self._first: RunRef | None = None
        self._first_until = 0.0
        self._n_stores = 0
        self._closed: set[str] = set()
        self._was_shown = False
        self._had_layout = False
        now = clock.now

        # models
        self.runs = RunRows(feed, self)
        self.board = NoticeBoard(feed, now=now, parent=self)
        self.board.changed.connect(self._on_board_changed)
        self.next_steps = NextSteps(feed, self)
        self.problem_rows = ProblemRows(feed, self.board, self)
        self.conversation = Conversation(feed, commands, selection, self)

        # panels
        self.actions_ = Actions(self)
        self.runs_panel = RunsPanel(self.runs, selection, now=now)
        self.inspector = Inspector(feed, commands, selection, self.actions_, now=now)
        self.problems_panel = ProblemsPanel(self.problem_rows, selection)
        self.conversation_view = ConversationView(self.conversation, selection)
        self.run_bar = RunBar(feed, selection, self.actions_)
        self.status_line = StatusLine(feed, selection, now=now)
        self.first_start = FirstStart()
        self.inbox = inbox
        self.views: dict[str, QWidget] = {
            name: view
            for name, view in (
                ("map", map_view),
                ("outline", outline_view),
                ("conversation", self.conversation_view),
            )
            if view is not None
        }

        # places
        self.notices = NoticeBar(self.board)
        self._bars = [
            self._add_bar("run", self.run_bar),
            self._add_bar("notices", self.notices),
        ]
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setTabBar(CentreTabs())
        for name, view in self.views.items():
            self.tabs.tabBar().setTabData(self.tabs.addTab(view, ""), name)
        self._centre = QStackedWidget()
        self._centre.addWidget(scrolled(self.first_start))
        self._centre.addWidget(self.tabs)
        self.setCentralWidget(self._centre)
        self.docks: dict[str, Dock] = {"runs": Dock("runs", self.runs_panel, self)}
        if inbox is not None:
            self.docks["inbox"] = Dock("inbox", inbox, self)
        self.docks["inspector"] = Dock("inspector", self.inspector, self)
        self.docks["problems"] = Dock("problems", self.problems_panel, self)
        self.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addWidget(self.status_line, 1)
        panels = [d.toggleViewAction() for d in self.docks.values()]
        self.menus = Menus(self.menuBar(), self.actions_, panels)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.setAcceptDrops(True)

        # conduct
        self._frame = Frame(
            window=self,
            actions=self.actions_,
            feed=feed,
            selection=selection,
            runs=self.runs,
            runs_panel=self.runs_panel,
            inspector=self.inspector,
            conversation_view=self.conversation_view,
            problems_panel=self.problems_panel,
            run_bar=self.run_bar,
            status_line=self.status_line,
            first_start=self.first_start,
            inbox=inbox,
            tabs=self.tabs,
            views=self.views,
            docks=self.docks,
        )
        self.keys = PanelKeys(self._frame)
        self.verbs = WindowVerbs(self._frame, self.keys, commands)
        self.row_menus = RowMenus(self._frame)
        self.row_menus.conversation_requested.connect(self._on_conversation_requested)
        self._look = LookControl(self.actions_, self)
        self._announcer = Announcer(feed, self.runs, monotonic=clock.monotonic, parent=self)
        self._speech = Speech(self._announcer, self)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            watch_focus(app)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._on_tick)
        self._tick.start()
        self.conversation.set_active(active=False)
        self.tabs.currentChanged.connect(self._on_tab_changed)
        self.inspector.review_requested.connect(self.review_requested)
        self.verbs.review_requested.connect(self.review_requested)
        self.verbs.resume_requested.connect(self.resume_requested)
        self.verbs.close_requested.connect(self.close_requested)
        self.verbs.reset_requested.connect(self._on_reset_asked)
        self._look.language_changed.connect(self.language_changed)
        self.notices.followed.connect(self._on_notice_followed)
        self.run_bar.needs_you_pressed.connect(self.verbs.review)
        self.status_line.decisions_pressed.connect(self.verbs.show_inbox)
        feed.changed.connect(self._on_feed_changed)
        for dock in self.docks.values():
            dock.dockLocationChanged.connect(self._refresh_docks)
            dock.topLevelChanged.connect(self._refresh_docks)
            dock.visibilityChanged.connect(self._refresh_docks)
        theme_host().theme_changed.connect(self._restyle)

        self.reset_layout()
        self._restyle()
        self._retranslate()
        self._restore()
        self._on_feed_changed()
        self._on_board_changed()
        self._on_tab_changed()

    # -- places -----------------------------------------------------------------------------

    def reset_layout(self) -> None:
        """Put every panel back to its default place and size."""
        look = theme()
        left, right, bottom = (
            Qt.DockWidgetArea.LeftDockWidgetArea,
            Qt.DockWidgetArea.RightDockWidgetArea,
            Qt.DockWidgetArea.BottomDockWidgetArea,
        )
        places = {"runs": left, "inbox": left, "inspector": right, "problems": bottom}
        for name, dock in self.docks.items():
            dock.setFloating(False)
            self.addDockWidget(places[name], dock)
            dock.show()
        if "inbox" in self.docks:
            self.tabifyDockWidget(self.docks["runs"], self.docks["inbox"])
            self.docks["runs"].raise_()
        self.docks["runs"].setMinimumWidth(look.px(200))
        self.docks["inspector"].setMinimumWidth(look.px(260))
        self.resize(look.px(1440), look.px(900))
        self._size_docks()
        self._refresh_docks()

    def fit_screen(self) -> None:
        """Become no larger than the screen has room for beside bars and the system's own frame."""
        free = self.screen().availableGeometry().size() - QSize(*_FRAME)
        self.resize(self.size().boundedTo(free))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._was_shown:
            self._was_shown = True
            if not self._had_layout:
                self._size_docks()  # sizes asked for before the first layout are forgotten
            self._refresh_docks()
            first = self.runs_panel.list if self._begun else self.first_start.cards[0].button
            first.setFocus(Qt.FocusReason.OtherFocusReason)

    def _size_docks(self) -> None:
        look = theme()
        horizontal = Qt.Orientation.Horizontal
        sides = [self.docks["runs"], self.docks["inspector"]]
        self.resizeDocks(sides, [look.px(264), look.px(312)], horizontal)
        self.resizeDocks([self.docks["problems"]], [look.px(136)], Qt.Orientation.Vertical)

    def save_layout(self) -> None:
        """Keep places, theme, density, text size and language for the next start."""
        if self._begun:
            self._note_closed()
        closed = {"closed": " ".join(sorted(self._closed))}
        self._layout.save({**layout_state.take(self), **closed, **self._look.values()})

    def set_watched(self, paths: tuple[str, ...]) -> None:
        """Say which folders and files are watched."""
        self.runs_panel.set_watched(paths)
        self._watched = bool(paths)
        self._on_feed_changed()

    def _add_bar(self, name: str, content: QWidget) -> QToolBar:
        bar = QToolBar(self)
        bar.setObjectName(f"bar.{name}")
        bar.setMovable(False)
        bar.setFloatable(False)
        bar.toggleViewAction().setVisible(False)
        bar.addWidget(content)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, bar)
        self.addToolBarBreak(Qt.ToolBarArea.TopToolBarArea)
        return bar

    def _restore(self) -> None:
        values = self._layout.load()
        self._look.restore(values)
        self._had_layout = layout_state.apply(self, values)
        self._closed = set(values.get("closed", "").split()) & set(_AFTER_START)
        self._refresh_docks()

    def _refresh_docks(self) -> None:
        for dock in self.docks.values():
            dock.refresh_head()
        polish_dock_tabs(self)

    # -- events -----------------------------------------------------------------------------

    def _on_feed_changed(self) -> None:
        self._show_begun(begun=self._watched or bool(self.feed.stores()))
        self._select_first()
        n = self.runs.n_waiting
        if "inbox" in self.docks:
            spoken = ntr("Inbox, {n} decision waiting", "Inbox, {n} decisions waiting", n)
            self.docks["inbox"].set_count(n, spoken=spoken if n else "", needs_you=True)
            polish_dock_tabs(self)
        self._name_problems()

    def _select_first(self) -> None:
        """Select the top run where none is, and while the first ones still come in.

        Never after the operator chose, and never later: nothing may move under the eyes.
        """
        now, chosen = self._clock.monotonic(), self.selection.run
        gone = chosen is None or self.feed.run(chosen) is None
        n, self._n_stores = self._n_stores, len(self.feed.stores())
        more = self._n_stores > n and chosen == self._first and now < self._first_until
        if not gone and not more:
            return
        rows = self.runs.run_rows()
        if gone and rows:
            self._first_until = now + FIRST_S
        self._first = rows[0].ref if rows else None
        self.selection.select_run(self._first)

    def _show_begun(self, *, begun: bool) -> None:
        """Switch between first start and the panels; what the operator closed stays closed."""
        if begun == self._begun:
            return
        if self._begun:
            self._note_closed()
        self._begun = begun
        self._centre.setCurrentIndex(1 if begun else 0)
        for name in _AFTER_START:
            self.docks[name].setVisible(begun and name not in self._closed)
        if begun and not self._had_layout:
            self._size_docks()

    def _note_closed(self) -> None:
        self._closed = {n for n in _AFTER_START if self.docks[n].isHidden()}

    def _on_board_changed(self) -> None:
        self._bars[1].setVisible(bool(self.board.shown))
        self._name_problems()

    def _on_notice_followed(self, notice: Notice) -> None:
        """Lead to the plan of a resume; nothing runs until its own button is pressed."""
        if notice.run is not None:
            self.selection.select_run(notice.run)
            self.resume_requested.emit(notice.run)

    def _on_conversation_requested(self) -> None:
        self.keys.show_view("conversation")

    def _name_problems(self) -> None:
        n = self.problem_rows.rowCount()
        spoken = ntr("Problems, {n} entry", "Problems, {n} entries", n)
        self.docks["problems"].set_count(n, spoken=spoken if n else "")

    def _on_reset_asked(self) -> None:
        self.reset_layout()
        self.fit_screen()
        self._size_docks()

    def _on_tick(self) -> None:
        self.runs_panel.tick()
        self.inspector.tick()
        self.status_line.refresh()

    def _on_tab_changed(self) -> None:
        self.conversation.set_active(active=self.tabs.currentWidget() is self.conversation_view)

    @override
    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        self.setWindowTitle(tr("OMA Desktop"))
        titles = {
            "map": tr("Map"),
            "outline": tr("Outline"),
            "conversation": tr("Conversation"),
        }
        for name, view in self.views.items():
            self.tabs.setTabText(self.tabs.indexOf(view), titles[name])
        self.docks["runs"].setWindowTitle(tr("Runs"))
        self.docks["inspector"].setWindowTitle(tr("Inspector"))
        self.docks["problems"].setWindowTitle(tr("Problems"))
        if "inbox" in self.docks:
            self.docks["inbox"].setWindowTitle(tr("Inbox"))
        self.actions_.retranslate()
        self.menus.retranslate()
        self._on_feed_changed()

    def _restyle(self) -> None:
        self.actions_.tint()
        self.menus.restyle(self)
        self.statusBar().setFixedHeight(theme().px(24))
        self._refresh_docks()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        self.close_requested.emit()

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        paths = [u.toLocalFile() for u in event.mimeData().urls() if u.isLocalFile()]
        if paths:
            self.verbs.open_paths(paths)
            event.acceptProposedAction()
