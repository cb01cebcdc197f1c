"""Kill -9 of a writer: the store holds the last finished save or the one under way, no other."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.lock_file import LockKind, read_owner
from oma_desktop.store.read_only import read_only
from oma_desktop.store.temp_files import is_temp_name

HERE = Path(__file__).parent
KILLS = 12


def run_until(path: Path, *, rounds: int, extra_reads: int) -> int:
    """Run the writer, kill it somewhere after `rounds` saves; return the last reported one."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "store_writer.py"), str(path)],
        cwd=HERE.parents[1],
        env={"PYTHONPATH": str(HERE.parents[1])},
        stdout=subprocess.PIPE,
    ) as victim:
        assert victim.stdout is not None
        for _ in range(rounds):
            last = int(victim.stdout.readline())
        for _ in range(extra_reads):  # something of random length between two saves
            read_only(path)
        victim.kill()
        rest = victim.stdout.read().split()
    return int(rest[-1]) if rest else last


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dice = random.Random(7)
    for _ in range(KILLS):
        saved = run_until(path, rounds=dice.randint(1, 4), extra_reads=dice.randint(0, 6))
        store = read_only(path)
        rounds, weight = store.get("round"), store.get("weight")
        assert rounds is not None
        assert weight is not None
        n = int(rounds.value)
        assert n in (saved, saved + 1)
        assert weight.value == f"{n} " * 40_000, "a batch is saved whole or not at all"
        assert read_owner(path, clock=SystemClock()).kind is LockKind.STALE
        left = [p.name for p in tmp_path.iterdir() if is_temp_name(p.name)]
        assert len(left) <= 1, "each start sweeps what the one before it left"
