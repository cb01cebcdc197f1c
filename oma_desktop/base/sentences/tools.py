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
}
