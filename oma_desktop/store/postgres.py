"""PostgresStore: the contract of stores in one table of a PostgreSQL server (product.md 3.9).

Every change is one statement, announced with NOTIFY on the channel named like the table. Texts are
kept as the bytes of their UTF-8: PostgreSQL's own text has no NUL and no lone surrogates.
"""

from __future__ import annotations

import builtins
import contextlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import conninfo, errors, sql

from oma_desktop.model.errors import InvalidInput, Locked, OmaError, StoreError
from oma_desktop.model.json_value import JsonObject
from oma_desktop.store.address import DatabaseAddress, parse_address
from oma_desktop.store.database import (
    CONNECT_S,
    DatabaseStamp,
    Fence,
    Glance,
    Link,
    Lost,
    Reading,
    decoded,
    decoded_metadata,
    encoded,
    encoded_metadata,
    scrubbed,
)
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.postgres_statements import Statements
from oma_desktop.store.ready_text import ReadyText
from oma_desktop.store.wall_clock import WallClock

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"


class PostgresDriver:
    """How to reach one server; `title` is its address without a password."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.title = address.text
        self._address = address

    def connect(self) -> Connection:
        """Open a connection; raises StoreError or InvalidInput."""
        try:
            connection = psycopg.connect(
                self._address.login,
                autocommit=True,
                prepare_threshold=None,  # a pooler between us and the server may not know them
                **self._settings(),
            )
        except psycopg.ProgrammingError:
            # Not the library's text: it may quote a piece of the address.
            raise InvalidInput("STORE_ADDRESS_INVALID", scheme="postgresql://") from None
        except psycopg.OperationalError as error:
            raise self._not_connected(error) from None
        return connection

    def _settings(self) -> dict[str, Any]:
        """What the address does not say itself; a dead network is noticed within a minute."""
        wanted = {
            "connect_timeout": CONNECT_S,
            "application_name": "oma-desktop",
            "client_encoding": "utf8",
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        given = conninfo.conninfo_to_dict(self._address.login)
        return {name: value for name, value in wanted.items() if name not in given}

    def _not_connected(self, error: psycopg.OperationalError) -> StoreError:
        reason = scrubbed(error, self._address.secrets)
        refused = error.pgconn is not None and error.pgconn.needs_password
        if refused or _LOGIN_REFUSED.search(reason):
            return StoreError("DB_AUTH_FAILED", path=self.title, reason=reason)
        if "starting up" in reason:
            return StoreError("DB_STARTING", path=self.title, reason=reason)
        return StoreError("DB_UNREACHABLE", path=self.title, reason=reason)

    def ping(self, connection: Connection) -> None:
        """Make sure that it works."""
        connection.execute("SELECT 1")

    def close(self, connection: Connection) -> None:
        """Give it back."""
        connection.close()

    def translate(self, error: Exception) -> OmaError | Lost | None:
        """Say what an exception of the client library means."""
        if not isinstance(error, psycopg.Error):
            return Lost(str(error)) if isinstance(error, OSError) else None
        facts = {"path": self.title, "reason": scrubbed(error, self._address.secrets)}
        for kinds, code in _MEANINGS:
            if isinstance(error, kinds):
                return StoreError(code, **facts)
        ended = isinstance(error, errors.AdminShutdown | errors.CrashShutdown)
        if ended or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
            return Lost(facts["reason"])
        if isinstance(error, psycopg.InterfaceError):
            return Lost(facts["reason"])
        return StoreError("DB_REFUSED", **facts)


_LOGIN_REFUSED: Final = re.compile(r"authentication|password|pg_hba|role \S+ does not exist")
_MEANINGS: Final[Sequence[tuple[Any, str]]] = (
    (errors.ReadOnlySqlTransaction, "DB_READ_ONLY"),
    (errors.InsufficientPrivilege, "DB_DENIED"),
    (errors.DiskFull, "DB_FULL"),
    ((errors.UndefinedColumn, errors.WrongObjectType, errors.DatatypeMismatch), "DB_NOT_A_STORE"),
    (errors.CannotConnectNow, "DB_STARTING"),
)


class PostgresStore:
    """A MemoryStore with compare-and-set and expiry in one table.

    `fence`, once set, makes every change conditional on a lease. The table is made by the first
    change, never by reading. Blocking; calls may come from any thread. Every call may raise
    StoreError (DB_*), every change WriteFailed (DB_*) or Locked.
    """

    def __init__(
        self, dsn: str | DatabaseAddress, *, clock: WallClock, table: str | None = None
    ) -> None:
        address = parse_address(dsn)
        if not isinstance(address, DatabaseAddress) or address.kind != "postgresql":
            raise InvalidInput("STORE_ADDRESS_INVALID", scheme="postgresql://")
        self.path = address.text
        self.fence: Fence | None = None
        self._clock = clock
        self._driver = PostgresDriver(address)
        self._link = Link(self._driver)
        name = table or address.name
        self.channel = name
        self._say = Statements(name)
        self._made = False

    # ------------------------------------------------------------------ the contract

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        rows = self._ask(self._say.get, {"key": encoded(key)})
        return _entry(rows[0]) if rows else None

    def list(self) -> list[StoreEntry]:
        """Return all entries, in insertion order."""
        return self.read().entries

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert. Keeps the first creation time and the place, drops any expiry."""
        self._put(self._say.upsert, key, encoded(value), metadata)

    def set_buffer(self, key: str, value: ReadyText, metadata: JsonObject | None = None) -> None:
        """Like `set`, for plain pieces; they are sent as they are."""
        self._put(self._say.upsert, key, value.buffer(), metadata)

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        self._put(self._say.upsert, key, encoded(value), metadata, expires_at_turn)

    def compare_and_set(
        self,
        key: str,
        expected: str | None,
        value: str,
        metadata: JsonObject | None = None,
    ) -> bool:
        """Write only if the stored value string equals `expected` (None: key must not exist)."""
        statement = self._say.insert if expected is None else self._say.update
        return self._put(statement, key, encoded(value), metadata, expected=expected)

    def delete(self, key: str) -> None:
        """Remove the key; silent when absent."""
        self._change(self._say.delete, {"key": encoded(key)})

    def clear(self) -> None:
        """Remove every entry; leases stay."""
        self._change(self._say.clear, {})

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._link.close()

    # ------------------------------------------------------------------ for readers

    def read(self) -> Reading:
        """Return all entries as they were at one moment."""
        rows = self._ask(self._say.entries, {})
        entries = [_entry(row) for row in rows]
        stamp = DatabaseStamp(_revision(len(rows), sum(r[5] for r in rows)), _size(rows))
        return Reading(entries, stamp)

    def glance(self) -> Glance:
        """Return stamp, leases and server time without reading any entry."""
        rows = self._ask(self._say.glance, {})
        if not rows:
            now = self._link.read(lambda c: c.execute("SELECT clock_timestamp()").fetchone())
            return Glance(DatabaseStamp(_revision(0, 0), 0), {}, _utc(now[0] if now else None))
        count, total, size, now = rows[0][:4]
        held = {decoded(row[4]): bytes(row[5]) for row in rows if row[4] is not None}
        return Glance(DatabaseStamp(_revision(count, int(total)), int(size)), held, _utc(now))

    def notices(self) -> PostgresNotices:
        """Return the changes of the store as they are announced."""
        return PostgresNotices(self._driver, self.channel)

    # ------------------------------------------------------------------ leases

    def lease(self, run: str) -> bytes | None:
        """Return the lease row of a run."""
        rows = self._ask(self._say.lease, {"key": encoded(run)})
        return bytes(rows[0][0]) if rows else None

    def swap_lease(self, run: str, expected: bytes | None, new: bytes | None) -> bool:
        """Replace a lease row if it still is `expected`; None means no row."""
        say = self._say
        statement = (
            say.lease_insert
            if expected is None
            else say.lease_delete
            if new is None
            else say.lease_update
        )
        told = expected is None or new is None or expected.split(b"\n")[0] != new.split(b"\n")[0]
        facts = {"key": encoded(run), "expected": expected, "value": new, "told": told}
        return bool(self._change(statement, {**facts, "now": self._clock.now()}, fenced=False))

    # ------------------------------------------------------------------ parts

    def _put(
        self,
        statement: sql.Composed,
        key: str,
        value: bytes | memoryview,
        metadata: JsonObject | None,
        expires_at_turn: float | None = None,
        *,
        expected: str | None = None,
    ) -> bool:
        facts = {
            "key": encoded(key),
            "value": value,
            "metadata": encoded_metadata(metadata),
            "expiry": expires_at_turn,
            "now": self._clock.now(),
            "expected": None if expected is None else encoded(expected),
        }
        return bool(self._change(statement, facts))

    def _ask(self, statement: sql.Composed, facts: Mapping[str, object]) -> builtins.list[Any]:
        def ask(connection: Connection) -> builtins.list[Any]:
            try:
                return connection.execute(statement, facts, binary=True).fetchall()
            except errors.UndefinedTable:
                return []  # nothing was ever written: an empty store

        return self._link.read(ask)

    def _change(
        self, statement: sql.Composed, facts: Mapping[str, object], *, fenced: bool = True
    ) -> builtins.list[Any]:
        fence = self.fence if fenced else None
        guard = {
            "fence_run": encoded(fence.run) if fence else None,
            "fence_token": fence.token.encode() + b"\n" if fence else None,
        }

        def act(connection: Connection) -> builtins.list[Any]:
            self._make_table(connection)
            return connection.execute(statement, {**facts, **guard}, binary=True).fetchall()

        rows = self._link.write(act)
        if not rows and fence is not None and not self._holds(fence):
            raise Locked("LEASE_LOST", path=self.path, run=fence.run)
        return rows

    def _holds(self, fence: Fence) -> bool:
        row = self.lease(fence.run)
        return row is not None and row.startswith(fence.token.encode() + b"\n")

    def _make_table(self, connection: Connection) -> None:
        if self._made:
            return
        with contextlib.suppress(errors.UndefinedTable):
            connection.execute(self._say.probe)
            self._made = True
            return
        with connection.transaction():
            # Two first writers would both create it; one waits here.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.channel])
            for statement in self._say.make:
                connection.execute(statement)
        self._made = True


