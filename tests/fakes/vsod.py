"""VSOD as `OcclusionDataSet-MM20/` beside `answers.csv`; packed and moved around, and with its defects."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image

from build_bench.demo.vsod import annotation, write

__all__ = ["annotation", "clip", "pack", "remove", "shuffle", "table", "unwrap", "write"]

DATASET = "OcclusionDataSet-MM20"
HEADER = "video,question_kind,answer,first,reference,strong"


def remove(root: Path, source_key: str) -> None:
    """Take one video out. Its row stays: the table is what a person wrote, and no item of the source."""
    for kind in ("Data", "Annotations"):
        shutil.rmtree(root / DATASET / kind / "test" / source_key)


def shuffle(root: Path) -> None:
    """Turn the table's rows and columns around."""
    path = root / "answers.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(reversed(rows[0])))
    writer.writeheader()
    writer.writerows(reversed(rows))
    path.write_text(text.getvalue(), newline="")


def unwrap(root: Path) -> None:
    """The two folders at the top, without the data set's own."""
    for path in (root / DATASET).iterdir():
        path.rename(root / path.name)
    (root / DATASET).rmdir()


def pack(root: Path, name: str = f"{DATASET}.zip") -> None:
    """The data set as a zip made on a Mac: hidden twins of every file are in it."""
    with zipfile.ZipFile(root / name, "w") as archive:
        for path in sorted((root / DATASET).rglob("*")):
            member = path.relative_to(root).as_posix()
            archive.write(path, member)
            if path.is_file():
                archive.writestr(f"__MACOSX/{member[: -len(path.name)]}._{path.name}", b"\0\5\x16\7Mac OS X")
    shutil.rmtree(root / DATASET)


def clip(
    root: Path,
    name: str,
    covers: Sequence[float | None],
    split: str = "test",
    size: tuple[int, int] = (20, 10),
    first: int = 0,
) -> None:
    """One video of tiny frames: per frame the share of its width under a box, or None for a clean one."""
    frames, notes = (root / DATASET / kind / split / name for kind in ("Data", "Annotations"))
    frames.mkdir(parents=True)
    notes.mkdir(parents=True)
    for number, cover in enumerate(covers, first):
        Image.new("RGB", size, (number * 16 % 256, 90, 90)).save(frames / f"{number:04d}.JPEG", "JPEG")
        boxes = [] if cover is None else [(0, 0, round(cover * size[0]), size[1])]
        (notes / f"{number:04d}.xml").write_text(annotation(name, boxes, size))


def table(root: Path, *rows: str | Mapping[str, str]) -> None:
    """answers.csv of these lines."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "answers.csv").write_text("\n".join([HEADER, *map(str, rows), ""]), encoding="utf-8")
