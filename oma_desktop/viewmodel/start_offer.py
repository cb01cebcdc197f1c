"""What a run file would start, as a question to the person in front of the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartOffer:
    """`goal` where a coordinator makes the plan; else `tasks` says how many there are.

    `frozen`: they are those of a plan that is replayed exactly. `alone`: one agent takes the goal;
    `roles` that take part in it, each after the one before. `models`: addresses that model calls
    would go to, each with the names of variables its key may be in.
    """

    path: str
    team: str
    agents: int
    tasks: int = 0
    goal: str | None = None
    frozen: bool = False
    alone: bool = False
    roles: tuple[str, ...] = ()
    models: tuple[tuple[str, tuple[str, ...]], ...] = ()
