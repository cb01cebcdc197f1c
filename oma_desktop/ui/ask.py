"""Questions without a nested loop: open the dialog, await the answer (case s25)."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QDialog

NO_DECISION = int(QDialog.DialogCode.Rejected)


class _Answer:
    """Turns the end of a dialog into a future; outlives the dialog."""

    def __init__(self, future: asyncio.Future[int]) -> None:
        self.future = future
        self.gone = False

    def on_finished(self, result: int) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def on_destroyed(self) -> None:
        self.gone = True
        self.on_finished(NO_DECISION)


async def ask(dialog: QDialog) -> int:
    """Show `dialog` and return its result; other tasks go on meanwhile.

    Closing the dialog, or destroying it with its parent, gives `NO_DECISION`: silence is never a
    yes. Cancelling the caller closes the dialog. It lives until the caller's next await, so that
    fields can be read; then it is deleted.
    """
    answer = _Answer(asyncio.get_running_loop().create_future())
    dialog.finished.connect(answer.on_finished)
    dialog.destroyed.connect(answer.on_destroyed)
    dialog.open()
    try:
        return await answer.future
    finally:
        if not answer.gone:
            dialog.close()
            dialog.deleteLater()
