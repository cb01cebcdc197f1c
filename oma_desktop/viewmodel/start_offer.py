"""What a run file would start, as a question to the person in front of the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartOffer:
    """`goal` where a coordinator makes the plan; else `tasks` says how many there are.

    `frozen`: they are those of a plan that is replayed exactly.
    """

    path: str
    team: str
    agents: int
    tasks: int = 0
    goal: str | None = None
    frozen: bool = False