class PostgresNotices:
    """Changes as LISTEN hears them, on a connection of its own."""

    def __init__(self, driver: PostgresDriver, channel: str) -> None:
        self._driver = driver
        self._link = Link(driver)
        self._channel = channel
        self._listening: Connection | None = None

    def wait(self, timeout_s: float) -> bool:
        """Return whether something changed within the time, or may have while nobody listened."""

        def ask(connection: Connection) -> bool:
            if self._listening is not connection:
                connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                self._listening = connection
                return True
            heard = connection.notifies(timeout=timeout_s, stop_after=1)
            return any(True for _ in heard)

        return self._link.read(ask)

    def close(self) -> None:
        """Close the connection; the next `wait` opens another."""
        self._listening = None
        self._link.close()


def store_at(address: DatabaseAddress, *, clock: WallClock) -> PostgresStore:
    """Return the store at an address (for `store.access`)."""
    return PostgresStore(address, clock=clock)


def _entry(row: tuple[Any, ...]) -> StoreEntry:
    key, value, metadata, created, expiry = row[:5]
    name = decoded(key)
    return StoreEntry(
        name, decoded(value), _utc(created), decoded_metadata(metadata, where=name), expiry
    )


def _utc(moment: datetime | None) -> datetime:
    if moment is None:
        return datetime.fromtimestamp(0, UTC)
    return moment.astimezone(UTC)


def _revision(count: int, total: int) -> str:
    """Every change draws a fresh, greater number: count and sum together tell states apart."""
    return f"{count}/{total}"


def _size(rows: builtins.list[Any]) -> int:
    return sum(len(row[1]) for row in rows)
