"""A loopback server of videos, each of which can misbehave in its own way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Videos:
    """What is served: `/v/<id>` is `data`, unless `status`, `pages` or `cut` say otherwise of the id."""

    data: bytes
    status: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    """Of every answer that isn't 200 or 206."""
    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Id -> (content type, body) in a video's place."""
    cut: dict[str, int] = field(default_factory=dict)
    """Id -> the byte at which every answer breaks off."""
    asked: list[tuple[str, int]] = field(default_factory=list)
    """(id, first byte asked for) of every request."""
    address: str = ""


@contextmanager
def serving(videos: Videos) -> Iterator[Videos]:
    """Serve, at `videos.address`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            video = self.path.rpartition("/")[2].partition(".")[0]
            first = int((self.headers["Range"] or "bytes=0-")[6:].partition("-")[0])
            videos.asked.append((video, first))
            if video in videos.status:
                self.send_response(videos.status[video])
                for name, value in videos.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            kind, body = videos.pages.get(video, ("video/mp4", videos.data))
            self.send_response(206 if first else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Accept-Ranges", "bytes")
            if first:
                self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - first))
            self.end_headers()
            self.wfile.write(body[first : videos.cut.get(video, len(body))])
            self.close_connection = True

        do_HEAD = do_GET  # noqa: N815 - the base class's spelling

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that reads the beginning alone and hangs up is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    videos.address = f"http://127.0.0.1:{server.server_port}/v/{{id}}.mp4"
    try:
        yield videos
    finally:
        server.shutdown()
        server.server_close()
