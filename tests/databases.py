"""Stores on the real servers of the session, and ways to disturb them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest

from oma_desktop.base.clock import SystemClock
from oma_desktop.store.access import connect
from oma_desktop.store.address import DatabaseAddress, parse_address

NAMES = {"redis": "prefix", "postgresql": "table"}
KINDS = [pytest.param(name, marks=pytest.mark.database(name)) for name in NAMES]


def fresh_url(kind: str, url: str) -> str:
    """The address of a store nobody else uses on a server."""
    return f"{url}?{NAMES[kind]}=t{uuid4().hex[:12]}"


def server_of(request: pytest.FixtureRequest, kind: str) -> Any:
    return request.getfixturevalue({"redis": "redis_server", "postgresql": "postgres_server"}[kind])


def opened(url: str) -> Any:
    address = parse_address(url)
    assert isinstance(address, DatabaseAddress)
    store = connect(address, clock=SystemClock())
    _opened.append(store)
    return store


_opened: list[Any] = []


def close_opened() -> None:
    """Called after every test (`tests/conftest.py`)."""
    while _opened:
        _opened.pop().close()


class CutProxy:
    """Stands between client and server; cuts the line instead of passing on a chosen answer."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._marker = b""
        self._due = False
        threading.Thread(target=self._accept, daemon=True).start()  # noqa: TID251 - a server

    def cut_answer_to(self, marker: bytes) -> None:
        """Pass the next request with these bytes on, and cut the line instead of its answer."""
        self._marker = marker

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            for source, sink, answers in ((client, server, False), (server, client, True)):
                threading.Thread(  # noqa: TID251 - a server
                    target=self._pass, args=(source, sink, answers), daemon=True
                ).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self._due:
                    self._due = False
                    break
                if not answers and self._marker and self._marker in data:
                    self._marker, self._due = b"", True
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.close()
