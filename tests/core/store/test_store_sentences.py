"""Every code of this layer that can reach a person has its sentence (house.md 2.10)."""

from __future__ import annotations

import re
from pathlib import Path

import oma_desktop.store
from oma_desktop.base.sentences import database
from oma_desktop.base.sentences.store import SENTENCES


def codes(prefixes: str) -> set[str]:
    return {
        code
        for source in Path(oma_desktop.store.__path__[0]).glob("*.py")
        for code in re.findall(rf'"((?:{prefixes})_[A-Z_]+)"', source.read_text())
    }


CODES = codes("STORE|LOCK")


def test_codes_and_sentences_match() -> None:
    assert len(CODES) > 10
    said = {c for c in SENTENCES if c.startswith(("STORE_", "LOCK_"))}
    assert said - CODES == {"LOCK_TAKEN_OVER"}, "told by the engine, a notice and no error"
    assert said >= CODES


def test_codes_and_sentences_of_databases_match() -> None:
    assert set(database.SENTENCES) == codes("DB|LEASE")
