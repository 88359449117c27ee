"""MS-COCO as distributed: one instances file and a folder, or a zip, of pictures.

    val2014.zip                     or  val2014/COCO_val2014_000000184321.jpg, also below images/ or val2014/
    annotations_trainval2014.zip    or  annotations/instances_val2014.json, also without the folder

Zips are read in place. Both may be there: a folder comes first, what it lacks is looked for in the zip.
"""

from __future__ import annotations

import mmap
import os
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from build_bench import manifests
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources import Reader, check_size, is_file, members
from build_bench.raw_sources.coco_annotations import Annotation, Category, Image, License, Tables, decode
from build_bench.records import Census

ANNOTATIONS, PICTURES = "annotations/instances_val2014.json", "val2014"


class Entry(NamedTuple):
    """An image with its annotations; or what stands in its place, and why that is no image (`problem`)."""

    key: str
    """The image's id; `images[17]` or `annotations[17]` for a row that doesn't even tell whose it is."""
    image: Image | None = None
    annotations: Sequence[Annotation] = ()
    """In the file's order."""
    problem: tuple[str, str] | None = None
    """(reason, detail)."""


class Coco(Reader):
    """COCO under `root`; `annotations` and `pictures` may name another split (`.../instances_val2017.json`, `val2017`).

    `without`: another instances file, whose images are passed over: val2014 is in train2017 too, under the same ids.
    Opening it reads nothing but the folder's names; it pickles as its arguments.
    """

    def __init__(self, root: Path, annotations: str = ANNOTATIONS, pictures: str = PICTURES, without: str = "") -> None:
        super().__init__(root)
        self._arguments = annotations, pictures, without
        self._pictures = pictures
        self._candidates = self._passed_over = 0
        self._gaps: list[str] = []
        self._absent: set[str] = set()
        self._zips: dict[Path, tuple[int, zipfile.ZipFile]] = {}
        self._refusals: dict[Path, Mapping[str, str]] = {}
        self._json = self._find_annotations(annotations)
        self._without = self._find_annotations(without) if without else None
        folders = (root / pictures / pictures, root / pictures, root / "images" / pictures, root / "images")
        self._folders = [folder for folder in folders if folder.is_dir()]
        self._archives = [
            path for path in (root / f"{pictures}.zip", root / f"images/{pictures}.zip") if path.is_file()
        ]
        if not self._folders and not self._archives:
            raise self._lacking(f"{pictures}.zip or a folder {pictures}/")

    def __reduce__(self) -> tuple[type[Coco], tuple[Path, str, str, str]]:
        return Coco, (self.root, *self._arguments)

    def _find_annotations(self, annotations: str) -> tuple[Path, str]:
        """(file, member): the member is empty for a plain file."""
        name = PurePosixPath(annotations).name
        plain = [self.root / annotations, self.root / name, self.root / "annotations" / name]
        plain += sorted(self.root.glob(f"annotations*/annotations/{name}"))
        for path in plain:
            if path.is_file():
                return path, ""
        packed = sorted([*self.root.glob("*annotations*.zip"), *self.root.glob("annotations/*annotations*.zip")])
        for path in packed:
            for member in self._zip(path).infolist():
                if PurePosixPath(member.filename).name == name:
                    members.check_table(path, member, self._refused(path))
                    return path, member.filename
        year = "".join(filter(str.isdigit, name))
        raise self._lacking(f"annotations_trainval{year}.zip or {annotations}")

    def _lacking(self, expected: str) -> InputError:
        steps = "\n  ".join(step.format(folder=self.root) for step in manifests.source("coco")["steps"])
        return InputError(f"coco: no {expected} in {self.root}", f"get it:\n  {steps}")

    @property
    def files(self) -> Sequence[Path]:
        tables = [self._json[0], *([self._without[0]] if self._without else [])]
        return sorted({*tables, *self._folders, *self._archives})

    @property
    def census(self) -> Census:
        return Census(self._candidates, self._passed_over)

    @property
    def gaps(self) -> Sequence[str]:
        absent = f"{len(self._absent)} pictures that samples could be made of are not here" if self._absent else ""
        refused = [gap for path in self._archives for gap in members.gap(path, self._refusals.get(path, {}))]
        return (*self._gaps, *refused, *([absent] if absent else []))

    def count(self, further: int) -> None:
        """Take note of candidates beyond one per image: a builder may make several of one."""
        self._candidates += further

    def pass_over(self, candidates: int) -> None:
        """Take note of candidates that were not chosen after all."""
        self._candidates, self._passed_over = self._candidates - candidates, self._passed_over + candidates

    @cached_property
    def _tables(self) -> Tables:
        return self._decoded(*self._json)

    def _decoded(self, path: Path, member: str) -> Tables:
        data = _mapped(path) if not member else self._member(path, member)
        return decode(data, f"{path}:{member}" if member else str(path))

    def _elsewhere(self) -> set[int]:
        """The ids of the images in the other instances file."""
        return {image.id for image in self._decoded(*self._without).images} if self._without else set()

    @cached_property
    def categories(self) -> dict[int, Category]:
        """The categories by id. Raises `InputError` if one id has two names."""
        found: dict[int, Category] = {}
        for category in self._tables.categories:
            if found.setdefault(category.id, category) != category:
                first = found[category.id].name
                raise InputError(f"{self._json[0]}: category {category.id} is both {first!r} and {category.name!r}")
        return found

    @cached_property
    def licenses(self) -> dict[int, License]:
        """The pictures' licences by id; one release has their URLs' slashes escaped twice."""
        return {row.id: License(row.id, row.name, plain_url(row.url)) for row in self._tables.licenses}

    def images(self) -> Iterator[Entry]:
        """Every image with its annotations, by id, however the file orders them; what can't be read comes last."""
        tables = self._tables
        self._candidates, self._gaps, self._absent = 0, [], set()
        problems, nameless = _problems(tables, self._gaps)
        images = {image.id: image for image in tables.images}
        owners = np.fromiter(map(attrgetter("image_id"), tables.annotations), np.int64, len(tables.annotations))
        order = np.argsort(owners, kind="stable")
        owners = owners[order]
        elsewhere = {*images, *problems} & self._elsewhere()
        ids = sorted({*images, *problems} - elsewhere)
        starts = np.searchsorted(owners, np.array(ids, np.int64), "left").tolist()
        ends = np.searchsorted(owners, np.array(ids, np.int64), "right").tolist()
        left_out = int(np.isin(owners, np.array(sorted(elsewhere), np.int64)).sum())
        if orphans := len(owners) - sum(ends) + sum(starts) - left_out:
            self._gaps.append(f"{orphans} annotations belong to images that {self._json[0].name} doesn't list")
        rows = list(map(tables.annotations.__getitem__, order.tolist()))
        self._candidates, self._passed_over = len(ids) + len(nameless), len(elsewhere)
        for image_id, start, end in zip(ids, starts, ends, strict=True):
            yield Entry(str(image_id), images.get(image_id), rows[start:end], problems.get(image_id))
        yield from nameless

    def has(self, file_name: str) -> bool:
        """Whether the picture is there. Raises `Rejected` if the name leads elsewhere, or to a refused member."""
        found = self._locate(file_name)
        if found is None:
            self._absent.add(file_name)
        elif not isinstance(found, Path):
            self._check(*found)
        return found is not None

    def stamp(self, file_name: str) -> str:
        """What changes with the picture's bytes: size and time of a file, checksum and size of a zip's member."""
        found = self._locate(file_name)
        if found is None:
            return "missing"
        if isinstance(found, Path):
            try:
                status = found.stat()
            except OSError:
                return "missing"
            return f"{status.st_size}-{status.st_mtime_ns}"
        return f"{found[1].CRC:08x}-{found[1].file_size}"

    def picture(self, file_name: str) -> bytes:
        """The picture's bytes as they lie there. Raises `Rejected` if there are none, or they can't be read."""
        found = self._locate(file_name)
        if found is None:
            raise Rejected("missing_picture", file_name)
        if isinstance(found, Path):
            try:
                check_size(found.stat().st_size, file_name)
                return found.read_bytes()
            except OSError as error:
                raise Rejected("unreadable_picture", f"{file_name}: {error.strerror}") from error
        check_size(found[1].file_size, file_name)
        self._check(*found)
        try:
            return self._zip(found[0]).read(found[1])
        except members.UNREADABLE as error:
            raise Rejected("unreadable_picture", f"{found[0].name}:{found[1].filename}: {error}") from error

    def _locate(self, file_name: str) -> Path | tuple[Path, zipfile.ZipInfo] | None:
        parts = PurePosixPath(file_name).parts
        if not parts or parts[0] == "/" or ".." in parts or any(c in file_name for c in "\\:\0"):
            raise Rejected("bad_file_name", f"{file_name!r} leads out of the folder of pictures")
        for folder in self._folders:
            if is_file(folder / file_name):
                return folder / file_name
        for path in self._archives:
            names = self._zip(path).NameToInfo
            for member in (f"{self._pictures}/{file_name}", file_name, f"images/{self._pictures}/{file_name}"):
                if member in names:
                    return path, names[member]
        return None

    def _zip(self, path: Path) -> zipfile.ZipFile:
        """The zip, opened once per process: a forked one must not share its parent's file position."""
        pid, archive = self._zips.get(path, (0, None))
        if archive is None or pid != os.getpid():
            archive = members.open_zip(path)
            self._zips[path] = os.getpid(), archive
        return archive

    def _refused(self, path: Path) -> Mapping[str, str]:
        if path not in self._refusals:
            self._refusals[path] = members.refused(members.of_zip(self._zip(path)))
        return self._refusals[path]

    def _check(self, path: Path, member: zipfile.ZipInfo) -> None:
        """Raises `Rejected` for a picture in the zip at `path` that is refused."""
        if why := self._refused(path).get(member.filename) or members.unfit(member):
            raise Rejected("refused_member", f"{path.name}:{member.filename}: {why}")

    def _member(self, path: Path, name: str) -> memoryview:
        """A zip's member: mapped where it is stored as it is, else unpacked into memory."""
        info = self._zip(path).getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            try:
                return memoryview(self._zip(path).read(info))
            except members.UNREADABLE as error:
                raise InputError(f"{path}:{name}: can't be unpacked: {error}", "fetch the zip again") from error
        data = _mapped(path)
        header = data[info.header_offset : info.header_offset + 30]  # the local header has its own lengths
        start = (
            info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        )
        member = data[start : start + info.file_size]
        if zlib.crc32(member) != info.CRC:
            raise InputError(f"{path}:{name}: its checksum doesn't fit its bytes", "fetch the zip again")
        return member


