"""Nothing of a folder is imported or started before a person agreed to it (product.md 7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from oma_desktop.base.lanes import Lanes
from oma_desktop.model.errors import NotAllowed, WriteFailed
from oma_desktop.model.trust import TrustQuestion
from oma_desktop.store.trust import TrustedFolders

AskTrust: TypeAlias = Callable[[TrustQuestion], Awaitable[bool]]
"""Asks a person; anything but a clear yes is False."""


class Consent:
    """Knows which folders are trusted and asks about others; without `ask` they are refused."""

    def __init__(
        self, folders: TrustedFolders | None = None, *, ask: AskTrust | None = None
    ) -> None:
        self._folders = folders if folders is not None else TrustedFolders()
        self._ask = ask

    async def require(self, question: TrustQuestion, *, lanes: Lanes) -> bool:
        """Return when the folder is trusted; False when the yes could not be remembered.

        Raises NotAllowed FOLDER_NOT_TRUSTED (nobody to ask) or FOLDER_REFUSED (asked, and no yes).
        """
        folder = question.folder
        if await lanes.work(self._folders.trusts, folder):
            return True
        if self._ask is None:
            raise not_trusted(question)
        if not await self._ask(question):
            raise NotAllowed("FOLDER_REFUSED", folder=str(folder))
        try:
            await lanes.work(self._folders.trust, folder)
        except (WriteFailed, OSError):
            return False
        return True

    @property
    def place(self) -> str:
        """Where answers are kept."""
        return str(self._folders.path)


def not_trusted(question: TrustQuestion) -> NotAllowed:
    """Return the refusal that names the folder and what it would have run."""
    return NotAllowed(
        "FOLDER_NOT_TRUSTED",
        path=str(question.run_file or question.folder),
        folder=str(question.folder),
        names=", ".join(question.names),
    )
