"""Where a Quick, Draw! copy keeps the file of each word, under the names that downloads have."""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from build_bench.errors import InputError, shown
from build_bench.raw_sources import is_file

SAMPLE = "sample"
"""The folder of what `fetch --sample` drew by ranges: lines of simplified files, and `SAMPLED`, where they are from."""
SAMPLED = "sample.json"

_NAME = re.compile(r"(?:full[_/](simplified|raw)[_/])?(.+)\.ndjson", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z -]+")


def fold(word: str) -> str:
    """What spellings of a word in file names have in common."""
    return " ".join(re.split(r"[\s_+]+", word.strip())).casefold()


def find(root: Path, kinds: Sequence[str], words: Sequence[str]) -> tuple[dict[str, dict[str, list[Path]]], list[str]]:
    """word -> kind -> its files, sorted; and, as text, the ndjson files that are none of them.

    A kind is one of `kinds`, or `SAMPLE`; words are spelled as among `words`, where they are there.
    """
    spelling = {fold(word): word for word in words}
    found: dict[str, dict[str, list[Path]]] = {}
    unnamed = []
    for path in _walk(root):
        relative = path.relative_to(root)
        name = _NAME.fullmatch(unquote(path.name))
        if name is None or path.name.startswith("."):
            continue
        folders = [part.casefold() for part in reversed(relative.parts[:-1])]
        kind = name[1].casefold() if name[1] else next((folder for folder in folders if folder in kinds), "")
        kind = SAMPLE if path.parent == root / SAMPLE and (root / SAMPLE / SAMPLED).is_file() else kind
        word = fold(name[2])
        why = ""
        if not is_file(path):
            why = "leads to no file"
        elif not kind:
            why = "is in no folder simplified or raw"
        elif not _WORD.fullmatch(word):
            why = "is not named as a word"
        if why:
            unnamed.append(f"{shown(relative.as_posix())} {why}: it was not read")
            continue
        word = spelling.setdefault(word, " ".join(re.split(r"[\s_+]+", name[2].strip())))
        found.setdefault(word, {}).setdefault(kind, []).append(path)
    return found, unnamed


def _walk(root: Path) -> list[Path]:
    """All files below `root`, sorted by their names' code points. Links to folders are followed, circles left."""
    paths: list[Path] = []
    seen: set[str] = set()
    for folder, folders, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        paths.extend(Path(folder, name) for name in names)
    return sorted(paths, key=lambda path: path.relative_to(root).parts)


def one_of(paths: Sequence[Path], word: str, kind: str, root: Path) -> Path:
    """The first, if all hold the same bytes. Raises `InputError`: which one is right can't be guessed."""
    for other in paths[1:]:
        if not filecmp.cmp(paths[0], other, shallow=False):
            names = [shown(path.relative_to(root).as_posix()) for path in (paths[0], other)]
            raise InputError(
                f"quickdraw: {names[0]} and {names[1]} are both the {kind} file of {word!r}, and differ",
                "remove the one that is wrong (one may be a download that broke off)",
            )
    return paths[0]
