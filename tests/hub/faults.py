"""What can go wrong on the way to a server and back, switched on by a test for chosen requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .messages import Answer, Refusal, Request

COMMIT = "POST */commit/*"
TAG = "POST */tag/*"
PREUPLOAD = "POST */preupload/*"
XORB = "POST */v1/xorbs/*"
SHARD = "POST */v1/shards"
LFS_PUT = "PUT /lfs/*"
RESOLVE = "GET */resolve/*"
TREE = "GET */tree/*"
ANY = "*"
"""Patterns over `METHOD PATH`; `*` stands for slashes too."""

_LONGEST_WAIT = 60.0


def matches(pattern: str, request: Request) -> bool:
    return fnmatchcase(f"{request.method} {request.path}", pattern)


def _nothing() -> None:
    pass


@dataclass
class Fault:
    """What happens to requests that match, but for the first `skip`, `times` times (None: from then on)."""

    match: str
    skip: int = 0
    times: int | None = 1
    before: Callable[[], object] = _nothing
    """Called before the request is applied."""
    after: Callable[[], object] = _nothing
    """Called between applying it and answering."""
    answer: Answer | None = None
    """Told instead of the server's own."""
    drop: bool = False
    """The connection is closed without an answer."""
    cut: int | None = None
    """Bytes of the answer's body after which the connection ends."""
    applied: bool = False
    """Whether a request with another answer, or none, has its effect all the same."""

    @property
    def replaces(self) -> bool:
        return self.drop or self.answer is not None

    def meets(self, request: Request) -> bool:
        """Whether it happens to this request. Counts."""
        if not matches(self.match, request) or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Faults:
    """The faults that are switched on. Requests are counted from when a fault is."""

    def __init__(self) -> None:
        self._on: list[Fault] = []
        self._guard = threading.Lock()
        self._waiting: list[threading.Event] = []

    def meeting(self, request: Request) -> list[Fault]:
        with self._guard:
            return [fault for fault in self._on if fault.meets(request)]

    def _add(self, *faults: Fault) -> None:
        with self._guard:
            self._on += faults

    def fail(
        self,
        match: str,
        status: int,
        *,
        times: int | None = 1,
        skip: int = 0,
        headers: Mapping[str, str] | None = None,
        applied: bool = False,
    ) -> None:
        """An error. `skip=1`: the second such request; `applied=True`: after doing what was asked."""
        answer = Refusal(status, f"fault {status}").answer()
        told = Answer(status, answer.body, {**answer.headers, **(headers or {})})
        self._add(Fault(match, skip, times, answer=told, applied=applied))

    def drop(self, match: str, *, times: int | None = 1, skip: int = 0, applied: bool = False) -> None:
        """A connection that ends without an answer. `applied=True`: only the answer is lost."""
        self._add(Fault(match, skip, times, drop=True, applied=applied))

    def cut(self, match: str, size: int, *, times: int | None = 1, skip: int = 0) -> None:
        """A connection that ends in the middle of an answer, after `size` bytes of its body."""
        self._add(Fault(match, skip, times, cut=size))

    def die_at(self, n: int, *, applied: bool = False) -> None:
        """No answers any more from the n-th request on; `applied=True`: that one has its effect."""
        last = Fault(ANY, n - 1, 1, drop=True, applied=applied)
        self._add(last, Fault(ANY, n, None, drop=True))

    def revive(self) -> None:
        """All faults off."""
        with self._guard:
            self._on.clear()

    def before(self, match: str, call: Callable[[], object], *, times: int | None = 1, skip: int = 0) -> None:
        """`call()` before such a request is applied: a foreign commit, say."""
        self._add(Fault(match, skip, times, before=call))

    def on_request(self, n: int, call: Callable[[], object], *, applied: bool = False) -> None:
        """`call()` when the n-th request arrives; `applied=True`: after applying it, before the answer.

        A client that `call` kills has sent its request: it is applied, as a server would. `settle` waits for that.
        """
        self._add(Fault(ANY, n - 1, 1, after=call) if applied else Fault(ANY, n - 1, 1, before=call))

    def slow(self, match: str, event: threading.Event, *, times: int | None = 1, skip: int = 0) -> threading.Event:
        """Such a request waits for `event`; returns an event that is set when it has arrived."""
        arrived = threading.Event()

        def wait() -> None:
            arrived.set()
            event.wait(_LONGEST_WAIT)

        self._waiting.append(event)
        self.before(match, wait, times=times, skip=skip)
        return arrived

    def release(self) -> None:
        """Nothing waits any more."""
        for event in self._waiting:
            event.set()
