"""`predict --import FILE`: others' tables of answers into the cache, as parquet, CSV or JSONL.

All or nothing: one row that can't be used leaves the cache as it was, and the error names the first of them with their
lines. So a table is mended once, and nobody filters on what happened to be readable of it.

columns: model, id, answer; and if they are there verdict (must agree with the answer), input_digest (else the answers
are taken for answers to the samples as they are now), created, runtime. Others are passed over and named, but a column
that looks like a misspelling of these is refused.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from build_bench.errors import InputError, UsageError
from build_bench.filters import predictions
from build_bench.filters.inputs import VERDICTS, Inputs, judge, plan_rows
from build_bench.filters.predictions import Prediction
from build_bench.store import Work

REQUIRED = ("model", "id", "answer")
OPTIONAL = ("verdict", "input_digest", "created", "runtime")
ALIASES = {
    "answer": ("response", "output", "prediction", "text", "completion", "generated_text", "model_answer", "reply"),
    "id": ("sample_id", "sample", "uid", "key", "bench_id", "question_id"),
    "model": ("model_name", "model_id", "name"),
}
SHOWN = 10
"""Problems that an error lists."""
UNKNOWN = "no sample is built that is called "


class Line(NamedTuple):
    """A row of the table and where it stands."""

    number: int
    """The line in a CSV or JSONL file, headings counted; the row in a parquet file. From 1."""
    cells: Mapping[str, Any]


def import_file(work: Work, path: Path, inputs: Mapping[str, Inputs]) -> dict[str, Any]:
    """Add a table to the cache. Returns rows, imported (model -> rows), repeated (rows said twice), stale, passed_over.

    Raises `InputError` naming file and line for what can't be used, `UsageError` for a format that isn't known.
    """
    rows, columns = _read(path)
    unit = "row" if path.suffix == ".parquet" else "line"
    passed_over = _check_columns(path, columns)
    if not rows:
        raise InputError(f"{path} has no rows", f"expected a row per answer: {', '.join(REQUIRED)}")
    scenario_of = {name: scenario for scenario, shown in inputs.items() for name in shown.table["id"]}
    problems = [(line.number, problem) for line in rows for problem in _cell_problems(line.cells, scenario_of)]
    problems[:SHOWN] = [(number, _with_nearest(problem, scenario_of)) for number, problem in problems[:SHOWN]]
    _refuse(path, unit, problems)
    unique, problems = _unique(rows, unit)
    _refuse(path, unit, problems)
    digests = {name: d for shown in inputs.values() for name, d in shown.table.select("id", "input_digest").rows()}
    plans = {}
    for scenario in {scenario_of[line.cells["id"]] for line in unique}:
        plans.update(plan_rows(work, scenario, {line.cells["id"] for line in unique}))
    made: dict[tuple[str, str], list[Prediction]] = {}
    stale = 0
    problems = []
    for line in unique:
        cells = line.cells
        name, text = cells["id"], cells["answer"]
        digest = cells.get("input_digest") or digests[name]
        fits = digest == digests[name]
        verdict, choice = judge(plans[name], text) if fits else (cells.get("verdict") or "unparsed", None)
        if fits and cells.get("verdict") and cells["verdict"] != verdict:
            problems.append((line.number, f"{name}: the answer {text!r} is {verdict}, not {cells['verdict']}"))
        stale += not fits
        runtime = _runtime(cells.get("runtime"), path)
        created = cells.get("created") or predictions.now()
        added = Prediction(name, digest, text, verdict, str(created), runtime, choice)
        made.setdefault((cells["model"], scenario_of[name]), []).append(added)
    _refuse(path, unit, problems)
    for (model, scenario), added_rows in made.items():
        predictions.merge(work, model, scenario, added_rows, inputs[scenario])
    return {
        "file": str(path),
        "rows": len(rows),
        "imported": dict(sorted(Counter(line.cells["model"] for line in unique).items())),
        "repeated": len(rows) - len(unique),
        "stale": stale,
        "passed_over": passed_over,
    }


def _read(path: Path) -> tuple[list[Line], list[str]]:
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

    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        lines = []
        start = 0
        try:
            columns = next(reader, [])
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
                cells = json.loads(text)
            except ValueError as error:
                raise InputError(
                    f"{path}, line {number}: no JSON: {error}", "expected an object on each line"
                ) from error
            if not isinstance(cells, dict):
                raise InputError(f"{path}, line {number}: expected an object, found {type(cells).__name__}")
            lines.append(Line(number, cells))
    return lines, list(dict.fromkeys(name for line in lines for name in line.cells))


def _check_columns(path: Path, columns: Sequence[str]) -> list[str]:
    """The columns that are passed over. Raises `InputError` for one that is absent, or misspelled."""
    others = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
    for wanted in (*REQUIRED, *OPTIONAL):
        if wanted in columns or not columns:
            continue
        alias = _alias(wanted, others)
        if alias or wanted in REQUIRED:
            hint = f"did you mean {alias!r}? rename it to {wanted!r}" if alias else f"it has {', '.join(columns)}"
            raise InputError(f"{path} has no column {wanted!r}", hint)
    return others


def _alias(wanted: str, others: Sequence[str]) -> str:
    known = {name for name in others if name.lower().strip() in (wanted, *ALIASES.get(wanted, ()))}
    near = difflib.get_close_matches(wanted, others, n=1, cutoff=0.75)
    return next((name for name in others if name in known or name in near), "")


def _cell_problems(cells: Mapping[str, Any], scenario_of: Mapping[str, str]) -> Iterator[str]:
    for name in REQUIRED:
        if not isinstance(cells.get(name), str):
            yield f"{name} is {cells.get(name)!r}, expected text"
            return
    if not cells["model"].strip():
        yield "the model has no name"
    if cells["id"] not in scenario_of:
        yield f"{UNKNOWN}{cells['id']!r}"
    verdict = cells.get("verdict")
    if verdict and verdict not in VERDICTS:
        yield f"verdict is {verdict!r}, expected one of {', '.join(VERDICTS)}"
    if not isinstance(cells.get("input_digest") or "", str):
        yield f"input_digest is {cells['input_digest']!r}, expected text"


def _with_nearest(problem: str, known: Iterable[str]) -> str:
    """An unknown id with the nearest that is known: looked for where it is shown, as it takes a while."""
    start, _, name = problem.partition(UNKNOWN)
    near = difflib.get_close_matches(name.strip("'"), list(known), n=1, cutoff=0) if name and not start else []
    return f"{problem}, did you mean {near[0]!r}?" if near else problem


def _unique(lines: Iterable[Line], unit: str) -> tuple[list[Line], list[tuple[int, str]]]:
    """Each answer once; and those that are there twice and differ."""
    seen: dict[tuple[str, str, str], Line] = {}
    problems = []
    for line in lines:
        key = (line.cells["model"], line.cells["id"], line.cells.get("input_digest") or "")
        first = seen.setdefault(key, line)
        if first.cells["answer"] != line.cells["answer"]:
            problems.append((line.number, f"{key[1]}: {key[0]} answered otherwise in {unit} {first.number}"))
    return list(seen.values()), problems


def _runtime(value: Any, path: Path) -> str:
    """`runtime` as JSON: what was given, and where the answer comes from."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except ValueError:
            value = {"note": value}
    known = value if isinstance(value, dict) else {"note": value} if value else {}
    return json.dumps({**known, "imported_from": path.name}, sort_keys=True, default=str)


def _refuse(path: Path, unit: str, problems: Iterable[tuple[int, str]]) -> None:
    found = list(problems)
    if found:
        listed = "\n    ".join(f"{unit} {number}: {problem}" for number, problem in found[:SHOWN])
        more = f"\n    and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
        raise InputError(f"{path} can't be imported:\n    {listed}{more}", "mend or remove these; nothing was imported")
