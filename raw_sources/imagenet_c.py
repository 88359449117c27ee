"""ImageNet-C as distributed: five tars, or the corruption folders that were in them (format page 1.1, 1.2).

    noise.tar, blur.tar, weather.tar, digital.tar, extra.tar
    [<group>/]<corruption>/<severity>/<wnid>/ILSVRC2012_val_00000293.JPEG

also below ImageNet-C/. Tars are read in place, by an index of their headers that is made once and kept. Both may be
there: a folder comes first, what it lacks is looked for in the tars.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from build_bench.errors import Rejected, shown
from build_bench.raw_sources import Reader, check_size, missing
from build_bench.raw_sources.imagenet_c_labels import check, ground_truth, tables
from build_bench.raw_sources.imagenet_c_names import (
    CORRUPTIONS,
    GROUPS,
    IMAGE_MASK,
    SEVERITIES,
    Names,
    image,
    key,
    stem,
    wnid_and_number,
)
from build_bench.raw_sources.tar_index import DOUBLE, LINK, Integers, TarIndex, indexed
from build_bench.records import Census


class Picture(NamedTuple):
    """One validation picture under one corruption: five files."""

    corruption: str
    wnid: str
    number: int

    def keys(self) -> list[int]:
        """The files' keys, the strongest corruption first."""
        return [key(self.corruption, severity, image(self.wnid, self.number)) for severity in SEVERITIES]


@dataclass(slots=True)
class _Tar:
    path: Path
    index: TarIndex
    time: int
    file: int
    """Descriptor, read by position alone: forked processes may share it."""

    def members(self, wanted: Sequence[int]) -> list[_Member | None]:
        """The members with these keys."""
        index, keys = self.index, np.array(wanted, np.uint64)
        at = np.minimum(index.keys.searchsorted(keys), max(len(index.keys) - 1, 0))
        if not len(index.keys) or not (there := index.keys[at] == keys).any():
            return [None] * len(wanted)
        fields = index.offsets[at].tolist(), index.sizes[at].tolist(), index.kinds[at].tolist()
        return [_Member(self, *values) if ok else None for ok, *values in zip(there.tolist(), *fields, strict=True)]


class _Member(NamedTuple):
    tar: _Tar
    offset: int
    size: int
    kind: int


_Place = Path | _Member | None


