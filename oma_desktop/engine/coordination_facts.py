"""What the coordinator of a run has done in this attempt, and the answer there is."""

from __future__ import annotations

from dataclasses import dataclass

from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.result import AgentRunResult


@dataclass(slots=True)
class Coordination:
    """What a run of a goal has beside its tasks.

    `planning`: there is no plan yet that a restore may run, so nothing is saved (a restore never
    asks the plan gate). `plan_only`: the plan is the result. `due`: the closing answer is still to
    be written, so the run is not finished without it. `failure` is an answer that could not be had.
    `routing` says who took the goal, `assessment` what a model said of it before. `alone`: one
    agent took it after all, and then nothing is saved (engine.md 4.1 row 5).
    `answer` may come from an earlier attempt; it still fits, since no task ran after it.
    """

    decomposition: AgentRunResult | None = None
    synthesis: AgentRunResult | None = None
    failure: AgentRunResult | None = None
    answer: str | None = None
    due: bool = False
    planning: bool = False
    plan_only: bool = False
    routing: JsonObject | None = None
    assessment: JsonObject | None = None
    alone: bool = False
