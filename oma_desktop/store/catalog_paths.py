"""Where a run lies when nobody says where (cases s41)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oma_desktop.model.file_names import decode_name, encode_name

FOLDER: Final = ".oma"
FILE_NAME: Final = "checkpoint.json"


def default_store_path(base: Path, team: str, run_id: str) -> Path:
    """Return `<base>/.oma/<team>/<run id>/checkpoint.json`, names made safe and never shared.

    Raises InvalidInput `NAME_EMPTY`.
    """
    return team_folder(base, team) / encode_name(run_id) / FILE_NAME


def team_folder(base: Path, team: str) -> Path:
    """Return the folder that holds the runs of a team."""
    return base / FOLDER / encode_name(team)


def stored_runs(base: Path, team: str) -> list[tuple[str | None, Path]]:
    """Return run id and store of every run that lies at its default place, by folder name.

    The id is None when its name had to be cut; the checkpoint inside knows it. A folder that
    cannot be read holds no runs.
    """
    try:
        folders = sorted(team_folder(base, team).iterdir())
    except OSError:
        return []
    places = ((decode_name(folder.name), folder / FILE_NAME) for folder in folders)
    return [(run_id, place) for run_id, place in places if place.is_file()]
