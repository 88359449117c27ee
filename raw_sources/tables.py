"""Tables that people write, as CSV: whatever a spreadsheet makes of them, an error names file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from build_bench.errors import InputError

LONGEST_CELL = 128 << 10
"""Characters. What is longer is a quote that doesn't close."""


def read_text(path: Path) -> str:
    """The text of a table; a byte order mark is dropped. Raises `InputError` if it isn't UTF-8, or can't be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: can't be read: {error}", 'save it as UTF-8 (a spreadsheet calls it "CSV UTF-8")'
        ) from error


def rows(text: str, name: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """(line, cells without outer spaces) of every line that isn't blank, the header first; the line is a row's last.

    `name` stands in the error, an `InputError`, where quotes don't close or a cell is longer than 128 KiB.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if max(map(len, row), default=0) > LONGEST_CELL:
                raise csv.Error(f"a cell is longer than {LONGEST_CELL:,} characters")
            if any(cells := [cell.strip() for cell in row]):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{name}:{reader.line_num}: {error}", "mend the quotes of that row") from error
