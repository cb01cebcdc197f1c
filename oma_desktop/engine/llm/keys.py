"""Where keys come from: the environment first, then the system's key store; never from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import keyring
from keyring.errors import KeyringError

KEYRING_SERVICE: Final = "oma-desktop"

StoredKey = Callable[[str], str | None]


def stored_key(provider: str) -> str | None:
    """Return the key of a provider from the system's key store, or None. Blocks for a moment.

    A machine without a key store, or with a locked one, has no key there.
    """
    try:
        return keyring.get_password(KEYRING_SERVICE, provider)
    except (KeyringError, RuntimeError, OSError):
        return None


def find_key(
    provider: str, variables: Iterable[str], *, environ: Mapping[str, str], stored: StoredKey
) -> str | None:
    """Return the first key found, without surrounding blanks, or None."""
    for variable in variables:
        if value := environ.get(variable, "").strip():
            return value
    found = stored(provider)
    return found.strip() or None if found else None
