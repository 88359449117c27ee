"""Reading a tar once, from front to end, and noticing what `tarfile` passes over.

`tarfile` takes a broken header, and the end of the file where no end was written, for the end of the archive: files
are then missing without a word. Here both are errors. It also leaves alone the gzip's checksum behind the last member:
here the stream is read to its end. (`tar_index` reads plain tars at random; a gzip can't be.)
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from build_bench.errors import InputError
from build_bench.raw_sources.members import FILES, number

BLOCK = 512
PIECE = 1 << 20
"""Bytes held at a time, whatever the size of archive and members."""

GZIP = b"\x1f\x8b"
_EXTENSION = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.XGLTYPE,
}
_LONGEST_NAME = 1 << 16
_LONGEST_END = 64 << 20
"""Bytes behind the end mark. tar fills up a record, of 10 KiB unless told otherwise; a gzip may go on without end."""


def unpacked(file: BinaryIO, where: str) -> tuple[BinaryIO, bool]:
    """The tar's own bytes, and whether they had to be unpacked: a browser may have done that already.

    `where` names the file. Raises `InputError` if it is neither a tar nor a gzip.
    """
    head = file.read(BLOCK)
    file.seek(0)
    if head.startswith(GZIP):
        return gzip.GzipFile(fileobj=file), True  # type: ignore[return-value]
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "backslashreplace")
    except tarfile.HeaderError:
        pointer = head.startswith(b"version https://git-lfs")
        raise InputError(
            f"{where}: no tar.gz, it begins with {head[:24]!r}",
            "it is a Git LFS pointer: run git lfs pull" if pointer else "fetch it again",
        ) from None
    return file, False


class Tar:
    """The members of a tar in order; `chunks` gives the bytes of the one at hand, what isn't taken is passed over."""

    def __init__(self, stream: BinaryIO, where: str) -> None:
        self._stream, self._where = stream, where
        self.offset = 0
        """Where in the tar the next byte comes from; after a member was yielded, where its bytes begin."""
        self._left = self._padding = 0

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """Raises `InputError` if the archive is cut off or damaged, at a member's border too."""
        name = link = ""
        while True:
            for _ in self.chunks():
                pass
            self._exactly(self._padding)
            block = self._exactly(BLOCK, or_end=True)
            if not block:
                raise self._broken("it ends without an end mark, so members may be missing")
            if block.count(0) == BLOCK:
                break
            try:
                info = tarfile.TarInfo.frombuf(block, "utf-8", "backslashreplace")
            except tarfile.HeaderError as error:
                raise self._broken(f"{error} at byte {self.offset - BLOCK}") from error
            if info.size < 0:  # the binary spelling can say so
                raise self._broken(f"{info.name} has {info.size} bytes")
            self._left, self._padding = (0, 0) if _has_no_bytes(info) else (info.size, -info.size % BLOCK)
            if info.type == tarfile.GNUTYPE_SPARSE:
                raise self._broken(f"{info.name} is a sparse file, which pictures never are")
            if info.type in _EXTENSION:
                name, link = self._extended(info, name, link)
                continue
            info.name, info.linkname = name or info.name, link or info.linkname
            name = link = ""
            yield info
        end = self.offset
        while self._read(PIECE):  # the gzip's checksum comes last
            if self.offset - end > _LONGEST_END:
                raise self._broken(f"more than {_LONGEST_END >> 20} MiB after its end mark")

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the member at hand."""
        while self._left:
            data = self._read(min(PIECE, self._left))
            if not data:
                raise self._broken("it ends within a member")
            self._left -= len(data)
            yield data

    def _extended(self, info: tarfile.TarInfo, name: str, link: str) -> tuple[str, str]:
        """What a header says of the next member's names that has no room in a block."""
        if info.size > _LONGEST_NAME:
            raise self._broken(f"a name of {info.size} bytes at byte {self.offset}")
        data = b"".join(self.chunks())
        if info.type == tarfile.GNUTYPE_LONGNAME:
            return _text(data.rstrip(b"\0")), link
        if info.type == tarfile.GNUTYPE_LONGLINK:
            return name, _text(data.rstrip(b"\0"))
        if info.type == tarfile.XGLTYPE:
            return name, link
        records = {}
        while data:
            digits, _, _ = data.partition(b" ")
            length = number(digits)
            if not len(digits) < length <= len(data):
                raise self._broken(f"an extended header that can't be read at byte {self.offset}")
            key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
            records[key] = _text(value)
            data = data[length:]
        if b"size" in records:
            raise self._broken("a member of more than 8 GiB, which pictures never have")
        return records.get(b"path", name), records.get(b"linkpath", link)

    def _exactly(self, size: int, *, or_end: bool = False) -> bytes:
        data = b""
        while len(data) < size and (more := self._read(size - len(data))):
            data += more
        if len(data) < size and (data or not or_end):
            raise self._broken("it ends within a header or a member")
        return data

    def _read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._broken(str(error)) from error
        self.offset += len(data)
        return data

    def _broken(self, problem: str) -> InputError:
        return InputError(
            f"{self._where}: cut off or damaged: {problem}", "fetch it again; curl -C - goes on where it broke off"
        )


def _has_no_bytes(info: tarfile.TarInfo) -> bool:
    """Links, folders and devices may state a size that nothing follows."""
    return info.type not in FILES and info.type not in _EXTENSION and info.type in tarfile.SUPPORTED_TYPES


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
