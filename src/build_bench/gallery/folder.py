"""How a folder of pages is written: it opens from the file system, so data are scripts that call `put`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from build_bench import manifests, store
from build_bench.errors import UsageError

MARK = "made_by_build_bench.json"
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def claim(out: Path, kind: str) -> None:
    """Make `out` a folder of this kind. Raises `UsageError` if anything else lies there: it would be overwritten."""
    mark = out / MARK
    if mark.is_file():
        try:
            found = msgspec.json.decode(mark.read_bytes(), type=dict[str, str]).get("made")
        except msgspec.DecodeError:
            found = None
        if found == kind:
            return
        raise UsageError(f"{out} holds another kind of pages: {found or 'damaged'}", "name another folder with --out")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there and was not made by preview", "name an empty or new folder with --out")
    store.write_bytes(mark, store.to_json({"made": kind}))


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
    sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)
