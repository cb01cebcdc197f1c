"""Sentences about what runs cost (engine.md 1.1, 3.8)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

SENTENCES: Final[dict[str, Sentence]] = {
    "COST_ESTIMATE_MISSING": Sentence(
        N_("A ceiling for cost was set, and nothing says what models cost."),
        N_("Nothing was run and nothing was saved."),
        N_("Give prices, or set a ceiling for tokens."),
    ),
    "COST_PRICE_MISSING": Sentence(
        N_("There is no price for the model “{model}” of agent “{agent}”."),
        N_("Its cost would be missing from the total, so nothing was run."),
        N_("Add it to orchestrator.prices; a model that costs nothing has the price 0."),
    ),
    "COST_ESTIMATE_INVALID": Sentence(
        N_("What a call of agent “{agent}” cost cannot be counted ({found})."),
        N_("The task failed; what it did until then is saved."),
        N_("An estimate must be a number from 0 up. Correct it and retry the task."),
    ),
    "COST_BUDGET_EXCEEDED": Sentence(
        N_("The run has cost more than its ceiling allows."),
        N_("Finished tasks are saved; the rest was not started."),
        N_("Raise maxCostBudget if the work is worth more, then restore the run."),
    ),
    "RUN_BUDGET_USED_UP": Sentence(
        N_("The run has used more tokens than its ceiling allows."),
        N_("Finished tasks are saved; the rest was not started."),
        N_("Raise maxTokenBudget if the work is worth more, then restore the run."),
    ),
    "RUN_TIMED_OUT": Sentence(
        N_("An agent took longer than its time limit allows."),
        N_("What was finished before is kept."),
        N_("Raise its timeoutMs if the work needs more, then restore with --retry-failed."),
    ),
    "COST_RECOUNTED": Sentence(
        N_("What earlier attempts cost was not recorded."),
        N_("It was counted again from their saved results; the true cost may be higher."),
        "",
    ),
}
