"""Where a store is: a path, or the address of a database (product.md 3.9).

An address is shown, stored and compared by its `text`, in which no password stands. The password
of an address given once is remembered by this process, so that the text alone opens it again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from typing_extensions import override

from oma_desktop.model.errors import InvalidInput

Kind: TypeAlias = Literal["redis", "postgresql"]

_KINDS: Final[dict[str, Kind]] = {
    "redis": "redis",
    "rediss": "redis",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
_PORTS: Final[dict[Kind, int]] = {"redis": 6379, "postgresql": 5432}
_NAMES: Final[dict[Kind, str]] = {"redis": "prefix", "postgresql": "table"}
_DEFAULTS: Final[dict[Kind, str]] = {"redis": "oma", "postgresql": "oma_store"}
_SECRET_OPTIONS: Final = frozenset({"password", "sslpassword", "ssl_password", "passfile"})
_SHOWN_OPTIONS: Final = frozenset({"host", "port", "dbname", "db", "service"})


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A store in a database. `login` is the whole URL with its password, for the client library.

    `name` is the prefix of the keys (Redis) or the table (PostgreSQL): `?prefix=` and `?table=`
    of the address, one store each.
    """

    text: str
    kind: Kind
    name: str
    login: str = field(repr=False, compare=False)
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @override
    def __str__(self) -> str:
        """Show no password."""
        return self.text


StoreAddress: TypeAlias = Path | DatabaseAddress
"""Files are addressed by their path."""


def is_database(text: str) -> bool:
    """Tell whether a text is meant as the address of a database, and not as a path."""
    scheme, colon, _ = text.partition("://")
    return bool(colon) and scheme.lower() in _KINDS


def parse_address(text: str | StoreAddress) -> StoreAddress:
    """Return the address a text stands for. Raises InvalidInput STORE_ADDRESS_INVALID."""
    if not isinstance(text, str):
        return text
    if not is_database(text):
        return Path(text)
    address = _parse(text)
    with _guard:
        known = _known.get(address.text)
        if known is not None and text == address.text:
            return known
        _known[address.text] = address
    return address


def store_id(address: StoreAddress) -> str:
    """Return the one text by which a store is known everywhere: real path, or address."""
    return str(address.resolve()) if isinstance(address, Path) else address.text


def shown(text: str) -> str:
    """Return a text a person gave as a store, fit to be shown: without a password."""
    if not is_database(text):
        return text
    try:
        return _parse(text).text
    except InvalidInput:
        return f"{text.partition('://')[0]}://"


_guard = threading.Lock()
_known: dict[str, DatabaseAddress] = {}


def _parse(text: str) -> DatabaseAddress:
    scheme = text.partition("://")[0].lower()
    kind = _KINDS[scheme]
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _invalid(scheme) from None
    if parts.fragment or "@" in parts.path or any(c.isspace() for c in text):
        raise _invalid(scheme)  # mostly a password that was not percent-encoded
    options = parse_qsl(parts.query, keep_blank_values=True)
    name = dict(options).get(_NAMES[kind]) or _DEFAULTS[kind]
    secrets = [parts.password or "", *(v for k, v in options if k in _SECRET_OPTIONS)]
    plain = "postgresql" if kind == "postgresql" else scheme
    rest = [(k, v) for k, v in options if k != _NAMES[kind]]
    return DatabaseAddress(
        text=_text(parts, plain, kind, port=port, name=name, options=rest),
        kind=kind,
        name=name,
        login=parts._replace(scheme=plain, query=urlencode(rest, quote_via=quote)).geturl(),
        secrets=tuple(s for p in secrets if p for s in (p, unquote(p))),
    )


def _text(
    parts: SplitResult,
    scheme: str,
    kind: Kind,
    *,
    port: int | None,
    name: str,
    options: list[tuple[str, str]],
) -> str:
    host = parts.hostname or ("localhost" if kind == "redis" else "")
    host = f"[{host}]" if ":" in host else host
    user = f"{quote(unquote(parts.username), safe='')}@" if parts.username else ""
    place = host if port in (None, _PORTS[kind]) else f"{host}:{port}"
    path = parts.path.rstrip("/")
    if kind == "redis" and path in ("", "/0"):
        path = "/0"
    kept = [(k, v) for k, v in options if k in _SHOWN_OPTIONS]
    if name != _DEFAULTS[kind]:
        kept.append((_NAMES[kind], name))
    query = f"?{urlencode(kept, quote_via=quote)}" if kept else ""
    return f"{scheme}://{user}{place}{path}{query}"


def _invalid(scheme: str) -> InvalidInput:
    return InvalidInput("STORE_ADDRESS_INVALID", scheme=f"{scheme}://")
