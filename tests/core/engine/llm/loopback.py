"""A byte-level HTTP server on loopback that speaks OpenAI streaming from a script.

    async with Loopback([turn(text="hi"), Answer(status=429)]) as server:
        ...server.base_url, server.requests...

The script is a list (one answer per request, in order) or a function from the request to an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

SSE = {"Content-Type": "text/event-stream"}


@dataclass
class Received:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def roles(self) -> list[str]:
        return [m["role"] for m in self.body["messages"]]


@dataclass
class Answer:
    """One response. `sizes` cuts the body into HTTP chunks (the last size repeats; None = whole).

    `cut` closes the socket without the end of the body; `hang` keeps it open for ever.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(SSE))
    sizes: Sequence[int] | None = None
    cut: bool = False
    hang: bool = False

    def pieces(self) -> Iterable[bytes]:
        sizes = list(self.sizes or [len(self.body) or 1])
        at = 0
        while at < len(self.body):
            size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
            yield self.body[at : at + size]
            at += size


Script = Iterable[Answer] | Callable[[Received], Answer]


class Loopback:
    """The server. `requests` grows as they come; `n_connections` counts sockets."""

    def __init__(self, script: Script) -> None:
        self._answer = script if callable(script) else _in_order(script)
        self.requests: list[Received] = []
        self.n_connections = 0
        self.hanging = asyncio.Event()
        self.client_gone = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.close()
        await self._server.wait_closed()
        while self._writers:  # noqa: ASYNC110 - the handlers end by themselves
            await asyncio.sleep(0)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self._writers.add(writer)
        try:
            async for request in _requests(reader):
                self.requests.append(request)
                if not await self._respond(self._answer(request), reader, writer):
                    break
        except ConnectionError:
            self.client_gone.set()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self._writers.discard(writer)

    async def _respond(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = [f"HTTP/1.1 {answer.status} Scripted", "Transfer-Encoding: chunked"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
        for piece in answer.pieces():
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if answer.hang:
            self.hanging.set()
            if not await reader.read(1):
                self.client_gone.set()
        if answer.cut or answer.hang:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Received]:
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return
        first, *lines = head.split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        yield Received(first.split(" ")[1], headers, json.loads(body or b"{}"))


def _in_order(answers: Iterable[Answer]) -> Callable[[Received], Answer]:
    left = list(answers)

    def answer(_request: Received) -> Answer:
        if not left:
            return Answer(b'{"error":{"message":"the script has ended"}}', status=400)
        return left.pop(0)

    return answer


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "cmpl-demo",
        "object": "chat.completion.chunk",
        "model": "demo-model",
        "choices": [choice],
    }


def _pieces(text: str, n: int = 3) -> list[str]:
    step = max(1, -(-len(text) // n))
    return [text[i : i + step] for i in range(0, len(text), step)]


def sse(*documents: object) -> bytes:
    """Return documents as events, with the terminator."""
    lines = [f"data: {json.dumps(d, ensure_ascii=False)}\n\n" for d in documents]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def turn(
    text: str = "",
    tools: Sequence[tuple[str, str, dict[str, Any]]] = (),
    usage: tuple[int, int] | None = (7, 3),
    reasoning: str = "",
    **answer: Any,
) -> Answer:
    """Return one complete streamed turn; `tools` are (id, name, arguments)."""
    events = [_chunk({"role": "assistant", "content": None})]
    events += [_chunk({"reasoning_content": piece}) for piece in _pieces(reasoning)]
    events += [_chunk({"content": piece}) for piece in _pieces(text)]
    for index, (call_id, name, arguments) in enumerate(tools):
        call = {"index": index, "id": call_id, "type": "function"}
        function = {"name": name, "arguments": ""}
        events.append(_chunk({"tool_calls": [{**call, "function": function}]}))
        for piece in _pieces(json.dumps(arguments, ensure_ascii=False)):
            delta = {"index": index, "function": {"arguments": piece}}
            events.append(_chunk({"tool_calls": [delta]}))
    events.append(_chunk({}, "tool_calls" if tools else "stop"))
    if usage is not None:
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
        events.append({"choices": [], "usage": counts})
    return Answer(sse(*events), **answer)
