"""The bundled sample: its files, and where they go when it is played (product.md 5, `demo`)."""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

from oma_desktop.store.origin import Origin

RUN_ID: Final = "sample"
EFFECTS_FILE: Final = "effects.jsonl"
STORE_FILE: Final = "checkpoint.json"
_RUN_FILE: Final = "run.yaml"
_SCRIPT: Final = "script.json"


def unpack_sample(folder: Path | None) -> tuple[Path, Origin]:
    """Copy the sample's files into `folder`, or into a fresh temporary one. Blocking."""
    place = folder or Path(tempfile.mkdtemp(prefix="oma-sample-"))
    place.mkdir(parents=True, exist_ok=True)
    for name in (_RUN_FILE, _SCRIPT):
        source = resources.files("resources") / "sample" / name
        (place / name).write_bytes(source.read_bytes())
    return place, Origin(run_file=place / _RUN_FILE, script=place / _SCRIPT)


def effects_beside(store: Path) -> Path | None:
    """Return the sample's log of what its tools did, where there is one beside the store."""
    effects = store.parent / EFFECTS_FILE
    return effects if effects.is_file() else None
