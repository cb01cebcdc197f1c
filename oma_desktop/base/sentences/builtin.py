"""Sentences about built-in tools. What the tools themselves answer is read by models, not here."""

from __future__ import annotations

from oma_desktop.base.text import N_, Sentence

SENTENCES: dict[str, Sentence] = {
    "RUNFILE_NO_WORKSPACE": Sentence(
        N_("Agent {agent} may use built-in tools, but has no folder to use them in."),
        N_("Nothing was started. A run in a database has no folder of its own."),
        N_("Name a folder with cwd in the run file."),
    ),
    "RUNFILE_SHELL_SECRET": Sentence(
        N_("{place} would show the secret {name} to shell commands."),
        N_("Nothing was started. What a command sees, a model can read."),
        N_("Remove this name; give commands a credential of their own in another way."),
    ),
}
