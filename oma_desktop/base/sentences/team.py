"""Sentences about goals, the coordinator and its plans (engine.md 4)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

_NOTHING_RAN: Final = N_("Nothing was run and nothing was saved.")
_NO_TASK_RAN: Final = N_("No task ran and nothing was saved.")
_RESULTS_KEPT: Final = N_("The results of all tasks are kept.")

SENTENCES: Final[dict[str, Sentence]] = {
    "GOAL_EMPTY": Sentence(
        N_("The goal is empty."), _NOTHING_RAN, N_("Say what the team should reach.")
    ),
    "TEAM_EMPTY": Sentence(
        N_("The team has no agents."), _NOTHING_RAN, N_("Add an agent to the team.")
    ),
    "RUN_MODE_CONFLICT": Sentence(
        N_("One agent alone makes no plan, so a plan cannot be all that is wanted of it."),
        _NOTHING_RAN,
        N_("Leave the mode away, or ask for more than the plan."),
    ),
    "ROUTING_FAILED": Sentence(
        N_("The router gave no usable answer ({found})."),
        _NOTHING_RAN,
        N_("Correct the router, or let the wording of the goal decide where it fails."),
    ),
    "ROUTING_TIMEOUT": Sentence(
        N_("The model that looks at goals gave no answer within {timeout_ms} ms."),
        _NO_TASK_RAN,
        N_("Start again, allow more time, or set failurePolicy to fallback."),
    ),
    "ROUTING_PROFILER_FAILED": Sentence(
        N_("The model that looks at goals gave no usable answer: {error}"),
        _NO_TASK_RAN,
        N_("Name another model in executionRouting, or set failurePolicy to fallback."),
    ),
    "ROUTING_DECLARATION_REQUIRED": Sentence(
        N_(
            "This goal needs {agents}, and with them it would cross permission boundaries or act "
            "through tools of others."
        ),
        _NO_TASK_RAN,
        N_("Say who takes it: mode single or team, or governanceIntent with the roles it needs."),
    ),
    "GOVERNANCE_INVALID": Sentence(
        N_("The declaration of required roles cannot be used ({problem}: {role})."),
        _NOTHING_RAN,
        N_("Name every role once, order only roles that are named, and give each an agent."),
    ),
    "STOPPED_BEFORE_PLAN": Sentence(
        N_("The run was stopped before it had a plan."),
        _NO_TASK_RAN,
        N_("Start it again."),
    ),
    "COORDINATOR_DECOMPOSITION_FAILED": Sentence(
        N_("The coordinator could not divide the goal into tasks: {error}"),
        _NO_TASK_RAN,
        N_("Look at what its model answered, then start again."),
    ),
    "COORDINATOR_PLAN_INVALID": Sentence(
        N_("The coordinator's plan cannot be used, even corrected: {error}"),
        _NO_TASK_RAN,
        N_("Word the goal more clearly, or use a stronger model for the coordinator."),
    ),
    "INVALID_ASSIGNEE": Sentence(
        N_("The coordinator's plan gives tasks to agents the team does not have: {error}"),
        _NO_TASK_RAN,
        N_("Start again, or allow other names with strictAssignees false."),
    ),
    "GOAL_ANSWERED": Sentence(
        N_("One agent answered: {answer}"),
        N_("A simple goal needs no plan; nothing was saved."),
    ),
    "GOAL_NOT_REACHED": Sentence(
        N_("The goal was not reached: {error}"), _NO_TASK_RAN, N_("Start it again.")
    ),
    "COORDINATOR_MISSING": Sentence(
        N_("There is no coordinator to write the answer."),
        _RESULTS_KEPT,
        N_("Restore with the run file the run was started with."),
    ),
}
