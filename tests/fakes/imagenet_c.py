"""ImageNet-C as five tars, or as folders; and tars with each known defect."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from build_bench.demo.imagenet_c import PICTURES, members, write

__all__ = ["PICTURES", "content", "member", "members", "remove", "repack", "shuffle", "tar_of", "unpack", "write"]

File = tuple[str, bytes]


def content(path: Path) -> list[File]:
    """(name, bytes) of a tar's files, in its order."""
    with tarfile.open(path) as tar:
        return [(one.name, reader.read()) for one in tar if (reader := tar.extractfile(one))]


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE) -> tuple[tarfile.TarInfo, bytes]:
    """A member as `tar_of` takes it."""
    info = tarfile.TarInfo(name)
    info.size, info.type = len(data), kind
    return info, data


def tar_of(path: Path, files: Iterable[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.GNU_FORMAT) -> None:
    """A tar of just these members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=form) as tar:
        for info, data in files:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)


def repack(path: Path, files: Iterable[File], form: int = tarfile.GNU_FORMAT) -> None:
    """A tar of these files."""
    tar_of(path, [member(name, data) for name, data in files], form)


def remove(root: Path, source_key: str) -> None:
    """Take one picture out of every tar."""
    for path in sorted(root.glob("*.tar")):
        repack(path, [(name, data) for name, data in content(path) if source_key not in name])


def shuffle(root: Path) -> None:
    """Turn every tar around."""
    for path in sorted(root.glob("*.tar")):
        repack(path, content(path)[::-1])


def unpack(root: Path, grouped: bool = False) -> None:
    """Put folders in the place of the tars, below a folder per tar if `grouped`."""
    for path in sorted(root.glob("*.tar")):
        for name, data in content(path):
            target = (root / path.stem if grouped else root) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        path.unlink()
