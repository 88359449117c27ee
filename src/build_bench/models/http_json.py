"""JSON over HTTP to a server that may be slow to start, overloaded or gone, several requests at a time.

urllib, since httpx is no dependency of ours, and a redirect must not carry the key to another host.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import queue
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterable
from email.message import Message
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from build_bench import __version__
from build_bench.errors import UsageError
from build_bench.executors import notice

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 300.0
"""Seconds that one request is tried again for, its waits included: a server that loads a model takes minutes."""
STARTING = 40.0
"""Seconds that a server is waited for where nothing has ever listened: a wrong address is told soon."""
TIMEOUT = 120.0
"""Seconds without a byte after which a request counts as lost."""
LONGEST_WAIT = 30.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_BODY = 16 << 20
_TOLD = 5
_SECRET = 8
"""Characters. A key that is shorter ("EMPTY") is made up for a server that wants none; answers may have that word."""
_HALF = re.compile("[\ud800-\udfff]")


class Status(Exception):  # noqa: N818 - an answer of the server, not a fault of the program
    """The server answered, and asking the same again won't change it."""

    def __init__(self, code: int, reason: str, body: bytes) -> None:
        super().__init__(f"HTTP {code} {reason}")
        self.code, self.reason, self.body = code, reason, body


class GaveUp(Exception):  # noqa: N818 - as above
    """The server gave no usable answer within `PATIENCE`; the text says why."""


class Absent(GaveUp):
    """Nothing listens there, and nothing ever did."""


class _Lost(Exception):  # noqa: N818 - never leaves this module
    """One try was lost. `wait`: seconds that the server asks for, at least. `absent`: there was no server."""

    def __init__(self, why: str, wait: float = 0.0, *, absent: bool = False) -> None:
        super().__init__(why)
        self.wait, self.absent = wait, absent


