"""What a save to Redis and PostgreSQL costs beyond sending the same ready bytes (issue 3).

    python -m tests.bench.bench_database

Real servers on this machine, as the tests start them. "raw" sends the same bytes, ready and in one
piece, by the same client library with one plain command (SET, or an UPDATE of one row). Waits are
those of another thread, the window's in the product (product.md 3.3).
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
from collections.abc import Callable
from typing import Any

import psycopg
import redis

from oma_desktop.app.interpreter import favour_loop
from oma_desktop.base.clock import SystemClock
from oma_desktop.base.lanes import Lanes
from oma_desktop.engine.bus import EventBus
from oma_desktop.engine.saving.checkpointing import CheckpointWriter
from oma_desktop.engine.saving.encoding import SnapshotEncoder
from oma_desktop.engine.saving.queue_pages import QueuePages
from oma_desktop.engine.saving.snapshotting import Captured
from oma_desktop.store.access import connect
from oma_desktop.store.address import parse_address
from oma_desktop.store.checkpoint import Checkpoint
from oma_desktop.store.redacting import RedactingStore
from tests.bench.bench_store import Stalls, changed, timed
from tests.bench.big_run import big_run
from tests.servers import PostgresServer, RedisServer, server_folder

ROUNDS = 12


def redis_raw(url: str) -> Callable[[bytes], object]:
    client = redis.Redis.from_url(url, single_connection_client=True)
    return lambda data: client.set("raw", data)


def postgres_raw(url: str) -> Callable[[bytes], object]:
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    connection.execute("CREATE TABLE raw (value bytea NOT NULL)")
    connection.execute("INSERT INTO raw VALUES ('')")
    return lambda data: connection.execute("UPDATE raw SET value = %s", [data], binary=True)


def measure_saves(kind: str, store: Any, raw: Callable[[bytes], object], megabytes: int) -> None:
    """Steady state: one entry in flight of some 45 KB is new at each save, nothing else."""
    run = big_run(tasks=200, done=190, megabytes=megabytes)
    place = Checkpoint(store, run_id=f"bench-{megabytes}")
    encoder = SnapshotEncoder(quoted=place.takes_pieces, mask=place.mask())
    pages = QueuePages()

    def save(moment: Captured) -> None:
        place.save_text(encoder.encode(moment), run_id="bench", created_at=moment.created_at)

    first = timed(lambda: save(changed(run, 0, pages)))
    data = (place.latest_text() or "").encode()
    raw(data)
    saves: list[float] = []
    raws: list[float] = []
    for n in range(ROUNDS):
        moment = changed(run, n, pages)
        saves.append(timed(lambda moment=moment: save(moment)))
        raws.append(timed(lambda: raw(data)))
    with Stalls() as ours:
        for n in range(ROUNDS):
            save(changed(run, n, pages))
    with Stalls() as theirs:
        for _ in range(ROUNDS):
            raw(data)
    save_ms, raw_ms = statistics.median(saves), statistics.median(raws)
    print(
        f"{kind:22} {len(data) / 1e6:5.1f} MB  first {first:7.1f}  save {save_ms:7.1f}  raw "
        f"{raw_ms:7.1f} ms  ratio {save_ms / raw_ms:4.2f} (fastest {min(saves) / min(raws):4.2f})"
        f"  worst wait of another thread {ours.worst_ms:5.1f} ms, raw {theirs.worst_ms:5.1f} ms"
    )


def measure_groups(kind: str, address: Any) -> None:
    """1,000 saves asked for by 50 tasks of one run, each waiting for its own."""
    store = connect(address, clock=SystemClock())
    run = big_run(tasks=50, done=25, megabytes=0.05)
    one = Checkpoint(store, run_id="each")
    encoder = SnapshotEncoder(quoted=False)
    pages = QueuePages()

    def each() -> None:
        for n in range(1000):
            moment = changed(run, n, pages)
            one.save_text(encoder.encode(moment), run_id="each", created_at=moment.created_at)

    apart = timed(each)
    box: dict[str, int] = {}

    async def tasks() -> None:
        lanes = Lanes()
        place = Checkpoint(store, run_id="group")
        writer = CheckpointWriter(
            place, run.state, lanes=lanes, clock=SystemClock(), bus=EventBus()
        )

        async def task(k: int) -> None:
            for n in range(20):
                run.change(k * 20 + n)
                assert await writer.save("bench")

        await asyncio.gather(*(task(k) for k in range(50)))
        box["writes"] = writer.saves
        lanes.close()

    together = timed(lambda: asyncio.run(tasks()))
    print(
        f"{kind:22} 1,000 saves of 50 tasks: {box['writes']} writes, {together:.0f} ms; "
        f"one write per save {apart:.0f} ms, {apart / together:.1f} x"
    )
    store.close()


def main() -> None:
    favour_loop()
    servers: list[tuple[str, Any, Any]] = [
        ("redis", RedisServer, redis_raw),
        ("postgresql", PostgresServer, postgres_raw),
    ]
    for kind, server_class, raw_of in servers:
        folder = server_folder(f"bench-{kind}")
        server = server_class(folder)
        try:
            address: Any = parse_address(server.url)
            raw = raw_of(server.url)
            for megabytes in (1, 5, 20):
                store = connect(address, clock=SystemClock())
                measure_saves(kind, store, raw, megabytes)
                if megabytes == 20:
                    measure_saves(f"{kind}, redacted", RedactingStore(store), raw, megabytes)
                store.close()
            measure_groups(kind, address)
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
