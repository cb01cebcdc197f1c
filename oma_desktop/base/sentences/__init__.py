"""The message catalogue: one table per area, code to sentence.

Each module `sentences/<area>.py` defines `SENTENCES: dict[str, Sentence]`; `describe` looks a code
up in all of them. A code without a sentence is a failing test (tests/core/test_sentences.py).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from oma_desktop.base.text import N_, Sentence

UNKNOWN = Sentence(N_("Something went wrong ({code})."), "", "")


@cache
def catalogue() -> dict[str, Sentence]:
    """Return all sentences by code; raises on a code defined twice."""
    table: dict[str, Sentence] = {}
    for module in pkgutil.iter_modules(__path__):
        part = importlib.import_module(f"{__name__}.{module.name}").SENTENCES
        twice = table.keys() & part.keys()
        if twice:
            raise RuntimeError(f"codes defined twice: {sorted(twice)}")
        table.update(part)
    return table


def describe(code: str, facts: Mapping[str, object]) -> Sentence:
    """Return the translated sentence of a code, its places filled from `facts`."""
    return catalogue().get(code, UNKNOWN).fill({"code": code, **facts})


def one_line(code: str, facts: Mapping[str, object]) -> str:
    """Return title, detail and hint as one line for a terminal."""
    return describe(code, facts).whole
