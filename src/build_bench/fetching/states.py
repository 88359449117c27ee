"""What of a source is there. Sizes and first bytes are looked at each time, checksums computed once and remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from build_bench import store
from build_bench.config import Config
from build_bench.errors import BuildBenchError
from build_bench.fetching import checking, keeping, videos, wanted
from build_bench.fetching.downloading import Whole
from build_bench.fetching.partial import Part, is_incomplete
from build_bench.fetching.wanted import ByHand, RemoteFile
from build_bench.store import Work

PRESENT, UNVERIFIED, PARTIAL, MISSING, BAD = "present", "unverified", "partial", "missing", "bad"
OWN = ".fetch"
"""Below raw/: the lock, and what is known of its files."""
_DEEP = ("", "*/", "*/*/")


class Known(msgspec.Struct, frozen=True):
    """A file that came or was checked."""

    size: int
    time: int
    digests: dict[str, str]
    basis: str
    instead_of: str = ""
    """How it differs from the manifest: it was taken with `--accept-new`."""


class Memory:
    """What is known of files that came or were checked: by name, size and time. It lies with them, in raw/.fetch/."""

    def __init__(self, raw: Path) -> None:
        self._raw = raw
        self._path = raw / OWN / "files.json"
        try:
            self._known = msgspec.json.decode(self._path.read_bytes(), type=dict[str, Known])
        except (OSError, msgspec.DecodeError):  # what is lost is computed again
            self._known = {}

    def of(self, path: Path) -> Known | None:
        """What is known of the file as it is now."""
        known, status = self._known.get(self._key(path)), path.stat()
        return known if known and (known.size, known.time) == (status.st_size, status.st_mtime_ns) else None

    def expected(self, file: RemoteFile, path: Path) -> RemoteFile:
        """`file` as the manifest has it, or as it was accepted since."""
        known = self._known.get(self._key(path))
        if not known or not known.instead_of:
            return file
        sha256 = known.digests["sha256"]
        return msgspec.structs.replace(file, bytes=known.size, sha256=sha256, md5="", certainty="first-hand")

    def add(self, path: Path, whole: Whole) -> None:
        """Keep what is known of a file, and write it down."""
        time = path.stat().st_mtime_ns
        self._known[self._key(path)] = Known(whole.size, time, dict(whole.digests), whole.basis, whole.instead_of)
        keeping.write(self._path, store.to_json(self._known))

    def _key(self, path: Path) -> str:
        return path.relative_to(self._raw).as_posix()


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of a source."""

    file: RemoteFile | ByHand
    state: str
    note: str = ""
    """Why, or in what other form it is there."""
    there: int = 0
    """Bytes of it that are there."""
    takeable: bool = True
    """Of a bad one: whether it may be what the authors changed it to, and no web page, say."""

    @property
    def lacking(self) -> bool:
        """Whether it, or some of it, must still come."""
        return self.state in (PARTIAL, MISSING)

    @property
    def to_come(self) -> int:
        """Bytes, as well as they are known."""
        return max(self.file.size - self.there, 0) if self.lacking and isinstance(self.file, RemoteFile) else 0


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source as it lies under raw/."""

    name: str
    files: Sequence[FileState]
    videos: tuple[int, int] | None = None
    """Of a source that has videos beside its files: how many are there, of how many. None: that isn't known."""

    @property
    def state(self) -> str:
        """That of all its files and videos."""
        found = Counter(file.state for file in self.files)
        if found[BAD]:
            return BAD
        if found[MISSING] == len(self.files):
            return MISSING
        if found[MISSING] or found[PARTIAL] or (self.videos and self.videos[0] < self.videos[1]):
            return PARTIAL
        return UNVERIFIED if found[UNVERIFIED] else PRESENT

    @property
    def to_download(self) -> list[FileState]:
        """What a program can get."""
        return [file for file in self.files if file.lacking and isinstance(file.file, RemoteFile)]

    @property
    def by_hand(self) -> list[ByHand]:
        """What a person must get."""
        return [file.file for file in self.files if file.lacking and isinstance(file.file, ByHand)]


