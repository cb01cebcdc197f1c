"""The windows beside the main window: reviews, resume dialogs, the question for a run's files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from oma_desktop.base.clock import Clock
from oma_desktop.base.settings import Settings
from oma_desktop.base.text import tr
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.model.view import RunRef
from oma_desktop.store.origin import Origin
from oma_desktop.ui.approval_review import ReviewWindow
from oma_desktop.ui.ask import ask
from oma_desktop.ui.resume_dialog import ResumeDialog
from oma_desktop.ui.start_dialog import StartDialog
from oma_desktop.ui.trust_dialog import TrustDialog
from oma_desktop.viewmodel.approvals import Inbox, RequestKey
from oma_desktop.viewmodel.commands import Commands
from oma_desktop.viewmodel.feed import Feed
from oma_desktop.viewmodel.offload import Offload, at_once
from oma_desktop.viewmodel.resume import ResumeModel
from oma_desktop.viewmodel.review import Docket, Reviewer
from oma_desktop.viewmodel.review_model import Notes, ReviewModel, SessionNotes
from oma_desktop.viewmodel.start_offer import StartOffer


class Desk(QObject):
    """Opens at most one review per request and one resume dialog per run.

    Nothing here opens by itself: every window answers a click, or the command line that
    named a run file (ux.md C7, case s36).
    """

    def __init__(
        self,
        feed: Feed,
        commands: Commands,
        inbox: Inbox,
        *,
        clock: Clock,
        settings: Settings,
        offload: Offload = at_once,
        notes: Notes | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._commands = commands
        self._inbox = inbox
        self._clock = clock
        self._settings = settings
        self._window = parent
        self._offload = offload
        self._docket = Docket()
        self._notes = notes or SessionNotes()
        self._reviews: list[ReviewWindow] = []
        self._resumes: dict[RunRef, ResumeDialog] = {}

    def review(self, target: object) -> None:
        """Open (or raise) the review of a request: `(store, id)` or a RequestKey."""
        key = target if isinstance(target, RequestKey) else RequestKey(*target)  # type: ignore[misc]
        if self._inbox.row(key) is None:
            return
        for window in self._reviews:
            if window.model.review.shown.key == key:
                window.raise_()
                window.activateWindow()
                return
        model = ReviewModel(
            key,
            feed=self._feed,
            inbox=self._inbox,
            commands=self._commands,
            clock=self._clock,
            docket=self._docket,
            reviewer=Reviewer(self._settings.reviewer_id, self._settings.reviewer_name),
            notes=self._notes,
            undo_s=self._settings.undo_s,
        )
        window = ReviewWindow(model, offload=self._offload)
        window.closed.connect(self._on_review_closed)
        self._reviews.append(window)
        window.open_by_user()

    def resume(self, run: RunRef) -> None:
        """Open (or raise) the resume dialog of a run; nothing runs until its button."""
        dialog = self._resumes.get(run)
        if dialog is None:
            model = ResumeModel(run, feed=self._feed, commands=self._commands)
            dialog = ResumeDialog(
                model, clock=self._clock, offload=self._offload, parent=self._window
            )
            dialog.setObjectName("resume")
            dialog.review_wanted.connect(self.review)
            dialog.finished.connect(self._on_resume_finished)
            self._resumes[run] = dialog
        dialog.open()

    def reviews(self) -> tuple[ReviewWindow, ...]:
        """Return the open reviews."""
        return tuple(self._reviews)

    def resume_dialog(self, run: RunRef) -> ResumeDialog | None:
        """Return the open resume dialog of a run."""
        return self._resumes.get(run)

    async def choose_files(self, run: RunRef) -> Origin | None:
        """Ask which run file or script belongs to a run; None: not now."""
        dialog = QFileDialog(self._window, tr("Which file describes this run?"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Run files and scripts (*.json *.yaml *.yml)")])
        dialog.setDirectory(str(Path(run.store).parent))
        if await ask(dialog) != QFileDialog.DialogCode.Accepted:
            return None
        chosen = [Path(p) for p in dialog.selectedFiles()]
        if not chosen:
            return None
        is_script = await asyncio.to_thread(_looks_like_script, chosen[0])
        return Origin(script=chosen[0]) if is_script else Origin(run_file=chosen[0])

    async def confirm_start(self, offer: StartOffer) -> bool:
        """Ask whether a run file shall run; whatever is no click is a no."""
        return await ask(StartDialog(offer, self._window)) == QFileDialog.DialogCode.Accepted

    async def ask_trust(self, question: TrustQuestion) -> bool:
        """Ask whether code of a folder may run; anything but the button is no."""
        dialog = TrustDialog(question, self._window)
        return await ask(dialog) == TrustDialog.DialogCode.Accepted

    def close(self) -> None:
        """Close every window of the desk; an open question ends without a decision."""
        for review in list(self._reviews):
            review.close()
        for dialog in list(self._resumes.values()):
            dialog.reject()

    def _on_review_closed(self, window: object) -> None:
        self._reviews = [w for w in self._reviews if w is not window]

    def _on_resume_finished(self) -> None:
        dialog = self.sender()
        self._resumes = {run: d for run, d in self._resumes.items() if d is not dialog}


def _looks_like_script(path: Path) -> bool:
    """A script has replies; a run file never does."""
    try:
        head = path.read_bytes()
    except OSError:
        return False
    return b'"replies"' in head
