"""Sentences about agents that are programs of their own (engine.md 10.2-10.4)."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

SENTENCES: Final[dict[str, Sentence]] = {
    "BACKEND_COMMAND_MISSING": Sentence(
        N_("Agent {agent} is the program {command}, which this computer does not have."),
        N_("Nothing was started."),
        N_("Install it, or write its path beside the run file, with a slash."),
    ),
    "BACKEND_NOT_STARTED": Sentence(
        N_("The program {command} could not be started: {reason}"),
        N_("The task failed without doing anything."),
        N_("Check the command and the folder it works in."),
    ),
    "BACKEND_EXIT": Sentence(
        N_("The program {command} ended with status {status}: {said}"),
        N_("What it did until then is not undone."),
        N_("Its own documentation says what the status means."),
    ),
    "BACKEND_REFUSED": Sentence(
        N_("The agent program {command} refused the task."),
        N_("The task failed; others go on."),
        N_("Word the task differently, or give it to another agent."),
    ),
    "BACKEND_BROKEN": Sentence(
        N_("The agent program {command} stopped answering: {reason}"),
        N_("The program was ended. What it did until then is not undone."),
        N_("See whether it speaks the Agent Client Protocol when started like this."),
    ),
    "BACKEND_TAKES_TEXT": Sentence(
        N_("Agent {agent} is a program of its own and takes one text, not messages."),
        N_("Nothing was started."),
        N_("Give it a text, or use a model."),
    ),
    "BACKEND_EMPTY_PROMPT": Sentence(
        N_("There is nothing to tell agent {agent}: the task is empty."),
        N_("Nothing was started."),
        N_("Describe the task."),
    ),
    "BACKEND_UNAVAILABLE": Sentence(
        N_("Agent {agent} is a program of its own, and nothing here may start programs."),
        N_("Nothing was started."),
        N_("Start the run from a run file, or wire the team with external agents."),
    ),
}
