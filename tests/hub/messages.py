"""Requests and answers as the routes of the test server see them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Refusal(Exception):  # noqa: N818 - an answer, not a failure of the server
    """An error that the client is told; `code` becomes `X-Error-Code`."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code

    def answer(self) -> Answer:
        headers = {"X-Error-Message": self.message}
        if self.code:
            headers["X-Error-Code"] = self.code
        return Answer.of({"error": self.message}, self.status, headers)


@dataclass(frozen=True)
class Request:
    """One request, its body read whole. `path` is still quoted: a revision in it may hold slashes."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def bearer(self) -> str | None:
        """The token that it carries."""
        kind, _, token = (self.headers.get("Authorization") or "").partition(" ")
        return token if kind == "Bearer" else None

    def json(self) -> Any:
        return json.loads(self.body)

    def span(self, size: int) -> tuple[int, int] | None:
        """First byte and end of the asked range in `size` bytes; None if all is asked for. Raises `Refusal` (416)."""
        asked = _RANGE.fullmatch(self.headers.get("Range") or "")
        if asked is None:
            return None
        if asked[1]:
            start, end = int(asked[1]), min(int(asked[2]) + 1, size) if asked[2] else size
        else:
            start, end = max(size - int(asked[2]), 0), size
        if start >= end:
            raise Refusal(416, "no such range")
        return start, end


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Bytes of the body after which the connection ends."""

    @classmethod
    def of(cls, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        """As JSON."""
        return cls(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    @classmethod
    def content(cls, request: Request, data: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        """Bytes of a file, or the range of them that was asked for."""
        told = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", **(headers or {})}
        span = request.span(len(data))
        if span is None:
            return cls(200, data, told)
        told["Content-Range"] = f"bytes {span[0]}-{span[1] - 1}/{len(data)}"
        return cls(206, data[slice(*span)], told)
