"""Where model calls may go (engine.md 8.7). Shapes and the judgement; no I/O."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from oma_desktop.model.described import Described

_PORTS: Final = {"http": 80, "https": 443}


def origin_of(address: str) -> str | None:
    """Return scheme, host and port of an http(s) address, the port always named; None if unusable.

    Two addresses have the same origin when these three are the same, whatever the spelling.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    if parts.scheme not in _PORTS or not host:
        return None
    shown = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{parts.scheme}://{shown}:{port or _PORTS[parts.scheme]}"


def is_loopback(origin: str) -> bool:
    """Whether an origin is this machine by its name: localhost, *.localhost, 127.0.0.0/8, ::1."""
    host = urlsplit(origin).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an origin has no credentials, query or fragment")
    if parts.path not in {"", "/"}:
        raise ValueError("an origin has no path")
    origin = origin_of(text)
    if origin is None:
        raise ValueError("not an http or https origin")
    return origin


class OfflinePolicy(Described):
    """Only servers on this machine."""

    mode: Literal["offline"]

    def allows(self, origin: str) -> bool:
        """Whether calls may go there."""
        return is_loopback(origin)


class AllowlistPolicy(Described):
    """Only the named origins: scheme, host and port, exactly. An empty list allows nothing."""

    mode: Literal["allowlist"]
    allowed_origins: list[Annotated[str, AfterValidator(_origin)]]

    def allows(self, origin: str) -> bool:
        """Whether calls may go there."""
        return origin in self.allowed_origins


EgressPolicy = Annotated[OfflinePolicy | AllowlistPolicy, Field(discriminator="mode")]


def allowed(origin: str, policies: Iterable[OfflinePolicy | AllowlistPolicy | None]) -> bool:
    """Whether every policy agrees; a missing one has no say, and none can widen another."""
    return all(policy.allows(origin) for policy in policies if policy is not None)
