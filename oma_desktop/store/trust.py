"""Which folders a person trusts: only from those is code of run files imported or started.

Asked once per folder (product.md 7). A yes binds the resolved path of the folder, nothing below or
above it, and stays valid when files in it change: who writes tools edits them all day and a
question at every save would be clicked away unread, while a hash over one file would say nothing
about what that file imports. Whoever may write into a trusted folder is trusted with it.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Final

from oma_desktop.base.places import home
from oma_desktop.store.atomic import write_atomic

log = logging.getLogger(__name__)

FILE_NAME: Final = "trusted-folders.json"


class TrustedFolders:
    """The folders of one user, in one file of the settings. Read at every question. Blocking.

    A file that cannot be read trusts nothing. Programs that add a folder at the same moment may
    lose one of the two: it is asked for again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._given = path

    @property
    def path(self) -> Path:
        """Where the list lies; a person takes a yes back by removing the folder there."""
        return self._given if self._given is not None else home("settings") / FILE_NAME

    def trusts(self, folder: Path) -> bool:
        """Whether a person agreed to this very folder."""
        return str(folder.resolve()) in self._read()

    def trust(self, folder: Path) -> None:
        """Remember a yes. Raises WriteFailed; the old list then stands."""
        folders = self._read()
        name = str(folder.resolve())
        if name in folders:
            return
        document = {"version": 1, "folders": [*folders, name]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(document, indent=1).encode("ascii"))

    def _read(self) -> list[str]:
        try:
            document = json.loads(self.path.read_text("utf-8-sig"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("trusted folders are not readable: %s", type(error).__name__)
            return []
        folders = document.get("folders") if isinstance(document, dict) else None
        return [f for f in folders if isinstance(f, str)] if isinstance(folders, list) else []
