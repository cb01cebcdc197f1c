"""RedisStore: the contract of stores on a Redis server (product.md 3.9).

Every change is one script, so it happens whole or not at all and at one moment; it counts up the
revision and is announced on the channel `<prefix>:changed`.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from oma_desktop.model.errors import Corrupt, InvalidInput, Locked, OmaError, StoreError
from oma_desktop.model.json_text import parse, stringify
from oma_desktop.model.json_value import JsonObject
from oma_desktop.model.view import Problem
from oma_desktop.store import redis_scripts
from oma_desktop.store.address import DatabaseAddress, parse_address
from oma_desktop.store.database import (
    ANSWER_S,
    CONNECT_S,
    DatabaseStamp,
    Fence,
    Glance,
    Link,
    Lost,
    Reading,
    decoded,
    encoded,
    scrubbed,
)
from oma_desktop.store.memory import StoreEntry
from oma_desktop.store.ready_text import ReadyText
from oma_desktop.store.wall_clock import WallClock

Client: TypeAlias = "redis.Redis"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_BIG: Final = 64 * 1024
_TRIES: Final = 5


class RedisDriver:
    """How to reach one server; `title` is its address without a password."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.title = address.text
        self._address = address

    def connect(self) -> Client:
        """Open a connection and try it; raises StoreError or InvalidInput."""
        options: dict[str, Any] = {}
        if not self._address.secrets and (password := os.environ.get("REDISCLI_AUTH")):
            options["password"] = password
        try:
            client = redis.Redis.from_url(
                self._address.login,
                decode_responses=False,
                retry=Retry(NoBackoff(), 0),  # the library would repeat writes
                socket_connect_timeout=CONNECT_S,
                socket_timeout=ANSWER_S,
                socket_keepalive=True,
                single_connection_client=True,
                **options,
            )
            client.ping()
        except redis.RedisError as error:
            meaning = self.translate(error)
            if isinstance(meaning, Lost):
                raise StoreError("DB_UNREACHABLE", path=self.title, reason=str(meaning)) from None
            raise meaning from None
        except (ValueError, TypeError):
            raise InvalidInput("STORE_ADDRESS_INVALID", scheme=f"{self._address.kind}://") from None
        return client

    def ping(self, connection: Client) -> None:
        """Make sure that it works."""
        connection.ping()

    def close(self, connection: Client) -> None:
        """Give it back."""
        connection.close()

    def translate(self, error: Exception) -> OmaError | Lost:
        """Say what an exception of the client means."""
        facts = {"path": self.title, "reason": scrubbed(error, self._address.secrets)}
        if isinstance(error, redis.AuthenticationError | redis.exceptions.AuthorizationError):
            return StoreError("DB_AUTH_FAILED", **facts)
        if isinstance(error, redis.BusyLoadingError):
            return StoreError("DB_STARTING", **facts)
        if isinstance(error, redis.ConnectionError | redis.TimeoutError | OSError):
            return Lost(facts["reason"])
        if isinstance(error, redis.ReadOnlyError):
            return StoreError("DB_READ_ONLY", **facts)
        if isinstance(error, redis.exceptions.NoPermissionError):
            return StoreError("DB_DENIED", **facts)
        if isinstance(error, redis.exceptions.OutOfMemoryError):
            return StoreError("DB_FULL", **facts)
        if "WRONGTYPE" in str(error):
            return StoreError("DB_NOT_A_STORE", **facts)
        return StoreError("DB_REFUSED", **facts)


