"""Everything a click may ask for. `app.session` implements it; tests give a fake (house.md 2.4).

Every method is synchronous, returns nothing and cannot fail: failures come back as notices,
success comes back as new bytes on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from oma_desktop.model.view import RunRef


@dataclass(frozen=True, slots=True)
class DecisionIntent:
    """One verdict over exactly what was shown: id and hash frozen at display time."""

    store: str
    request_id: str
    request_hash: str
    verdict: Literal["approve", "reject"]
    reviewer_id: str
    reviewer_name: str | None = None


@dataclass(frozen=True, slots=True)
class ResumeIntent:
    """Resume a run; `run_again` are the call ids under "may run twice" the operator accepted."""

    run: RunRef
    run_again: tuple[str, ...] = ()
    retry_failed: bool = False


class Commands(Protocol):
    """The verbs of the window."""

    def open_paths(self, paths: list[str]) -> None:
        """Watch store files, folders or databases; offer to start a run file."""
        ...

    def forget_path(self, path: str) -> None:
        """Stop watching; nothing on disk changes."""
        ...

    def start_run(self, run_file: str) -> None:
        """Start a run file in this process."""
        ...

    def start_sample(self) -> None:
        """Play the bundled sample in a fresh temporary folder."""
        ...

    def suspend(self, run: RunRef) -> None:
        """Stop at the next safe point; resumable."""
        ...

    def cancel(self, run: RunRef) -> None:
        """Stop now."""
        ...

    def request_resume_plan(self, run: RunRef) -> None:
        """Compute the resume plan; it arrives as `ResumeFeed.plan_ready`."""
        ...

    def resume(self, intent: ResumeIntent) -> None:
        """Restore and run."""
        ...

    def decide(self, intent: DecisionIntent) -> None:
        """Record one decision by compare-and-set."""
        ...

    def load_conversation(self, run: RunRef, task_id: str) -> None:
        """Read the messages of one task; they arrive as `ConversationFeed.loaded`."""
        ...

    def load_call(self, run: RunRef, task_id: str, call_id: str) -> None:
        """Read whole input and output of one call; they arrive as `CallFeed.loaded`."""
        ...

    def look_again(self) -> None:
        """Re-read everything now."""
        ...
