"""What RedisStore and PostgresStore share: one connection, when to try again, how to fail.

A read that loses its connection is repeated once on a new one. A write is never repeated: when its
answer is lost nobody knows whether it was carried out, and that is what the error says.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar

from oma_desktop.model.errors import OmaError, StoreError, WriteFailed
from oma_desktop.model.json_text import parse, stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Problem
from oma_desktop.store.memory import AtomicStore, MemoryStore, StoreEntry

C = TypeVar("C")
T = TypeVar("T")

CONNECT_S: Final = 5
ANSWER_S: Final = 30


@dataclass(frozen=True, slots=True)
class DatabaseStamp:
    """What tells one state of a store from the next without reading it; `size` in bytes, about."""

    revision: str
    size: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """All entries as they were at one moment, and the stamp of exactly that state."""

    entries: list[StoreEntry]
    stamp: DatabaseStamp
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Glance:
    """The stamp, the lease rows by run, and the server's own time (aware UTC)."""

    stamp: DatabaseStamp
    leases: Mapping[str, bytes]
    now: datetime


@dataclass(frozen=True, slots=True)
class Fence:
    """Writes count only while the lease of `run` carries `token` (formats.md 1.7)."""

    run: str
    token: str


class DatabaseStore(MemoryStore, AtomicStore, Protocol):
    """What RedisStore and PostgresStore both are, beyond the contract of stores."""

    path: str
    channel: str
    fence: Fence | None

    def read(self) -> Reading:
        """Return all entries as they are at one moment."""
        ...

    def glance(self) -> Glance:
        """Return stamp, leases and server time without reading any entry."""
        ...

    def lease(self, run: str) -> bytes | None:
        """Return the lease row of a run."""
        ...

    def swap_lease(self, run: str, expected: bytes | None, new: bytes | None) -> bool:
        """Replace a lease row if it still is `expected`; None means no row."""
        ...

    def notices(self) -> Notices:
        """Return the changes of the store as they are announced; connects when first asked."""
        ...

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        ...


class Notices(Protocol):
    """Waits for announced changes on a connection of its own."""

    def wait(self, timeout_s: float) -> bool:
        """Return whether something changed within the time. Raises StoreError."""
        ...

    def close(self) -> None:
        """Close the connection; the next `wait` opens another."""
        ...


class Lost(Exception):
    """The connection broke while an answer was awaited; never leaves the store layer."""


class Driver(Protocol[C]):
    """How to talk to one kind of server. `title` is its address without any password."""

    title: str

    def connect(self) -> C:
        """Open a connection; raises StoreError."""
        ...

    def ping(self, connection: C) -> None:
        """Make sure that it works."""
        ...

    def close(self, connection: C) -> None:
        """Give it back."""
        ...

    def translate(self, error: Exception) -> OmaError | Lost | None:
        """Say what an exception of the client library means; None: it is a bug of ours."""
        ...


class Link(Generic[C]):
    """At most one connection, made when it is needed. Calls may come from any thread."""

    def __init__(self, driver: Driver[C]) -> None:
        self._driver = driver
        self._guard = threading.RLock()
        self._connection: C | None = None

    def read(self, ask: Callable[[C], T]) -> T:
        """Ask something that changes nothing; once more on a new connection when it breaks.

        Raises StoreError: DB_UNREACHABLE, DB_AUTH_FAILED, DB_LOST, DB_REFUSED, ...
        """
        with self._guard:
            try:
                return self._once(ask)
            except Lost:
                self.close()
            try:
                return self._once(ask)
            except Lost as error:
                self.close()
                raise StoreError("DB_LOST", path=self._driver.title, reason=str(error)) from None

    def write(self, act: Callable[[C], T]) -> T:
        """Change something, at most once.

        The connection is tried first, so that one which died in peace costs nothing. Raises
        WriteFailed DB_OUTCOME_UNKNOWN when the answer was lost, else like `read`.
        """
        with self._guard:
            try:
                self.read(self._driver.ping)
            except StoreError as error:
                raise not_written(error) from None
            try:
                return self._once(act)
            except Lost as error:
                self.close()
                raise WriteFailed(
                    "DB_OUTCOME_UNKNOWN", path=self._driver.title, reason=str(error)
                ) from None
            except StoreError as error:
                raise not_written(error) from None

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        with self._guard:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(OSError), self._translated():
                    self._driver.close(connection)

    def _once(self, ask: Callable[[C], T]) -> T:
        if self._connection is None:
            self._connection = self._driver.connect()
        with self._translated():
            return ask(self._connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (OmaError, Lost):
            raise
        except Exception as error:
            meaning = self._driver.translate(error)
            if meaning is None:
                raise
            raise meaning from None  # the library's text may quote what was sent


def not_written(error: StoreError) -> StoreError:
    """Say that nothing was written; what is an answer about the store itself stays as it is."""
    if isinstance(error, WriteFailed) or type(error) is not StoreError:
        return error
    return WriteFailed(error.code, **error.facts)


def encoded(text: str) -> bytes:
    """Return the bytes of any JavaScript string, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text of such bytes."""
    return bytes(data).decode("utf-8", "surrogatepass")


def encoded_metadata(metadata: JsonObject | None) -> bytes | None:
    """Return metadata as JSON text: order and unknown keys stay, later changes do not leak in."""
    return None if metadata is None else encoded(stringify(metadata))


def decoded_metadata(data: bytes | None, *, where: str) -> JsonObject | None:
    """Return metadata as an object; raises Corrupt, None where it is no object."""
    document = None if data is None else parse(bytes(data), where=where)
    return document if isinstance(document, dict) else None


def scrubbed(text: object, secrets: tuple[str, ...]) -> str:
    """Return a library's message as one short line in which no secret can stand."""
    line = " ".join(str(text).split())
    for secret in secrets:
        if secret:
            line = line.replace(secret, "***")
    return _LOGIN.sub(r"\1***@", line)[:300]


_LOGIN: Final = re.compile(r"(\w+://)[^\s/]*@")