class RedisStore:
    """A MemoryStore with compare-and-set and expiry in a few keys `{<prefix>}:...` of one server.

    `fence`, once set, makes every change conditional on a lease. Blocking; calls may come from any
    thread. Every call may raise StoreError (DB_*), every change WriteFailed (DB_*) or Locked.
    """

    def __init__(
        self, url: str | DatabaseAddress, *, clock: WallClock, prefix: str | None = None
    ) -> None:
        address = parse_address(url)
        if not isinstance(address, DatabaseAddress) or address.kind != "redis":
            raise InvalidInput("STORE_ADDRESS_INVALID", scheme="redis://")
        self.path = address.text
        self.fence: Fence | None = None
        self._clock = clock
        self._problems: tuple[Problem, ...] | None = None
        self._driver = RedisDriver(address)
        self._link = Link(self._driver)
        name = f"{{{prefix or address.name}}}"  # in a cluster all keys lie on one server
        self.channel = f"{name}:changed"
        parts = ("rows", "metadata", "created", "order", "revision", "leases")
        self._keys = [f"{name}:{part}" for part in parts]

    # ------------------------------------------------------------------ the contract

    def get(self, key: str) -> StoreEntry | None:
        """Return the entry, or None when the key does not exist."""
        rows, metadata, created = self._keys[:3]
        field = encoded(key)

        def ask(client: Client) -> list[bytes | None]:
            pipe = client.pipeline(transaction=True)
            for name in (rows, metadata, created):
                pipe.hget(name, cast("str", field))
            return pipe.execute()

        value, about, at = self._link.read(ask)
        return None if value is None else _entry(field, value, about, at)

    def list(self) -> builtins.list[StoreEntry]:
        """Return all entries, in insertion order."""
        return self.read().entries

    def set(self, key: str, value: str, metadata: JsonObject | None = None) -> None:
        """Upsert. Keeps the first creation time and the place, drops any expiry."""
        self._put(key, encoded(value), metadata, None)

    def set_buffer(self, key: str, value: ReadyText, metadata: JsonObject | None = None) -> None:
        """Like `set`, for plain pieces; they are sent as they are."""
        self._put(key, value.buffer(), metadata, None)

    def set_with_expiry(
        self,
        key: str,
        value: str,
        expires_at_turn: float,
        metadata: JsonObject | None = None,
    ) -> None:
        """Like `set`, plus the number. Stores never filter on it."""
        self._put(key, encoded(value), metadata, expires_at_turn)

    def compare_and_set(
        self,
        key: str,
        expected: str | None,
        value: str,
        metadata: JsonObject | None = None,
    ) -> bool:
        """Write only if the stored value string equals `expected` (None: key must not exist)."""
        mode = "absent" if expected is None else "equal"
        return self._put(key, encoded(value), metadata, None, mode=mode, expected=expected or "")

    def delete(self, key: str) -> None:
        """Remove the key; silent when absent."""
        self._run(redis_scripts.DELETE, [encoded(key)])

    def clear(self) -> None:
        """Remove every entry; leases stay."""
        self._run(redis_scripts.CLEAR, [])

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._link.close()

    # ------------------------------------------------------------------ for readers

    def read(self) -> Reading:
        """Return all entries as they were at one moment."""
        rows, metadata, created, order, revision = self._keys[:5]

        def ask(client: Client) -> builtins.list[Any]:
            pipe = client.pipeline(transaction=True)
            pipe.zrange(order, 0, -1)
            for name in (rows, metadata, created):
                pipe.hgetall(name)
            pipe.get(revision)
            return pipe.execute()

        keys, values, about, at, number = self._link.read(ask)
        entries = [_entry(key, values.get(key), about.get(key), at.get(key)) for key in keys]
        size = sum(map(len, values.values()))
        stamp = DatabaseStamp(decoded(number or b"0"), size)
        if self._problems is None:
            self._problems = self._link.read(_durability)
        return Reading(entries, stamp, self._problems)

    def glance(self) -> Glance:
        """Return stamp, leases and server time without reading any entry."""
        rows, *_, revision, leases = self._keys

        def ask(client: Client) -> builtins.list[Any]:
            pipe = client.pipeline(transaction=True)
            pipe.get(revision)
            pipe.memory_usage(rows, samples=0)
            pipe.hgetall(leases)
            pipe.time()
            return pipe.execute()

        number, size, found, (seconds, micros) = self._link.read(ask)
        now = _EPOCH + timedelta(seconds=seconds, microseconds=micros)
        held = {decoded(run): bytes(row) for run, row in found.items()}
        return Glance(DatabaseStamp(decoded(number or b"0"), size or 0), held, now)

    def notices(self) -> RedisNotices:
        """Return the changes of the store as they are announced."""
        return RedisNotices(self._driver, self.channel)

    # ------------------------------------------------------------------ leases

    def lease(self, run: str) -> bytes | None:
        """Return the lease row of a run."""
        field = cast("str", encoded(run))
        return cast("bytes | None", self._link.read(lambda c: c.hget(self._keys[5], field)))

    def swap_lease(self, run: str, expected: bytes | None, new: bytes | None) -> bool:
        """Replace a lease row if it still is `expected`; None means no row."""
        expects = b"0" if expected is None else b"1"
        arguments = [encoded(run), expects, expected or b"", new or b""]
        return self._run(redis_scripts.SWAP_LEASE, arguments, fenced=False) == 1

    # ------------------------------------------------------------------ parts

    def _put(
        self,
        key: str,
        value: bytes | memoryview,
        metadata: JsonObject | None,
        expires_at_turn: float | None,
        *,
        mode: str = "any",
        expected: str = "",
    ) -> bool:
        about: JsonObject = {}
        if metadata is not None:
            about["metadata"] = metadata
        if expires_at_turn is not None:
            about["expiresAtTurn"] = expires_at_turn
        now = (self._clock.now() - _EPOCH) // _MS
        if mode == "any" and len(value) > _BIG:
            done = self._put_big(encoded(key), value, [encoded(stringify(about)), b"%d" % now])
            if done:
                return True
        arguments = [encoded(key), value, encoded(stringify(about)), b"%d" % now]
        arguments += [mode.encode(), encoded(expected)]
        return self._run(redis_scripts.PUT, arguments) == 1

    def _put_big(self, key: bytes, value: bytes | memoryview, about: Sequence[bytes]) -> bool:
        """Put a big value in a transaction, which copies it less often than a script.

        The lease is watched meanwhile; False after others have changed leases again and again.
        """
        keys, fence = self._keys, self.fence
        holder = fence.token.encode() + b"\n" if fence else b""

        def act(client: Client) -> bool:
            for _ in range(_TRIES):
                with client.pipeline(transaction=True) as pipe, suppress(redis.WatchError):
                    if fence is not None:
                        cast("Any", pipe).watch(keys[5])
                        row = cast(
                            "bytes | None", pipe.hget(keys[5], cast("str", encoded(fence.run)))
                        )
                        if row is None or not row.startswith(holder):
                            raise Locked("LEASE_LOST", path=self.path, run=fence.run)
                        pipe.multi()
                    pipe.hset(keys[0], cast("str", key), cast("str", value))
                    pipe.eval(
                        redis_scripts.NOTE_PUT, 5, *keys[:5], self.channel.encode(), key, *about
                    )
                    pipe.execute()
                    return True
            return False

        return self._link.write(act)

    def _run(
        self, script: str, arguments: Sequence[bytes | memoryview], *, fenced: bool = True
    ) -> int:
        fence = self.fence if fenced else None
        head = [encoded(fence.run), fence.token.encode()] if fence else [b"", b""]
        whole = [*head, self.channel.encode(), *arguments]
        answer = self._link.write(lambda c: c.register_script(script)(keys=self._keys, args=whole))
        if answer == redis_scripts.FENCED:
            raise Locked("LEASE_LOST", path=self.path, run=fence.run if fence else "")
        return cast("int", answer)


