"""Stores on real servers when things go wrong, and when many decide at once (issue 3)."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.base.sentences import one_line
from oma_desktop.model.approval import Reviewer
from oma_desktop.model.approval_rules import create_request
from oma_desktop.model.errors import AlreadyDecided, InvalidInput, OmaError, StoreError, WriteFailed
from oma_desktop.store.ledger import ApprovalLedger
from tests.databases import KINDS, CutProxy, fresh_url, opened, server_of
from tests.servers import PostgresServer, RedisServer, free_port, server_folder

TRIES = 1000
WRITES = {"redis": b"EVALSHA", "postgresql": b"INSERT"}
DECIDES = {"redis": b"EVALSHA", "postgresql": b"UPDATE"}
READS = {"redis": b"HGET", "postgresql": b"SELECT key"}
PASSWORD = "s3cr#t/w@rd"
QUOTED = "s3cr%23t%2Fw%40rd"


def request_for(call: str) -> Any:
    content = {
        "kind": "tool_call",
        "toolName": "send",
        "rawInput": {"n": call},
        "input": {"n": call},
        "agentName": "a",
        "taskId": "t1",
        "toolCallId": call,
        "consequential": True,
    }
    return create_request(
        run_id="run-1",
        scope="tool_call",
        boundary=f"t1:{call}",
        content=content,
        requested_at=SystemClock().now(),
    )


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, kind: str) -> str:
    return fresh_url(kind, server_of(request, kind).url)


class TestRace:
    @pytest.mark.slow
    def test_a_thousand_decisions_have_one_winner_each(self, url: str) -> None:
        clock = SystemClock()
        runner = ApprovalLedger(opened(url), clock=clock)
        requests = [request_for(f"c{n}") for n in range(TRIES)]
        for each in requests:
            runner.ensure(each)
        gate = threading.Barrier(2)

        def desktop(number: int) -> list[str | None]:
            ledger = ApprovalLedger(opened(url), clock=clock)
            verdict: Any = ("approve", "reject")[number]
            won: list[str | None] = []
            for each in requests:
                gate.wait()
                try:
                    made = ledger.decide(
                        each["id"], each["requestHash"], verdict, Reviewer(id=f"desk-{number}")
                    )
                    won.append(made["decidedAt"])
                except AlreadyDecided:
                    won.append(None)
            return won

        with ThreadPoolExecutor(2) as pool:
            one, two = pool.map(desktop, range(2))
        assert all((a is None) != (b is None) for a, b in zip(one, two, strict=True))
        winners = ["desk-0" if a else "desk-1" for a in one]
        stored = [row["decision"]["reviewer"]["id"] for row in runner.list()]
        assert stored == winners
        assert set(winners) == {"desk-0", "desk-1"}


class TestLostAnswers:
    def test_a_write_whose_answer_was_lost_is_not_repeated_and_says_so(
        self, request: pytest.FixtureRequest, kind: str, url: str
    ) -> None:
        server = server_of(request, kind)
        proxy = CutProxy(server.port)
        through = opened(url.replace(str(server.port), str(proxy.port)))
        direct = opened(url)
        through.set("a", "1")
        revision = direct.read().stamp
        proxy.cut_answer_to(WRITES[kind])
        with pytest.raises(WriteFailed) as caught:
            through.set("a", "2")
        assert caught.value.code == "DB_OUTCOME_UNKNOWN"
        assert direct.get("a").value == "2"
        assert direct.read().stamp != revision
        assert through.get("a").value == "2", "the next call connects anew"
        proxy.close()

    def test_a_decision_repeated_after_a_lost_answer_is_the_same_decision(
        self, request: pytest.FixtureRequest, kind: str, url: str
    ) -> None:
        server = server_of(request, kind)
        proxy = CutProxy(server.port)
        store = opened(url.replace(str(server.port), str(proxy.port)))
        ledger = ApprovalLedger(store, clock=SystemClock())
        asked = request_for("c1")
        ledger.ensure(asked)
        arguments: Any = (asked["id"], asked["requestHash"], "approve", Reviewer(id="me"))
        proxy.cut_answer_to(DECIDES[kind])
        with pytest.raises(WriteFailed, match="DB_OUTCOME_UNKNOWN"):
            ledger.decide(*arguments)
        first = ApprovalLedger(opened(url), clock=SystemClock()).get(asked["id"])
        assert first is not None
        assert ledger.decide(*arguments) == first["decision"]
        proxy.close()

    def test_a_read_is_repeated_once(
        self, request: pytest.FixtureRequest, kind: str, url: str
    ) -> None:
        server = server_of(request, kind)
        proxy = CutProxy(server.port)
        store = opened(url.replace(str(server.port), str(proxy.port)))
        store.set("a", "1")
        proxy.cut_answer_to(READS[kind])
        assert store.get("a").value == "1"
        proxy.close()


def test_nobody_there(kind: str) -> None:
    scheme = {"redis": "redis://:pa%20ss@", "postgresql": "postgresql://me:pa%20ss@"}[kind]
    store = opened(f"{scheme}127.0.0.1:{free_port()}/0")
    with pytest.raises(StoreError) as read:
        store.get("a")
    with pytest.raises(WriteFailed) as write:
        store.set("a", "1")
    assert {read.value.code, write.value.code} == {"DB_UNREACHABLE"}
    assert_no_secret(read.value, "pa ss", "pa%20ss")


def assert_no_secret(error: OmaError, *secrets: str) -> None:
    texts = [str(error), repr(error.facts), one_line(error.code, error.facts)]
    texts.append(repr(error.__cause__))
    for secret in secrets:
        assert not any(secret in text for text in texts)


@pytest.mark.database("redis")
def test_redis_with_a_password() -> None:
    folder = server_folder("redis-auth")
    server = RedisServer(folder, "--requirepass", PASSWORD)
    try:
        for wrong in ("", ":wrong-one@"):
            with pytest.raises(StoreError) as caught:
                opened(f"redis://{wrong}127.0.0.1:{server.port}/0").get("a")
            assert caught.value.code == "DB_AUTH_FAILED"
            assert_no_secret(caught.value, "wrong-one")
        store = opened(f"redis://:{QUOTED}@127.0.0.1:{server.port}/0")
        store.set("a", "1")
        assert store.path == f"redis://127.0.0.1:{server.port}/0"
        assert opened(store.path).get("a").value == "1", "this process knows the password"
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.mark.database("redis")
def test_a_redis_replica_refuses_writes(redis_server: RedisServer) -> None:
    folder = server_folder("redis-replica")
    replica = RedisServer(folder, "--replicaof", "127.0.0.1", str(redis_server.port))
    try:
        with pytest.raises(WriteFailed) as caught:
            opened(fresh_url("redis", replica.url)).set("a", "1")
        assert caught.value.code == "DB_READ_ONLY"
    finally:
        replica.stop()
        shutil.rmtree(folder)


@pytest.mark.database("redis")
def test_a_redis_that_forgets_is_told(redis_server: RedisServer) -> None:
    folder = server_folder("redis-volatile")
    volatile = RedisServer(folder)
    try:
        codes = [p.code for p in opened(volatile.url).read().problems]
        assert codes == ["DB_NOT_DURABLE"]
        assert opened(redis_server.url).read().problems == ()
    finally:
        volatile.stop()
        shutil.rmtree(folder)


@pytest.mark.database("postgresql")
def test_postgres_with_a_password() -> None:
    folder = server_folder("postgres-auth")
    server = PostgresServer(folder, auth="scram-sha-256")
    place = f"127.0.0.1:{server.port}/postgres"
    try:
        for login in ("oma", "oma:wrong-one"):
            with pytest.raises(StoreError) as caught:
                opened(f"postgresql://{login}@{place}?table=x{len(login)}").get("a")
            assert caught.value.code == "DB_AUTH_FAILED"
            assert_no_secret(caught.value, "wrong-one")
        store = opened(f"postgresql://oma:correct%20horse@{place}")
        store.set("a", "1")
        assert store.path == f"postgresql://oma@{place}"
        assert opened(store.path).get("a").value == "1", "this process knows the password"
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.mark.database("postgresql")
class TestPostgres:
    def test_read_only_is_told(self, postgres_server: PostgresServer) -> None:
        url = fresh_url("postgresql", postgres_server.url)
        opened(url).set("a", "1")
        readers = opened(f"{url}&options=-c%20default_transaction_read_only%3Don")
        assert readers.get("a").value == "1"
        with pytest.raises(WriteFailed) as caught:
            readers.set("a", "2")
        assert caught.value.code == "DB_READ_ONLY"

    def test_reading_makes_no_table(self, postgres_server: PostgresServer) -> None:
        store = opened(fresh_url("postgresql", postgres_server.url))
        assert (store.get("a"), store.list(), store.lease("r")) == (None, [], None)
        assert store.glance().leases == {}
        with store._driver.connect() as connection:
            found = connection.execute("SELECT to_regclass(%s)", [store.channel]).fetchone()
        assert found == (None,)

    def test_another_table_under_this_name_is_no_store(
        self, postgres_server: PostgresServer
    ) -> None:
        store = opened(fresh_url("postgresql", postgres_server.url))
        with store._driver.connect() as connection:
            connection.execute(f"CREATE TABLE {store.channel} (id int)")
        with pytest.raises(StoreError) as caught:
            store.list()
        assert caught.value.code == "DB_NOT_A_STORE"

    def test_many_first_writers_make_one_table(self, postgres_server: PostgresServer) -> None:
        url = fresh_url("postgresql", postgres_server.url)
        stores = [opened(url) for _ in range(8)]

        def put(n: int) -> None:
            stores[n].set(f"k{n}", "1")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(8)))
        assert len(stores[0].list()) == 8

    def test_keys_longer_than_an_index_entry(self, postgres_server: PostgresServer) -> None:
        store = opened(fresh_url("postgresql", postgres_server.url))
        store.set("k" * 20_000, "1")
        assert store.get("k" * 20_000).value == "1"


class TestAddresses:
    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("redis://:pw@h", "redis://h/0"),
            ("rediss://u:pw@H:6379/0?ssl_cert_reqs=none", "rediss://u@h/0"),
            ("redis://h:6380/2?prefix=p&password=pw", "redis://h:6380/2?prefix=p"),
            ("postgres://u:pw@h:5432/db", "postgresql://u@h/db"),
            ("postgresql://u@h/db?table=s.t&sslpassword=pw", "postgresql://u@h/db?table=s.t"),
            ("postgresql:///db?host=%2Ftmp&password=pw", "postgresql:///db?host=%2Ftmp"),
            ("redis://u@[::1]:6379", "redis://u@[::1]/0"),
        ],
    )
    def test_what_is_shown_has_no_password(self, given: str, shown: str) -> None:
        store = opened(given)
        assert store.path == shown
        assert "pw" not in repr(store.path)

    @pytest.mark.parametrize("wrong", ["redis://:a#b@h", "redis://:a/b@h", "postgresql://h:x/d"])
    def test_a_wrong_one_is_refused_without_quoting_it(self, wrong: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            opened(wrong)
        assert caught.value.code == "STORE_ADDRESS_INVALID"
        assert_no_secret(caught.value, "a#b", "a/b")
