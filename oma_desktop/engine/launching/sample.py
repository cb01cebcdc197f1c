"""The bundled sample: its files, and where they go when it is played (product.md 5, `demo`)."""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

from oma_desktop.model.errors import Conflict
from oma_desktop.store.address import StoreAddress
from oma_desktop.store.atomic import write_atomic, write_failed
from oma_desktop.store.origin import Origin

RUN_ID: Final = "sample"
EFFECTS_FILE: Final = "effects.jsonl"
STORE_FILE: Final = "checkpoint.json"
_RUN_FILE: Final = "run.yaml"
_SCRIPT: Final = "script.json"


def unpack_sample(folder: Path | None) -> tuple[Path, Origin]:
    """Copy the sample's files into `folder`, or into a fresh temporary one. Blocking.

    Nothing of anybody else is overwritten: raises Conflict SAMPLE_FOLDER_TAKEN when the folder
    holds another run file, or a store that is not the sample's; WriteFailed.
    """
    place = folder or Path(tempfile.mkdtemp(prefix="oma-sample-"))
    files = {
        place / name: (resources.files("resources") / "sample" / name).read_bytes()
        for name in (_RUN_FILE, _SCRIPT)
    }
    try:
        _refuse_foreign(place, files)
        place.mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            if not path.exists():  # whole or not at all: a kill here must not spoil the folder
                write_atomic(path, data)
        (place / EFFECTS_FILE).touch()
    except OSError as error:
        raise write_failed(error, place) from error
    return place, Origin(run_file=place / _RUN_FILE)


def _refuse_foreign(place: Path, files: dict[Path, bytes]) -> None:
    for path, data in files.items():
        if path.exists() and path.read_bytes() != data:
            raise Conflict("SAMPLE_FOLDER_TAKEN", path=str(path))
    store = place / STORE_FILE
    if store.exists() and not all(path.exists() for path in files):
        raise Conflict("SAMPLE_FOLDER_TAKEN", path=str(store))


def effects_beside(store: StoreAddress) -> Path | None:
    """Return the log of what scripted tools really did, where there is one beside the store.

    The sample makes an empty one; whoever wants to prove something of another scripted run may too.
    """
    if not isinstance(store, Path):
        return None
    effects = store.parent / EFFECTS_FILE
    return effects if effects.is_file() else None
