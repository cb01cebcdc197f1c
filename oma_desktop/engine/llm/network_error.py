"""From a broken connection to one clear error: who was not reached, and why (engine.md 8.6)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from oma_desktop.engine.llm.provider_error import redacted
from oma_desktop.model.errors import ProviderError, Unreachable


@dataclass(frozen=True, slots=True)
class Road:
    """How an endpoint is reached; what errors may say of it. `proxy` has no password."""

    provider: str
    origin: str
    proxy: str | None
    secrets: tuple[str, ...]

    def hidden(self, text: str) -> str:
        """Return `text` without keys and passwords."""
        for secret in self.secrets:
            text = redacted(text, secret)
        return text


def not_connected(problem: httpx.TransportError, road: Road) -> ProviderError:
    """Return the error of a request that got no answer at all."""
    code, words = _cause(problem, road)
    return _error(code, words, road)


def cut_off(problem: httpx.TransportError, road: Road) -> ProviderError:
    """Return the error of a connection that broke inside an answer."""
    stalled = isinstance(problem, httpx.ReadTimeout)
    return _error("LLM_STALLED" if stalled else "LLM_STREAM_CUT", str(problem), road)


def _error(code: str, words: str, road: Road) -> ProviderError:
    return Unreachable(
        code,
        provider=road.provider,
        origin=road.origin,
        proxy=road.proxy,
        problem=road.hidden(words),
        retryable=True,
    )


def _cause(problem: httpx.TransportError, road: Road) -> tuple[str, str]:
    """Return the code and the words of the innermost cause anybody can act on."""
    words = str(problem) or type(problem).__name__
    if isinstance(problem, httpx.ReadTimeout):
        return "LLM_STALLED", words
    if isinstance(problem, httpx.ProxyError):
        return "LLM_PROXY_REFUSED", words
    for cause in _chain(problem):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "LLM_TLS_UNTRUSTED", cause.verify_message or words
        if isinstance(cause, ssl.SSLError):
            return "LLM_TLS_FAILED", cause.reason or words
    if not isinstance(problem, (httpx.ConnectError, httpx.ConnectTimeout)):
        return "LLM_UNREACHABLE", words
    if road.proxy is not None:
        return "LLM_PROXY_UNREACHABLE", words
    for cause in _chain(problem):
        if isinstance(cause, socket.gaierror):
            return "LLM_HOST_UNKNOWN", words
        if isinstance(cause, ConnectionRefusedError):
            return "LLM_CONNECTION_REFUSED", words
    if isinstance(problem, httpx.ConnectTimeout):
        return "LLM_CONNECT_TIMEOUT", words
    return "LLM_UNREACHABLE", words


def _chain(error: BaseException) -> Iterator[BaseException]:
    """All that led to an error, also the members of groups."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
