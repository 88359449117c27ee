"""ROD as distributed: pictures of an object behind an occluder, 14 a sequence, in two archives or unpacked.

    rod_0.tar.gz, rod_1.tar.gz      or .tgz or .tar;  or  rod_0/, rod_1/, or the classes' folders alone, at any depth
    .../<class>/<light>_<occluder>_<attribute>-<class>-s<step>.jpg

A folder comes before the archive of its name. Archives are read once and in order (`rod_spool`).
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from build_bench import manifests
from build_bench.errors import InputError, Rejected, shown
from build_bench.raw_sources import Reader, check_size, missing
from build_bench.raw_sources.rod_spool import PICTURES, Spool
from build_bench.records import Census

NAME = re.compile(
    r"(?P<stem>(?P<light>[A-Za-z]+)_(?P<code>[A-Za-z0-9]+)_(?P<attribute>[A-Za-z0-9]+)-(?P<name>.+))"
    r"-s(?P<step>\d{1,2})\.(?i:jpe?g)"
)
PARTS = ("rod_0", "rod_1")
OCCLUDERS = "occluders.csv"

_ARCHIVE = re.compile(r"(?P<part>rod_.*?)\.(tar\.gz|tgz|tar)", re.IGNORECASE)
_DEPTH = 4
"""Folders below raw/rod/: Realistic-Occlusion-Dataset/rod_1/rod_1/banana."""


class Picture(NamedTuple):
    """Where a picture lies: a file, or a member of an archive with its size in bytes and CRC-32."""

    place: str
    """The file's or the archive's path below the source's folder."""
    member: str = ""
    size: int = 0
    crc: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.place}:{self.member}" if self.member else self.place


class Entry(NamedTuple):
    """One object, behind one occluder, by steps; or what stands in its place, and why that is none (`problem`)."""

    key: str
    """`banana/natural_bluebl_brownc-banana`, wherever the files lie; a file's own name if it doesn't tell."""
    stem: str = ""
    code: str = ""
    """Of the occluder."""
    category: str = ""
    steps: Mapping[int, Picture] = {}
    problem: tuple[str, str] | None = None
    """(reason, detail)."""


_KEY = attrgetter("key")


def classes() -> list[str]:
    """The 16 classes, whatever of them is there."""
    return [row["class"] for row in csv.DictReader(io.StringIO(manifests.text("annotations/rod_classes.csv")))]


def squeezed(name: str) -> str:
    """A class's name without case and separators: nobody has said how the files spell `cowboy hat`."""
    return re.sub(r"[ _-]", "", name).lower()


