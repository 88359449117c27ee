"""One question to a server: its answer, whatever stands in between (redirects), or why there is none.

A token goes to the Hub's own host alone, redirects included. What a server names a file is never looked at.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from build_bench import __version__
from build_bench.fetching import addresses, surroundings

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_CHAIN = 10
_YEAR = 366 * 86_400.0
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524})
"""What asking again later may mend."""
_SAID = {
    401: "wants a login",
    403: "refuses access; it may want a login, or have a quota",
    404: "has no such file",
    410: "no longer has this file",
}


class Refused(Exception):  # noqa: N818 - an answer, after which another mirror is asked
    """This address doesn't give the file, and asking it again won't help."""


class Lost(Exception):  # noqa: N818 - as above: what came is kept, and the same address is asked again
    """No answer, or one that broke off. `wait`: seconds that the server asks for."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for. Tests have less of it."""

    connect: float = 30.0
    read: float = 60.0
    """Seconds without a byte after which a connection counts as lost."""
    slowest: float = 256.0
    """Bytes a second; a connection that is slower over `window` seconds is opened anew."""
    window: float = 120.0
    attempts: int = 6
    """In a row without a byte."""
    longest: float = 600.0
    """Seconds; who asks to wait longer is not waited for."""
    sleep: Callable[[float], object] | None = None
    """None: wait, unless the run is stopped."""
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says: 200, 206 or 416."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case. Those of the redirects that led here are in it too, where the last answer has no such."""
    chunks: Iterator[bytes]
    """The body as sent. Raises `Lost` where it breaks off."""

    def check_unpacked(self) -> None:
        """Raises `Refused` for a body that is packed, though nobody asked for that: its bytes aren't the file's."""
        if (coding := self.headers.get("content-encoding", "").strip().lower()) not in ("", "identity"):
            raise Refused(f"sends the file packed (Content-Encoding: {coding[:40]!r}), which wasn't asked for")


class Asker:
    """Asks servers, several at once if need be; connections are kept open."""

    def __init__(self, patience: Patience, connections: int) -> None:
        self._patience = patience
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(patience.read, connect=patience.connect, pool=None),
            limits=httpx2.Limits(max_connections=2 * connections, max_keepalive_connections=connections),
            # Packed on the way, a body has other bytes than the file, and many servers then ignore ranges.
            headers={"User-Agent": f"build-bench/{__version__}", "Accept-Encoding": "identity"},
        )
        self._reached: set[str] = set()
        self._unreachable: dict[str, str] = {}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str]) -> Iterator[Answer]:
        """The answer to GET. Raises `Refused`, or `Lost` for what may pass."""
        said: dict[str, str] = {}
        for _ in range(_LONGEST_CHAIN):
            with self._one(url, headers) as response:
                said |= {name.lower(): value for name, value in response.headers.items()}
                if response.status_code in _REDIRECTS:
                    url = _followed(url, response.headers.get("location", ""))
                    said = {name: value for name, value in said.items() if name.startswith("x-linked-")}
                elif response.status_code in (200, 206, 416):
                    yield Answer(response.status_code, said, self._chunks(response))
                    return
                else:
                    raise self._problem(response)
        raise Refused("sends from one address to the next, in a circle")

    @contextmanager
    def _one(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        host = addresses.origin(url)
        if not host:
            raise Refused("is no address")
        if _is_hub(url) and os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
            raise Refused("is the Hub, and HF_HUB_OFFLINE is set")
        if host in self._unreachable:
            raise Refused(self._unreachable[host])
        try:
            with self._client.stream("GET", url, headers={**headers, **_authorization(url)}) as response:
                self._reached.add(host)
                yield response
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
            raise Refused(f"is no address: {error}") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            by = addresses.origin(surroundings.proxy(url))
            why = f"can't be reached{f' by the proxy {by}' if by else ''}: {error or type(error).__name__}"
            if host in self._reached:
                raise Lost(why) from None
            self._unreachable[host] = why  # 345 files of it needn't each find out
            raise Refused(why) from None
        except httpx2.TimeoutException:
            raise Lost(f"sent nothing for {self._patience.read:g} seconds") from None
        except httpx2.TransportError as error:
            raise Lost(f"broke off: {error or type(error).__name__}") from None

    def _chunks(self, response: httpx2.Response) -> Iterator[bytes]:
        """The body. A drip counts as a connection that is lost: another one may be faster."""
        began, received = self._patience.clock(), 0
        # As they come: what a chunk size holds back would be lost with the connection.
        for chunk in response.iter_raw():
            yield chunk
            received += len(chunk)
            if (passed := self._patience.clock() - began) > self._patience.window:
                if received < self._patience.slowest * passed:
                    raise Lost(f"sent {received:,} bytes in {passed:.0f} seconds")
                began, received = self._patience.clock(), 0

    def _problem(self, response: httpx2.Response) -> Refused | Lost:
        code = response.status_code
        if code not in _PASSING:
            return Refused(f"{_SAID.get(code, response.reason_phrase or 'answers')} (HTTP {code})")
        wait = _asked_to_wait(response.headers.get("retry-after", ""))
        if wait is not None and wait > self._patience.longest:
            when = f"{wait:,.0f} seconds" if wait < _YEAR else "more than a year"
            return Refused(f"asks to come back in {when} (HTTP {code})")
        return Lost(f"is busy (HTTP {code})", wait)


def _followed(url: str, location: str) -> str:
    """Where a redirect leads. Raises `Refused` for what isn't HTTP, and for HTTP after HTTPS."""
    new = addresses.joined(url, location)
    if not new:
        raise Refused("sends on to what is no address")
    before, after = urlsplit(url), urlsplit(new)
    if not location or after.scheme not in ("http", "https") or (before.scheme, after.scheme) == ("https", "http"):
        raise Refused(f"sends on to {after.scheme or 'no'}://{after.hostname or ''}, which is not followed")
    return new


def _authorization(url: str) -> dict[str, str]:
    """The user's token where it belongs, which is the Hub alone. One that is no token would be quoted in an error."""
    token = _token() if _is_hub(url) else ""
    return {"Authorization": f"Bearer {token}"} if token and token.isascii() and token.isprintable() else {}


def _is_hub(url: str) -> bool:
    parts, hub = urlsplit(url), urlsplit(addresses.hub())
    return (parts.scheme, parts.netloc) == (hub.scheme, hub.netloc)


def _token() -> str:
    """As huggingface_hub finds it; that isn't imported for one line of text."""
    if token := os.environ.get("HF_TOKEN", "").strip():
        return token
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return Path(os.environ.get("HF_TOKEN_PATH") or home / "token").read_text(encoding="utf-8").strip()
    return ""


def _asked_to_wait(value: str) -> float | None:
    """`Retry-After` in seconds, from either of its two forms (RFC 9110, 10.2.3)."""
    if value.strip().isdecimal():
        return float(value)
    with contextlib.suppress(ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
