"""The bytes of Xet storage, as the client sends them: xorbs (chunks, each compressed) and shards (files as chunks).

Layouts: formats/hub.md. LZ4 is decoded here since the standard library can't.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

_HEADER = 48
"""Bytes of a shard's header, and of each block after it."""
_END = b"\xff" * 32
_FOOTER = b"XETBLOB"
_STORED, _LZ4, _GROUPED_LZ4 = 0, 1, 2
_LZ4_MAGIC = 0x184D2204
_HAS_VERIFICATION, _HAS_SHA256 = 1 << 31, 1 << 30


def hex_of(raw: bytes) -> str:
    """32 bytes as the client prints a hash: four little-endian words."""
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk in a xorb: where it lies, header and all, and how it is packed."""

    start: int
    end: int
    scheme: int
    size: int
    """Unpacked bytes."""


@dataclass(frozen=True)
class Xorb:
    data: bytes

    @cached_property
    def chunks(self) -> list[Chunk]:
        return list(self._walk())

    def _walk(self) -> Iterator[Chunk]:
        at = 0
        while at < len(self.data) and not self.data.startswith(_FOOTER, at):
            packed = int.from_bytes(self.data[at + 1 : at + 4], "little")
            size = int.from_bytes(self.data[at + 5 : at + 8], "little")
            yield Chunk(at, at + 8 + packed, self.data[at + 4], size)
            at += 8 + packed

    def unpacked(self, first: int, end: int) -> bytes:
        """The content of some of its chunks."""
        return b"".join(self._content(chunk) for chunk in self.chunks[first:end])

    def _content(self, chunk: Chunk) -> bytes:
        packed = self.data[chunk.start + 8 : chunk.end]
        if chunk.scheme == _STORED:
            return packed
        data = unpack_lz4(packed)
        return _ungrouped(data) if chunk.scheme == _GROUPED_LZ4 else data


@dataclass(frozen=True, slots=True)
class Term:
    """Part of a file: chunks `first` to `end` of a xorb, `size` bytes unpacked."""

    xorb: str
    size: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class XetFile:
    xet_hash: str
    sha256: str
    terms: tuple[Term, ...]

    @property
    def size(self) -> int:
        return sum(term.size for term in self.terms)

    @property
    def starts(self) -> list[int]:
        """Where each term begins in the file."""
        return list(accumulate((term.size for term in self.terms[:-1]), initial=0))


def files_of_shard(data: bytes) -> Iterator[XetFile]:
    """The files that a shard describes. Those without a sha256 can't be committed and are left out."""
    at = _HEADER
    while data[at : at + 32] != _END:
        xet_hash, flags, count = hex_of(data[at : at + 32]), *struct.unpack_from("<2I", data, at + 32)
        at += _HEADER
        terms = tuple(_term(data, at + _HEADER * index) for index in range(count))
        at += _HEADER * count * (2 if flags & _HAS_VERIFICATION else 1)
        if flags & _HAS_SHA256:
            yield XetFile(xet_hash, hex_of(data[at : at + 32]), terms)
            at += _HEADER


def _term(data: bytes, at: int) -> Term:
    _, size, first, end = struct.unpack_from("<4I", data, at + 32)
    return Term(hex_of(data[at : at + 32]), size, first, end)


def _ungrouped(data: bytes) -> bytes:
    """The four groups - every fourth byte, from the first, second, third, fourth - put back in turn."""
    out, at = bytearray(len(data)), 0
    for group in range(4):
        length = len(range(group, len(data), 4))
        out[group::4] = data[at : at + length]
        at += length
    return bytes(out)


def unpack_lz4(data: bytes) -> bytes:
    """The content of one LZ4 frame. Checksums aren't checked: the file's sha256 is."""
    magic, flags = struct.unpack_from("<IB", data)
    if magic != _LZ4_MAGIC:
        raise ValueError("no LZ4 frame")
    at = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    out = bytearray()
    while (length := int.from_bytes(data[at : at + 4], "little")) != 0:
        at += 4
        block = data[at : at + (length & 0x7FFFFFFF)]
        if length >> 31:
            out += block
        else:
            _unpack_block(block, out)
        at += len(block) + (4 if flags & 0x10 else 0)
    return bytes(out)


def _unpack_block(block: bytes, out: bytearray) -> None:
    at = 0
    while True:
        token = block[at]
        literals, at = _length(block, at + 1, token >> 4)
        out += block[at : at + literals]
        at += literals
        if at >= len(block):
            return
        offset = int.from_bytes(block[at : at + 2], "little")
        length, at = _length(block, at + 2, token & 15)
        length += 4
        start = len(out) - offset
        pattern = bytes(out[start : start + length])
        out += (pattern * (-(-length // len(pattern))))[:length]


def _length(block: bytes, at: int, value: int) -> tuple[int, int]:
    """A length that goes on in further bytes if it is 15, and where it ends."""
    more = value == 15
    while more:
        value += block[at]
        more = block[at] == 255
        at += 1
    return value, at
