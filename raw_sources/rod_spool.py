"""An archive that can only be read in order, laid out for reading at random: read once, however many workers there are.

In the scratch folder, by the archive's name, size and time:

    rod_1.tar.gz-<key>.json     its pictures' names, sizes and checksums: kept, so planning again reads no archive
    rod_1.tar.gz-<key>.bytes    the pictures one after another: dropped once the frames are there

Both appear whole or not at all. A plain tar has no `.bytes`: it is read in place. docs/decisions/rod-spool.md
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from build_bench import store
from build_bench.errors import InputError
from build_bench.fingerprints import fingerprint
from build_bench.raw_sources import members
from build_bench.raw_sources.rod_tar import Tar, unpacked

VERSION = 2
"""Raise it when the index says more or other things."""

PICTURES = {".jpg", ".jpeg"}

GROWTH, ROOM = 20, 1 << 30
"""A packed archive may unpack to so many times its bytes, and so many more. Pictures don't shrink: ROD's unpacks to
1.0 times. What grows further is made to fill a disk."""


class Member(msgspec.Struct, frozen=True):
    """A picture in an archive, or a member that is refused by name (`refused` says why, in words)."""

    name: str
    size: int = 0
    crc: int = 0
    offset: int = 0
    """In the spool; in the archive itself if that is a plain tar."""
    refused: str = ""


class Index(msgspec.Struct, frozen=True):
    """What one reading of an archive found."""

    packed: bool
    members: list[Member]


class Spool:
    """One archive and what is kept of it under `scratch`."""

    def __init__(self, archive: Path, root: Path, scratch: Path) -> None:
        self.archive = archive
        """A .tar.gz, .tgz or .tar."""
        where = [VERSION, str(root.resolve()), *fingerprint(archive, root)]
        self._scratch = scratch
        self._ours = archive.relative_to(root).as_posix().replace("/", "-") + "-"
        self._json, self._bytes = (
            scratch / f"{self._ours}{store.digest_of(where)[:12]}{end}" for end in (".json", ".bytes")
        )

    @cached_property
    def index(self) -> Index:
        """What is in the archive. It is read, and its pictures are laid out, unless that was done before."""
        try:
            return msgspec.json.decode(self._json.read_bytes(), type=Index)
        except (OSError, msgspec.DecodeError):
            return self._read()

    @cached_property
    def _by_name(self) -> dict[str, Member]:
        return {member.name: member for member in self.index.members if not member.refused}

    def fill(self) -> None:
        """Lay the pictures out, unless they are."""
        if self.index.packed and not self._bytes.exists():
            self.index = self._read()

    def clear(self) -> None:
        """Drop the laid-out pictures; the index stays."""
        self._bytes.unlink(missing_ok=True)

    def read(self, name: str, size: int, crc: int) -> bytes:
        """A picture's bytes. Raises `InputError` if the archive isn't the one whose `size` and `crc` were planned."""
        member = self._by_name.get(name)
        if member is None or (member.size, member.crc) != (size, crc):
            raise InputError(f"{self.archive}: {name} is not what it was when this was planned", "run again")
        path = self._bytes if self.index.packed else self.archive
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(member.offset)
                data = file.read(size)
        except FileNotFoundError as error:
            raise InputError(f"{path} is gone", "run again") from error
        if len(data) != size or zlib.crc32(data) != crc:
            raise InputError(f"{path}: damaged at {name}", "delete it and run again")
        return data

    def _read(self) -> Index:
        """Read the archive from front to end, in bounded memory. Raises `InputError` if it is cut off or damaged."""
        with ExitStack() as stack:
            stream, packed = unpacked(stack.enter_context(self.archive.open("rb")), str(self.archive))
            try:
                out = None
                if packed:
                    out = stack.enter_context(stack.enter_context(store.atomic(self._bytes)).open("wb"))
                found = Index(packed, list(self._members(Tar(stream, str(self.archive)), out)))
            except OSError as error:
                raise InputError(
                    f"{self.archive} can't be laid out in {self._scratch}: {error}",
                    "it needs as much room as the archive has; choose another work folder with --work",
                ) from error
        store.write_bytes(self._json, msgspec.json.encode(found))
        for path in list(self._scratch.iterdir()):
            if path.name.startswith(self._ours) and path not in (self._json, self._bytes):  # of the archive before
                path.unlink()
        return found

    def _members(self, tar: Tar, out: BinaryIO | None) -> Iterator[Member]:
        """The pictures, written to `out` if there is one, and what is refused. Other files and folders are passed over.

        Raises `InputError` for an archive that grows beyond all reason.
        """
        most = GROWTH * self.archive.stat().st_size + ROOM
        for info in tar:
            if info.type in members.FILES and tar.offset + info.size > most:
                raise InputError(
                    f"{self.archive}: {members.spelled(info.name)} would make it {tar.offset + info.size:,} bytes, "
                    f"of an archive of pictures at most {most:,} are expected",
                    "it is not what its authors distribute: fetch it again",
                )
            if why := members.why_tar(info.name, info.type, info.size):
                yield Member(info.name, refused=f"it {why}")
                continue
            path = PurePosixPath(info.name)
            if info.type not in members.FILES or path.suffix.lower() not in PICTURES or path.name.startswith("._"):
                continue
            offset, crc = out.tell() if out else tar.offset, 0
            for data in tar.chunks():
                crc = zlib.crc32(data, crc)
                if out:
                    out.write(data)
            yield Member(info.name, info.size, crc, offset)
