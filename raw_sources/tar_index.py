"""Where the members of a large tar lie: one walk over its headers, kept; then any of them is one read.

Reads ustar, GNU long names and pax. Never unpacks: what is returned are ranges of the tar itself. The tar is mapped,
not read: nothing but headers is copied, and the system reads ahead as for a file read from end to end. Reading header
by header would take five times as long from a disk.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from build_bench import store
from build_bench.errors import InputError
from build_bench.raw_sources import members

VERSION = 2
BLOCK = 512
WINDOW = 16 << 20
"""Bytes walked before the pages behind are let go of: walking over 22 GB must not take 22 GB of memory."""

REFUSALS = 8
"""Strays that are named with what is wrong with them; of more only the number is known."""

LONGEST_NAME = 1 << 16
"""Bytes of a header that gives a name; a longer one is damaged."""

REGULAR = b"07\0"
"""Type flags of members with content of their own."""

PLAIN, LINK, DOUBLE = 0, 1, 2
"""Kinds of entries: a file, what is no file (a link, a device), one of several of the same name."""

Integers = npt.NDArray[np.uint64]

KeyOf = Callable[[bytes], int]
"""The key of the name that these bytes begin with, up to a zero byte; 0 if the member isn't wanted."""


@dataclass(frozen=True, slots=True)
class TarIndex:
    """The wanted members, sorted by key. All arrays are of one length, uint64 but `kinds` (uint8)."""

    keys: Integers
    offsets: Integers
    sizes: Integers
    kinds: npt.NDArray[np.uint8]
    strays: int
    """Members whose names are no wanted ones."""
    refused: tuple[str, ...]
    """The first of the strays that no reader would use whatever it looks for: names with the reason."""


def indexed(path: Path, scratch: Path, key_of: KeyOf) -> TarIndex:
    """The index of the tar at `path`: the one kept in `scratch` if it was made of this size and time, else a new one.

    Raises `InputError` if the tar is empty, cut off or damaged.
    """
    status = path.stat()
    made_of = [VERSION, status.st_size, status.st_mtime_ns]
    kept = scratch / f"{path.name}.index"
    known = _read(kept, made_of)
    if known is None:
        known = walk(path, key_of)
        body = b"".join(array.tobytes() for array in (known.keys, known.offsets, known.sizes, known.kinds))
        header = {
            "made_of": made_of, "members": len(known.keys), "crc": zlib.crc32(body),
            "strays": known.strays, "refused": known.refused,
        }  # fmt: skip
        store.write_bytes(kept, json.dumps(header).encode() + b"\n" + body)
    return known


