"""Where MVP-N's files lie: an unpacked folder, or a zip read in place. Both give the same names, below `data/`.

A zip is somebody else's: what `members` refuses of it spoils the sets that name it and no others. A folder is the
user's own: links in it are followed, no deeper than the layout goes.
"""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

import deflate

from build_bench.errors import InputError, Rejected
from build_bench.raw_sources import members


class Tree(Protocol):
    """The lists and views of one split."""

    @property
    def refused(self) -> Mapping[str, str]:
        """Names that can't be used, and why."""

    @property
    def names(self) -> Iterable[str]:
        """`<split>_list/<file>` and `<split>/<class>/<set>/<file>`, with `/`."""

    @property
    def files(self) -> list[Path]:
        """What planning looks at."""

    def stamp(self, name: str) -> str:
        """What changes with the file's bytes."""

    def read(self, name: str) -> bytes:
        """The file's bytes. Raises `Rejected` if they are damaged."""


class Folder:
    """An unpacked `data/`."""

    def __init__(self, base: Path, split: str) -> None:
        self._base, self._split = base, split

    @cached_property
    def _found(self) -> tuple[list[str], list[Path], dict[str, str]]:
        """(names, folders, refused names)."""
        folders: list[Path] = []
        names = [*self._scan(f"{self._split}_list", 0, folders), *self._scan(self._split, 2, folders)]
        refused = members.colliding(names)
        return [name for name in names if name not in refused], folders, refused

    @property
    def refused(self) -> Mapping[str, str]:
        return self._found[2]

    def _scan(self, folder: str, levels: int, folders: list[Path]) -> Iterator[str]:
        """The names of the files that lie `levels` folders below `folder`."""
        path = self._base / folder
        if not path.is_dir():
            return
        folders.append(path)
        with os.scandir(path) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries)
        for name, is_folder in found:
            if is_folder and levels:
                yield from self._scan(f"{folder}/{name}", levels - 1, folders)
            elif not is_folder and not levels:
                yield f"{folder}/{name}"

    @property
    def names(self) -> list[str]:
        return self._found[0]

    @property
    def files(self) -> list[Path]:
        lists = [self._base / name for name in self.names if name.startswith(f"{self._split}_list/")]
        return [*self._found[1], *lists]

    def stamp(self, name: str) -> str:
        try:
            status = (self._base / name).stat()
        except OSError:
            return "missing"
        return f"{status.st_size}-{status.st_mtime_ns}"

    def read(self, name: str) -> bytes:
        try:
            return (self._base / name).read_bytes()
        except OSError as error:
            raise Rejected("missing_picture", f"{name}: {error.strerror}") from error


class Archive:
    """`data.zip`, whatever folder stands in front of the layout inside."""

    def __init__(self, path: Path, split: str) -> None:
        self._path, self._split = path, split

    @property
    def refused(self) -> Mapping[str, str]:
        return self._index[1]

    @cached_property
    def _index(self) -> tuple[dict[str, zipfile.ZipInfo], dict[str, str]]:
        """(members by name below `data/`, refused names). Raises `InputError` if it isn't a zip of this layout."""
        with members.open_zip(self._path) as archive:
            infos = members.of_zip(archive)
        bases = {base for info in infos if (base := self._base_of(info.orig_filename)) is not None}
        if len(bases) != 1:
            found = f"below {', '.join(sorted(bases))}" if bases else "nowhere"
            raise InputError(
                f"{self._path}: expected {self._split}_list/ once in it, found {found}",
                "put the authors' data.zip there",
            )
        (base,) = bases
        refused = {info.orig_filename: why for info in infos if (why := members.unfit(info))} | members.refused(infos)
        usable = {
            info.orig_filename.removeprefix(base): info
            for info in infos
            if info.orig_filename.startswith(base) and info.orig_filename not in refused and not info.is_dir()
        }
        return usable, {name.removeprefix(base): why for name, why in refused.items()}

    def _base_of(self, name: str) -> str | None:
        """What stands in front of `<split>_list/` in a member's name."""
        parts = name.split("/")
        return "".join(f"{part}/" for part in parts[:-2]) if parts[-2:-1] == [f"{self._split}_list"] else None

    @property
    def names(self) -> Iterable[str]:
        return self._index[0]

    @property
    def files(self) -> list[Path]:
        return [self._path]

    def stamp(self, name: str) -> str:
        info = self._index[0].get(name)
        return f"{info.CRC:08x}-{info.file_size}" if info else "missing"

    @cached_property
    def _bytes(self) -> mmap.mmap:
        with self._path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def read(self, name: str) -> bytes:
        """Without `zipfile`, which takes as long again as the copy: docs/decisions/mvp_n-copying.md."""
        info = self._index[0][name]
        start = info.header_offset + 30
        header = self._bytes[info.header_offset : start]  # the local header has its own lengths
        start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        packed = self._bytes[start : start + info.compress_size]
        try:
            stored = info.compress_type == zipfile.ZIP_STORED
            data = packed if stored else bytes(deflate.deflate_decompress(packed, info.file_size))
        except deflate.DeflateError as error:
            raise Rejected("unreadable_picture", f"{self._path.name}:{name}: {error}") from error
        if header[:4] != b"PK\3\4" or len(data) != info.file_size or deflate.crc32(data) != info.CRC:
            raise Rejected("unreadable_picture", f"{self._path.name}:{name}: its checksum doesn't fit its bytes")
        return data
