"""The environment of shell commands: an allow-list, never a copy of ours (engine.md 9.3)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.redaction import is_sensitive_name

PASSED: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "USER",
)
_WINDOWS: Final = (
    # without these most Windows programs do not even start
    "COMSPEC",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERPROFILE",
    "WINDIR",
)


def shell_environment(
    environ: Mapping[str, str],
    *,
    added: Sequence[str] = (),
    key_names: Collection[str] = (),
    windows: bool = sys.platform == "win32",
) -> dict[str, str]:
    """Return what a command may see of `environ`; `added` names further variables to pass.

    Raises InvalidInput RUNFILE_SHELL_SECRET for an added name that holds a key of a provider
    (`key_names`) or sounds like a secret.
    """
    for name in added:
        if name in key_names or is_sensitive_name(name):
            raise InvalidInput("RUNFILE_SHELL_SECRET", place="tools.bash.env", name=name)
    names = {*PASSED, *added, *(_WINDOWS if windows else ())}
    if windows:  # names have no case there
        folded = {name.upper() for name in names}
        return {name: value for name, value in environ.items() if name.upper() in folded}
    return {name: value for name, value in environ.items() if name in names}
