"""Everything between the loop and the screen, assembled: used by the program, shots and tests."""

from __future__ import annotations

from pathlib import Path

from oma_desktop.app.desk import Desk
from oma_desktop.app.notes import FileNotes
from oma_desktop.app.offload import Offloader
from oma_desktop.app.session import Session
from oma_desktop.base.clock import Clock
from oma_desktop.base.lanes import Lanes
from oma_desktop.base.settings import Settings
from oma_desktop.base.supervisor import Supervisor
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.model.view import RunRef
from oma_desktop.store.origin import Origin
from oma_desktop.ui.approval_inbox import InboxPanel
from oma_desktop.ui.main_window import MainWindow
from oma_desktop.ui.map_view import MapView
from oma_desktop.ui.outline_view import OutlineView
from oma_desktop.viewmodel.approvals import Inbox
from oma_desktop.viewmodel.feed import Feed, Notice
from oma_desktop.viewmodel.selection import Selection
from oma_desktop.viewmodel.start_offer import StartOffer


class Workbench:
    """Feed, session, selection, main window and desk, connected. `close` ends them in order."""

    def __init__(
        self,
        *,
        clock: Clock,
        lanes: Lanes,
        supervisor: Supervisor,
        settings: Settings | None = None,
        layout_path: Path | None = None,
        notes_path: Path | None = None,
        speed: float = 1.0,
    ) -> None:
        self.feed = Feed()
        self.session = Session(
            self.feed,
            clock=clock,
            supervisor=supervisor,
            lanes=lanes,
            choose_files=self._choose_files,
            confirm_start=self._confirm_start,
            ask_trust=self._ask_trust,
            on_watched=self._on_watched,
            speed=speed,
        )
        self.selection = Selection()
        self.inbox = Inbox(self.feed)
        self.panel = InboxPanel(self.inbox, clock=clock)
        self.map = MapView(
            self.feed, self.selection, now=clock.now, offload=Offloader(supervisor, lanes)
        )
        self.outline = OutlineView(self.feed, self.selection)
        self.window = MainWindow(
            self.feed,
            self.session,
            self.selection,
            clock=clock,
            map_view=self.map,
            outline_view=self.outline,
            inbox=self.panel,
            layout_path=layout_path,
        )
        self._notes = self._open_notes(notes_path, Offloader(supervisor, lanes))
        self.desk = Desk(
            self.feed,
            self.session,
            self.inbox,
            clock=clock,
            settings=settings or Settings(reviewer_id="operator-1"),
            offload=Offloader(supervisor, lanes),
            notes=self._notes,
            parent=self.window,
        )
        self.window.review_requested.connect(self.desk.review)
        self.window.resume_requested.connect(self.desk.resume)
        self.panel.review_wanted.connect(self.desk.review)
        self.map.review_requested.connect(self.desk.review)
        self.map.opened.connect(self._show_inspector)
        self.map.conversation_requested.connect(self._show_conversation)
        self.map.outline_requested.connect(self._show_outline)
        self.outline.review_requested.connect(self.desk.review)
        self.outline.opened.connect(self._show_inspector)
        self.outline.conversation_requested.connect(self._show_conversation)
        self.outline.map_requested.connect(self._show_map)

    def _open_notes(self, path: Path | None, offload: Offloader) -> FileNotes | None:
        if path is None:
            return None
        return FileNotes(path, offload=offload, on_trouble=self._on_notes_trouble)

    def _on_notes_trouble(self, path: Path) -> None:
        self.feed.notice.emit(Notice("warning", "NOTES_NOT_SAVED", {"path": str(path)}))

    def _show_inspector(self) -> None:
        self.window.keys.show_dock("inspector")

    def _show_conversation(self) -> None:
        self.window.keys.show_view("conversation")

    def _show_map(self) -> None:
        self.window.keys.show_view("map")

    def _show_outline(self) -> None:
        self.window.keys.show_view("outline")

    def _on_watched(self, paths: tuple[str, ...]) -> None:
        self.window.set_watched(paths)

    async def _ask_trust(self, question: TrustQuestion) -> bool:
        return await self.desk.ask_trust(question)

    async def _choose_files(self, run: RunRef) -> Origin | None:
        return await self.desk.choose_files(run)

    async def _confirm_start(self, offer: StartOffer) -> bool:
        return await self.desk.confirm_start(offer)

    async def close(self) -> int:
        """Refuse commands, suspend runs, stop watching, close windows; return runs left behind."""
        self.window.setEnabled(False)
        self.desk.close()
        if self._notes is not None:
            self._notes.flush()
        late = await self.session.close()
        self.window.save_layout()
        self.window.hide()
        self.window.deleteLater()
        return late
