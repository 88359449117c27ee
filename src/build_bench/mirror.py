"""A work folder in an object store: `--work s3://bucket/bench`.

Stages work in a folder of their machine, its mirror: they rename, lock and read by offset, which no object store does.
A command first brings what changed there, works, and gives what changed here; on a cluster each task brings what it
reads and gives what it made. What a file was when both sides were last the same is kept: so one that changed on both is
noticed, and the next command gives what a killed one left (docs/decisions/executors.md).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import filelock
import msgspec

from build_bench import store, transfers
from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.executors import notice
from build_bench.mirror_files import OWN, Here, date_folders, files_of, here_of, links, set_time
from build_bench.object_store import ObjectStore, Tell, There, within

CACHE = "BUILD_BENCH_CACHE"
"""Where mirrors lie; else in ~/.cache/build-bench."""

SOURCES = "raw"
"""Where they lie in a mirror."""

_MADE_AGAIN = re.compile(
    r"(train/)?((plans|frames|rejected|keep|reports|dataset|annotate/.+/sheets)/|\.build-bench/(?!predict/)).*"
    r"|annotate/.+\.html|raw/\.fetch/files\.json"
)
"""What a stage makes again if it doesn't fit: who comes last may overwrite it. The rest is sources, answers and what
people typed."""


class Same(NamedTuple):
    """A file when both sides were last the same."""

    version: str
    here: Here


class Joining(Protocol):
    """Makes one file of two, where both machines are right."""

    def fits(self, name: str) -> bool:
        """Whether it can do that with the file of this name."""

    def join(self, folder: Path, name: str, other: Path) -> None:
        """Add what stands in `other`. Raises `BuildBenchError` if that can't be done."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """The folder in which an address is worked on, at the same path on all machines of a cluster."""

    url: str
    folder: Path
    joining: Joining | None = None

    @classmethod
    def of(cls, url: str, joining: Joining | None = None) -> Mirror:
        """That of an address. Raises `UsageError` if nothing that is installed reads it."""
        ObjectStore(url).check()
        address = ObjectStore(url.rstrip("/"))
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        cache = Path(os.environ.get(CACHE) or Path(caches, "build-bench")).absolute()
        name = re.sub(r"[^\w.-]+", "-", address.name.partition("://")[2])
        return cls(address.url, cache / f"{name}-{hashlib.sha256(address.name.encode()).hexdigest()[:8]}", joining)

    @property
    def name(self) -> str:
        """The address, for people."""
        return ObjectStore(self.url).name

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Bring all before a command, and give all after it, even if it failed; not if a person ended it."""
        notice(f"{self.name} is worked on in {self.folder}")
        self.bring(self.folder)
        try:
            yield
        except (Exception, SystemExit):
            try:
                self.give(self.folder)
            except (BuildBenchError, OSError) as error:
                notice(f"what couldn't be given stays in {self.folder}; the next command tries again: {error}")
            raise
        self.give(self.folder)

    def bring(self, *paths: Path) -> None:
        """Take over what changed there, of files and folders. Raises `BuildBenchError`, and takes nothing, if some of
        it changed here too, and can neither be joined nor made again."""
        with self._alone("bring.lock"):
            here, there, known = self._sides(paths)
            wanted, same, clashes = {}, dict[str, Same | None](), []
            for name, theirs in there.items():
                mine, former = here.get(name), known.get(name)
                if mine and former and former.version == theirs.version:
                    if mine == former.here and theirs.seconds not in (None, mine.mtime_ns // 10**9):
                        same[name] = self._agreed(name, theirs, mine)  # the same was put there again
                    continue  # if it changed here, it is given later
                if mine is None or (former and former.here == mine) or _MADE_AGAIN.fullmatch(name):
                    wanted[name] = theirs.size
                elif self._equal(name, mine, theirs):
                    same[name] = self._agreed(name, theirs, mine)
                else:
                    clashes.append(name)
            self._refuse([name for name in clashes if not self._joins(name)])
            same |= {name: self._joined(name, there[name]) for name in clashes}
            for name in here.keys() & known.keys() - there.keys():
                if here[name] == known[name].here:
                    self._remove(name)
                    same[name] = None
            self._remember(same)
            self._move("bringing", wanted, lambda name, tell: self._get(name, there[name], here.get(name), tell))
            self._date(paths)

    def give(self, *paths: Path) -> None:
        """Put there what changed here, of files and folders. Raises `BuildBenchError`, when all else is given, if some
        of it changed there too, and can neither be joined nor made again."""
        here, there, known = self._sides(paths)
        changed, same, clashes = {}, dict[str, Same | None](), []
        for name, mine in here.items():
            theirs, former = there.get(name), known.get(name)
            if former and former.here == mine:
                continue  # if it changed or went there, that is brought later
            if theirs is None or (former and former.version == theirs.version) or _MADE_AGAIN.fullmatch(name):
                changed[name] = mine.size
            elif self._equal(name, mine, theirs):
                same[name] = self._agreed(name, theirs, mine)
            else:
                clashes.append(name)
        self._move("giving", changed, self._put)
        for name in known.keys() - here.keys():
            if name in there and there[name].version == known[name].version:
                ObjectStore(self.url).remove(name)
            same[name] = None
        self._remember(same)
        self._date(paths)
        joined = {name: here[name].size for name in clashes if self._joins(name)}
        for name in joined:
            self._joined(name, there[name])
        self._move("giving", joined, self._put)
        self._refuse([name for name in clashes if name not in joined])

    def _date(self, paths: Iterable[Path]) -> None:
        """Date the folders of sources by what lies in them, on every machine: a source is known by their times too, and
        a store has no folders."""
        linked = links(self.folder)
        for scope in self._scopes(paths):
            top = SOURCES if scope == "." else scope
            if within(top, SOURCES) and not linked(top):
                date_folders(self.folder, top)

    def _scopes(self, paths: Iterable[Path]) -> list[str]:
        """The names of `paths` below the mirror; those outside of it have none: they lie in a folder that all machines
        see."""
        return [path.relative_to(self.folder).as_posix() for path in paths if path.is_relative_to(self.folder)]

    def _sides(self, paths: Iterable[Path]) -> tuple[dict[str, Here], dict[str, There], dict[str, Same]]:
        """The files of `paths` here, there, and when both were the same. A link, and what lies behind one, is
        somebody's own."""
        linked = links(self.folder)
        scopes = [scope for scope in self._scopes(paths) if not linked(scope)]
        here: dict[str, Here] = {}
        there: dict[str, There] = {}
        for scope in scopes:
            here |= files_of(self.folder, scope)
            there |= ObjectStore(self.url).files(scope)
        known = {name: same for name, same in self._known().items() if any(within(name, scope) for scope in scopes)}
        return (
            here,
            {n: theirs for n, theirs in there.items() if not OWN.fullmatch(n) and (n in here or not linked(n))},
            {n: same for n, same in known.items() if n in here or not linked(n)},
        )

    def _remove(self, name: str) -> None:
        """Remove a file, and folders that are empty then: a store has none, and a source's would be taken for it."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        for parent in path.relative_to(self.folder).parents[:-1]:
            try:
                (self.folder / parent).rmdir()
            except OSError:
                return

    def _get(self, name: str, theirs: There, mine: Here | None, tell: Tell) -> Same:
        path = self.folder / name
        with store.atomic(path) as temporary:
            ObjectStore(self.url).get(name, temporary, tell)
            if temporary.stat().st_size != theirs.size:
                raise NetworkError(f"{self.name}/{name} came in part", "run the same again")
            if path.exists() and here_of(path) != mine and not _MADE_AGAIN.fullmatch(name):
                self._refuse([name])  # somebody saved it meanwhile
            set_time(temporary, theirs)
        return Same(theirs.version, here_of(path))

    def _put(self, name: str, tell: Tell) -> Same | None:
        """Returns None if another command removed it meanwhile."""
        path = self.folder / name
        try:
            mine = here_of(path)
            return self._agreed(name, ObjectStore(self.url).put(path, name, tell), mine)
        except (FileNotFoundError, InputError):
            if path.exists():
                raise
            return None

    def _agreed(self, name: str, theirs: There, mine: Here) -> Same:
        """Both sides are the same now; if somebody saved it meanwhile, it is given again."""
        path = self.folder / name
        if here_of(path) != mine:
            return Same(theirs.version, mine)
        set_time(path, theirs)
        return Same(theirs.version, here_of(path))

    def _move(self, what: str, sizes: Mapping[str, int], one: Callable[[str, Tell], Same | None]) -> None:
        transfers.move(f"{what} {self.name}", sizes, one, self._remember)

    def _joins(self, name: str) -> bool:
        return bool(self.joining and self.joining.fits(name))

    def _joined(self, name: str, theirs: There) -> Same:
        """Add to a file what the other side has; it is still to be given then."""
        assert self.joining
        path = self.folder / name
        mine, other = here_of(path), store.temporary_name(self._record)
        try:
            ObjectStore(self.url).get(name, other, lambda _: None)
            self.joining.join(self.folder, name, other)
        finally:
            other.unlink(missing_ok=True)
        notice(f"{name}: joined with what another machine gave to {self.name}")
        return Same(theirs.version, mine)

    def _equal(self, name: str, mine: Here, theirs: There) -> bool:
        """Whether a file is the same on both sides: two machines may have made it."""
        return mine.size == theirs.size and store.sha256(self.folder / name) == ObjectStore(self.url).sha256(name)

    def _refuse(self, clashes: list[str]) -> None:
        if clashes:
            shown = ", ".join(sorted(clashes)[:3]) + (f" and {len(clashes) - 3} more" if len(clashes) > 3 else "")
            raise BuildBenchError(
                f"{shown}: changed in {self.name} and in {self.folder} since they were the same",
                "remove it on the side that is wrong, and run the same again",
            )

    def _known(self) -> dict[str, Same]:
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=dict[str, Same])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def _remember(self, changes: Mapping[str, Same | None]) -> None:
        if changes:
            with self._alone("record.lock"):
                known = {**self._known(), **changes}
                store.write_bytes(
                    self._record, msgspec.json.encode({name: same for name, same in known.items() if same})
                )

    def _alone(self, lock: str) -> filelock.BaseFileLock:
        self._record.parent.mkdir(parents=True, exist_ok=True)
        return filelock.FileLock(self._record.with_name(lock))

    @property
    def _record(self) -> Path:
        return self.folder / ".build-bench" / "mirror.json"
