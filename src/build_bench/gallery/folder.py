"""How a folder of pages is written: it opens from the file system, so data are scripts that call `put`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import msgspec

from build_bench import manifests, store
from build_bench.errors import BuildBenchError, UsageError

MARK = "made_by_build_bench.json"
LOCK = ".lock"
_ANOTHER = "name another folder with --out"
_UNSAFE = re.compile("[<>&\u2028\u2029]")


class Holds(msgspec.Struct):
    """What the mark in a folder of pages says of it."""

    made: str = "damaged"
    samples: int = 0
    playable: int = 0
    scenarios: list[str] = []

    def more_than(self, other: Holds) -> bool:
        """Whether anything of it is not in `other`."""
        fewer = other.samples < self.samples or other.playable < self.playable
        return fewer or not set(self.scenarios) <= set(other.scenarios)


@contextmanager
def claimed(out: Path, kind: str) -> Iterator[Holds]:
    """`out` as a folder of this kind, kept from other runs; gives what it held before.

    Raises `UsageError` if anything else lies there, as it would be overwritten, or if it can't be made;
    `BuildBenchError` if another run writes there.
    """
    _held(out, kind)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(out / LOCK, timeout=0)
        lock.acquire()
    except filelock.Timeout:
        raise BuildBenchError(f"another preview is writing {out}", f"wait for it, or {_ANOTHER}") from None
    except OSError as error:
        raise UsageError(f"{out} can't be written: {error.strerror}", _ANOTHER) from error
    with lock:
        held = _held(out, kind)
        mark(out, held)
        yield held


def mark(out: Path, holds: Holds) -> None:
    """Say what `out` holds."""
    store.write_bytes(out / MARK, store.to_json(holds))


def _held(out: Path, kind: str) -> Holds:
    if out.is_symlink() and not out.exists():
        raise UsageError(f"{out} is a link that leads nowhere", _ANOTHER)
    path = out / MARK
    if path.is_file():
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Holds)
        except msgspec.DecodeError:
            found = Holds()
        if found.made == kind:
            return found
        raise UsageError(f"{out} holds another kind of pages: {found.made}", _ANOTHER)
    if out.exists() and (not out.is_dir() or {entry.name for entry in out.iterdir()} - {LOCK}):
        raise UsageError(f"{out} is there and was not made by preview", "name an empty or new folder with --out")
    return Holds(kind)


def script(name: str, value: Any) -> bytes:
    """A data file: no text in it can end a script or be taken for markup."""
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode([name, value]).decode())
    return f"put(...{text});\n".encode()


def write(out: Path, data: Mapping[str, Any], pages: Mapping[str, str]) -> None:
    """Write data (name -> value), then pages (name in `out` -> name in manifests/gallery/)."""
    for name, value in data.items():
        store.write_bytes(out / "data" / f"{name}.js", script(name, value))
    for name, source in pages.items():
        store.write_bytes(out / name, manifests.text(f"gallery/{source}").encode())


def sweep(folder: Path, listed: Collection[str]) -> None:
    """Remove what a former run left in `folder`, which is ours alone. Links are removed, not followed."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in listed:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def size(out: Path) -> tuple[int, int]:
    """(files, bytes) of what lies there."""
    sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file() and path.name != LOCK]
    return len(sizes), sum(sizes)