class ImageNetC(Reader):
    """ImageNet-C under `root`, of which only `corruptions` are looked at. Opening it reads names of folders only."""

    def __init__(self, root: Path, scratch: Path, corruptions: Sequence[str] = CORRUPTIONS) -> None:
        super().__init__(root)
        self._scratch, self._corruptions = scratch, tuple(dict.fromkeys(corruptions))
        self._candidates = self._passed_over = 0
        bases = (root, root / "ImageNet-C")
        self._paths = [path for base in bases for group in GROUPS if (path := base / f"{group}.tar").is_file()]
        groups = {corruption: group for group, names in GROUPS.items() for corruption in names}
        self._folders = {
            corruption: [
                folder
                for base in bases
                for folder in (base / corruption, base / groups[corruption] / corruption)
                if folder.is_dir()
            ]
            for corruption in self._corruptions
        }
        if not self._paths and not any(self._folders.values()):
            raise missing(root)

    @property
    def files(self) -> Sequence[Path]:
        folders = [folder for found in self._folders.values() for folder in found]
        return sorted([*self._paths, *tables(self.root), *folders])

    @property
    def below(self) -> str:
        """A class folder's time changes when a picture is added or removed: 40,000 folders, so none is in `files`."""
        state = sha256()
        for folder in _class_folders(self._folders):
            name = shown(folder.path.relative_to(self.root).as_posix())
            state.update(f"{name} {folder.path.stat().st_mtime_ns}\n".encode())
        return state.hexdigest()

    @property
    def census(self) -> Census:
        return Census(self._candidates, self._passed_over)

    def count(self, candidates: int, passed_over: int) -> None:
        """Take note of what was looked at of a class: what is drawn of it is the builder's to decide."""
        self._candidates += candidates
        self._passed_over += passed_over

    @property
    def gaps(self) -> Sequence[str]:
        return tuple(self._gaps())

    def _gaps(self) -> Iterator[str]:
        for corruption in self._corruptions:
            lacking = [str(severity) for severity in SEVERITIES if not self._counts[corruption, severity]]
            if len(lacking) == len(SEVERITIES):
                yield f"{corruption} isn't here"
            elif lacking:
                yield f"{corruption} lacks severity {', '.join(lacking)}"
        if self._strays:
            refused = ", ".join(why for tar in self._tars for why in tar.index.refused)
            among = f"; among them {refused}" if refused else ""
            yield f"{self._strays} files are not named as ImageNet-C names pictures: left aside{among}"

    def images(self) -> Iterator[tuple[str, Integers]]:
        """Every class with the numbers of its pictures (uint64, sorted), by wnid: all that any corruption here has."""
        self._candidates = self._passed_over = 0
        self._check_tables()
        found = np.unique(self._keys & np.uint64(IMAGE_MASK))
        wnids = found >> np.uint64(27)
        starts = np.flatnonzero(wnids[1:] != wnids[:-1]) + 1
        for own in np.split(found, starts) if len(found) else ():
            yield wnid_and_number(int(own[0]))[0], own & np.uint64((1 << 27) - 1)

    @cached_property
    def contested(self) -> frozenset[int]:
        """The numbers of pictures that lie in more than one class."""
        numbers = np.sort(np.unique(self._keys & np.uint64(IMAGE_MASK)) & np.uint64((1 << 27) - 1))
        return frozenset(numbers[1:][numbers[1:] == numbers[:-1]].tolist())

    @cached_property
    def truth(self) -> tuple[str, ...]:
        """The wnid of each picture, the first at 0, if the devkit's ground truth is there; else empty."""
        found = [truth for path in tables(self.root) if (truth := ground_truth(path))]
        return found[0] if found else ()

    def _check_tables(self) -> None:
        for path in tables(self.root):
            if not ground_truth(path):
                check(path)

    def problem(self, picture: Picture) -> tuple[str, str] | None:
        """(reason, detail) why the five files of `picture` can't all be read; None if they are there. Reads none."""
        return self._problem(picture, self._places(picture))

    def _problem(self, picture: Picture, places: Sequence[_Place]) -> tuple[str, str] | None:
        lacking = [str(severity) for severity, place in zip(SEVERITIES, places, strict=True) if place is None]
        if len(lacking) == len(SEVERITIES):
            return "corruption_absent", f"{picture.corruption} of {stem(picture.number)} isn't in this copy"
        if lacking:
            return "missing_severity", f"{picture.corruption}: severity {', '.join(lacking)} isn't in this copy"
        for severity, place in zip(SEVERITIES, places, strict=True):
            if isinstance(place, _Member) and place.kind == LINK:
                return "not_a_file", f"{place.tar.path.name}: severity {severity} is a link, or no file"
            if isinstance(place, _Member) and place.kind == DOUBLE:
                return "duplicate_member", f"{place.tar.path.name}: severity {severity} stands there more than once"
        return None

    def stamp(self, picture: Picture) -> str:
        """What changes with the files' bytes: size and time of each; of a member, its place and the tar's time."""
        found = []
        for place in self._places(picture):
            if isinstance(place, _Member):
                found.append(f"{place.offset}-{place.size}-{place.tar.time}")
            else:
                status = place.stat() if place else None
                found.append(f"{status.st_size}-{status.st_mtime_ns}" if status else "missing")
        return " ".join(found)

    def frames(self, picture: Picture) -> Iterator[bytes]:
        """The five files' bytes as they lie there, the strongest corruption first. Raises `Rejected`."""
        places = self._places(picture)
        if problem := self._problem(picture, places):
            raise Rejected(*problem)
        for place in places:
            name = f"{picture.corruption} of {stem(picture.number)}"
            if isinstance(place, _Member):
                check_size(place.size, f"{place.tar.path.name}: {name}")
                yield os.pread(place.tar.file, place.size, place.offset)
            elif place:
                check_size(place.stat().st_size, name)
                yield place.read_bytes()

    def _places(self, picture: Picture) -> list[_Place]:
        """Where the five files are, the strongest corruption first: a folder's before a tar's; None: nowhere."""
        tail = [f"{severity}/{picture.wnid}/{stem(picture.number)}.JPEG" for severity in SEVERITIES]
        found: list[_Place] = [None] * len(SEVERITIES)
        for folder in self._folders[picture.corruption]:
            for nth, name in enumerate(tail):
                if found[nth] is None and (path := folder / name).is_file():
                    found[nth] = path
        wanted = picture.keys()
        for tar in self._tars:
            for nth, member in enumerate(tar.members(wanted)):
                found[nth] = found[nth] or member
        return found

    def prepare(self) -> None:
        """Make the indexes, so that processes that open this source find them."""
        _ = self._tars

    @cached_property
    def _tars(self) -> list[_Tar]:
        found = []
        for path in self._paths:
            index = indexed(path, self._scratch / path.parent.relative_to(self.root), Names())
            file = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, file)
            found.append(_Tar(path, index, path.stat().st_mtime_ns, file))
        return found

    @cached_property
    def _listed(self) -> tuple[Integers, int]:
        """(the sorted keys of all pictures in folders, the number of files with other names)."""
        keys, strays, key_of = [], 0, Names()
        for folder in _class_folders(self._folders):
            lead = os.fsencode(f"{folder.corruption}/{folder.severity}/{folder.path.name}/")
            for entry in os.scandir(folder.path):
                number = key_of(lead + os.fsencode(entry.name) + b"\0")
                strays += not number
                if number:
                    keys.append(number)
        return np.unique(np.array(keys, np.uint64)), strays

    @cached_property
    def _keys(self) -> Integers:
        """The keys of all pictures of the wanted corruptions, folders' and tars'."""
        wanted = np.array([key(corruption, 0, 0) >> 57 for corruption in self._corruptions], np.uint64)
        every = np.concatenate([self._listed[0], *(tar.index.keys for tar in self._tars)])
        return every[np.isin(every >> np.uint64(57), wanted)]

    @property
    def _strays(self) -> int:
        return self._listed[1] + sum(tar.index.strays for tar in self._tars)

    @cached_property
    def _counts(self) -> Mapping[tuple[str, int], int]:
        """How many pictures there are of each (corruption, severity)."""
        codes, counts = np.unique(self._keys >> np.uint64(54), return_counts=True)
        found = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        return {
            (corruption, severity): found.get(key(corruption, severity, 0) >> 54, 0)
            for corruption in self._corruptions
            for severity in SEVERITIES
        }


class _ClassFolder(NamedTuple):
    corruption: str
    severity: int
    path: Path


def _class_folders(folders: Mapping[str, Sequence[Path]]) -> Iterator[_ClassFolder]:
    """Every `<corruption>/<severity>/<wnid>/`, sorted."""
    for corruption, found in folders.items():
        for folder in found:
            for severity in SEVERITIES:
                if (folder / str(severity)).is_dir():
                    names = sorted(entry.name for entry in os.scandir(folder / str(severity)) if entry.is_dir())
                    for name in names:
                        yield _ClassFolder(corruption, severity, folder / str(severity) / name)