def _read(kept: Path, made_of: list[int]) -> TarIndex | None:
    """What `indexed` kept: a line of JSON, then the arrays' bytes. None if another tar's, damaged, or not there."""
    try:
        line, _, body = kept.read_bytes().partition(b"\n")
        header = json.loads(line)
        if header["made_of"] != made_of or header["crc"] != zlib.crc32(body):
            return None
        count, strays, refused = header["members"], header["strays"], tuple(header["refused"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    keys, offsets, sizes = np.frombuffer(body, np.uint64, 3 * count).reshape(3, count)
    return TarIndex(keys, offsets, sizes, np.frombuffer(body, np.uint8, count, 24 * count), strays, refused)


def walk(path: Path, key_of: KeyOf) -> TarIndex:
    """Read every header of the tar. Raises `InputError` as `indexed` does."""
    keys, offsets, sizes, kinds = array("Q"), array("Q"), array("Q"), array("B")
    strays, refused = 0, list[str]()
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise InputError(f"{path}: is empty", "fetch it again")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for name, offset, size, kind in _Headers(path, data).members():
                key = key_of(name)
                if key:
                    keys.append(key)
                    offsets.append(offset)
                    sizes.append(size)
                    kinds.append(kind)
                else:
                    strays += 1
                    if len(refused) < REFUSALS and (why := _why(name, kind)):
                        refused.append(why)
    by_key = np.frombuffer(keys, np.uint64)
    order = np.argsort(by_key, kind="stable")
    by_key, in_order = by_key[order], np.frombuffer(kinds, np.uint8)[order]
    same = np.flatnonzero(by_key[1:] == by_key[:-1])
    in_order[same], in_order[same + 1] = DOUBLE, DOUBLE
    places, lengths = (np.frombuffer(column, np.uint64)[order] for column in (offsets, sizes))
    return TarIndex(by_key, places, lengths, in_order, strays, tuple(refused))


def _why(data: bytes, kind: int) -> str:
    """The name that these bytes begin with and why it is refused; empty if it isn't."""
    name = data[: data.index(0)].decode("utf-8", "surrogateescape")
    why = members.why_name(name) or (members.NO_FILE if kind == LINK else "")
    return f"{members.spelled(name)} ({why})" if why else ""


class _Headers:
    """The headers of one tar, from first to last."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.end = path, data, len(data)
        self.unchecked: list[bytes] = []
        """The headers whose checksums are still to be compared: those since `since`."""
        self.places: list[int] = []
        self.since = 0

    def members(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Every member but folders: (bytes that begin with its name, offset of its content, bytes of it, kind).

        The first branch knows plain files with short names, nearly all there are.
        """
        data, end, name, size, at = self.data, self.end, b"", -1, 0
        while True:
            header, start = data[at : at + BLOCK], at + BLOCK
            if start > end:
                raise self._cut(f"after {at:,} bytes: no further member, and no mark of the end")
            try:
                own = int(header[124:135], 8)
            except ValueError:
                if not any(header):
                    break
                own = self._size(header, at)
            self.unchecked.append(header)
            self.places.append(at)
            if own < 0 or start + own > end:
                self._whole(at, own)
            kind = header[156]
            if kind == 48 and not header[99] and not header[345] and not name and size < 0:
                yield header, start, own, PLAIN
            elif kind in b"LxXgK":
                if own > LONGEST_NAME:
                    raise self._damaged(at)
                extra = data[start : start + own]
                if kind in b"L":
                    name = extra.rstrip(b"\0")
                elif kind in b"xX":
                    name, size = self._pax(extra, at, name)
            else:
                own = (own if size < 0 else size) if kind in REGULAR else 0
                self._whole(at, own)
                if kind not in b"5":
                    full = (name or self._name(header)).replace(b"\0", b"\\0")  # else it would end there
                    yield full + b"\0", start, own, PLAIN if kind in REGULAR else LINK
                name, size = b"", -1
            at = start + (own + BLOCK - 1) // BLOCK * BLOCK
            if at - self.since > WINDOW:
                self._check()
                self._forget(at)
        self._check()

    def _whole(self, at: int, size: int) -> None:
        """Raise if the member at byte `at` doesn't lie in the tar with all its bytes."""
        if size < 0:
            raise self._damaged(at)
        if at + BLOCK + size > self.end:
            raise self._cut(f"in the member at byte {at:,}")

    def _size(self, header: bytes, at: int) -> int:
        """The size field in its rarer spellings: padded with spaces or zeros, or binary for 8 GiB and more."""
        field = header[124:136]
        if field[0] == 0x80:
            return int.from_bytes(field[1:], "big")
        try:
            return int(field.strip(b" \0") or b"0", 8)
        except ValueError:
            raise self._damaged(at) from None

    def _name(self, header: bytes) -> bytes:
        """The name of a header with, in the ustar format, its prefix."""
        name = header[:100].split(b"\0", 1)[0]
        prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
        return prefix + b"/" + name if prefix else name

    def _pax(self, records: bytes, at: int, name: bytes) -> tuple[bytes, int]:
        """(name, size) that a pax header gives its member; the name before it, and -1, where it doesn't say."""
        size = -1
        while records:
            digits, _, rest = records.partition(b" ")
            length = members.number(digits)
            if not len(digits) < length <= len(records):
                raise self._damaged(at)
            key, _, value = rest[: length - len(digits) - 2].partition(b"=")
            if key == b"path":
                name = value
            elif key == b"size" and (size := members.number(value)) < 0:
                raise self._damaged(at)
            records = records[length:]
        return name, size

    def _check(self) -> None:
        """Compare the headers' checksums: each the sum of all bytes, the checksum itself as spaces."""
        if not self.unchecked:
            return
        blocks = np.frombuffer(bytearray().join(self.unchecked), np.uint8).reshape(-1, BLOCK)
        places, self.unchecked, self.places = self.places, [], []
        fields = blocks[:, 148:156].copy()
        blocks[:, 148:156] = ord(" ")
        sums = blocks.sum(axis=1, dtype=np.uint32)
        usual = (fields[:, :6] - ord("0")).astype(np.uint32) @ (8 ** np.arange(5, -1, -1)).astype(np.uint32)
        for at in np.flatnonzero(usual != sums).tolist():  # spelt otherwise, or wrong
            field = fields[at].tobytes().strip(b" \0")
            if not field or field.strip(b"01234567") or int(field, 8) != sums[at]:
                raise self._damaged(places[at])

    def _forget(self, at: int) -> None:
        """Let go of the pages before byte `at`, which won't be looked at again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            first = self.since // mmap.PAGESIZE * mmap.PAGESIZE
            length = min(at, self.end) // mmap.PAGESIZE * mmap.PAGESIZE - first
            self.data.madvise(mmap.MADV_DONTNEED, first, length)
        self.since = at

    def _damaged(self, at: int) -> InputError:
        return InputError(f"{self.path}: no sound tar header at byte {at:,}", "damaged, or no tar: fetch it again")

    def _cut(self, where: str) -> InputError:
        """The error for a tar that ends too early; a damaged header before it is the truer cause, and raised."""
        self._check()
        return InputError(f"{self.path}: is cut off {where}", "fetch it again; curl -C - goes on where it stopped")
