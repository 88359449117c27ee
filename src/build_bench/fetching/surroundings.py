"""What the environment sets for the network, and whether a client can be made of it."""

from __future__ import annotations

import os
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2

from build_bench.errors import UsageError
from build_bench.fetching import addresses

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def check() -> None:
    """Raises `UsageError` for the first variable that can't be used."""
    for why, hint in problems():
        raise UsageError(why, hint)


def problems() -> Iterator[tuple[str, str]]:
    """Each variable that can't be used and why, with what to do. No value is quoted: it may hold a password."""
    try:
        addresses.hub()
    except UsageError as error:
        yield error.message, error.hint
    for name in filter(os.environ.get, [*_PROXIES, *map(str.upper, _PROXIES)]):
        if why := _why_proxy(os.environ[name]):
            yield f"{name} {why}", f"name another proxy, or unset {name}"
    context = ssl.SSLContext(
        ssl.PROTOCOL_TLS_CLIENT
    )  # the default one reads both variables, and doesn't say which failed
    if path := os.environ.get("SSL_CERT_FILE"):
        try:
            context.load_verify_locations(cafile=path)
        except (OSError, ValueError) as error:
            said = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            yield f"SSL_CERT_FILE: {path} holds no certificates: {said}", "name a file of them, or unset SSL_CERT_FILE"
    if path := os.environ.get("SSLKEYLOGFILE"):
        try:
            context.keylog_filename = path
        except (OSError, ValueError) as error:
            yield f"SSLKEYLOGFILE: {path} can't be written: {error}", "name another file, or unset SSLKEYLOGFILE"


def proxy(address: str) -> str:
    """The proxy by which an address is asked, as the environment names it; empty if by none."""
    with suppress(ValueError):
        parts = urlsplit(address)
        if not urllib.request.proxy_bypass(parts.hostname or ""):
            named = urllib.request.getproxies()
            value = named.get(parts.scheme) or named.get("all", "")
            return value if not value or "//" in value else f"http://{value}"
    return ""


def _why_proxy(value: str) -> str:
    """Why a proxy can't be used; empty if it can, as far as that is known without asking it."""
    address = value if "://" in value else f"http://{value}"
    try:
        httpx2.HTTPTransport(proxy=address, verify=False, trust_env=False).close()
    except ImportError:
        return "names a SOCKS proxy, for which the package socksio is needed: pip install socksio"
    except (httpx2.InvalidURL, ValueError):
        return "is no address of a proxy: http://, https://, socks5:// or socks5h:// and a host are expected"
    if not addresses.origin(address):
        return "is no address of a proxy: it has no host, or no such port can be"
    return ""