class RedisNotices:
    """Changes as a subscription hears them, on a connection of its own."""

    def __init__(self, driver: RedisDriver, channel: str) -> None:
        self._link = Link(driver)
        self._channel = channel
        self._client: Client | None = None
        self._heard: Any = None

    def wait(self, timeout_s: float) -> bool:
        """Return whether something changed within the time, or may have while nobody listened."""

        def ask(client: Client) -> bool:
            if self._client is not client:
                self._forget()
                self._heard = cast("Any", client).pubsub()
                self._heard.subscribe(self._channel)
                self._heard.get_message(timeout=ANSWER_S)  # the server's word that it listens
                self._client = client
                return True
            message = self._heard.get_message(timeout=timeout_s)
            return message is not None and message["type"] == "message"

        return self._link.read(ask)

    def close(self) -> None:
        """Close the connection; the next `wait` opens another."""
        self._forget()
        self._link.close()

    def _forget(self) -> None:
        heard, self._heard, self._client = self._heard, None, None
        if heard is not None:
            with suppress(redis.RedisError, OSError):
                heard.close()


def store_at(address: DatabaseAddress, *, clock: WallClock) -> RedisStore:
    """Return the store at an address (for `store.access`)."""
    return RedisStore(address, clock=clock)


def _entry(key: bytes, value: bytes | None, about: bytes | None, at: bytes | None) -> StoreEntry:
    name = decoded(key)
    more = parse(bytes(about or b"{}"), where=name)
    if not isinstance(more, dict) or at is None or value is None:
        raise Corrupt("DB_ROW_DAMAGED", key=name)
    metadata, expiry = more.get("metadata"), more.get("expiresAtTurn")
    return StoreEntry(
        name,
        decoded(value),
        _EPOCH + int(at) * _MS,
        metadata if isinstance(metadata, dict) else None,
        expiry if isinstance(expiry, int | float) else None,
    )


def _durability(client: Client) -> tuple[Problem, ...]:
    """Warn of a server that forgets when it ends; one that does not tell is believed."""
    try:
        facts = client.info("persistence")
    except redis.ResponseError:
        return ()
    if facts.get("aof_enabled") == 0:
        return (Problem("DB_NOT_DURABLE", "warning"),)
    return ()
