"""Lines of a large file drawn at random by ranges, exactly uniform: docs/decisions/fetch-sampling.md has the proof.

A byte is drawn, and the line that holds it; it is taken with probability (shortest possible length / its length).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from build_bench.draws import Draw
from build_bench.fetching.asking import Asker, Lost, Patience, Refused

WINDOW = 2048
"""Bytes that are read around a drawn one: a line of a simplified file has 500 on average."""
LONGEST = 1 << 20
"""Bytes; a longer line is no drawing's."""


class NoRanges(Refused):
    """The server sends whole files only."""


class RangedFile:
    """A file on a server that is read in pieces, all of the same version. Raises `Refused`, `Lost`, `NoRanges`."""

    def __init__(self, asker: Asker, url: str, patience: Patience, sleep: Callable[[float], object]) -> None:
        self._asker, self.url, self._patience, self._sleep = asker, url, patience, sleep
        self.read_bytes = 0
        self.etag = ""
        self.size = 0
        self.read(0, 1)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to but not including `end`."""
        for failures in itertools.count(1):
            try:
                return self._once(start, end)
            except Lost as lost:
                if failures == self._patience.attempts:
                    raise Refused(f"{lost}, {failures} times in a row") from None
                self._sleep(lost.wait if lost.wait is not None else min(2.0**failures, 60.0))
        raise AssertionError

    def _once(self, start: int, end: int) -> bytes:
        with self._asker.get(self.url, {"Range": f"bytes={start}-{end - 1}"}) as answer:
            answer.check_unpacked()
            size, expected = content_range(answer.headers, start, end)
            if answer.status != 206 or expected is None:
                raise NoRanges("doesn't send parts of files")
            etag = answer.headers.get("etag", "")
            if self.size and (size, etag) != (self.size, self.etag):
                raise Refused("changed the file meanwhile")
            self.size, self.etag = size, etag
            data = b"".join(answer.chunks)
        self.read_bytes += len(data)
        if len(data) != expected:
            raise Lost(f"sent {len(data)} of {expected} bytes")
        return data


def content_range(headers: Mapping[str, str], start: int, end: int) -> tuple[int, int | None]:
    """Size of the whole file, and how many bytes of it an answer to that range has; None if it is to another."""
    unit, _, rest = headers.get("content-range", "").partition(" ")
    span, _, size = rest.partition("/")
    first, _, last = span.partition("-")
    if unit != "bytes" or not all(
        part.isascii() and part.isdecimal() and len(part) < 19 for part in (first, last, size)
    ):
        return 0, None
    expected = min(end, int(size))
    return int(size), expected - start if (int(first), int(last) + 1) == (start, expected) else None


class Try(NamedTuple):
    """One drawn byte, and what came of it."""

    number: int
    line: bytes | None
    """The line with its end, if it was taken."""


def tries(read: Callable[[int, int], bytes], size: int, shortest: int, draw: Draw, first: int = 0) -> Iterator[Try]:
    """Without end: byte after byte is drawn from a file of `size` bytes, from try `first` on.

    Each line of at least `shortest` bytes is taken as often as any other; shorter ones never are: they are no rows of
    the file. What a try comes to depends on the file, on `draw` and on its number alone.
    """
    for number in itertools.count(first):
        offset = draw.integer(f"byte {number}", size)
        line = line_at(read, size, offset)
        taken = len(line) >= shortest and draw.integer(f"take {number}", len(line)) < shortest
        yield Try(number, line if taken else None)


def line_at(read: Callable[[int, int], bytes], size: int, offset: int) -> bytes:
    """The line that holds the byte at `offset`, with its end; no byte is read twice. Empty if it is too long."""
    start = max(offset - WINDOW // 2, 0)
    data = read(start, min(start + WINDOW, size))
    step = WINDOW
    while len(data) < LONGEST:
        at = offset - start
        before, after = data.rfind(b"\n", 0, at), data.find(b"\n", at)
        if before < 0 and start > 0:
            new = max(start - step, 0)
            data, start = read(new, start) + data, new
        elif after < 0 and start + len(data) < size:
            data += read(start + len(data), min(start + len(data) + step, size))
        else:
            return data[before + 1 : after + 1 if after >= 0 else len(data)]
        step *= 2
    return b""
