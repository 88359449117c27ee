"""Others' tables as they lie on disk: parquet, CSV or JSONL into rows with their places."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from build_bench.errors import InputError, UsageError

REQUIRED = ("model", "id", "answer")
OPTIONAL = ("verdict", "input_digest", "created", "runtime")
ALIASES = {
    "answer": ("response", "output", "prediction", "text", "completion", "generated_text", "model_answer", "reply"),
    "id": ("sample_id", "sample", "uid", "key", "bench_id", "question_id"),
    "model": ("model_name", "model_id", "name"),
}
_LONGEST_CELL = min(sys.maxsize, 2**31 - 1)
"""Of a CSV: a C long, and those have 32 bits on some systems."""


_SHOWN = 80
"""Characters of a cell that an error shows."""


def cut(text: str) -> str:
    """A text as an error shows it: a cell may have millions of characters."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"


class Line(NamedTuple):
    """A row of the table and where it stands."""

    number: int
    """The line in a CSV or JSONL file, headings counted; the row in a parquet file. From 1."""
    cells: Mapping[str, Any]


def read(path: Path) -> tuple[list[Line], list[str]]:
    """The rows and the columns of a file. Raises `InputError` if it can't be read as what its name says."""
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(readers)}")
    if not path.is_file():
        raise InputError(f"{path} is not there", "name the file with the answers")
    try:
        return readers[path.suffix](path)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}", f"expected {path.suffix[1:].upper()} in UTF-8") from error


def _read_parquet(path: Path) -> tuple[list[Line], list[str]]:
    frame = pl.read_parquet(path, glob=False)
    return [Line(number, row) for number, row in enumerate(frame.iter_rows(named=True), 1)], frame.columns


def _read_csv(path: Path) -> tuple[list[Line], list[str]]:
    """Read by `csv`, which counts lines: an answer may have several."""
    import csv

    csv.field_size_limit(_LONGEST_CELL)  # an answer may be as long as it likes
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        lines = []
        start = 0
        try:
            columns = next(reader, [])
            if twice := [name for name in (*REQUIRED, *OPTIONAL) if columns.count(name) > 1]:
                raise InputError(f"{path} has two columns {twice[0]!r}", "leave one of them")
            start = reader.line_num
            for cells in reader:
                if cells and len(cells) != len(columns):
                    raise InputError(f"{path}, line {start + 1}: {len(cells)} cells, {len(columns)} expected")
                if cells:
                    lines.append(Line(start + 1, dict(zip(columns, cells, strict=True))))
                start = reader.line_num
        except csv.Error as error:
            raise InputError(f"{path}, line {start + 1}: {error}", "expected CSV with a heading") from error
    return lines, columns


def _read_jsonl(path: Path) -> tuple[list[Line], list[str]]:
    lines = []
    for number, text in enumerate(path.read_bytes().split(b"\n"), 1):
        if text.strip():
            try:
                cells = json.loads(text, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{path}, line {number}: no JSON: {error}", "expected an object on each line"
                ) from error
            if not isinstance(cells, dict):
                raise InputError(f"{path}, line {number}: expected an object, found {type(cells).__name__}")
            lines.append(Line(number, cells))
    return lines, list(dict.fromkeys(name for line in lines for name in line.cells))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises `ValueError` for a key that is there twice: one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def check_columns(path: Path, columns: Sequence[str]) -> list[str]:
    """The columns that are passed over. Raises `InputError` for one that is absent, or misspelled."""
    others = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    for wanted in (*REQUIRED, *OPTIONAL):
        if wanted in columns or not columns:
            continue
        alias = _alias(wanted, others)
        if alias or wanted in REQUIRED:
            has = ", ".join(map(cut, columns))
            hint = f"did you mean {cut(repr(alias))}? rename it to {wanted!r}" if alias else f"it has {has}"
            raise InputError(f"{path} has no column {wanted!r}", hint)
    return [cut(name) for name in others]


def _alias(wanted: str, others: Sequence[str]) -> str:
    known = {name for name in others if name.lower().strip() in (wanted, *ALIASES.get(wanted, ()))}
    near = difflib.get_close_matches(wanted, others, n=1, cutoff=0.75)
    return next((name for name in others if name in known or name in near), "")