class Rod(Reader):
    """ROD under `root`. Opening it lists folders and no archive; `scratch` is where archives are laid out."""

    def __init__(self, root: Path, scratch: Path) -> None:
        super().__init__(root)
        self._candidates = 0
        self._gaps: list[str] = []
        folders, archives = _listed(root)
        self._folders = {folder: names for folder, names in folders.items() if names}
        self._spools: dict[str, Spool] = {}
        self._passed_over: list[str] = []
        for path in archives:
            place, part = path.relative_to(root).as_posix(), path.parent / _part(path)
            if any(folder == part or part in folder.parents for folder in self._folders):
                self._passed_over.append(f"{place} was not read, as {part.name}/ lies beside it")
            else:
                self._spools[place] = Spool(path, root, scratch)
        if not self._folders and not self._spools:
            raise missing(root)

    @property
    def files(self) -> Sequence[Path]:
        table = [self.root / OCCLUDERS] if (self.root / OCCLUDERS).is_file() else []
        return sorted([*self._folders, *(spool.archive for spool in self._spools.values()), *table])

    @property
    def census(self) -> Census:
        return Census(self._candidates)

    @property
    def gaps(self) -> Sequence[str]:
        return tuple(self._gaps)

    @cached_property
    def _known(self) -> dict[str, str]:
        return {squeezed(name): name for name in classes()}

    def entries(self) -> Iterator[Entry]:
        """Every sequence by key, then what isn't part of any. Reads the archives, if that was never done."""
        groups: dict[str, list[tuple[re.Match[str], Picture, str]]] = defaultdict(list)
        odd: list[Entry] = []
        for picture, path, refused in self._pictures():
            if found := NAME.fullmatch(PurePosixPath(path).name):
                groups[found["stem"]].append((found, picture, refused))
            elif refused:
                odd.append(Entry(picture.name, problem=("refused_member", refused)))
            else:
                odd.append(Entry(picture.name, problem=("unreadable_name", "expected .../<class>/<stem>-s<step>.jpg")))
        entries = sorted(_without_collisions([self._entry(group) for group in groups.values()]), key=_KEY)
        self._candidates = len(entries) + len(odd)
        self._gaps = [*self._passed_over, *self._absent(entries)]
        yield from entries
        yield from sorted(odd, key=_KEY)

    def _pictures(self) -> Iterator[tuple[Picture, str, str]]:
        """(picture, its path with the class's folder, why it is refused), in an order that isn't the disk's."""
        for folder, names in sorted(self._folders.items()):
            for name in names:
                place = (folder / name).relative_to(self.root).as_posix()
                yield Picture(shown(place)), place, ""
        for place, spool in sorted(self._spools.items()):
            for member in sorted(spool.index.members, key=lambda member: member.name):
                yield Picture(place, member.name, member.size, member.crc), member.name, member.refused

    def _entry(self, group: list[tuple[re.Match[str], Picture, str]]) -> Entry:
        match = group[0][0]
        category = self._known.get(squeezed(match["name"]), "")
        steps: dict[int, Picture] = {}
        problem = None if category else ("unknown_class", f"{match['name']!r} is none of ROD's {len(self._known)}")
        for found, picture, refused in group:
            folder = PurePosixPath(picture.member or picture.place).parent.name
            if steps.setdefault(int(found["step"]), picture) is not picture:
                first = steps[int(found["step"])].name
                problem = ("duplicate_step", f"step {found['step']} is both {first} and {picture.name}")
            if (beside := self._known.get(squeezed(folder))) and beside != category:
                problem = ("class_mismatch", f"{picture.name} lies among those of {beside}")
            if refused:
                problem = ("refused_member", f"{picture.name}: {refused}")
        key = f"{category or match['name']}/{match['stem']}"
        return Entry(key, match["stem"], match["code"], category, steps, problem)

    def _absent(self, entries: list[Entry]) -> Iterator[str]:
        """The archives and classes that this copy lacks."""
        places = [*self._spools, *(folder.relative_to(self.root).as_posix() for folder in self._folders)]
        here = [part for part in PARTS if any(part in place for place in places)]
        if here:
            yield from (f"{part} is not here" for part in PARTS if part not in here)
        if lacking := [name for name in classes() if name not in {entry.category for entry in entries}]:
            yield f"there is no sequence of {', '.join(lacking)}"

    def fill(self, places: set[str]) -> None:
        """Lay out the pictures of the archives `places`."""
        for place in sorted(places & set(self._spools)):
            self._spools[place].fill()

    def clear(self) -> None:
        """Drop what was laid out."""
        for spool in self._spools.values():
            spool.clear()

    def picture(self, picture: Picture) -> bytes:
        """A picture's bytes as they lie there. Raises `Rejected` if a file can't be read, or by its size is none."""
        if not picture.member:
            path = self.root / picture.place
            try:
                check_size(path.stat().st_size, picture.place)
                return path.read_bytes()
            except OSError as error:
                raise Rejected("unreadable_picture", f"{picture.place}: {error.strerror}") from error
        if picture.place not in self._spools:
            raise InputError(f"{self.root / picture.place} is gone since this was planned", "run again")
        return self._spools[picture.place].read(picture.member, picture.size, picture.crc)

    def stamp(self, picture: Picture) -> str:
        """What changes with a file's bytes; a member's checksum is in the picture itself."""
        if picture.member:
            return ""
        try:
            status = (self.root / picture.place).stat()
        except OSError:
            return "missing"
        return f"{status.st_size}-{status.st_mtime_ns}"


def _part(archive: Path) -> str:
    found = _ARCHIVE.fullmatch(archive.name)
    return found["part"] if found else ""


def _listed(root: Path) -> tuple[dict[Path, list[str]], list[Path]]:
    """The folders at most `_DEPTH` below `root` with their pictures' names, and the archives; all sorted."""
    folders: dict[Path, list[str]] = {}
    archives: list[Path] = []
    seen: set[str] = set()
    queue = [(root, 0)]
    for folder, depth in queue:
        if (real := os.path.realpath(folder)) in seen:  # a link to a folder that was listed
            continue
        seen.add(real)
        folders[folder] = []
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                queue += [(folder / entry.name, depth + 1)] if depth < _DEPTH else []
            elif PurePosixPath(entry.name).suffix.lower() in PICTURES:
                folders[folder].append(entry.name)
            elif _ARCHIVE.fullmatch(entry.name):
                archives.append(folder / entry.name)
    return folders, sorted(archives)


def _without_collisions(entries: list[Entry]) -> Iterator[Entry]:
    """Sequences whose names differ in case or separators alone overwrite one another on some disks: none is used."""
    alike: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        alike[re.sub(r"[^a-z0-9]+", "-", entry.key.lower())].append(entry)
    for group in alike.values():
        for entry in group:
            others = ", ".join(sorted(other.key for other in group if other is not entry))
            yield (
                entry._replace(problem=("colliding_names", f"differs from {others} in spelling alone"))
                if others
                else entry
            )
