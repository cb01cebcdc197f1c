"""What a killed writer leaves beside a store, told from everything else (formats.md 8 W18)."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Final

from oma_desktop.store.atomic import resolve, temp_stem
from oma_desktop.store.processes import lived_at

# Ours ends in eight hex digits; the peer's has only pid and counter (formats.md 1.4.3).
_SUFFIX: Final = re.compile(r"\.tmp-(?P<pid>[0-9]{1,10})-[0-9]+(?:-[0-9a-f]{8})?\Z")
_CLOCK_TOLERANCE_S: Final = 2.0


def is_temp_name(name: str) -> bool:
    """Tell whether a file of this name is a temporary copy of a store, never a run of its own."""
    return _SUFFIX.search(name) is not None


def sweep_stale_temps(path: Path) -> list[Path]:
    """Remove the temporary copies of the store at `path` whose writers are dead; return them.

    Call it as the writer, under the lock. A copy is stale when no process has its pid, or the one
    that has it began after the copy was last written. What cannot be read or removed stays: a
    failing sweep stops nobody (cases s15).
    """
    target = resolve(path)
    swept: list[Path] = []
    with contextlib.suppress(OSError):
        for sibling in target.parent.iterdir():
            if _is_stale_temp(sibling, of=temp_stem(target.name)):
                with contextlib.suppress(OSError):
                    sibling.unlink()
                    swept.append(sibling)
    return sorted(swept)


def _is_stale_temp(sibling: Path, *, of: str) -> bool:
    if not sibling.name.startswith(of):
        return False
    match = _SUFFIX.fullmatch(sibling.name, len(of))
    if match is None or sibling.is_symlink():
        return False
    try:
        written_s = sibling.stat().st_mtime
    except OSError:
        return False
    return not lived_at(int(match["pid"]), moment_s=written_s, tolerance_s=_CLOCK_TOLERANCE_S)
