"""The base plan of golden/vectors/plan_patches.json."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden"
VECTORS = json.loads((GOLDEN / "vectors" / "plan_patches.json").read_text("utf-8"))["vectors"]
NOW = "2026-01-01T00:00:00.000Z"

BASE = [
    ("a", "in_progress", []),
    ("b", "blocked", ["a"]),
    ("c", "blocked", ["b"]),
    ("d", "pending", []),
    ("e", "completed", []),
    ("f", "failed", []),
    ("g", "skipped", []),
    ("h", "in_progress", []),
]
RESULTS = {"e": "ok", "f": "no"}


def task(task_id, status="pending", deps=(), **facts):
    doc = {
        "id": task_id,
        "title": f"T {task_id}",
        "description": f"do {task_id}",
        "status": status,
        "assignee": "w1",
        **({"dependsOn": list(deps)} if deps else {}),
        **({"result": RESULTS[task_id]} if task_id in RESULTS else {}),
        "createdAt": NOW,
        "updatedAt": NOW,
    }
    return {**doc, **facts}


def base_tasks():
    return [task(*row) for row in BASE]


def new_ids():
    count = itertools.count(1)
    return lambda: f"new-{next(count)}"


STRANDS = "supersede without dependents leaves them blocked"
ON_TRIGGER = "depends on the trigger itself"
STRICTER = {STRANDS: "PATCH_STRANDS", ON_TRIGGER: "PATCH_DEPENDENCY_TRIGGER"}
"""What the peer accepts and ours refuses (engine.md 6.4; DEV-28, W31)."""
