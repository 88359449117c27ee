"""ROD as `rod_0.tar.gz` and `rod_1.tar.gz`, unpacked, and with what can be wrong with archives."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from build_bench.demo.rod import Member, packed, write

__all__ = ["contents", "cut_at_a_member", "packed", "plain", "remove", "repack", "shuffle", "unpack", "write"]

ARCHIVES = "rod_*.tar.gz"


def contents(path: Path) -> list[Member]:
    """The members of an archive; None for a link."""
    with tarfile.open(path) as tar:
        return [(info.name, tar.extractfile(info).read() if info.isfile() else None) for info in tar]  # type: ignore[union-attr]


def repack(path: Path, change: Callable[[list[Member]], Sequence[Member]]) -> None:
    """Write an archive again with other members."""
    path.write_bytes(packed(change(contents(path))))


def remove(root: Path, source_key: str) -> None:
    """Take one sequence out."""
    stem = source_key.split("/")[-1]
    for path in sorted(root.glob(ARCHIVES)):
        repack(path, lambda members: [member for member in members if f"/{stem}-s" not in member[0]])


def shuffle(root: Path) -> None:
    """Turn the members of both archives around."""
    for path in sorted(root.glob(ARCHIVES)):
        repack(path, lambda members: members[::-1])


def plain(path: Path) -> bytes:
    """An archive's tar without the gzip."""
    return gzip.decompress(path.read_bytes())


def cut_at_a_member(path: Path, kept: int) -> bytes:
    """The archive with its first `kept` members and then nothing: no end mark, in a gzip that is whole."""
    tar = plain(path)
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        end = opened.getmembers()[kept].offset
    return gzip.compress(tar[:end], 1, mtime=0)


def unpack(root: Path, to: Path, folder: Callable[[str], str] = lambda name: name) -> None:
    """Lay the archives' files out under `to`; `folder` renames paths. Links are left out, as careful tools do."""
    for path in sorted(root.glob(ARCHIVES)):
        for name, data in contents(path):
            if data is not None:
                target = to / folder(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
    for table in root.glob("*.csv"):
        shutil.copy(table, to)
