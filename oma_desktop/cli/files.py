"""Reading the files named on a command line, with one clear error each."""

from __future__ import annotations

from pathlib import Path

from oma_desktop.model.errors import InvalidInput


def read_bytes(path: Path) -> bytes:
    """Return the whole file; raises InvalidInput naming the path and what the system said."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput("PATH_NOT_FOUND", path=str(path)) from None
    except IsADirectoryError:
        raise InvalidInput("PATH_IS_FOLDER", path=str(path)) from None
    except OSError as error:
        raise InvalidInput("FILE_NOT_READABLE", path=str(path), detail=error.strerror) from None
