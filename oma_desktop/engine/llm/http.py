"""One endpoint over HTTP: a request, a checked status, chunks of bytes, at most one of each error.

Nothing is repeated here and no meaning is given to the bytes. Redirects are refused (engine.md
8.7). Proxies come from the environment (proxy.py); loopback addresses never go through one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import httpx

from oma_desktop import __version__
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.llm.network_error import Road, cut_off, not_connected
from oma_desktop.engine.llm.provider_error import from_status, message_in
from oma_desktop.engine.llm.proxy import proxy_for, shown
from oma_desktop.engine.llm.retry_policy import parse_retry_after
from oma_desktop.model.errors import BadReply, InvalidInput, ProviderError, Refused

TIMEOUT: Final = httpx.Timeout(connect=10.0, read=600.0, write=60.0, pool=None)
ERROR_BODY_LIMIT: Final = 64 * 1024
ERROR_BODY_WAIT_S: Final = 10.0


def aborted() -> ProviderError:
    """Return the error of a call that was stopped on purpose (engine/llm/base.py)."""
    return ProviderError("LLM_CALL_ABORTED", retryable=False)


@asynccontextmanager
async def interruptible(
    token: CancelToken, limit_s: float | None = None
) -> AsyncGenerator[None, None]:
    """Run the body until it ends, `token` aborts, or `limit_s` seconds are over.

    Raises ProviderError LLM_CALL_ABORTED on abort and TimeoutError at the limit. The awaited
    operation itself is cancelled, so an open connection is closed and not abandoned.
    """
    if token.aborted:
        raise aborted()
    try:
        async with asyncio.timeout(limit_s) as scope:

            def wake(_reason: StopReason) -> None:
                if token.aborted and not scope.expired():
                    scope.reschedule(0.0)  # in the past: now

            forget = token.on_stop(wake)
            try:
                yield
            finally:
                forget()
    except TimeoutError:
        if token.aborted:
            raise aborted() from None
        raise


@cache
def _trust() -> ssl.SSLContext:
    """Reading the certificates takes 20 ms: once per process, not once per endpoint."""
    return httpx.create_ssl_context()


class HttpEndpoint:
    """One base address with its key. `close` releases the connections; then it may not be used.

    Invariant: the key is in one header (`key_header`, Authorization unless named) and nowhere else:
    not in facts, not in logs. `headers` and `query` go with every request.
    """

    def __init__(
        self,
        base_url: str,
        *,
        provider: str,
        key: str | None,
        now: Callable[[], datetime],
        timeout: httpx.Timeout = TIMEOUT,
        key_header: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """Opens no connection, but takes 40 ms the first time: reads certificates, loads httpx.

        Raises InvalidInput LLM_BAD_ENDPOINT, LLM_KEY_MALFORMED or LLM_PROXY_UNUSABLE.
        """
        self.provider = provider
        self._base = checked_address(base_url, provider)
        self._key = _checked_key(key, provider)
        self._now = now
        self._timeout = timeout
        self._key_header = key_header
        self._headers = dict(headers or {})
        self._query = dict(query or {})
        self._proxy = self._found_proxy()
        self._road = self._described()
        self._client: httpx.AsyncClient | None = self._made()

    def _found_proxy(self) -> httpx.URL | None:
        try:
            return proxy_for(self._base)
        except (httpx.InvalidURL, ValueError) as problem:
            raise InvalidInput("LLM_PROXY_UNUSABLE", problem=str(problem)) from None

    def _described(self) -> Road:
        password = self._proxy.password if self._proxy is not None else ""
        secrets = tuple(secret for secret in (self._key, password) if secret)
        return Road(self.provider, self.origin, self.proxy, secrets)

    @property
    def proxy(self) -> str | None:
        """The proxy in use, without its password; it sees what is sent over http."""
        return shown(self._proxy)

    @property
    def origin(self) -> str:
        """Scheme, host and port: what an operator must know before a run."""
        return str(self._base.copy_with(raw_path=b"/")).removesuffix("/")

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine or in a private network, judged by its name."""
        host = self._base.host
        try:
            return ipaddress.ip_address(host).is_private
        except ValueError:
            return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))

    def _made(self) -> httpx.AsyncClient:
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",  # compression holds tokens back
            "User-Agent": f"oma-desktop/{__version__}",
            **self._headers,
        }
        if self._key and self._key_header:
            headers[self._key_header] = self._key
        elif self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            return httpx.AsyncClient(
                headers=headers,
                timeout=self._timeout,
                follow_redirects=False,
                verify=_trust(),
                proxy=self._proxy,
                trust_env=False,
            )
        except (ImportError, ValueError) as problem:
            raise InvalidInput("LLM_PROXY_UNUSABLE", problem=str(problem)) from None

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, token: CancelToken
    ) -> AsyncGenerator[httpx.Response, None]:
        """Send `body` (JSON) and give the response once its status is 2xx; close it at the end.

        Raises a ProviderError for everything else, LLM_CALL_ABORTED when `token` aborts.
        """
        url = self._base.copy_with(path=self._base.path.rstrip("/") + path)
        if self._query:
            url = url.copy_merge_params(self._query)
        client = self._client = self._client or self._made()
        request = client.build_request(
            "POST", url, content=body, headers={"Content-Type": "application/json"}
        )
        async with interruptible(token):
            response = await self._sent(client, request)
        try:
            if not response.is_success:
                async with interruptible(token):
                    raise await self._refusal(response)
            yield response
        finally:
            await response.aclose()

    async def _sent(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        try:
            return await client.send(request, stream=True)
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as problem:
            raise Refused(
                "LLM_BAD_ENDPOINT", provider=self.provider, problem=str(problem), retryable=False
            ) from None
        except httpx.TransportError as problem:
            raise not_connected(problem, self._road) from None

    async def chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives. Raises Unreachable when the connection breaks."""
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.DecodingError:
            raise BadReply("LLM_BAD_STREAM", provider=self.provider, retryable=True) from None
        except httpx.TransportError as problem:
            raise cut_off(problem, self._road) from None

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        if response.is_redirect:
            target = response.headers.get("location", "")[:200]
            return Refused(
                "LLM_REDIRECTED",
                provider=self.provider,
                origin=self.origin,
                target=target,
                status=response.status_code,
                retryable=False,
            )
        message = message_in(await self._error_body(response))
        if response.status_code == 407 and self.proxy is not None:
            return not_connected(httpx.ProxyError("407 " + response.reason_phrase), self._road)
        return from_status(
            response.status_code,
            provider=self.provider,
            message=self._road.hidden(message),
            retry_after_s=parse_retry_after(response.headers, self._now()),
        )

    async def _error_body(self, response: httpx.Response) -> bytes:
        body = b""
        try:
            async with asyncio.timeout(ERROR_BODY_WAIT_S):
                async for chunk in self.chunks(response):
                    body += chunk
                    if len(body) > ERROR_BODY_LIMIT:
                        break
        except (TimeoutError, ProviderError):
            pass  # the status says enough
        return body[:ERROR_BODY_LIMIT]

    def redact(self, error: ProviderError) -> ProviderError:
        """Take the key out of the texts among the facts of an error made from the stream."""
        for name, value in error.facts.items():
            if isinstance(value, str):
                error.facts[name] = self._road.hidden(value)
        return error

    async def close(self) -> None:
        """Release all connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def checked_address(base_url: str, provider: str) -> httpx.URL:
    """Return an address that may be called; raises InvalidInput LLM_BAD_ENDPOINT."""
    try:
        urlsplit(base_url)  # stricter about brackets and ports
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.fragment:
        raise InvalidInput("LLM_BAD_ENDPOINT", provider=provider, problem="not an http(s) address")
    return url


def _checked_key(key: str | None, provider: str) -> str | None:
    key = key.strip() if key else None
    if key and not (key.isascii() and key.isprintable()):
        raise InvalidInput("LLM_KEY_MALFORMED", provider=provider)
    return key or None
