"""What can go wrong with an external agent."""

from __future__ import annotations

from oma_desktop.model.errors import EngineError


class BackendFailed(EngineError):
    """An external agent did not do its work.

    BACKEND_NOT_STARTED (`command`, `reason`), BACKEND_EXIT (`command`, `status`, `said`),
    BACKEND_REFUSED (`command`), BACKEND_BROKEN (`command`, `reason`).
    """

    retryable = True


class BackendUnusable(EngineError):
    """The work does not fit an external agent; trying again changes nothing.

    INVALID_MESSAGE (`agent`): it takes one text, not messages. BACKEND_EMPTY_PROMPT (`agent`).
    BACKEND_UNAVAILABLE (`agent`): the team was wired without a way to start programs.
    """
