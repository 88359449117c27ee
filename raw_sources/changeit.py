"""ChangeIt as distributed: annotations and lists of YouTube ids, and the videos that a person has downloaded.

    categories.csv labels.csv videos/<category>.csv annotations/<category>/<id>.fps1.csv
        directly here, in ChangeIt*/ (a clone), or in ChangeIt*.zip, which is read in place
    downloads/<category>/<id>.mp4 | .webm | .mkv       also <category>/..., and <id>.f135.mp4
    words.csv                                          the person's own words, optional

Ids are 11 letters, digits, - and _; some begin with -. Format page: sections 3.1 to 3.3.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from build_bench.errors import InputError
from build_bench.raw_sources import Reader, members, missing
from build_bench.records import Census

QUESTIONS = ("object", "action")
"""Asked of each annotated video: one candidate each."""

MEANINGS = {"0": "background/noannotation", "1": "state1", "2": "action", "3": "state2"}

ENDINGS = (".mp4", ".webm", ".mkv")
"""Of a video, the first that is there is taken."""

_ANNOTATION = re.compile(r"([A-Za-z0-9_\-]{11})\.fps1\.csv")
_LISTED = re.compile(r"([A-Za-z0-9_\-]{11}),[0-9.]+")
_ROW = re.compile(r"(\d+),([0-3])")

Folder = Path | zipfile.Path


class Annotated(NamedTuple):
    """One video with its labels in one category; a video may be annotated in two."""

    category: str
    video: str
    labels: tuple[int, ...]
    """Per second: 0 nothing, 1 before, 2 the action, 3 after."""
    problem: str = ""
    """Why there are no labels, in words."""


class ChangeIt(Reader):
    """ChangeIt under `root`. Opening it reads nothing but names."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._base = _find(root)
        self._met = 0
        self._absent: list[tuple[str, str]] = []
        self._notes: list[str] = []

    def __reduce__(self) -> tuple[type[ChangeIt], tuple[Path]]:
        return ChangeIt, (self.root,)

    @property
    def files(self) -> Sequence[Path]:
        if isinstance(self._base, zipfile.Path):
            own = [Path(str(self._base.root.filename))]
        else:
            patterns = ("categories.csv", "labels.csv", "videos/*.csv", "annotations/*/*.csv")
            own = [path for pattern in patterns for path in self._base.glob(pattern)]
        words = [self.words] if self.words else []
        return sorted({*own, *words, *(folder for folder, _ in self._folders)})

    @property
    def census(self) -> Census:
        return Census(self._met * len(QUESTIONS), self._unannotated)

    @property
    def gaps(self) -> Sequence[str]:
        absent = f"annotated videos that samples could be made of, but that are not in downloads/: {len(self._absent)}"
        return (*self._notes, *([absent] if self._absent else []))

    @property
    def words(self) -> Path | None:
        """The person's own table of words."""
        path = self.root / "words.csv"
        return path if path.is_file() else None

    def videos(self) -> Iterator[Annotated]:
        """Every annotated video, sorted by category and id. Raises `InputError` if the labels mean something else."""
        self._met, self._absent, self._notes = 0, [], []
        self._check_labels()
        listed = self._categories()
        for folder in _sorted(self._base / "annotations"):
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            if listed and folder.name not in listed:
                self._notes.append(f"annotations/{folder.name}/ is no category of categories.csv")
            for file in _sorted(folder):
                if match := _ANNOTATION.fullmatch(file.name):
                    self._met += 1
                    yield _annotated(folder.name, match[1], file)
                elif file.name.endswith(".csv"):
                    self._notes.append(f"annotations/{folder.name}/{file.name} isn't called <id>.fps1.csv")
        if not (self._base / "videos").is_dir():
            self._notes.append("videos/ is not there: which videos belong to several categories is not known")

    def categories_of(self, video: str) -> frozenset[str]:
        """The categories in which the video is listed: none of them is a wrong answer for it."""
        return frozenset(self._listed.get(video, ()))

    def find(self, category: str, video: str) -> Path | None:
        """The video's file: in its category's folder, or another's, as two categories may share a download."""
        found = self._downloads.get(video, {})
        return found[category] if category in found else found[min(found)] if found else None

    def lacks(self, category: str, video: str) -> str:
        """Take note that the video isn't there; what lies there in its place, in words."""
        if (category, video) not in self._absent:
            self._absent.append((category, video))
        left = [name for folder, names in self._folders if folder.name == category for name in names]
        others = [name for name in left if name.split(".")[0] == video]
        return f"only {', '.join(others)} is there" if others else f"no downloads/{category}/{video}.mp4 or .webm"

    def _check_labels(self) -> None:
        path = self._base / "labels.csv"
        if not path.is_file():
            self._notes.append("labels.csv is not there: labels are taken to be those of the release")
            return
        rows = [line.replace('"', "").partition(",") for line in _lines(path)[1:] if line]
        found = {label.strip(): meaning.strip() for label, _, meaning in rows}
        if found != MEANINGS:
            raise InputError(f"{path}: labels mean {found}, expected {MEANINGS}", "lay the release's labels.csv there")

    def _categories(self) -> frozenset[str]:
        path = self._base / "categories.csv"
        if not path.is_file():
            self._notes.append("categories.csv is not there: the folders of annotations/ are taken for categories")
            return frozenset()
        return frozenset(line.partition(",")[0] for line in _lines(path)[1:] if line)

    @cached_property
    def _listed(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        folder = self._base / "videos"
        for file in _sorted(folder) if folder.is_dir() else ():
            if file.name.endswith(".csv"):
                for line in _lines(file):
                    if match := _LISTED.fullmatch(line.strip()):
                        found.setdefault(match[1], set()).add(file.name.removesuffix(".csv"))
        return found

    @property
    def _unannotated(self) -> int:
        """How often a video is listed without being annotated: those were never looked at."""
        return max(0, sum(map(len, self._listed.values())) - self._met)

    @cached_property
    def _folders(self) -> list[tuple[Path, list[str]]]:
        """The folders in which videos may lie, each with its names."""
        bases = [self.root / "downloads", self.root]
        if isinstance(self._base, Path) and self._base != self.root:
            bases += [self._base / "downloads", self._base]
        folders = [path for base in bases if base.is_dir() for path in sorted(base.iterdir()) if path.is_dir()]
        named = [(path, sorted(entry.name for entry in path.iterdir())) for path in folders]
        return [(path, names) for path, names in named if any(end in name for name in names for end in ENDINGS)]

    @cached_property
    def _downloads(self) -> dict[str, dict[str, Path]]:
        """Per id and category, the file."""
        found: dict[str, dict[str, Path]] = {}
        for folder, names in self._folders:
            for ending in ENDINGS:
                for name in names:
                    if name.endswith(ending):
                        found.setdefault(name.split(".")[0], {}).setdefault(folder.name, folder / name)
        return found


def _find(root: Path) -> Folder:
    """What holds annotations/: the folder, a clone in it, or a zip."""
    for folder in (root, *sorted(path for path in root.glob("ChangeIt*") if path.is_dir())):
        if (folder / "annotations").is_dir():
            return folder
    for path in sorted(root.glob("ChangeIt*.zip")):
        archive = members.open_zip(path)
        infos = members.of_zip(archive)
        members.check_names(path, members.refused(infos))  # before `zipfile.Path`, which goes round for ever in //a
        base = zipfile.Path(archive)
        for folder_in in (base, *_sorted(base)):
            if (folder_in / "annotations").is_dir():
                for info in infos:
                    members.check_table(path, info, {})
                return folder_in
    raise missing(root)


def _sorted(folder: Folder) -> list[Folder]:
    entries: list[Folder] = list(folder.iterdir())
    return sorted(entries, key=lambda entry: entry.name)


def _lines(path: Folder) -> list[str]:
    """Lines without their ends; a mark at the beginning is dropped. Raises `InputError` if it isn't text."""
    try:
        return path.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text: {error}", "lay the release's own file there") from error
    except members.UNREADABLE as error:
        raise InputError(f"{path}: can't be read: {error}", "fetch it again; it may be damaged") from error


def _annotated(category: str, video: str, file: Folder) -> Annotated:
    labels = []
    try:
        lines = _lines(file)
    except InputError as error:
        return Annotated(category, video, (), error.message)
    for number, line in enumerate(lines):
        match = _ROW.fullmatch(line)
        if not match or int(match[1]) != number:
            expected = f"{file.name}:{number + 1}: {line[:40]!r}, expected '{number},' and a label of 0 to 3"
            return Annotated(category, video, (), expected)
        labels.append(int(match[2]))
    return Annotated(category, video, tuple(labels), "" if labels else f"{file.name} is empty")
