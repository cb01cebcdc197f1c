"""What the menu entries of the main window do: each asks `Commands`, a dialog, or the selection."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from oma_desktop import __version__
from oma_desktop.base.text import tr
from oma_desktop.model.view import RunRef, TaskState
from oma_desktop.ui.cancel_dialog import CancelDialog
from oma_desktop.ui.frame import Frame
from oma_desktop.ui.keys_dialog import KeysDialog
from oma_desktop.ui.panel_keys import PanelKeys
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.runs import RunRow
from oma_desktop.viewmodel.selection import Place
from oma_desktop.viewmodel.verbs import open_request_of


class WindowVerbs(QObject):
    """Connects the actions. Nothing here blocks: dialogs open and report by signal."""

    review_requested = Signal(object)  # (store path, request id)
    resume_requested = Signal(object)  # RunRef: show the plan, run nothing
    close_requested = Signal()
    reset_requested = Signal()

    def __init__(self, frame: Frame, keys: PanelKeys, commands: Commands) -> None:
        super().__init__(frame.window)
        self._frame = frame
        self._keys = keys
        self._commands = commands
        self._asked_for: RunRef | None = None
        frame.actions.connect_all(
            {
                "new": self.choose_run_file,
                "sample": commands.start_sample,
                "open_file": self.choose_file,
                "open_folder": self.choose_folder,
                "look_again": commands.look_again,
                "quit": self.close_requested.emit,
                "suspend": self.suspend,
                "cancel": self.ask_cancel,
                "restore": self.restore,
                "review": self.review,
                "inbox": self.show_inbox,
                "back": frame.selection.back,
                "forward": frame.selection.forward,
                "next_needs_you": self.next_needs_you,
                "first_failure": self.first_failure,
                "filter": self.focus_filter,
                "find": self.find,
                "reset_layout": self.reset_requested.emit,
                "keys": self.show_keys,
                "about": self.say_about,
            }
        )
        frame.first_start.chosen.connect(self._on_card_chosen)
        frame.runs_panel.open_requested.connect(self.choose_folder)
        frame.runs_panel.opened.connect(self._on_run_opened)
        frame.inspector.conversation_requested.connect(self._on_conversation_requested)
        frame.conversation_view.call_chosen.connect(self._on_call_chosen)
        frame.selection.history_changed.connect(self._on_history_changed)
        frame.feed.changed.connect(self.refresh)
        frame.selection.task_changed.connect(self.refresh)
        self._on_history_changed()
        self.refresh()

    # -- files ------------------------------------------------------------------------------

    def open_paths(self, paths: list[str]) -> None:
        """Watch files or folders."""
        self._commands.open_paths(paths)

    def choose_file(self) -> None:
        """Ask for a store file."""
        dialog = self._file_dialog(tr("Open store file"), QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([tr("FileStore files (*.json)"), tr("All files (*)")])
        dialog.filesSelected.connect(self.open_paths)
        dialog.open()

    def choose_folder(self) -> None:
        """Ask for a folder to watch."""
        dialog = self._file_dialog(tr("Open folder"), QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.filesSelected.connect(self.open_paths)
        dialog.open()

    def choose_run_file(self) -> None:
        """Ask for a run file; like any file that is opened it is offered before it starts."""
        dialog = self._file_dialog(tr("New run"), QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Run files (*.json *.yaml *.yml)"), tr("All files (*)")])
        dialog.filesSelected.connect(self.open_paths)
        dialog.open()

    def _file_dialog(self, title: str, mode: QFileDialog.FileMode) -> QFileDialog:
        dialog = QFileDialog(self._frame.window, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(mode)
        return dialog

    # -- verbs of the selected run ----------------------------------------------------------

    def suspend(self) -> None:
        """Suspend the selected run at its next safe point."""
        ref = self._frame.selection.run
        if ref is not None:
            self._commands.suspend(ref)

    def ask_cancel(self) -> None:
        """Show what a stop would cost; the dialog decides."""
        ref = self._frame.selection.run
        run = self._frame.feed.run(ref) if ref is not None else None
        if ref is None or run is None:
            return
        names = [r.name for r in self._frame.runs.run_rows() if r.ref == ref]
        dialog = CancelDialog(names[0] if names else run.run_id, run, self._frame.window)
        self._asked_for = ref
        dialog.confirmed.connect(self._on_cancel_confirmed)
        dialog.suspend_chosen.connect(self._on_suspend_chosen)
        dialog.open()

    def restore(self) -> None:
        """Ask for the resume dialog; it shows the plan and runs nothing."""
        ref = self._frame.selection.run
        if ref is not None:
            self.resume_requested.emit(ref)

    def review(self) -> None:
        """Open the request of the selected task, else the first of the run."""
        target = self._review_target()
        if target is not None:
            self.review_requested.emit(target)

    def _review_target(self) -> tuple[str, str] | None:
        place = self._frame.selection.place
        if place.run is None:
            return None
        store = self._frame.feed.store(place.run.store)
        run = self._frame.feed.run(place.run)
        if store is None or run is None:
            return None
        found = open_request_of(store, run, task_id=place.task_id) or open_request_of(
            store, run, task_id=None
        )
        return (store.path, found.id) if found is not None else None

    def refresh(self) -> None:
        """Follow the selection: is there anything to review?"""
        self._frame.actions["review"].setEnabled(self._review_target() is not None)

    def _on_cancel_confirmed(self) -> None:
        if self._asked_for is not None:
            self._commands.cancel(self._asked_for)

    def _on_suspend_chosen(self) -> None:
        if self._asked_for is not None:
            self._commands.suspend(self._asked_for)

    def show_inbox(self) -> None:
        """Lead to what waits: the inbox where there is one, else the first such run."""
        if "inbox" in self._frame.docks:
            self._keys.show_dock("inbox")
        else:
            self.next_needs_you()

    # -- going places -----------------------------------------------------------------------

    def next_needs_you(self) -> None:
        """Select the next run, and in it the first task, that waits for a person."""
        waiting = [r for r in self._frame.runs.run_rows() if r.n_waiting]
        if not waiting:
            return
        now = self._frame.selection.run
        at = next((i for i, r in enumerate(waiting) if r.ref == now), -1)
        row = waiting[(at + 1) % len(waiting)]
        self._frame.selection.select(Place(row.ref, self._first_task(row, TaskState.NEEDS_YOU)))

    def first_failure(self) -> None:
        """Select the first failed task of the selected run."""
        ref = self._frame.selection.run
        row = next((r for r in self._frame.runs.run_rows() if r.ref == ref), None)
        task_id = self._first_task(row, TaskState.FAILED) if row is not None else None
        if row is not None and task_id is not None:
            self._frame.selection.select(Place(row.ref, task_id))

    def focus_filter(self) -> None:
        """Put the caret into the filter of the runs."""
        self._keys.show_dock("runs")
        self._frame.runs_panel.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def find(self) -> None:
        """Open find in the conversation."""
        self._keys.show_view("conversation")
        self._frame.conversation_view.open_find()

    def show_keys(self) -> None:
        """Show the keyboard map."""
        dialog = KeysDialog(self._frame.actions, self._keys.lines(), self._frame.window)
        dialog.open()

    def say_about(self) -> None:
        """Say name and version in the status line."""
        self._frame.status_line.say(tr("OMA Desktop {version}, MIT licence", version=__version__))

    def _first_task(self, row: RunRow, state: TaskState) -> str | None:
        run = self._frame.feed.run(row.ref)
        tasks = run.tasks if run is not None else ()
        return next((t.id for t in tasks if t.state is state), None)

    def _on_card_chosen(self, name: str) -> None:
        if name == "sample":
            self._commands.start_sample()
        elif name == "folder":
            self.choose_folder()
        else:
            self.choose_run_file()

    def _on_run_opened(self) -> None:
        current = self._frame.tabs.currentWidget()
        if current is not None:
            current.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_conversation_requested(self) -> None:
        self._keys.show_view("conversation")

    def _on_call_chosen(self, call_id: str) -> None:
        self._frame.selection.select_call(call_id)
        place = self._frame.selection.place
        run = self._frame.feed.run(place.run) if place.run is not None else None
        calls = [c for t in run.tasks if t.id == place.task_id for c in t.calls] if run else []
        waiting = [c for c in calls if c.call_id == call_id and c.approval_id]
        if waiting and place.run is not None:
            request = self._frame.feed.store(place.run.store)
            is_open = request is not None and any(
                a.id == waiting[-1].approval_id and a.open for a in request.approvals
            )
            if is_open:
                target = (place.run.store, waiting[-1].approval_id)
                self.review_requested.emit(target)

    def _on_history_changed(self) -> None:
        actions = self._frame.actions
        actions["back"].setEnabled(self._frame.selection.can_go_back)
        actions["forward"].setEnabled(self._frame.selection.can_go_forward)
