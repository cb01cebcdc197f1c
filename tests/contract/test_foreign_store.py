"""The contract suite finds out what a store of somebody else's gets wrong, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD = """
from copy import deepcopy
from oma_desktop.base.clock import SystemClock
from oma_desktop.store.memory import StoreEntry


class Plain:
    def __init__(self):
        self.rows = {}

    def get(self, key):
        return self.rows.get(key)

    def set(self, key, value, metadata=None):
        old = self.rows.get(key)
        at = old.created_at if old else self.now()
        self.rows[key] = StoreEntry(key, value, at, deepcopy(metadata))

    def now(self):
        at = SystemClock().now()
        last = max((row.created_at for row in self.rows.values()), default=None)
        self.last = max(at, getattr(self, "last", at))
        self.last = self.last.replace(microsecond=0) + STEP * (1 + len(self.rows))
        return self.last

    def list(self):
        return list(self.rows.values())

    def delete(self, key):
        self.rows.pop(key, None)

    def clear(self):
        self.rows.clear()


from datetime import timedelta
STEP = timedelta(seconds=1)
make_store = Plain
"""
FAULTS = {
    "": "",
    "deepcopy(metadata)": "metadata",
    "old.created_at if old else self.now()": "self.now()",
    "self.rows.pop(key, None)": "del self.rows[key]",
}


@pytest.mark.parametrize("right", FAULTS)
def test_a_foreign_store_goes_through_the_suite(tmp_path: Path, right: str) -> None:
    assert right in GOOD
    (tmp_path / "foreign.py").write_text(GOOD.replace(right, FAULTS[right]), "utf-8")
    environ = {
        **os.environ,
        "OMA_CONTRACT_STORE": "foreign:make_store",
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
    }
    suite = ROOT / "tests" / "contract" / "test_memory_store.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)],
        capture_output=True,
        text=True,
        env=environ,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == (1 if right else 0), done.stdout
    assert "is no AtomicStore" in done.stdout, "what it does not have is left out, and named"
