"""Addresses from manifests, from the environment and from servers: each may be none, and may hold a password."""

from __future__ import annotations

import os
from contextlib import suppress
from urllib.parse import urljoin, urlsplit, urlunsplit

from build_bench.errors import UsageError

HUGGING_FACE = "https://huggingface.co"


def origin(address: str) -> str:
    """Scheme, host and port: a password, or a path, is nobody's business. Empty if the address is none."""
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.hostname:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"
    return ""


def host(address: str) -> str:
    """Host and port, as a problem is named by; the address itself if it is none."""
    return origin(address).partition("://")[2] or address


def without_login(address: str) -> str:
    """The address without a user's name and password. Empty if it is none."""
    start = origin(address)
    return urlunsplit(urlsplit(start)[:2] + urlsplit(address)[2:]) if start else ""


def joined(address: str, location: str) -> str:
    """Where `location`, which a server sent, leads from `address`; empty if it is no address."""
    with suppress(ValueError):
        new = urljoin(address, location)
        _ = urlsplit(new).port
        return new
    return ""


def hub() -> str:
    """The Hugging Face Hub, or what `HF_ENDPOINT` names. Raises `UsageError` if that is no web address."""
    named = hub_as_named()
    web = origin(named).startswith(("https://", "http://")) and not set("?# ") & set(named)
    if not web:  # not quoted: it may hold a password
        raise UsageError("HF_ENDPOINT is no web address", f"it wants https:// and a host, as in {HUGGING_FACE}")
    return named


def hub_as_named() -> str:
    """As `hub`, whatever `HF_ENDPOINT` is."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or HUGGING_FACE
