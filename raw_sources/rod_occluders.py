"""What the occluder codes in ROD's file names mean: our table, overridden row by row by raw/rod/occluders.csv."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from build_bench import manifests
from build_bench.errors import InputError
from build_bench.raw_sources import tables

OURS = "annotations/rod_occluders.csv"
COLUMNS = ["code", "phrase"]

_PHRASE = re.compile(r"[A-Za-z][A-Za-z0-9'-]*( [A-Za-z0-9'-]+)*")
_SPOKEN_FOR = ("cannot", "do not", "to the left", "to the right")
"""What the evaluator tells options by must not come from a phrase."""


def occluders(theirs: Path) -> dict[str, str]:
    """Code -> phrase, as in "Move the <phrase> to the left.". Raises `InputError` naming the line of a bad row."""
    table = _read(manifests.text(OURS), OURS)
    if theirs.is_file():
        table |= _read(tables.read_text(theirs), str(theirs))
    return table


def _read(text: str, name: str) -> dict[str, str]:
    rows = tables.rows(text, name)
    if next(rows, (1, []))[1] != COLUMNS:
        raise InputError(f"{name}: the first line must be {','.join(COLUMNS)}", "add it")
    table: dict[str, str] = {}
    for line, cells in rows:
        where = f"{name}:{line}"
        if len(cells) != 2 or not all(cells):
            raise InputError(f"{where}: a code and a phrase expected, found {cells}", "as in bluebl,blue blocks")
        code, phrase = cells
        if not _PHRASE.fullmatch(phrase) or any(words in phrase.lower() for words in _SPOKEN_FOR):
            raise InputError(
                f"{where}: {phrase!r} can't be put into an option", "a few words without punctuation, as in blue blocks"
            )
        if table.setdefault(code, phrase) != phrase:
            raise InputError(f"{where}: {code} is both {table[code]!r} and {phrase!r}", "keep one of the two")
    return table


def check(table: dict[str, str], used: Iterable[tuple[str, str]], theirs: Path) -> None:
    """Raise `InputError` that names every code of `used` (code, a file that has it) of which the table says nothing."""
    unknown: dict[str, str] = {}
    for code, example in used:
        if code not in table:
            unknown.setdefault(code, example)
    if unknown:
        listed = ", ".join(f"{code} (as in {example})" for code, example in sorted(unknown.items()))
        raise InputError(
            f"rod: no words for the occluder codes {listed}",
            f"look at them and write a line for each into {theirs}, below the first line {','.join(COLUMNS)}: "
            f"{min(unknown)},red cardboard (if that is what it is)",
        )
