"""Tokens of delegated runs that no commit of the run above holds yet (engine.md 3.12)."""

from __future__ import annotations

from typing import TypeAlias

from oma_desktop.engine.budget import total
from oma_desktop.model.checkpoint import InFlightEntry
from oma_desktop.model.message import TokenUsage
from oma_desktop.model.result import add_usage, no_usage

Path: TypeAlias = tuple[str, ...]
"""The task's id, then the id of the delegating call of each agent on the way down."""


class NestedUsage:
    """What running and abandoned delegations used, by path.

    Invariant: a token is either here or in a commit, never in both: `taken_over` is called in the
    synchronous step that makes a state with new commits visible.
    """

    def __init__(self) -> None:
        self._used: dict[Path, TokenUsage] = {}

    def note(self, path: Path, entry: InFlightEntry) -> None:
        """Remember what a delegated run used up to this state of its runner."""
        self._used[path] = entry_usage(entry)
        self.taken_over(path, entry)

    def taken_over(self, path: Path, entry: InFlightEntry) -> None:
        """Forget what the open commits of this state of the run at `path` hold now."""
        if not self._used:
            return
        for pending in entry.get("pendingToolCalls", ()):
            if "delegationUsage" in pending.get("commit", {}):
                self._used.pop((*path, pending["call"]["id"]), None)

    def finish(self, path: Path, usage: TokenUsage) -> TokenUsage:
        """A delegated run is over: return its usage with all that it left below itself."""
        self._used[path] = usage
        whole = self._used[path] = self.take(path)
        return whole

    def own(self, path: Path) -> TokenUsage:
        """What the run at a path used itself, so far."""
        return self._used.get(path, no_usage())

    def at(self, path: Path) -> TokenUsage:
        """Everything here at and below a path."""
        return total(used for where, used in self._used.items() if where[: len(path)] == path)

    def take(self, path: Path) -> TokenUsage:
        """Return and forget everything at and below a path."""
        gone = self.at(path)
        for where in [w for w in self._used if w[: len(path)] == path]:
            del self._used[where]
        return gone


def entry_usage(entry: InFlightEntry) -> TokenUsage:
    """What an agent used up to a state: its own turns and delegations committed since (2.8)."""
    usage = entry["tokenUsage"]
    for pending in entry.get("pendingToolCalls", ()):
        nested = pending.get("commit", {}).get("delegationUsage")
        if nested is not None:
            usage = add_usage(usage, nested)
    return usage
