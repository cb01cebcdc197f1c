"""Nobody was reached: one sentence that says who, why, and what to do; never a password."""

import asyncio
import socket
import ssl
from pathlib import Path

import httpx
import pytest

from oma_desktop.base.sentences import one_line
from oma_desktop.engine.llm.network_error import Road, not_connected
from oma_desktop.model.errors import Unreachable
from tests.core.engine.llm.loopback import Answer, Loopback, turn

PEM = Path(__file__).with_name("self-signed.pem")
ELSEWHERE = "http://model.example/v1"
SECURE = "https://model.example/v1"


async def broken(bench, base_url):
    """The error and its sentence; the key is in neither."""
    with pytest.raises(Unreachable) as caught:
        await bench.ask(bench.adapter(base_url))
    error = caught.value
    sentence = one_line(error.code, error.facts)
    assert "sk-secret-1" not in sentence + repr(error.facts)
    assert "{" not in sentence
    assert "demo" in repr(error.facts)
    assert len(bench.notices) == 2, "no status is retryable (engine.md 8.6)"
    return error.code, sentence


class Secure(Loopback):
    """The same server behind a certificate nobody signed."""

    async def __aenter__(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self


async def test_nothing_listens(bench):
    async with Loopback([]) as server:
        gone = server.base_url
    code, sentence = await broken(bench, gone)
    assert code == "LLM_CONNECTION_REFUSED"
    assert gone.removesuffix("/v1") in sentence


async def test_no_such_name(bench, monkeypatch):
    def nobody(*_args, **_more):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    code, sentence = await broken(bench, ELSEWHERE)
    assert code == "LLM_HOST_UNKNOWN"
    assert "model.example" in sentence


async def test_a_certificate_nobody_signed(bench):
    async with Secure([]) as server:
        code, sentence = await broken(bench, f"https://127.0.0.1:{server.port}/v1")
        assert server.requests == [], "nothing was sent"
    assert code == "LLM_TLS_UNTRUSTED"
    assert "self" in sentence


async def test_certificates_of_ones_own(bench, monkeypatch):
    from oma_desktop.engine.llm import http

    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    http._trust.cache_clear()
    try:
        async with Secure([turn(text="trusted")]) as server:
            adapter = bench.adapter(f"https://127.0.0.1:{server.port}/v1")
            assert (await bench.ask(adapter)).text == "trusted"
            await adapter.close()
    finally:
        http._trust.cache_clear()


async def test_tls_where_there_is_none(bench):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        code, sentence = await broken(bench, f"https://127.0.0.1:{port}/v1")
    assert code == "LLM_TLS_FAILED"
    assert "TLS" in sentence


@pytest.fixture
def proxied(monkeypatch):
    """Names a proxy with a password in the environment."""

    def named(port):
        for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(variable, f"http://me:pass-word@127.0.0.1:{port}")
        monkeypatch.setenv("NO_PROXY", "")
        return f"http://127.0.0.1:{port}"

    return named


@pytest.mark.parametrize("base_url", [ELSEWHERE, SECURE])
async def test_a_proxy_that_refuses(bench, proxied, base_url):
    async with Loopback([Answer(status=407, headers={}, cut=True)] * 3) as proxy:
        shown = proxied(proxy.port)
        code, sentence = await broken(bench, base_url)
    assert code == "LLM_PROXY_REFUSED"
    assert shown in sentence
    assert "407" in sentence
    assert "pass-word" not in sentence


@pytest.mark.parametrize("base_url", [ELSEWHERE, SECURE])
async def test_a_proxy_that_is_gone(bench, proxied, base_url):
    async with Loopback([]) as proxy:
        shown = proxied(proxy.port)
    code, sentence = await broken(bench, base_url)
    assert code == "LLM_PROXY_UNREACHABLE"
    assert shown in sentence
    assert "pass-word" not in sentence


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({"HTTP_PROXY": "http://p:1"}, ELSEWHERE, "http://p:1"),
        ({"HTTP_PROXY": "p:1"}, ELSEWHERE, "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, ELSEWHERE, None),
        ({"HTTPS_PROXY": "http://u:w@p:1/"}, SECURE, "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, SECURE, "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "example"}, SECURE, None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, SECURE, None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, "http://127.1.2.3:9/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, "http://x.localhost/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, "http://[::1]:9/v1", None),
    ],
)
def test_what_is_shown_is_what_is_used(bench, monkeypatch, variables, url, proxy):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert bench.adapter(url).proxy == proxy


def caused_by(problem, *causes):
    try:
        for cause in causes:
            try:
                raise cause
            except BaseException as error:
                raise problem from error
    except httpx.TransportError as error:
        return error


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (httpx.ConnectTimeout(""), "LLM_CONNECT_TIMEOUT"),
        (httpx.ReadTimeout(""), "LLM_STALLED"),
        (httpx.RemoteProtocolError("odd"), "LLM_UNREACHABLE"),
        (httpx.ConnectError("all failed"), "LLM_UNREACHABLE"),
        (
            caused_by(
                httpx.ConnectError("all failed"),
                ExceptionGroup("both", [ConnectionRefusedError(111, "no"), OSError(101, "net")]),
            ),
            "LLM_CONNECTION_REFUSED",
        ),
    ],
)
def test_causes(problem, code):
    error = not_connected(problem, Road("demo", "http://h:1", None, ()))
    assert error.code == code
    assert "{" not in one_line(code, error.facts)
