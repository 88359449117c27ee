"""Reading the ids of many lines at once, where they stand in lines met before.

The lines of one file differ in the length of a time stamp and in `true` or `false`: some ten heads in all. Each line is
compared with them around its id, and where they agree the id is read; numpy does both for all lines of a block.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from build_bench.raw_sources.json_id import Head

U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

MAX_HEAD, MAX_DIGITS = 512, 19
"""Bytes up to an id's end (Quick, Draw! has about 120), and its digits: with more, lines are read one by one."""
MAX_HEADS = 48
"""Real files have about ten: 1 to 6 digits of a second's fraction, times `true` and `false`, times an id's length."""

WORDS = 5
"""What is compared: 16 bytes, up to 19 digits and a quote, in words of eight bytes."""

SWAR = tuple(
    (np.uint64(factor), np.uint64(shift), np.uint64(mask))
    for factor, shift, mask in (
        (10 * 2**8 + 1, 8, 0x00FF00FF00FF00FF),
        (100 * 2**16 + 1, 16, 0x0000FFFF0000FFFF),
        (10_000 * 2**32 + 1, 32, 0x00000000FFFFFFFF),
    )
)
"""Eight digits in a word become pairs, fours, then one number: factor, shift and mask of each step."""


class Heads:
    """Where the lines met so far hold their ids: each head is an offset, and the 40 bytes from 16 before the id on.

    Capitals and digits are open in them, every other byte is fixed, and the id is digits up to the quote or comma that
    ended it. So `json_id` finds the id of a line that fits in the same place, unless another one or a bracket comes
    before it; no row has such, and a line that is chosen is decoded and its id compared.
    Parallel arrays, one entry for each head, the most frequent first.
    """

    def __init__(self) -> None:
        self.hits, self.at, self.digits = (np.zeros(0, np.int64) for _ in range(3))
        self.values, self.masks, self.plus = (np.zeros((0, WORDS), np.uint64) for _ in range(3))

    def learn(self, line: bytes, head: Head) -> bool:
        """Add the place of this id, if lines can be compared with it and there is room. Whether it was."""
        comparable = head.plain and head.end <= MAX_HEAD and head.end - head.start <= MAX_DIGITS
        if not comparable or len(self.hits) == MAX_HEADS or line[head.end : head.end + 1] not in (b'"', b",", b"}"):
            return False
        before = max(16 - head.start, 0)  # bytes of the window that lie before the line
        window = line[head.start - 16 + before : head.end + 1]
        fixed = np.frombuffer((b"\0" * before + window).ljust(8 * WORDS, b"\0"), np.uint8)
        mask, plus = np.zeros_like(fixed), np.zeros_like(fixed)
        mask[before : before + len(window)] = 0xFF
        mask[(fixed >= ord("0")) & (fixed <= ord("9"))] = 0xF0
        mask[(fixed >= ord("A")) & (fixed <= ord("Z"))] = 0xE0
        plus[16 : 16 + head.end - head.start] = 6  # a digit is a byte b with b and b + 6 in 0x30..0x3F
        self.hits = np.append(self.hits, 0)
        self.at = np.append(self.at, head.start - 16)
        self.digits = np.append(self.digits, head.end - head.start)
        for name, new in (("values", fixed & mask), ("masks", mask), ("plus", plus)):
            setattr(self, name, np.vstack((getattr(self, name), new.view("<u8"))))
        return True

    def sort(self) -> None:
        """The most frequent first."""
        order = np.argsort(-self.hits, kind="stable")
        for name in ("hits", "at", "digits", "values", "masks", "plus"):
            setattr(self, name, getattr(self, name)[order])

    def read(self, space: Bytes, starts: I64, ends: I64) -> tuple[U64, npt.NDArray[np.bool_]]:
        """The ids of the lines from `starts` to `ends`, and which fit a head: the ids of others are noise. All (n,)."""
        if not len(self.hits):
            return np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.bool_)
        ids, fits = self._read_as(space, starts, ends, np.zeros(len(starts), np.int64))
        left = np.flatnonzero(~fits)
        if len(left) and len(self.hits) > 1:
            some = starts[left]
            ids[left], fits[left] = self._read_as(space, some, ends[left], self._likely(space, some))
        return ids, fits

    def _likely(self, space: Bytes, starts: I64) -> I64:
        """The one head but the first that each line (n,) can have, going by the first eight bytes (`:true,"k`)."""
        low = int(self.at.min())
        width = int(self.at.max()) - low + 8
        width += -width % 8
        heads = _gather(space, starts + low, width)
        which = np.ones(len(starts), np.int64)
        for i in range(len(self.at) - 1, 1, -1):
            mark = np.ndarray((len(starts),), "<u8", heads.data, int(self.at[i]) - low, (width,))
            which[(mark ^ self.values[i, 0]) & self.masks[i, 0] == 0] = i
        return which

    def _read_as(self, space: Bytes, starts: I64, ends: I64, which: I64) -> tuple[U64, npt.NDArray[np.bool_]]:
        """`read`, if the head of each line (n,) can only be the one that is named."""
        window = _gather(space, starts + self.at.take(which), 8 * WORDS).reshape(-1, WORDS)
        values, masks = self.values.take(which, axis=0), self.masks.take(which, axis=0)
        wrong = window + self.plus.take(which, axis=0)
        wrong ^= values
        values ^= window
        wrong |= values
        wrong &= masks
        for i in range(1, WORDS):
            wrong[:, 0] |= wrong[:, i]
        # A line that ends before the id would read it in the next one.
        fits = (wrong[:, 0] == 0) & (ends - starts > (self.at + self.digits + 16).take(which))
        counts = set(self.digits.tolist())
        if len(counts) == 1:
            ids = _numbers(window, counts.pop())
        else:
            digits, ids = self.digits.take(which), np.zeros(len(starts), np.uint64)
            for count in counts:
                rows = np.flatnonzero(digits == count)
                ids[rows] = _numbers(window[rows], count)
        self.hits += np.bincount(which[fits], minlength=len(self.hits))
        return ids, fits


def _numbers(window: U64, digits: int) -> U64:
    """The numbers of `digits` digits that start 16 bytes into each window (n, WORDS). Shape (n,)."""
    count = -(-digits // 8)
    words = window[:, 2 : 2 + count].copy()
    words[:, -1] <<= np.uint64(8 * (8 * count - digits))
    words &= np.uint64(0x0F0F0F0F0F0F0F0F)
    for factor, shift, mask in SWAR:
        words *= factor
        words >>= shift
        words &= mask
    total = words[:, 0].copy()
    for i in range(1, count):
        total *= np.uint64(10 ** min(digits - 8 * i, 8))
        total += words[:, i]
    return total


def _gather(space: Bytes, at: I64, width: int) -> U64:
    """The `width` bytes (a multiple of 8) from each of `at` (n,) on, as words, first byte lowest: (n * width / 8,)."""
    every = np.ndarray((len(space) - width + 1,), f"V{width}", space.data, 0, (1,))
    return every[at].view("<u8")
