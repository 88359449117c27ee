"""The lines of an ndjson file with the smallest ranks of their ids, without parsing the file.

Written for Quick, Draw!'s 140,000 lines of which ten are wanted. The file is read in blocks, line feeds are found with
numpy, and ids are read where `ndjson_heads` finds them. A line that is like none before is read by itself (`json_id`)
and teaches where its id was: odd lines cost time and nothing else.

Memory: a block, the places of its lines, and 40 bytes for each of at most 4 x `keep` lines: about 8 MiB in all,
whatever the file's size; one line of up to `MAX_LINE` adds four times its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from build_bench.raw_sources.json_id import BOM, Head, find_id
from build_bench.raw_sources.ndjson_heads import I64, MAX_HEAD, U64, Bytes, Heads

BLOCK, PART = 1 << 22, 1 << 19
"""Bytes worked on at once (8,000 lines share numpy's cost per call), and bytes read at once (a cache holds them)."""
MAX_LINE = 1 << 24
"""A line longer than 16 MiB is broken (the longest of Quick, Draw! are below 1 MiB): what is held of it is bounded."""
TOO_LONG = f"is longer than {MAX_LINE >> 20} MiB"
LEAD = 32
"""Bytes before the first line, so that 16 bytes before any id can be read."""
PAGE = 4096


class Line(NamedTuple):
    """Where a line lies: byte offset, size without the line feed, number from 1."""

    id: int
    start: int
    size: int
    number: int


class Broken(NamedTuple):
    """A line from which no id can be taken."""

    number: int
    why: str


@dataclass(slots=True)
class Scan:
    """What a pass over the file found."""

    lines: int = 0
    """Lines that aren't blank, broken ones among them."""
    broken: list[Broken] = field(default_factory=list)
    smallest: list[Line] = field(default_factory=list)
    """In the order of their ranks; all lines of an id, in the order of the file, so that they can be compared."""
    complete: bool = True
    """Whether `smallest` holds every line that has an id."""


class _Smallest:
    """Keeps the lines with the `keep` smallest ranks of all that were offered, ties included."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.bound = np.uint64(2**64 - 1)
        self.complete = True
        self.ranks = np.zeros(0, np.uint64)
        self.rows = np.zeros((4, 0), np.uint64)  # id, start, size, number

    def offer(self, ranks: U64, *rows: npt.NDArray[np.integer]) -> None:
        chosen = np.flatnonzero(ranks <= self.bound)
        self.complete &= len(chosen) == len(ranks)
        if not len(chosen):
            return
        self.ranks = np.concatenate((self.ranks, ranks[chosen]))
        new = np.stack([row[chosen].astype(np.uint64) for row in rows])
        self.rows = np.concatenate((self.rows, new), axis=1)
        if len(self.ranks) > 4 * self.keep:
            self._cut()

    def _cut(self) -> None:
        if len(self.ranks) > self.keep:
            self.bound = np.partition(self.ranks, self.keep - 1)[self.keep - 1]
            small = self.ranks <= self.bound
            self.complete &= bool(small.all())
            self.ranks, self.rows = self.ranks[small], self.rows[:, small]

    def lines(self) -> list[Line]:
        self._cut()
        order = np.lexsort((self.rows[3], self.ranks))
        return [*map(Line._make, self.rows[:, order].T.tolist())]


def scan(path: Path, ranks: Callable[[U64], U64], keep: int, block: int = BLOCK) -> Scan:
    """The `keep` lines of `path` whose ids have the smallest `ranks` (a bijection of uint64), and the broken lines.

    Raises `OSError` if the file can't be read.
    """
    result, best, heads = Scan(), _Smallest(keep), Heads()
    for space, starts, ends, base, first in _blocks(path, block, result):
        ids, known = _ids(space, starts, ends, first, heads, result)
        if not known.all():
            ids, starts, ends = ids[known], starts[known], ends[known]
        result.lines += len(ids)
        best.offer(ranks(ids), ids, starts + base, ends - starts, np.flatnonzero(known) + first)
    result.lines += len(result.broken)
    result.broken.sort()
    result.smallest, result.complete = best.lines(), best.complete
    return result


def _ids(
    space: Bytes, starts: I64, ends: I64, first: int, heads: Heads, result: Scan
) -> tuple[U64, npt.NDArray[np.bool_]]:
    """The id of each line of a block, and whether it has one. Learns heads and notes broken lines."""
    ids, known = heads.read(space, starts, ends)
    left = np.flatnonzero(~known)
    while len(left):
        at, left = int(left[0]), left[1:]
        line = space[starts[at] : ends[at]].tobytes()
        head = find_id(line)
        if isinstance(head, Head):
            ids[at], known[at] = head.id, True
            if heads.learn(line, head):
                ids[left], known[left] = heads.read(space, starts[left], ends[left])
                left = left[~known[left]]
        elif line.removeprefix(BOM).strip():
            result.broken.append(Broken(first + at, head))
    heads.sort()
    for at in np.flatnonzero((ends - starts > MAX_LINE) & known).tolist():
        known[at] = False
        result.broken.append(Broken(first + at, TOO_LONG))
    return ids, known


def _blocks(path: Path, block: int, result: Scan) -> Iterator[tuple[Bytes, I64, I64, int, int]]:
    """Whole lines, a block at a time: bytes, starts and ends in them, file offset of byte 0, number of the first line.

    The file is read to a page's start, which is three times as fast as to any byte; the cut line of the block before is
    put in front of it. The bytes are overwritten by the next block.
    """
    space, page = _allocate(PAGE, block)
    held, done, number, skipping = 0, 0, 1, False
    with path.open("rb", buffering=0) as file:
        while True:
            read, ends = _fill(file, space[page:], block)
            if not read and not held:
                return
            if not read:  # the last line has no line feed
                space[page] = ord("\n")
                ends = np.zeros(1, np.int64)
            end = page + read + (not read)
            ends += page
            starts = np.concatenate(([page - held], ends[:-1] + 1)) if len(ends) else ends
            tail = int(ends[-1]) + 1 if len(ends) else page - held
            if skipping and len(ends):  # the first line is the rest of one that was too long
                starts, ends, skipping, number = starts[1:], ends[1:], False, number + 1
            if len(ends):
                yield space, starts, ends, done - page, number
            number += len(ends)
            done += read
            held = end - tail
            if not read:
                return
            if held > MAX_LINE or skipping:
                if not skipping:
                    result.broken.append(Broken(number, TOO_LONG))
                tail, held, skipping = end, 0, True
            if held > page - LEAD:
                old = space[tail:end]
                space, page = _allocate(2 * held, block)
                space[page - held : page] = old
            else:
                space[page - held : page] = space[tail:end]


def _allocate(front: int, block: int) -> tuple[Bytes, int]:
    """Room for `front` bytes and a block behind them; and where the block starts: at the start of a page."""
    page = LEAD + front + -(LEAD + front) % PAGE
    space = np.zeros(PAGE + page + block + MAX_HEAD + 64, np.uint8)
    return space[-space.ctypes.data % PAGE :], page


def _fill(file: FileIO, space: Bytes, block: int) -> tuple[int, I64]:
    """Read up to `block` bytes: how many, and where their line feeds are. A part is searched while in cache."""
    ends, filled = [], 0
    while filled < block and (read := file.readinto(space[filled : min(filled + PART, block)].data)):
        stop = filled + read
        space[stop : stop + 64] = 0
        ends.append(_newlines(space[filled : stop + -read % 64]) + filled)
        filled = stop
    return filled, np.concatenate(ends) if ends else np.zeros(0, np.int64)


def _newlines(data: Bytes) -> I64:
    """Positions of line feeds in `data` (n,), n a multiple of 64.

    As bits, 64 bytes at a time: with one line feed in 500 bytes most words are 0, and the others a power of two.
    """
    equal = data == ord("\n")
    words = np.packbits(equal, bitorder="little").view("<u8")
    at = np.flatnonzero(words != 0)
    lanes = words[at]
    below = lanes - np.uint64(1)
    if np.any(lanes & below):  # two in one word
        return np.flatnonzero(equal).astype(np.int64)
    return 64 * at + np.bitwise_count(below)
