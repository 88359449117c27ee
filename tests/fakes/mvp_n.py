"""MVP-N as `data/` and `classes.csv`; packed as `data.zip`; and with each known defect."""

from __future__ import annotations

import io
import pickle
import shutil
import stat
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from PIL import Image

from build_bench.demo.mvp_n import write

__all__ = ["add_list", "draw", "key_of", "link_member", "lists", "pack", "paths", "png", "remove", "shuffle", "write"]

NAMES = {"0000": "red soap", "0001": "blue soap", "0010": "milk plain", "0011": "milk fat", "0012": "milk oat"}
NAMES |= {"0013": "milk soy", "0014": "milk rice", "0002": "soap dish", "0004": "rice cake"}


def png(text: str, mode: str = "RGB", side: int = 12) -> bytes:
    """A small picture that differs from every other text's."""
    seed = blake2b(text.encode(), digest_size=64).digest() * (side * side)
    picture = Image.frombytes("RGB", (side, side), seed[: side * side * 3]).convert(mode)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def paths(label: str, marks: str, folder: str = "0007", first: int = 0) -> list[str]:
    """A set: a view for each mark of `marks`."""
    return [f"{label}/{folder}/{number:04d}_{mark}.png" for number, mark in enumerate(marks, first)]


def draw(root: Path, sets: Mapping[str, Sequence[Sequence[str]]], names: Mapping[str, str] | None = None) -> None:
    """A tree of small pictures: lists of `sets` by class, with every view that they name."""
    root.mkdir(parents=True, exist_ok=True)
    for label, views in sets.items():
        add_list(root, label, views)
        for path in {path for one in views for path in one}:
            file = root / "data" / "test" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png(path))
    rows = (NAMES if names is None else names).items()
    (root / "classes.csv").write_text("class,name\n" + "".join(f"{label},{name}\n" for label, name in rows))


def lists(root: Path) -> list[Path]:
    """The lists that hold sets of paths."""
    return [path for path in sorted((root / "data" / "test_list").glob("*.pkl")) if "0016" not in path.name]


def key_of(label: str, paths: Sequence[str]) -> str:
    """The source key of a set."""
    short = ["/".join(path.split("/")[-3:]) for path in paths]
    return f"test/{label}/{blake2b(chr(10).join(short).encode(), digest_size=6).hexdigest()}"


def remove(root: Path, source_key: str) -> None:
    """Take one set out of its list."""
    label = source_key.split("/")[1]
    path = root / "data" / "test_list" / f"test_{label}_100.pkl"
    kept = [paths for paths in pickle.loads(path.read_bytes()) if key_of(label, paths) != source_key]
    path.write_bytes(pickle.dumps(kept))


def shuffle(root: Path) -> None:
    """Turn each list around; its sets stay as they are. Written as another Python would."""
    for path in lists(root):
        path.write_bytes(pickle.dumps(pickle.loads(path.read_bytes())[::-1], protocol=0))
    table = (root / "classes.csv").read_text().splitlines()
    (root / "classes.csv").write_text("\ufeff" + "\r\n".join([table[0], *reversed(table[1:])]), encoding="utf-8")


def add_list(root: Path, label: str, sets: Iterable[object] | bytes) -> str:
    """Write the list of a class, of sets or of bytes; returns its name."""
    name = f"test_list/test_{label}_100.pkl"
    path = root / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sets if isinstance(sets, bytes) else pickle.dumps(list(sets)))
    return name


def pack(root: Path, base: str = "data/", method: int = zipfile.ZIP_DEFLATED, name: str = "data.zip") -> Path:
    """Turn `data/` into a zip whose members stand below `base`, in reversed order, folders and a Mac's leavings too."""
    path = root / name
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted((root / "data").rglob("*"), reverse=True):
            member = base + file.relative_to(root / "data").as_posix()
            if file.is_dir():
                archive.writestr(f"{member}/", b"")
            else:
                archive.write(file, member)
                archive.writestr(f"__MACOSX/{member.removesuffix(file.name)}._{file.name}", b"Mac OS X")
    shutil.rmtree(root / "data")
    return path


def link_member(name: str) -> zipfile.ZipInfo:
    """A zip's member that is a link."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info
