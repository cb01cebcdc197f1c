"""Golden checkpoints as plain values, for tests of what is computed from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from oma_desktop.model.approval import ApprovalRow
from oma_desktop.model.checkpoint import CheckpointSnapshot

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = Path(__file__).parents[2] / "cases"


def names() -> list[str]:
    return sorted(p.parent.name for p in GOLDEN.glob("*/checkpoint.json"))


def store_bytes(name: str) -> bytes:
    return (GOLDEN / name / "checkpoint.json").read_bytes()


def expected(name: str) -> dict:
    return json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))


def _entries(name: str) -> list[dict]:
    return json.loads(store_bytes(name))["entries"]


def snapshots(name: str) -> dict[str, CheckpointSnapshot]:
    return {
        e["key"]: cast("CheckpointSnapshot", json.loads(e["value"]))
        for e in _entries(name)
        if e["key"].startswith("__oma_checkpoint__/")
    }


def snapshot(name: str) -> CheckpointSnapshot:
    return next(iter(snapshots(name).values()))


def rows(name: str) -> dict[str, ApprovalRow]:
    prefix = "__oma_approval__/"
    return {
        e["key"].removeprefix(prefix): cast("ApprovalRow", json.loads(e["value"]))
        for e in _entries(name)
        if e["key"].startswith(prefix)
    }
