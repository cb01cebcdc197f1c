"""How a built-in tool says no."""

from __future__ import annotations

import errno
import os
from typing import Final

from typing_extensions import override

from oma_desktop.model.errors import ToolFailed

_SHOWN: Final = 200
_CODES: Final = {
    errno.ENOENT: ("NOT_FOUND", "does not exist"),
    errno.ENOTDIR: ("NOT_A_FOLDER", "leads through something that is not a folder"),
    errno.ELOOP: ("LINK_REFUSED", "is a link where none may be followed"),
    errno.EISDIR: ("NOT_A_FILE", "is a folder"),
    errno.EACCES: ("NO_PERMISSION", "may not be accessed"),
    errno.EPERM: ("NO_PERMISSION", "may not be accessed"),
    errno.EROFS: ("NO_PERMISSION", "lies on a read-only disk"),
    errno.ENOSPC: ("NO_SPACE", "cannot be written: the disk is full"),
    errno.EDQUOT: ("NO_SPACE", "cannot be written: the disk quota is used up"),
    errno.ENAMETOOLONG: ("PATH_INVALID", "has a name that is too long"),
    errno.ETXTBSY: ("BUSY", "is a program that runs at the moment"),
}


class Refusal(ToolFailed):
    """A call that did nothing, or not all it should. `text` is what the model reads."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code)
        self.text = text

    @override
    def __str__(self) -> str:
        return self.text

    @override
    def __reduce__(self) -> tuple[object, ...]:
        return (Refusal, (self.code, self.text))


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path for one line of text: what no reader could see or save is spelled out."""
    try:
        raw = os.fspath(path).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = os.fspath(path).encode("utf-8", "backslashreplace")
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(path: str | os.PathLike[str]) -> str:
    """Return `shown` in quotation marks, cut where it is endless."""
    text = shown(path)
    return f'"{text if len(text) <= _SHOWN else text[:_SHOWN] + "..."}"'


def of_os_error(error: OSError, path: str | os.PathLike[str]) -> Refusal:
    """Return the refusal for what the system said about `path`."""
    why = error.strerror or type(error).__name__
    code, text = _CODES.get(error.errno or 0, ("IO_ERROR", f"cannot be used ({why})"))
    return Refusal(code, f"{quoted(path)} {text}.")
