"""Reading the files named on a command line, with one clear error each."""

from __future__ import annotations

import stat
from pathlib import Path

from oma_desktop.model.container import Container
from oma_desktop.model.errors import InvalidInput
from oma_desktop.store import access
from oma_desktop.store.address import StoreAddress, parse_address


def must_be_file(path: Path) -> Path:
    """Return `path`; raises InvalidInput.

    PATH_NOT_FOUND, PATH_IS_FOLDER, FILE_NOT_REGULAR (a pipe or device) or FILE_NOT_READABLE.
    """
    try:
        if path.is_dir():
            raise InvalidInput("PATH_IS_FOLDER", path=str(path))
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput("FILE_NOT_REGULAR", path=str(path))
    except OSError as error:
        raise _refused(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise InvalidInput("PATH_NOT_FOUND", path=str(path)) from error
    return path


def read_bytes(path: Path) -> bytes:
    """Return the whole file; raises InvalidInput naming the path and what the system said."""
    try:
        return must_be_file(path).read_bytes()
    except OSError as error:
        raise _refused(path, error) from error


def store_argument(text: str) -> StoreAddress:
    """Return the store a command line names; raises InvalidInput STORE_ADDRESS_INVALID."""
    return parse_address(text)


def must_be_store(address: StoreAddress) -> StoreAddress:
    """Return `address`; a file must exist (raises as `must_be_file`), a database is asked later."""
    return must_be_file(address) if isinstance(address, Path) else address


def read_store(address: StoreAddress) -> tuple[Container, access.Stamp | None]:
    """Return a store that must exist, also while somebody writes it.

    Raises InvalidInput as `must_be_file`, else as `access.read_store`.
    """
    return access.read_store(must_be_store(address))


def _refused(path: Path, error: OSError) -> InvalidInput:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InvalidInput("PATH_NOT_FOUND", path=str(path))
    return InvalidInput("FILE_NOT_READABLE", path=str(path), detail=error.strerror or "?")
