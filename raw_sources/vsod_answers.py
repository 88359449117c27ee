"""`answers.csv`: what people say of each VSOD video. The source annotates neither persons, nor counts, nor events.

    video,question_kind,answer,first,reference,strong
    test_0001,speaker,Captain Nemo,49,12,true

`first` and `reference` are frame numbers as in the files' names. The last three may be empty, or absent as columns:
they are then suggested from the boxes. `build-bench annotate vsod` writes the table to fill in; the columns that it
adds for the reader's eye (`ASIDE`) are not read.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from build_bench.errors import InputError
from build_bench.raw_sources import tables

COLUMNS = ("video", "question_kind", "answer", "first", "reference", "strong")
ASIDE = ("frames", "suggested_first", "suggested_reference", "suggested_strong")
KINDS = SPEAKER, COUNT, EVENT = "speaker", "count", "event"
SAYS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Answer:
    """One row; what people left empty is empty or None."""

    line: int
    kind: str
    answer: str
    first: int | None
    reference: int | None
    strong: bool | None


_NUMBER = re.compile(r"\d{1,6}", re.ASCII)


class Cells(NamedTuple):
    """One row by column, as text."""

    line: int
    texts: Mapping[str, str]


def video_key(split: str, video: str) -> str:
    """A video's name where it tells the split (`test_0001`), as all that have been seen do; else `<split>/<video>`."""
    return video if video.startswith(f"{split}_") else f"{split}/{video}"


def read_cells(path: Path) -> dict[str, Cells]:
    """The rows by `video_key`. Raises `InputError` if this is no such table, or names a video twice."""
    text = unicodedata.normalize("NFC", tables.read_text(path))
    first_line = text.partition("\n")[0]
    separator = ";" if ";" in first_line and "," not in first_line else ","
    found: dict[str, Cells] = {}
    header: list[str] = []
    for line, cells in tables.rows(text, str(path), separator):
        if not header:
            header = _header(path, cells)
            continue
        if len(cells) > len(header):
            raise InputError(
                f"{path}:{line}: {len(cells)} cells, expected {len(header)}",
                'a comma inside an answer needs quotes: "Holmes, Sherlock"',
            )
        texts = dict.fromkeys(COLUMNS, "") | dict(zip(header, cells, strict=False))
        *_, split, video = ("", "", *filter(None, texts["video"].replace("\\", "/").split("/")))
        key = video_key(split, video) if split else video
        if key in found:
            raise InputError(f"{path}:{line}: {key} stands there already, in line {found[key].line}")
        if not video:
            raise InputError(f"{path}:{line}: the row names no video, expected one as test_0001")
        found[key] = Cells(line, _tidy({name: texts[name] for name in COLUMNS} | {"video": key}))
    if not header:
        raise InputError(f"{path}: is empty, expected the header {','.join(COLUMNS)}")
    return found


def _tidy(texts: dict[str, str]) -> dict[str, str]:
    """One spelling of what has several: `Speaker`, `yes`, `0049`. What isn't understood stays for `read_answers`."""
    texts["question_kind"] = texts["question_kind"].lower()
    if texts["strong"].lower() in SAYS:
        texts["strong"] = str(SAYS[texts["strong"].lower()]).lower()
    for column in ("first", "reference"):
        if _NUMBER.fullmatch(texts[column]):
            texts[column] = str(int(texts[column]))
    return texts


def _header(path: Path, cells: list[str]) -> list[str]:
    for name in cells:
        if name not in COLUMNS + ASIDE:
            near = difflib.get_close_matches(name, COLUMNS, n=1)
            raise InputError(
                f"{path}: unknown column {name!r}, expected {','.join(COLUMNS)}",
                f"did you mean {near[0]!r}?" if near else "",
            )
    if lacking := [name for name in COLUMNS[:3] if name not in cells]:
        raise InputError(f"{path}: the column {lacking[0]} is missing, expected {','.join(COLUMNS)}")
    if len(set(cells)) != len(cells):
        raise InputError(f"{path}: a column stands there twice in {','.join(cells)}")
    return cells


def read_answers(path: Path) -> dict[str, Answer]:
    """The rows in which people wrote something, by `video_key`. Raises `InputError` naming the first wrong line."""
    found, problems = {}, []
    for key, (line, texts) in read_cells(path).items():
        if any(texts[name] for name in COLUMNS[1:]):
            try:
                found[key] = _answer(line, texts)
            except ValueError as error:
                problems.append(f"{path}:{line}: {key}: {error}")
    if problems:
        more = f" ({len(problems) - 1} more rows have something to mend)" if len(problems) > 1 else ""
        raise InputError(problems[0] + more, "the columns are explained in build_bench/raw_sources/vsod_answers.py")
    return found


def _answer(line: int, texts: Mapping[str, str]) -> Answer:
    """Raises `ValueError`, saying what was expected."""
    kind, answer = texts["question_kind"], texts["answer"]
    if kind not in KINDS and (kind or answer):
        near = difflib.get_close_matches(kind, KINDS, n=1)
        meant = f", did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"question_kind is {kind!r}, expected speaker, count or event{meant}")
    if texts["strong"] and texts["strong"] not in SAYS:
        raise ValueError(f"strong is {texts['strong']!r}, expected true, false or nothing")
    if answer and kind == COUNT:
        if not re.fullmatch(r"\d{1,5}\.?", answer, re.ASCII) or not int(answer.rstrip(".")):
            raise ValueError(f"answer is {answer!r}, expected a whole number, at least 1")
        answer = str(int(answer.rstrip(".")))
    elif answer and (not answer.strip(". ") or set("{}") & set(answer)):
        raise ValueError(f"answer is {answer!r}, expected a name in words")
    return Answer(line, kind, answer, _frame("first", texts), _frame("reference", texts), SAYS.get(texts["strong"]))


def _frame(column: str, texts: Mapping[str, str]) -> int | None:
    if not texts[column]:
        return None
    if not _NUMBER.fullmatch(texts[column]):
        raise ValueError(f"{column} is {texts[column]!r}, expected the number of a frame, as in its file's name")
    return int(texts[column])


def format_table(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = COLUMNS) -> str:
    """Rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
