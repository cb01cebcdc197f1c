"""The parts of the main window, handed to those who conduct it; holds no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QMainWindow, QTabWidget, QWidget

from oma_desktop.ui.actions import Actions
from oma_desktop.ui.conversation_view import ConversationView
from oma_desktop.ui.docks import Dock
from oma_desktop.ui.first_start import FirstStart
from oma_desktop.ui.inspector import Inspector
from oma_desktop.ui.problems_panel import ProblemsPanel
from oma_desktop.ui.run_bar import RunBar
from oma_desktop.ui.runs_panel import RunsPanel
from oma_desktop.ui.status_line import StatusLine
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.runs import RunRows
from oma_desktop.viewmodel.selection import Selection


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything a conductor may reach. `views` and `docks` hold only what is there."""

    window: QMainWindow
    actions: Actions
    feed: Feed
    selection: Selection
    runs: RunRows
    runs_panel: RunsPanel
    inspector: Inspector
    conversation_view: ConversationView
    problems_panel: ProblemsPanel
    run_bar: RunBar
    status_line: StatusLine
    first_start: FirstStart
    inbox: QWidget | None
    tabs: QTabWidget
    views: dict[str, QWidget]
    docks: dict[str, Dock]
