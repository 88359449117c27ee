"""What lies in a mirror: its files with their times, and the times of its folders. Links are somebody's own."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from build_bench.errors import InputError, shown
from build_bench.object_store import There

OWN = re.compile(
    r"(.*/)?([^/]*\.partial(/.*)?|([^/]*\.)?lock|\.build-bench/(mirror\.json|(jobs|pull)/.*))"
    r"|raw/(.*\.part(\.json)?|(.*/)?\.incoming/.*)"
)
"""What belongs to one machine: half-written files and downloads, locks, the jobs that it submitted."""


class Here(NamedTuple):
    """A file of the mirror."""

    size: int
    mtime_ns: int


def files_of(folder: Path, scope: str) -> dict[str, Here]:
    """The files that are `scope` or lie in it ("." is all), by their names below `folder`.

    Raises `InputError` for a name that isn't UTF-8: a store takes no other.
    """
    path = folder / scope
    if path.is_file():
        return {} if OWN.fullmatch(scope) or path.is_symlink() else {scope: here_of(path)}
    found = {name: here for _, _, files in _walked(folder, scope) for name, here in files}
    for name in found:
        if shown(name) != name:
            raise InputError(
                f"{folder}/{shown(name)}: the name isn't UTF-8, and an address takes no other", "rename it"
            )
    return found


def links(folder: Path) -> Callable[[str], bool]:
    """Whether a name below `folder` is a link, or lies behind one."""

    @cache
    def linked(name: str) -> bool:
        return bool(name) and (os.path.islink(f"{folder}/{name}") or linked(name.rpartition("/")[0]))  # noqa: PTH114

    return linked


def date_folders(folder: Path, scope: str) -> None:
    """Set each folder's time to that of its newest file, with a fraction that changes when a name does."""
    for root, folders, files in _walked(folder, scope):
        newest = max((here.mtime_ns for _, here in files), default=0) // 10**9
        names = "\0".join([*sorted(folders), "", *sorted(name for name, _ in files)])
        fraction = int.from_bytes(hashlib.sha256(os.fsencode(names)).digest()) % 10**6 * 1000
        dated = newest * 10**9 + fraction  # some disks keep microseconds
        os.utime(folder / root, ns=(dated, dated))


def _walked(folder: Path, scope: str) -> Iterator[tuple[str, list[str], list[tuple[str, Here]]]]:
    """As `os.walk`: a folder, those in it, its files, by their names below `folder`; without links, and what belongs to
    this machine. What vanishes meanwhile was none."""
    lead = "" if scope == "." else f"{scope}/"
    folders, files = [], []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / scope) as entries:
        for entry in entries:
            name = lead + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not OWN.fullmatch(f"{name}/"):
                    folders.append(name)
            elif entry.is_file(follow_symlinks=False) and not OWN.fullmatch(name):
                with suppress(FileNotFoundError):
                    files.append((name, _of(entry.stat())))
        yield scope, folders, files
    for name in folders:
        yield from _walked(folder, name)


def here_of(path: Path) -> Here:
    """A file as it is now."""
    return _of(path.stat())


def _of(status: os.stat_result) -> Here:
    return Here(status.st_size, status.st_mtime_ns)


def set_time(path: Path, theirs: There) -> None:
    """Give a file the store's time, on every machine: a source is known by its time."""
    if theirs.seconds is not None:
        os.utime(path, (theirs.seconds, theirs.seconds))
