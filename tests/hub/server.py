"""A server of the Hub's HTTP API on this machine, with faults to order. Written for the tests: formats/hub.md.

The standard library only, all in memory. It listens on 127.0.0.1 and hands out large files from `localhost`: clients
expect storage at another host than the API. Routes are in the modules beside this one.
"""

from __future__ import annotations

import hashlib
import re
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from . import changes, contents, discussions, lfs, xet
from .faults import Faults, matches
from .listening import Listener
from .messages import Answer, Refusal, Request
from .repository import LARGE, MAIN, Blob, Commit, Repository

ROUTES = [
    (method, re.compile(pattern), route)
    for method, pattern, route in changes.ROUTES + contents.ROUTES + discussions.ROUTES + lfs.ROUTES + xet.ROUTES
]


class Logged(NamedTuple):
    """A request that was answered, or dropped (status None)."""

    method: str
    path: str
    """With the query."""
    status: int | None
    bytes_in: int
    """Of the body."""


class Hub(Faults):
    """The server's state, and what tests ask of it."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.storage = f"http://localhost:{port}"
        self.cas = f"{self.endpoint}/cas"
        self.token = "hf_TheTokenThatMustNeverBeSeenAnywhere"
        self.reader_token = "hf_AnotherOneThatMayOnlyReadThings"
        self.page_size = 1000
        self.repositories: dict[str, Repository] = {}
        self.lfs = lfs.LargeFiles()
        self.xet = xet.XetStore()
        self.requests: list[Logged] = []
        self.uploaded_bytes = 0
        """Bytes of bodies that arrived at the storages, LFS and Xet."""
        self.errors: list[str] = []
        """Tracebacks of this server's own mistakes, and of what a test had it call."""
        self.guard = threading.RLock()
        self._busy = 0
        self._done = threading.Condition(self.guard)

    # What tests ask

    def commits(self, repo: str, revision: str = MAIN) -> list[Commit]:
        """The newest first."""
        with self.guard:
            return list(self.repositories[repo].history(revision))

    def files(self, repo: str, revision: str = MAIN) -> Mapping[str, Blob]:
        with self.guard:
            return self.repositories[repo].at(revision).files

    def tags(self, repo: str) -> dict[str, str]:
        """The commit of each tag."""
        with self.guard:
            return dict(self.repositories[repo].tags)

    def read(self, repo: str, revision: str, path: str) -> bytes:
        blob = self.files(repo, revision)[path]
        if blob.data is not None:
            return blob.data
        sha256 = blob.sha256 or ""
        return self.lfs.files[sha256] if sha256 in self.lfs.files else self.xet.read(sha256)

    def create(self, repo: str, private: bool = False) -> None:
        self.repositories[repo] = Repository(repo, private)

    def commit_as_someone_else(self, repo: str, files: Mapping[str, bytes | None], branch: str = MAIN) -> str:
        """Write files (None: remove) on top of a branch; returns the commit's id."""
        with self.guard:
            repository = self.repositories[repo]
            head = repository.at(branch)
            after = {path: blob for path, blob in head.files.items() if path not in files}
            after |= {path: self._blob(path, data) for path, data in files.items() if data is not None}
            return repository.add(branch, Commit.on(head, "someone else's", "", "someone-else", after)).oid

    def _blob(self, path: str, data: bytes) -> Blob:
        if not path.endswith(LARGE):
            return Blob.regular(data)
        sha256 = hashlib.sha256(data).hexdigest()
        self.lfs.add(sha256, data)
        return Blob.large(sha256, len(data))

    def count(self, match: str) -> int:
        """How many requests match, answered or not."""
        return sum(matches(match, Request(entry.method, entry.path, {}, b"")) for entry in self.requests)

    def forget(self) -> None:
        """Count requests and bytes anew."""
        with self.guard:
            self.requests.clear()
            self.uploaded_bytes = 0

    def settle(self) -> None:
        """Wait until what arrived is done: a client that was killed doesn't wait for it."""
        with self._done:
            self._done.wait_for(lambda: not self._busy)

    # What routes ask

    def user(self, request: Request) -> str | None:
        return {self.token: "tester", self.reader_token: "reader"}.get(request.bearer or "")

    def may_write(self, request: Request) -> bool:
        return request.bearer == self.token

    def writer(self, request: Request) -> None:
        """Raises `Refusal` (401, 403) for those who may not write."""
        if self.user(request) is None:
            raise Refusal(401, "Invalid username or password.")
        if not self.may_write(request):
            raise Refusal(403, "You don't have the rights to write here")

    def readable(self, request: Request, name: str) -> Repository:
        """Raises `Refusal` as if there were none where it may not be seen."""
        repository = self.repositories.get(name)
        user = self.user(request)
        if repository is None or (repository.private and user is None):
            raise Refusal(404 if user else 401, "Repository not found", "RepoNotFound")
        return repository

    def writable(self, request: Request, name: str) -> Repository:
        repository = self.readable(request, name)
        self.writer(request)
        return repository

    def received(self, request: Request) -> None:
        self.uploaded_bytes += len(request.body)

    def has_large(self, sha256: str) -> bool:
        return sha256 in self.lfs.files or sha256 in self.xet.files

    def large(self, sha256: str) -> Blob:
        """A file in large file storage. Raises `Refusal` (400) if its bytes never came."""
        if sha256 in self.lfs.files:
            return Blob.large(sha256, len(self.lfs.files[sha256]))
        if sha256 in self.xet.files:
            return Blob.large(sha256, self.xet.files[sha256].size)
        raise Refusal(400, f"LFS pointer points to a file that does not exist: {sha256}")

    def respond(self, request: Request) -> Answer | None:
        """The answer to a request; None for a connection to drop."""
        with self.guard:
            self._busy += 1
        try:
            return self._with_faults(request)
        except Exception:
            self.errors.append(f"{request.method} {request.target}\n{traceback.format_exc()}")
            return None
        finally:
            with self._done:
                self._busy -= 1
                self._done.notify_all()

    def _with_faults(self, request: Request) -> Answer | None:
        met = self.meeting(request)
        for fault in met:
            fault.before()
        instead = next((fault for fault in met if fault.replaces), None)
        answer: Answer | None = None
        if instead is None or instead.applied:
            answer = self._route(request)
        for fault in met:
            fault.after()
        if instead is not None:
            answer = None if instead.drop else instead.answer
        if answer and (cut := next((fault.cut for fault in met if fault.cut is not None), None)) is not None:
            answer = replace(answer, cut=cut)
        with self.guard:
            status = answer.status if answer else None
            self.requests.append(Logged(request.method, request.target, status, len(request.body)))
        return answer

    def _route(self, request: Request) -> Answer:
        method = "GET" if request.method == "HEAD" else request.method
        try:
            if request.path.startswith(("/api/", "/datasets/")) and request.bearer and self.user(request) is None:
                raise Refusal(401, "Invalid credentials in Authorization header")
            for wanted, pattern, route in ROUTES:
                if wanted == method and (found := pattern.fullmatch(request.path)):
                    with self.guard:
                        return route(self, request, **found.groupdict())
            raise Refusal(404, "no such route")
        except Refusal as refusal:
            return refusal.answer()


@contextmanager
def serving() -> Iterator[Hub]:
    """A server without repositories."""
    with Listener() as listener:
        hub = Hub(listener.server_address[1])
        with listener.answering(hub.respond):
            try:
                yield hub
            finally:
                hub.release()
