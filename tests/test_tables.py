"""Tables that people write are read whatever a spreadsheet makes of them, and an error names the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_bench.errors import InputError
from build_bench.raw_sources import tables


def test_blank_lines_marks_and_line_ends_of_any_system_are_no_matter() -> None:
    text = '\ufeffclass,name\r\n\r\n 0000 ,"tea, green"\r\n,,\r\n0001,"two\nlines"\r\n'
    assert list(tables.rows(text, "t")) == [
        (1, ["class", "name"]),
        (3, ["0000", "tea, green"]),
        (6, ["0001", "two\nlines"]),
    ]


@pytest.mark.parametrize("bad", ['0000,"open', f"0000,{'x' * 200_000}", '0000,"a"b'])
def test_a_broken_row_is_named_by_its_line(bad: str) -> None:
    with pytest.raises(InputError, match=r"^t\.csv:\d"):
        list(tables.rows(f"class,name\n{bad}\n", "t.csv"))


@pytest.mark.parametrize("data", [b"caf\xe9", "x".encode("utf-16")])
def test_another_encoding_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match="can't be read") as refused:
        tables.read_text(path)
    assert "UTF-8" in refused.value.hint
