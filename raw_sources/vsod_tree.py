"""Where a VSOD copy keeps the files of each video: folders, and zips read in place (shared formats page `vsod`).

Data/<split>/<video>/NNNN.JPEG          at the top, or below OcclusionDataSet-MM20/, or a member of any zip at the top
Annotations/<split>/<video>/NNNN.xml    likewise; the two may come from different places
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from build_bench.errors import Rejected
from build_bench.raw_sources import check_size, members

DATASET = "OcclusionDataSet-MM20"
DATA, ANNOTATIONS = "data", "annotations"

_MEMBER = re.compile(
    rf"(?:[^/]+/){{0,2}}({DATA}|{ANNOTATIONS})/(?P<split>[^/.][^/]*)/(?P<video>[^/.][^/]*)/(?P<file>[^/.][^/]*)",
    re.IGNORECASE,
)
"""Hidden files (`._0000.JPEG` of a Mac's zip) and `..` begin with a full stop: neither is a file of the data set."""

Whose = tuple[str, str]
"""(split, video)."""


class Place(Protocol):
    """The files of one video that lie together."""

    @property
    def names(self) -> list[str]:
        """File names, sorted."""

    @property
    def file(self) -> Path:
        """What stands for the place among a reader's files: the folder, or the zip."""

    @property
    def refused(self) -> Mapping[str, str]:
        """File names that can't be used, and why."""

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises `Rejected`."""

    def stamp(self, name: str) -> str:
        """What changes with a file's bytes."""


class Folder:
    """A video's own folder."""

    refused: Mapping[str, str] = {}

    def __init__(self, path: Path) -> None:
        self.file = path

    @property
    def names(self) -> list[str]:
        """A link is one, wherever it leads: a frame that can't be read must not go unnoticed."""
        entries = (e for e in os.scandir(self.file) if not e.name.startswith("."))
        return sorted(e.name for e in entries if e.is_symlink() or e.is_file())

    def read(self, name: str) -> bytes:
        try:
            check_size((self.file / name).stat().st_size, name)
            return (self.file / name).read_bytes()
        except FileNotFoundError as error:
            raise Rejected("missing_frame", f"{name} is gone, or a link that leads nowhere") from error
        except OSError as error:
            raise Rejected("unreadable_frame", f"{name}: {error.strerror}") from error

    def stamp(self, name: str) -> str:
        try:
            status = (self.file / name).stat()
        except OSError:
            return "missing"
        return f"{status.st_size}-{status.st_mtime_ns}"


class Packed:
    """A video's members of a zip."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.file, self._archive = path, archive
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._twice: set[str] = set()
        self.refused: dict[str, str] = {}

    def add(self, name: str, member: zipfile.ZipInfo, why: str) -> None:
        """Take note of a file, and of why it is refused if it is."""
        if self._members.setdefault(name, member) is not member:
            self._twice.add(name)
            self.refused.pop(name, None)
        elif why:
            self.refused[name] = f"{self.file.name}:{member.orig_filename}: {why}"

    @property
    def names(self) -> list[str]:
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        member = self._members.get(name)
        if member is None:
            raise Rejected("missing_frame", f"{self.file.name} no longer has {name}")
        if name in self._twice:
            raise Rejected("duplicate_frame", f"{self.file.name} has {member.filename} more than once")
        check_size(member.file_size, member.filename)
        if why := members.unfit(member):
            raise Rejected("refused_member", f"{self.file.name}:{member.filename}: {why}")
        if name in self.refused:
            raise Rejected("refused_member", self.refused[name])
        try:
            return self._archive.read(member)
        except members.UNREADABLE as error:
            raise Rejected("unreadable_frame", f"{self.file.name}: {name}: {error}") from error

    def stamp(self, name: str) -> str:
        member = self._members.get(name)
        return f"{member.CRC:08x}-{member.file_size}" if member else "missing"


def find(root: Path, gaps: list[str]) -> dict[str, dict[Whose, Place]]:
    """Per kind (`DATA`, `ANNOTATIONS`) each video's place. Of a video that is there twice, a folder comes before a zip.

    What is refused of a zip is appended to `gaps`. Lists names, opens no file of a video. Raises `InputError` for a zip
    that can't be listed.
    """
    found: dict[str, dict[Whose, Place]] = {DATA: {}, ANNOTATIONS: {}}
    for base in (root, root / DATASET, root / DATASET / DATASET):
        for kind, folder in _folders(base):
            if kind.lower() in found:
                for split, splits in _folders(folder):
                    for video, path in _folders(splits):
                        found[kind.lower()].setdefault((split, video), Folder(path))
    for path in sorted(root.glob("*.zip")):
        for kind, places in _packed(path, gaps).items():
            for whose, place in places.items():
                found[kind].setdefault(whose, place)
    return found


def _folders(path: Path) -> Iterator[tuple[str, Path]]:
    """The visible folders in `path`, sorted by name; none if there is no such folder."""
    if path.is_dir():
        names = sorted(e.name for e in os.scandir(path) if not e.name.startswith(".") and (path / e.name).is_dir())
        yield from ((name, path / name) for name in names)


def _packed(path: Path, gaps: list[str]) -> dict[str, dict[Whose, Packed]]:
    archive = members.open_zip(path)
    infos = members.of_zip(archive)
    refused = members.refused(infos)
    gaps.extend(members.gap(path, refused))
    found: dict[str, dict[Whose, Packed]] = {DATA: {}, ANNOTATIONS: {}}
    for member in infos:
        if match := _MEMBER.fullmatch(member.filename):
            places = found[match[1].lower()]
            whose = match["split"], match["video"]
            places.setdefault(whose, Packed(path, archive)).add(match["file"], member, refused.get(member.filename, ""))
    return found