def look(work: Work, config: Config, name: str, memory: Memory) -> SourceState:
    """What is there of a source."""
    folder = work.raw / name
    words = _words(config, name, folder)
    found = [_remote(file, folder, memory, words) for file in wanted.files(name, kind(config), config.split)]
    found += [_by_hand(file, folder) for file in wanted.source(name).by_hand]
    return SourceState(name, found, _videos(name, folder))


def _videos(name: str, folder: Path) -> tuple[int, int] | None:
    if not wanted.source(name).videos:
        return None
    try:
        return videos.counted(folder)
    except BuildBenchError:  # no annotations: how many there should be isn't known
        return None


def kind(config: Config) -> str:
    """Which of QuickDraw's two forms is built from."""
    settings = config.settings.get("quickdraw")
    return "raw" if settings and settings.source == "raw" else "simplified"


def _words(config: Config, name: str, folder: Path) -> dict[str, str]:
    """QuickDraw's words that are there under whatever name, and that name: only its reader knows them all."""
    if name != "quickdraw" or not folder.is_dir():
        return {}
    try:
        reader = config.builder(name).open(folder, folder)
    except BuildBenchError:  # nothing is there, or it must be mended before a build
        return {}
    return {word: path.relative_to(folder).as_posix() for word, path in reader.places.items()}


def _remote(file: RemoteFile, folder: Path, memory: Memory, words: dict[str, str]) -> FileState:
    target = wanted.place(folder, file.path)
    if target.is_file():
        size = target.stat().st_size
        expected = memory.expected(file, target)
        known = memory.of(target)
        why = checking.wrong_size(expected, size) or (checking.wrong_checksum(expected, known.digests) if known else "")
        incomplete = is_incomplete(target, expected.bytes)
        unlike = _unlike(target, begun=incomplete)
        if unlike:
            return FileState(file, BAD, unlike, size, takeable=False)
        if incomplete:
            return FileState(file, PARTIAL, _incomplete(size, expected.bytes), size)
        if why:
            return FileState(file, BAD, why, size)
        return FileState(file, PRESENT if known else UNVERIFIED, known.basis if known else "", size)
    other = words.get(target.stem) if words else _instead(folder, file.instead)
    if other:
        return FileState(file, UNVERIFIED, f"as {other}")
    part = Part(target)
    if not part.size:
        return FileState(file, MISSING)
    facts = part.facts
    refused = f"the file {facts.refused}" if facts and facts.refused else ""
    total = (facts.total if facts else None) or file.bytes
    return FileState(file, PARTIAL, refused or _incomplete(part.size, total), part.size)


def _incomplete(size: int, whole: int | None) -> str:
    return f"is incomplete: {size:,} of {f'{whole:,}' if whole else 'an unknown number of'} bytes"


def _by_hand(file: ByHand, folder: Path) -> FileState:
    target = wanted.place(folder, file.path)
    there = target if target.is_file() else _instead(folder, file.instead)
    if there is None:
        return FileState(file, MISSING)
    if there.is_file() and (what := _unlike(there)):
        return FileState(file, BAD, what, takeable=False)
    return FileState(file, UNVERIFIED, "" if there == target else f"as {there.relative_to(folder).as_posix()}")


def _unlike(path: Path, *, begun: bool = False) -> str:
    """What a file is, if it isn't what its name says. `begun`: it may be too short to tell."""
    with path.open("rb") as file:
        head = file.read(1024)
    what = (checking.page if begun and len(head) < 512 else checking.unlike)(head, path.name)
    return f"is {what}" if what else ""


def _instead(folder: Path, rows: Sequence[str]) -> Path | None:
    """The first of another form that is there. A folder must hold something."""
    for row in rows:
        found = [_first(folder, pattern) for pattern in row.split()]
        if all(found):
            return found[0]
    return None


def _first(folder: Path, pattern: str) -> Path | None:
    for above in _DEEP:
        for path in folder.glob(above + pattern):
            if path.is_file() or (path.is_dir() and any(path.iterdir())):
                return path
    return None
