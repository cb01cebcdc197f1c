"""Sentences of the window's own acts."""

from oma_desktop.base.text import N_, Sentence

SENTENCES = {
    "RUN_NOT_OURS": Sentence(
        N_("This program does not execute that run, so it cannot stop it."),
        hint=N_("Stop it in the process that runs it."),
    ),
    "STORE_OWNED_ELSEWHERE": Sentence(
        N_("Another process owns this store, so nothing was recorded."),
        hint=N_("Close that process, or decide there. A store has one writer."),
    ),
    "JOURNAL_NOT_SHOWN": Sentence(
        N_("{path} is a journal; the window cannot show yet what it tells over time."),
        hint=N_("Open the checkpoint of its run instead."),
    ),
    "JOURNAL_NOT_SHOWN_STORE_OPENED": Sentence(
        N_(
            "{path} is a journal; what it tells over time cannot be shown yet, so the checkpoint "
            "beside it was opened."
        ),
    ),
    "CHECKPOINT_SAVE_FAILED": Sentence(
        N_("A checkpoint could not be saved: {error}"),
        N_("The run goes on. What happened since the last save would be lost in a crash."),
        N_("Make room or fix the folder's rights; the next step saves again."),
    ),
    "DECISION_RECORDED_RESUME": Sentence(
        N_("The decision on {run} is recorded, and nothing else there waits for you."),
        hint=N_("The run goes on when it is resumed."),
    ),
    "RUN_INTERRUPTED": Sentence(
        N_("{run} stopped without an end."),
        hint=N_("Everything saved is kept. See what a resume would do."),
    ),
    "RUNS_INTERRUPTED": Sentence(
        N_("{n} runs stopped without an end."),
        hint=N_("Everything saved is kept. See what a resume would do."),
    ),
    "NOTES_NOT_SAVED": Sentence(
        N_("Your notes could not be saved to {path}."),
        N_("They are kept until this program ends."),
        N_("Make room or fix the rights of that folder."),
    ),
    "PICTURE_NOT_SAVED": Sentence(
        N_("The picture could not be saved to {path}."),
        hint=N_("Choose a folder that can be written."),
    ),
    "APPROVAL_ROW_NOT_SAVED": Sentence(
        N_("A call in task “{task}” waits for a decision, but its request could not be written."),
        N_("The call has not run and is saved as waiting; nobody can decide on it yet."),
        N_("Make room or fix the folder's rights, then resume the run: it asks again."),
    ),
    "ANSWER_FAILED": Sentence(
        N_("The tasks are done, but the closing answer could not be made ({error})."),
        N_("All results of the tasks are saved and can be read there."),
    ),
    "RUN_TOKENS_USED_UP": Sentence(
        N_("The run used {used} tokens; its budget is {budget}."),
        N_("Finished tasks are saved; the rest was not started."),
        N_("Raise maxTokenBudget if the work is worth more, then resume the run."),
    ),
    "GOAL_ROUTED_BY_WORDING": Sentence(
        N_("The router gave no usable answer ({error}), so the wording of the goal decided."),
        hint=N_("Look at the plan: it may be one task where a team was meant, or the other way."),
    ),
    "ASSIGNEE_REPLACED": Sentence(
        N_("The plan gave “{title}” to “{assignee}”, who is not in the team."),
        N_("It went to “{fallback}” instead."),
    ),
    "MEMORY_NOTE_NOT_SAVED": Sentence(
        N_("The note of task “{task}” for other agents could not be kept ({error})."),
        N_("Its result is saved; agents that look into shared memory miss it."),
    ),
    "MEMORY_NOTES_NOT_READ": Sentence(
        N_("The notes of the team could not be read for the closing answer ({error})."),
        N_("The answer was made from the results of the tasks alone."),
    ),
    "AGENT_REPEATS": Sentence(
        N_("Agent “{agent}” repeats itself in task “{task}” ({repetitions} times the same)."),
        hint=N_("If it goes on, stop the run and look at its last calls."),
    ),
    "TASK_GOES_TO_FALLBACK": Sentence(
        N_("Task “{task}” failed with its model ({error}); {nextModel} takes over."),
    ),
    "TASK_TRIED_AGAIN": Sentence(
        N_("Task “{task}” failed and is tried again ({error})."),
    ),
    "CALL_NOT_CONFIRMED": Sentence(
        N_("A call of “{tool}” in task “{task}” did not run: nobody could confirm it."),
        N_("The agent was told and goes on."),
        N_("Set a gate for tool calls, or approve the plan, to let such calls run."),
    ),
    "ANSWER_NOT_ACCEPTED": Sentence(
        N_("The judges did not accept the answer of “{task}”; it is kept and handed on."),
        hint=N_("Read what they said in shared memory before you use what was built on it."),
    ),
    "PLAN_REPAIRED": Sentence(
        N_("The plan was changed after “{task}” (revision {version}; reason: {reason})."),
        hint=N_("The map shows what was added and what was replaced."),
    ),
}
