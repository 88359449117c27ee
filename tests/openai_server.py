"""A server of the OpenAI chat-completions API on this machine, with faults to order. Written for the tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Fault = Callable[["Handler", Body], None]


def completion(text: str | None, finish: str = "stop", refusal: str | None = None) -> Body:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "tiny-2026-11-30",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 4, "total_tokens": 124},
    }


class Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.guard:
            self.server.asked.append({"path": self.path, "key": self.headers.get("Authorization"), "body": body})
            fault = self.server.faults.pop(0) if self.server.faults else None
        (fault or self.server.usually)(self, body)

    def reply(self, value: Any, status: int = 200, **headers: str) -> None:
        self.raw(json.dumps(value).encode(), status, **headers)

    def raw(self, data: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
        if length is not None:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], faults: list[Fault], usually: Fault) -> None:
        super().__init__(address, Handler)
        self.faults, self.usually = faults, usually
        self.asked: list[dict[str, Any]] = []
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def says(text: str) -> Fault:
    return lambda handler, body: handler.reply(completion(text))


def error(status: int, message: str = "", code: str | None = None, param: str | None = None, **headers: str) -> Fault:
    told = {"error": {"message": message, "type": "x", "code": code, "param": param}}
    return lambda handler, body: handler.reply(told, status, **headers)


def gibberish(status: int) -> Fault:
    return lambda handler, body: handler.raw(b"<html>Bad gateway</html>", status)


def cut_json(handler: Handler, body: Body) -> None:
    """A whole response whose JSON ends half-way."""
    handler.raw(json.dumps(completion("A.")).encode()[:60])


def cut_connection(handler: Handler, body: Body) -> None:
    """Fewer bytes than were announced."""
    data = json.dumps(completion("A.")).encode()
    handler.raw(data[:60], length=len(data))


def hang_up(handler: Handler, body: Body) -> None:
    """No response at all."""
    handler.close_connection = True


@contextmanager
def serving(*faults: Fault, usually: Fault | None = None, port: int = 0) -> Iterator[LoopbackServer]:
    """A running server: the first requests meet `faults`, those that follow what is usual."""
    server = LoopbackServer(("127.0.0.1", port), list(faults), usually or says("A."))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
