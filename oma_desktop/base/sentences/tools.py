"""Sentences about tools, gates and scripts."""

from __future__ import annotations

from oma_desktop.base.text import N_, Sentence

SENTENCES: dict[str, Sentence] = {
    "TOOL_NAME_TAKEN": Sentence(
        N_("Two tools have the name “{tool}”."),
        N_("Nothing was started."),
        N_("Give one of them another name."),
    ),
    "GATE_FAILED": Sentence(
        N_("The gate “{gate}” gave no usable answer ({problem}: {found})."),
        N_("Nothing was allowed: a gate that fails never lets work through."),
        N_("Correct the gate, then restore the run."),
    ),
    "CONFIRMATION_MISSING": Sentence(
        N_("A call with consequences was not run: nobody could confirm it."),
        N_("The agent was told and goes on."),
        N_("Set a gate for tool calls, or approve the plan, to let such calls run."),
    ),
    "APPROVED_TOOL_GONE": Sentence(
        N_("A call of “{tool}” was approved, but the tool is not available any more."),
        N_("It did not run; the agent was told and goes on."),
        N_("Grant the tool again and ask the agent anew if the work is still wanted."),
    ),
    "APPROVED_CALL_STALE": Sentence(
        N_("A call of “{tool}” was approved, but now it would do something else."),
        N_("It did not run; the agent was told and goes on."),
        N_("Look at the tool and its schema: they are not what the reviewer read."),
    ),
    "MODEL_REPLY_MISSING": Sentence(
        N_("The model of agent “{agent}” ended its stream without an answer."),
        N_("The saved steps of the task are kept."),
        N_("Restore the run to ask again."),
    ),
    "STRUCTURED_OUTPUT_VALIDATION_FAILED": Sentence(
        N_("The answer of agent “{agent}” does not fit its output schema: {problem}"),
        N_("The agent was asked once more and failed again."),
        N_("Change the schema or the agent's instructions."),
    ),
    "SCRIPT_UNREADABLE": Sentence(
        N_("The script file “{path}” cannot be read: {found}"),
        N_("Nothing was started."),
        N_("Check the path and the permissions."),
    ),
    "SCRIPT_INVALID": Sentence(
        N_("The script file “{path}” is not valid at “{where}”: {found}"),
        N_("Nothing was started."),
        N_("Correct this place and try again."),
    ),
    "SCRIPT_REPLY_MISSING": Sentence(
        N_("The script has no reply for agent “{agent}” on “{task}”."),
        N_("The saved steps of the run are kept."),
        N_("Add replies under this title, or under @default."),
    ),
    "MAX_TURNS_REACHED": Sentence(
        N_("An agent reached its turn limit."),
        N_("Its last text is taken as the answer."),
        N_("Raise maxTurns if the work is not finished."),
    ),
    "OUTPUT_TRUNCATED": Sentence(
        N_("An answer was cut off at the output limit."),
        N_("What was received is taken as the answer."),
        N_("Raise maxTokens if the end matters."),
    ),
    "TOOLS_NOT_USED": Sentence(
        N_("The model of an agent was offered tools and answered without using one."),
        N_("Its answer is kept as it is."),
        N_("If it should have used one, check whether the local model can call tools."),
    ),
    "HOOK_FAILED": Sentence(
        N_("The function for “{hook}” failed ({problem}: {found})."),
        N_("The saved steps of the task are kept."),
        N_("Correct the function, then restore and try failed tasks again."),
    ),
    "USAGE_UNKNOWN": Sentence(
        N_("A model call reported no token usage."),
        N_("Its tokens are missing from all totals and budgets."),
        "",
    ),
    "LLM_CALL_TIMEOUT": Sentence(
        N_("A model call of agent “{agent}” took longer than {timeout_ms} ms."),
        N_("The saved steps of the task are kept."),
        N_("Raise callTimeoutMs or restore the run to ask again."),
    ),
    "TOKEN_BUDGET_EXCEEDED": Sentence(
        N_("Agent “{agent}” used {used} tokens; its budget is {budget}."),
        N_("What it did until then is saved."),
        N_("Raise maxTokenBudget if the work is worth more."),
    ),
}
