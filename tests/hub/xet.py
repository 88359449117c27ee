"""Xet storage: the content-addressed store (CAS) that today's clients bring large files to, and its routes.

Newer routes (`/v2/...`, grants, global deduplication) aren't served: the client goes on with those below. So a client
saves only what its own cache knows to be here; the Hub's also knows what others brought.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from .messages import Answer, Refusal, Request
from .xorbs import Term, XetFile, Xorb, files_of_shard

if TYPE_CHECKING:
    from .server import Hub

_TOKENS = {"read": "xet-token-to-read", "write": "xet-token-to-write"}


class XetStore:
    def __init__(self) -> None:
        self.xorbs: dict[str, Xorb] = {}
        self.files: dict[str, XetFile] = {}
        """By their sha256."""
        self._content: dict[str, bytes] = {}

    def hash_of(self, sha256: str) -> str | None:
        file = self.files.get(sha256)
        return file.xet_hash if file else None

    def named(self, xet_hash: str) -> XetFile:
        """Raises `Refusal` (404)."""
        for file in self.files.values():
            if file.xet_hash == xet_hash:
                return file
        raise Refusal(404, "no such file")

    def add(self, file: XetFile) -> None:
        """Raises `Refusal` (400) for chunks that never came."""
        for term in file.terms:
            if term.xorb not in self.xorbs or term.end > len(self.xorbs[term.xorb].chunks):
                raise Refusal(400, f"no such chunks: {term}")
        self.files[file.sha256] = file

    def read(self, sha256: str) -> bytes:
        """A file put together, and found to be what it was announced as."""
        if sha256 not in self._content:
            terms = self.files[sha256].terms
            data = b"".join(self.xorbs[term.xorb].unpacked(term.first, term.end) for term in terms)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise ValueError(f"the chunks of {sha256} make another file")
            self._content[sha256] = data
        return self._content[sha256]


def _allow(request: Request, *kinds: str) -> None:
    if request.bearer not in {_TOKENS[kind] for kind in kinds}:
        raise Refusal(401, "no token of this storage")


def token(hub: Hub, request: Request, repo: str, kind: str) -> Answer:
    if kind == "write":
        hub.writable(request, repo)
    else:
        hub.readable(request, repo)
    told = {"casUrl": hub.cas, "accessToken": _TOKENS[kind], "exp": int(time.time()) + 3600}
    names = ("X-Xet-Cas-Url", "X-Xet-Access-Token", "X-Xet-Token-Expiration")
    return Answer.of(told, headers={name: str(value) for name, value in zip(names, told.values(), strict=True)})


def post_xorb(hub: Hub, request: Request, name: str) -> Answer:
    _allow(request, "write")
    hub.received(request)
    new = name not in hub.xet.xorbs
    hub.xet.xorbs[name] = Xorb(request.body)
    return Answer.of({"was_inserted": new})


def post_shard(hub: Hub, request: Request) -> Answer:
    _allow(request, "write")
    hub.received(request)
    for file in files_of_shard(request.body):
        hub.xet.add(file)
    return Answer.of({"result": 1})


def reconstruction(hub: Hub, request: Request, name: str) -> Answer:
    """Which chunks make the asked part of a file, and where their bytes are."""
    _allow(request, "read", "write")
    file = hub.xet.named(name)
    start, end = request.span(file.size) or (0, file.size)
    overlapping = [
        (begins, term)
        for begins, term in zip(file.starts, file.terms, strict=True)
        if begins < end and begins + term.size > start
    ]
    terms = [term for _, term in overlapping]
    told = {
        "offset_into_first_range": start - overlapping[0][0] if overlapping else 0,
        "terms": [{"hash": term.xorb, "unpacked_length": term.size, "range": _range(term)} for term in terms],
        "fetch_info": {
            xorb: [_place(hub, term) for term in dict.fromkeys(terms) if term.xorb == xorb]
            for xorb in {term.xorb for term in terms}
        },
    }
    return Answer.of(told)


def _range(term: Term) -> dict[str, int]:
    return {"start": term.first, "end": term.end}


def _place(hub: Hub, term: Term) -> dict:
    chunks = hub.xet.xorbs[term.xorb].chunks
    span = {"start": chunks[term.first].start, "end": chunks[term.end - 1].end - 1}
    return {"range": _range(term), "url": f"{hub.storage}/xorb/{term.xorb}", "url_range": span}


def get_xorb(hub: Hub, request: Request, name: str) -> Answer:
    return Answer.content(request, hub.xet.xorbs[name].data)


def bridge(hub: Hub, request: Request, name: str) -> Answer:
    """The file over plain HTTP, for clients that don't know Xet."""
    return Answer.content(request, hub.xet.read(hub.xet.named(name).sha256), {"ETag": f'"{name}"'})


ROUTES = [
    ("GET", r"/api/datasets/(?P<repo>[^/]+/[^/]+)/xet-(?P<kind>read|write)-token/[^/]+", token),
    ("POST", r"/cas/v1/xorbs/default/(?P<name>\w{64})", post_xorb),
    ("POST", r"/cas/v1/shards", post_shard),
    ("GET", r"/cas/v1/reconstructions/(?P<name>\w{64})", reconstruction),
    ("GET", r"/xorb/(?P<name>\w{64})", get_xorb),
    ("GET", r"/xet/(?P<name>\w{64})", bridge),
]
