"""Which proxy the environment names for an address, and how it is shown: never with a password.

Asked once per endpoint, so that what a person is told is what is used (engine.md 8.7).
"""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass

import httpx

from oma_desktop.model.egress import is_loopback


def proxy_for(url: httpx.URL) -> httpx.URL | None:
    """Return the proxy of requests to `url`, or None; servers on this machine never have one.

    Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (or the system's settings on Windows and
    macOS). Raises ValueError or httpx.InvalidURL for an address that is none.
    """
    if is_loopback(str(url)):
        return None
    named = getproxies()
    address = named.get(url.scheme) or named.get("all")
    if not address or proxy_bypass(url.netloc.decode("ascii")):
        return None
    return httpx.URL(address if "://" in address else f"http://{address}")


def shown(proxy: httpx.URL | None) -> str | None:
    """Return a proxy's address without user name and password."""
    if proxy is None:
        return None
    return str(httpx.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port))
