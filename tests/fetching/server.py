"""A file server on this machine that counts what it sends, and fails in the ways that servers do. For the tests."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

LOGIN = b"<!DOCTYPE html>\n<html><head><title>Sign in&#58; Accounts</title></head><body>...</body></html>"


@dataclass
class Content:
    """A file on the server."""

    data: bytes
    ranges: bool = True
    etag: str | None = "its own"
    """None: none is sent."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str | None:
        own = f'"{hashlib.md5(self.data).hexdigest()}"'
        return own if self.etag == "its own" else self.etag


Fault = Callable[["Handler", Content], None]


class Handler(BaseHTTPRequestHandler):
    server: Site
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path = unquote(self.path)
        with self.server.guard:
            self.server.asked.append((path, dict(self.headers)))
            fault = self.server.faults[path].pop(0) if self.server.faults[path] else None
        content = self.server.files.get(path)
        if fault:
            fault(self, content or Content(b""))
        elif content is None:
            self.status(404)
        else:
            self.give(content)

    def wanted(self, content: Content) -> tuple[int, int, int]:
        """(status, start, end) of what this request gets."""
        size = len(content.data)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        stale = "If-Range" in self.headers and self.headers["If-Range"] != content.tag
        if not asked or not content.ranges or stale:
            return 200, 0, size
        start, end = int(asked[1]), min(int(asked[2] or size - 1) + 1, size)
        return (206, start, end) if start < size else (416, 0, 0)

    def give(self, content: Content, cut: int | None = None, length: int | None = None) -> None:
        """Answer as a sound server would; `cut`: only so many bytes, and the connection ends. `length`: a lie."""
        status, start, end = self.wanted(content)
        self.send_response(status)
        if status != 200:
            span = f"{start}-{end - 1}" if status == 206 else "*"
            self.send_header("Content-Range", f"bytes {span}/{len(content.data)}")
        if content.tag:
            self.send_header("ETag", content.tag)
        for name, value in content.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(end - start if length is None else length))
        self.end_headers()
        self.send(content, start, end if cut is None else min(end, start + cut))
        if cut is not None:
            self.close_connection = True

    def send(self, content: Content, start: int, end: int) -> None:
        with self.server.guard:  # before it goes out: whoever has it all may look at once
            self.server.sent[unquote(self.path)].append((start, end))
        self.wfile.write(content.data[start:end])
        self.wfile.flush()

    def status(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Content] = {}
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        """By path: what happens to the first requests."""
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.sent: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """By path: what was begun to be sent, in the order of the requests."""
        self.guard = threading.Lock()
        self.released = threading.Event()
        """Set at the end: what waits on it goes on."""

    def handle_error(self, *_: Any) -> None:
        """A client that hung up is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def elsewhere(self) -> str:
        """The same server under another name."""
        return f"http://localhost:{self.server_address[1]}"

    def sent_bytes(self, path: str) -> int:
        return sum(end - start for start, end in self.sent[path])

    def requests(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.asked)


def cut(after: int) -> Fault:
    """The connection ends after so many bytes of the answer."""
    return lambda handler, content: handler.give(content, cut=after)


def says(code: int, body: bytes = b"", **headers: str) -> Fault:
    return lambda handler, content: handler.status(code, body, **headers)


def sends_on(url: str, **headers: str) -> Fault:
    return says(302, Location=url, **headers)


def hangs_up(handler: Handler, content: Content) -> None:
    """No answer at all."""
    handler.close_connection = True


def stalls(after: int) -> Fault:
    """Some bytes, and then nothing until the test ends."""

    def fault(handler: Handler, content: Content) -> None:
        _, start, _ = handler.wanted(content)
        handler.send_response(206 if start else 200)
        size = len(content.data)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        handler.send_header("ETag", content.tag or "")
        handler.send_header("Content-Length", str(size - start))
        handler.end_headers()
        handler.send(content, start, start + after)
        handler.server.released.wait(30)
        handler.close_connection = True

    return fault


def chunked(handler: Handler, content: Content) -> None:
    """No length is said, as with what is packed while it is sent."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content.data), content.data))


def endless(handler: Handler, content: Content) -> None:
    """What was asked for, over and over, and no length is said."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    with suppress(OSError):
        while not handler.server.released.is_set():
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(content.data), content.data))
    handler.close_connection = True


def shifted(handler: Handler, content: Content) -> None:
    """Another part than was asked for."""
    data = content.data
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes {len(data) - 1}-{len(data) - 1}/{len(data)}")
    handler.send_header("Content-Length", "1")
    handler.end_headers()
    handler.wfile.write(data[-1:])


@contextmanager
def serving() -> Iterator[Site]:
    """A running server."""
    site = Site()
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.released.set()
        site.shutdown()
        site.server_close()
        thread.join()