def plain_url(url: str) -> str:
    """A URL whose slashes were escaped twice (the release of 2015) as it was meant."""
    return url.replace("\\/", "/")


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise InputError(f"{path}: is empty", "fetch it again")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _problems(tables: Tables, gaps: list[str]) -> tuple[dict[int, tuple[str, str]], list[Entry]]:
    """What is wrong with the rows: by image, and those that belong to none. Other tables' broken rows become gaps."""
    problems: dict[int, tuple[str, str]] = {}
    nameless: list[Entry] = []
    for image_id in _repeated(tables.images):
        problems[image_id] = ("duplicate_image_id", f"image id {image_id} stands there more than once")
    repeated = _repeated(tables.annotations)
    if not repeated and not tables.broken:
        return problems, nameless
    listed = {image.id for image in tables.images} | {row.image_id for row in tables.broken if row.section == "images"}
    owners = defaultdict(set)
    for row in tables.annotations:
        if row.id in repeated:
            owners[row.id].add(row.image_id)
    for annotation_id in sorted(repeated):
        for image_id in owners[annotation_id] & listed:
            problems.setdefault(image_id, ("duplicate_annotation_id", f"annotation id {annotation_id} is given twice"))
    for broken in tables.broken:
        what = ("wrong_type", f"{broken.name}: {broken.problem}")
        if broken.section in ("categories", "licenses"):
            gaps.append(": ".join(what))
        elif broken.image_id is None or (broken.section == "annotations" and broken.image_id not in listed):
            nameless.append(Entry(broken.name, problem=what))
        else:
            problems.setdefault(broken.image_id, what)
    return problems, nameless


def _repeated(rows: Sequence[Image] | Sequence[Annotation]) -> set[int]:
    """The ids that stand there more than once."""
    ordered = np.sort(np.fromiter(map(attrgetter("id"), rows), np.int64, len(rows)))
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
