"""Every code raised or shown by the monitor and the projection has a sentence for a person."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oma_desktop.base.sentences import catalogue

ROOT = Path(__file__).parents[3] / "oma_desktop"
FILES = [
    *(ROOT / "monitor").glob("*.py"),
    *(ROOT / "model" / f"{name}.py" for name in ("projection", "resume_rules", "approval_views")),
]
CODE = re.compile(
    r"(?:Problem|NotFound|StoreError|WatchUnavailable)\(\s*\"([A-Z][A-Z_]+)\"", re.DOTALL
)


def codes() -> list[str]:
    return sorted({code for file in FILES for code in CODE.findall(file.read_text("utf-8"))})


@pytest.mark.parametrize("code", codes())
def test_code_has_a_sentence(code: str) -> None:
    assert catalogue()[code].title


def test_codes_are_found() -> None:
    assert {"STORE_GONE", "RUN_NOT_FOUND", "WATCH_UNAVAILABLE", "TASK_UNREACHABLE"} <= set(codes())