class Clock(Protocol):
    """What is used of the module `time`."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Server:
    """A server of JSON. The key is sent to it, and appears nowhere else."""

    def __init__(self, url: str, key: str, clock: Clock | None = None) -> None:
        parts = _address(url)
        if not re.fullmatch(r"[!-~]*", key):  # what a header can hold; the key itself is not for a message
            raise UsageError("OPENAI_API_KEY has a character that no key has", "set it again")
        self.host = parts.netloc
        self._url, self._key = parts.geturl().rstrip("/"), key
        self._closed = threading.Event()
        self._clock = clock or _Interruptible(self._closed)
        self._told: set[str] = set()
        self._met = False
        self._opener = urllib.request.build_opener(_NoRedirect)

    def close(self) -> None:
        """Wake up what waits for another try: it gives up."""
        self._closed.set()

    def without_key(self, text: str) -> str:
        """`text` as it may be shown: servers quote the key they refuse."""
        return text.replace(self._key, "[key]") if self._key else text

    def post(self, path: str, body: Any, kind: type[R], usable: Callable[[R], bool]) -> R:
        """Post `body`, read the answer as `kind`. What may pass (429, 5xx, a lost or cut answer, one that is not
        `usable`, a connection refused) is tried again, at growing intervals or when the server says.

        Raises `Status` for the server's other errors, `GaveUp`, `Absent`.
        """
        data = msgspec.json.encode(body)
        start = self._clock.monotonic()
        wait = 1.0
        while True:
            try:
                reply = self._decode(self._send(path, data), kind)
                if usable(reply):
                    return reply
                raise _Lost("an answer without content")
            except _Lost as lost:
                pause = max(wait, lost.wait)
                why = self.without_key(str(lost))
                self._met = self._met or not lost.absent
            patience = PATIENCE if self._met else STARTING
            if self._closed.is_set() or self._clock.monotonic() + pause > start + patience:
                raise (GaveUp if self._met else Absent)(f"{why}; tried again for {patience:.0f} seconds at most")
            self._tell(why if self._met else f"{why}; is it still starting? It is waited for {STARTING:.0f} seconds")
            self._clock.sleep(pause)
            wait = min(wait * 2, LONGEST_WAIT)

    def _tell(self, why: str) -> None:
        """Say what is being waited for, each thing once and not everything."""
        if why not in self._told and len(self._told) < _TOLD:
            self._told.add(why)
            notice(f"{self.host}: {why}; trying again")

    def _send(self, path: str, data: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": f"build-bench/{__version__}"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(f"{self._url}/{path}", data, headers, method="POST")
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                self._met = True
                if response.headers.get_content_type() == "text/html":
                    raise Status(response.status, "a web page came back", b"")
                return bytes(response.read(_BODY))
        except (ValueError, http.client.InvalidURL):  # nothing was sent; its text may have the key
            raise UsageError(
                f"{self.host} can't be asked like that", "check --base-url, OPENAI_API_KEY and the proxy"
            ) from None
        except urllib.error.HTTPError as error:
            self._met = True
            with error:
                told = b""
                with contextlib.suppress(OSError, http.client.HTTPException):
                    told = error.read(_BODY)
            if error.code not in _AGAIN or b"insufficient_quota" in told:
                raise Status(error.code, str(error.reason), told) from None
            raise _Lost(f"HTTP {error.code} {error.reason}", self._asked_to_wait(error.headers)) from None
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", None) or error
            raise _Lost(str(why) or type(error).__name__, absent=_is_absent(why)) from None

    def _asked_to_wait(self, headers: Message) -> float:
        """`Retry-After` in seconds, from either of its two forms (RFC 9110, 10.2.3)."""
        value = headers.get("Retry-After", "").strip()
        if value.replace(".", "", 1).isdecimal():
            return float(value)
        with contextlib.suppress(ValueError, OverflowError, OSError):
            return parsedate_to_datetime(value).timestamp() - self._clock.time()
        return 0.0

    def _decode(self, body: bytes, kind: type[R]) -> R:
        try:
            return msgspec.convert(self._clean(json.loads(body)), kind)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise _Lost(f"an answer of {len(body)} bytes that can't be read: {error}") from None

    def _clean(self, value: Any) -> Any:
        """JSON as it may be kept: without the key, and no half characters, which a model leaves where it is cut off."""
        if isinstance(value, str):
            text = _HALF.sub("\ufffd", value)
            return self.without_key(text) if len(self._key) >= _SECRET else text
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if isinstance(value, dict):
            return {name: self._clean(item) for name, item in value.items()}
        return value


def _is_absent(why: object) -> bool:
    """Whether a failure means that nothing listens: no such host, no way to it, or no such port."""
    if isinstance(why, OSError) and why.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return True
    return isinstance(why, (ConnectionRefusedError, socket.gaierror))


def _address(url: str) -> SplitResult:
    """A server's address in its parts. Raises `UsageError` for what can't be one: asking there would be tried for
    minutes."""
    shown = ""
    with contextlib.suppress(ValueError):  # of a port that is no number, brackets that don't close, a host too long
        parts = urlsplit(url)
        shown = f" {parts.scheme}://{parts.hostname or ''}" if parts.hostname else " without http://HOST"
        host = parts.hostname or ""
        if (
            parts.scheme in ("http", "https")
            and (re.fullmatch(r"[\w.-]+", host) or (":" in host and "[" in parts.netloc))
            and host.encode("idna")
            and parts.port != 0
            and not (parts.username or parts.password or parts.query or parts.fragment)
            and re.fullmatch(r"[!-~]*", parts.path)
        ):
            return parts
    raise UsageError(
        f"--base-url{shown}: expected http(s)://HOST[:PORT]/v1, without a key in it", "keys go in OPENAI_API_KEY"
    )


class _Interruptible:
    """The time; its sleep ends when the event is set."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def sleep(self, seconds: float, /) -> None:
        """Sleep, unless woken."""
        self._event.wait(seconds)


def in_parallel(
    function: Callable[[T], R], items: Iterable[T], workers: int, stop: Callable[[], None]
) -> Generator[tuple[T, R]]:
    """`function` of each item as they finish, `workers` at a time; as many items are held, no more are drawn.

    Its first exception is raised here. `stop` is called where not all came to an end, so that what waits gives up; the
    threads are daemons, an interrupted program needn't wait for an answer.
    """
    tasks: queue.SimpleQueue[T | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[T, R | BaseException]] = queue.SimpleQueue()

    def work() -> None:
        while (item := tasks.get()) is not None:
            try:
                done.put((item, function(item)))
            except BaseException as error:
                done.put((item, error))

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    waiting, running = iter(items), 0
    try:
        for item in islice(waiting, workers):
            tasks.put(item)
            running += 1
        while running:
            item, result = _taken(done)
            running -= 1
            if isinstance(result, BaseException):
                raise result
            yield item, result
            for following in islice(waiting, 1):
                tasks.put(following)
                running += 1
    except BaseException:
        stop()
        raise
    finally:
        for _ in range(workers):
            tasks.put(None)


def _taken(done: queue.SimpleQueue[R]) -> R:
    """The next of `done`. Waits in short turns: a signal that another thread got is seen only between them."""
    while True:
        with contextlib.suppress(queue.Empty):
            return done.get(timeout=0.5)
