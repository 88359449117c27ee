"""ImageNet's classes, and the tables of them that people keep beside the pictures (format page 1.4).

The class of a picture is its folder. A table of classes in raw/imagenet_c/ can only agree: whichever of the three
orders it is in, it is recognised by its content, and one that names a class otherwise (an edited copy has "gon" for
tench) is refused. With the ground truth of the devkit there, each picture's folder is checked against it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from build_bench import manifests
from build_bench.errors import InputError
from build_bench.raw_sources.imagenet_c_names import IMAGES

BY_WNID, KERAS, DEVKIT = "by wnid", "Keras", "devkit"

_LINE = re.compile(r"(n\d{8})(?: : |[ \t]+)(?:(\d+)[ \t]+)?(\S.*)")
"""`n01440764 tench, Tinca tinca`, also with ` : `; or, with a number, `n02119789 1 kit_fox`."""

_LARGEST = 8 << 20
"""Bytes of a table; anything larger is no table."""


@dataclass(frozen=True, slots=True)
class ImageClass:
    """One of the 1000 classes."""

    wnid: str
    devkit: int
    """1 to 1000, the id in the devkit's order."""
    synonyms: tuple[str, ...]
    """As `LOC_synset_mapping.txt` lists them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One class in a table: `number` is -1 where the table has none; `place` is for errors."""

    wnid: str
    number: int
    name: str
    place: str


@cache
def classes() -> dict[str, ImageClass]:
    """The 1000 classes by wnid, sorted."""
    rows = csv.DictReader(io.StringIO(manifests.text("annotations/imagenet_c_classes.csv")))
    return {
        row["wnid"]: ImageClass(row["wnid"], int(row["devkit"]), tuple(row["synonyms"].split(", "))) for row in rows
    }


def tables(root: Path) -> list[Path]:
    """The files in `root` that are a table of classes or the ground truth, whatever they are called."""
    files = (path for path in root.iterdir() if path.suffix in {".txt", ".json"} and path.is_file())
    small = (path for path in files if path.stat().st_size <= _LARGEST)
    return sorted(path for path in small if _is_table(path.read_text("utf-8", "replace")))


def _is_table(text: str) -> bool:
    numbers, named = text.split(None, 20)[:20], len(re.findall(rf"(?m)^{_LINE.pattern}", text))
    in_json = text.lstrip()[:1] == "{" and len(re.findall(r'\[\s*"n\d{8}"', text)) > 100
    return in_json or named > 100 or (len(numbers) == 20 and all(number.isdecimal() for number in numbers))


def check(path: Path) -> str:
    """Which order the table at `path` is in. Raises `InputError`, naming the entry, if it isn't ImageNet's."""
    entries = list(_entries(path))
    known = classes()
    for entry in entries:
        if entry.wnid not in known:
            raise _refused(path, entry.place, f"{entry.wnid} is none of ImageNet's classes")
        synonyms = known[entry.wnid].synonyms
        if _plain(entry.name.split(",")[0]) not in map(_plain, synonyms):
            raise _refused(path, entry.place, f"{entry.wnid} is called {entry.name!r}, expected {synonyms[0]!r}")
    wnids = [entry.wnid for entry in entries]
    if lacking := sorted(set(known) - set(wnids)):
        raise _refused(path, f"{len(set(wnids))} of 1000 classes", f"{lacking[0]} is missing")
    if len(wnids) != len(known):
        double = next(wnid for wnid in wnids if wnids.count(wnid) > 1)
        raise _refused(path, f"{len(wnids)} entries", f"{double} stands there twice")
    return _order(path, entries)


def _order(path: Path, entries: Sequence[Entry]) -> str:
    """The order, told by the numbers; without numbers, by the sequence."""
    known = classes()
    wanted = {
        KERAS: {wnid: rank for rank, wnid in enumerate(known)},
        DEVKIT: {wnid: known[wnid].devkit for wnid in known},
    }
    if all(entry.number < 0 for entry in entries):
        for entry, wnid in zip(entries, known, strict=True):
            if entry.wnid != wnid:
                raise _refused(path, entry.place, f"{entry.wnid} stands where {wnid} is expected")
        return BY_WNID
    first: dict[str, Entry] = {}
    for order, numbers in wanted.items():
        wrong = [entry for entry in entries if entry.number != numbers[entry.wnid]]
        if not wrong:
            return order
        first[order] = wrong[0]
    likely = KERAS if any(entry.number == 0 for entry in entries) else DEVKIT
    entry = first[likely]
    raise _refused(path, entry.place, f"{entry.wnid} has number {entry.number}, expected {wanted[likely][entry.wnid]}")


def _entries(path: Path) -> Iterator[Entry]:
    text = path.read_text("utf-8", "replace")
    if text.lstrip()[:1] != "{":
        for number, line in enumerate(text.splitlines(), 1):
            found = _LINE.fullmatch(line.strip())
            if not found and line.strip():
                raise _refused(path, f"line {number}", f"{line[:60]!r} is no class")
            if found:
                yield Entry(found[1], int(found[2] or -1), found[3], f"line {number}")
        return
    try:
        rows = json.loads(text, object_pairs_hook=_unique)
        table = msgspec.convert(rows, dict[str, tuple[str, str]])
    except (ValueError, msgspec.ValidationError) as error:
        raise _refused(path, "JSON", str(error)) from error
    for key, (wnid, name) in table.items():
        if not key.isdecimal():
            raise _refused(path, f"key {key!r}", "a number is expected")
        yield Entry(wnid, int(key), name, f"key {key!r}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def ground_truth(path: Path) -> tuple[str, ...] | None:
    """The wnid of each validation picture, the first at 0, if `path` is the devkit's ground truth: 50,000 ids.

    None if it is another kind of table. Raises `InputError` if it is an edited one.
    """
    words = path.read_text("utf-8", "replace").split()
    if not words or not words[0].isdecimal():
        return None
    if len(words) != IMAGES:
        raise _refused(path, f"{len(words)} ids", f"{IMAGES} are expected")
    wnids = {str(one.devkit): one.wnid for one in classes().values()}
    counts = dict.fromkeys(wnids, 0)
    for line, word in enumerate(words, 1):
        if word not in counts:
            raise _refused(path, f"line {line}", f"{word[:20]!r} is none of the devkit's ids, 1 to 1000")
        counts[word] += 1
    for word, count in counts.items():
        if count != IMAGES // len(counts):
            raise _refused(path, f"id {word}", f"{count} pictures, expected {IMAGES // len(counts)}")
    return tuple(wnids[word] for word in words)


def _plain(name: str) -> str:
    return name.strip().replace("_", " ").lower()


def _refused(path: Path, place: str, problem: str) -> InputError:
    return InputError(
        f"{path}: {place}: {problem}",
        "an edited copy, or not ImageNet's: replace it by the published one, or remove it (no table is needed)",
    )
