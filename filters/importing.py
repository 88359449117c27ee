"""`predict --import FILE`: others' tables of answers into the cache, as parquet, CSV or JSONL.

All or nothing: one row that can't be used leaves the cache as it was, and the error names the first of them with their
lines. So a table is mended once, and nobody filters on what happened to be readable of it.

columns: model, id, answer; and if they are there verdict (must agree with the answer), input_digest (else the answers
are taken for answers to the samples as they are now), created, runtime. Others are passed over and named, but a column
that looks like a misspelling of these is refused. A row with neither answer nor verdict, as the cache itself has it, or
with an `error` in its runtime instead, is a failure: never wrong, and asked for again.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from build_bench.answers import UNPARSED
from build_bench.errors import InputError, UsageError
from build_bench.filters import predictions, tables
from build_bench.filters.inputs import VERDICTS, Inputs, judge, plan_rows
from build_bench.filters.keep_list import PERSON
from build_bench.filters.predictions import FAILED, Prediction
from build_bench.filters.tables import OPTIONAL, REQUIRED, Line
from build_bench.store import Work

SHOWN = 10
"""Problems that an error lists."""
UNKNOWN = "no sample is built that is called "

_DIGEST = re.compile("[0-9a-f]{12}")

Problems = list[tuple[int, str]]
"""Line or row, and what is wrong with it."""
Made = dict[tuple[str, str], list[Prediction]]
"""(model, scenario) -> what comes into their file."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table as the cache will have it."""

    number: int
    model: str
    said: str
    """The verdict that the table gives; empty if it gives none."""
    made: Prediction


def import_file(work: Work, path: Path, inputs: Mapping[str, Inputs], *, replace: bool = False) -> dict[str, Any]:
    """Add a table to the cache. Returns rows, imported (model -> answers), failed, repeated (rows said twice), stale,
    changed (model -> samples that changed since the cache had the very same answer, where no digest tells which it is
    to), passed_over. `replace`: its answers take the place of others that the cache has of these models.

    Raises `InputError` naming file and line for what can't be used, `UsageError` for a format that isn't known.
    """
    lines, columns = tables.read(path)
    unit = "row" if path.suffix == ".parquet" else "line"
    passed_over = tables.check_columns(path, columns)
    if not lines:
        raise InputError(f"{path} has no rows", f"expected a row per answer: {', '.join(REQUIRED)}")
    scenario_of = {name: scenario for scenario, shown in inputs.items() for name in shown.table["id"]}
    problems = [(line.number, problem) for line in lines for problem in _cell_problems(line.cells, scenario_of)]
    problems[:SHOWN] = [(number, _with_nearest(problem, scenario_of)) for number, problem in problems[:SHOWN]]
    _refuse(path, unit, problems)
    digests = {name: d for shown in inputs.values() for name, d in shown.table.select("id", "input_digest").rows()}
    rows, problems = _judged(work, lines, scenario_of, digests, path.name)
    unique, differing = _unique(rows, unit)
    once = "a model answers a sample once: several splits, configs or runs in one table repeat ids" if differing else ""
    _refuse(path, unit, sorted(problems + differing), once)
    made: Made = {}
    for row in unique:
        made.setdefault((row.model, scenario_of[row.made.id]), []).append(row.made)
    _check_files(work, path, made, inputs, replace)
    dated = "input_digest" in columns
    changed = {} if dated else _same_as_before(work, made)
    for (model, scenario), added in made.items():
        predictions.merge(work, model, scenario, added, inputs[scenario])
    answered = Counter({row.model: 0 for row in unique})
    answered.update(row.model for row in unique if row.made.verdict != FAILED)
    return {
        "file": str(path),
        "rows": len(lines),
        "imported": dict(sorted(answered.items())),
        "failed": len(unique) - answered.total(),
        "repeated": len(lines) - len(unique),
        "changed": changed,
        "stale": sum(row.made.input_digest != digests[row.made.id] for row in unique),
        "passed_over": passed_over,
    }


def _judged(
    work: Work, lines: Iterable[Line], scenario_of: Mapping[str, str], digests: Mapping[str, str], source: str
) -> tuple[list[_Row], Problems]:
    """The rows judged, and those whose own verdict contradicts."""
    ids: dict[str, set[str]] = {}
    for line in lines:
        ids.setdefault(scenario_of[line.cells["id"]], set()).add(line.cells["id"])
    plans = {name: row for scenario, wanted in ids.items() for name, row in plan_rows(work, scenario, wanted).items()}
    rows, problems = [], []
    for line in lines:
        name, text, said = line.cells["id"], line.cells["answer"], line.cells.get("verdict") or ""
        made = _prediction(line.cells, plans[name], digests[name], source)
        if said and said != made.verdict:
            problems.append((line.number, f"{name}: the answer {text!r} is {made.verdict}, not {said}"))
        rows.append(_Row(line.number, _called(line.cells), said, made))
    return rows, problems


def _called(cells: Mapping[str, Any]) -> str:
    """The model's name; a person's is marked as one, whatever this person wrote."""
    name = str(cells["model"])
    is_person = _runtime(cells.get("runtime")).get("person") is True
    return f"{PERSON}{name}" if is_person and not name.startswith(PERSON) else name


def _same_as_before(work: Work, made: Made) -> dict[str, int]:
    """Model -> samples that the cache has only the same answer to, given when they showed something else."""
    found: Counter[str] = Counter()
    for (model, scenario), added in made.items():
        file = predictions.path_of(work, model, scenario)
        if file.exists():
            there: dict[str, dict[str, str]] = {}
            for name, digest, text in predictions.read(file, model).select("id", "input_digest", "answer").rows():
                there.setdefault(name, {})[digest] = text
            found[model] += sum(
                row.verdict != FAILED
                and row.input_digest not in there.get(row.id, {})
                and row.answer in there.get(row.id, {}).values()
                for row in added
            )
    return {model: count for model, count in sorted(found.items()) if count}


def _prediction(cells: Mapping[str, Any], plan: Mapping[str, Any], now: str, source: str) -> Prediction:
    """`now`: the digest of what the sample shows. An answer to what it showed formerly can't be judged: it keeps the
    verdict that it comes with, and is judged should that come back."""
    text, said, digest = cells["answer"], cells.get("verdict") or "", cells.get("input_digest") or now
    runtime = _runtime(cells.get("runtime"))
    choice = None
    if not text and not said and ("verdict" in cells or runtime.get("error")):
        verdict = FAILED
        runtime.setdefault("error", "it came without an answer")
    elif digest == now:
        verdict, choice = judge(plan, text)
    else:
        verdict = said or UNPARSED
    recorded = json.dumps({**runtime, "imported_from": source}, sort_keys=True, default=str)
    created = str(cells.get("created") or predictions.now())
    return Prediction(str(cells["id"]), digest, text, verdict, created, recorded, choice)


def _cell_problems(cells: Mapping[str, Any], scenario_of: Mapping[str, str]) -> Iterator[str]:
    for name in REQUIRED:
        if not isinstance(cells.get(name), str):
            yield f"{name} is {tables.cut(repr(cells.get(name)))}, expected text"
            return
    for name in (*REQUIRED, *OPTIONAL):
        if isinstance(text := cells.get(name), str) and not _is_unicode(text):
            yield f"{name} is {tables.cut(repr(text))}: half a character, no Unicode"
            return
    yield from _name_problems(cells["model"])
    try:
        predictions.folder_name(_called(cells))
    except UsageError as error:
        yield error.message
    if cells["id"] not in scenario_of:
        yield f"{UNKNOWN}{tables.cut(repr(cells['id']))}"
    verdict = cells.get("verdict")
    if verdict and verdict not in VERDICTS:
        yield f"verdict is {tables.cut(repr(verdict))}, expected one of {', '.join(VERDICTS)}"
    digest = cells.get("input_digest") or ""
    if not (isinstance(digest, str) and (not digest or _DIGEST.fullmatch(digest))):
        yield f"input_digest is {tables.cut(repr(digest))}, expected 12 hex digits, as predict --export gives them"


def _name_problems(model: str) -> Iterator[str]:
    """A name goes to terminals, pages and the card: what can't be seen there is no part of one."""
    if not model.strip():
        yield "the model has no name"
    elif model != model.strip():
        yield f"the model's name {tables.cut(repr(model))} begins or ends with a space"
    elif not model.isprintable():
        yield f"the model's name {tables.cut(ascii(model))} has a character that can't be shown"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _with_nearest(problem: str, known: Iterable[str]) -> str:
    """An unknown id with the nearest that is known: looked for where it is shown, as it takes a while."""
    start, _, name = problem.partition(UNKNOWN)
    near = difflib.get_close_matches(name.strip("'"), list(known), n=1) if name and not start else []
    return f"{problem}, did you mean {near[0]!r}?" if near else problem


def _unique(rows: Iterable[_Row], unit: str) -> tuple[list[_Row], Problems]:
    """Each answer once, failures only where there is none; and those that are there twice and differ."""
    seen: dict[tuple[str, str, str], _Row] = {}
    problems = []
    for row in rows:
        key = (row.model, row.made.id, row.made.input_digest)
        first = seen.setdefault(key, row)
        if first.made.verdict == FAILED:
            seen[key] = row
        elif row.made.verdict != FAILED:
            if first.made.answer != row.made.answer:
                problems.append((row.number, f"{row.made.id}: {row.model} answered otherwise in {unit} {first.number}"))
            elif first.said and row.said and first.said != row.said:
                problems.append((row.number, f"{row.made.id}: judged otherwise in {unit} {first.number}"))
            elif row.said:
                seen[key] = row
    return list(seen.values()), problems


def _check_files(work: Work, path: Path, made: Made, inputs: Mapping[str, Inputs], replace: bool) -> None:
    """Raise `InputError` for a file of the cache that is broken or that has other answers, before any is written."""
    otherwise = []
    for (model, scenario), added in made.items():
        file = predictions.path_of(work, model, scenario)
        if file.exists():
            predictions.settle(work, model, scenario, inputs[scenario])
            there = predictions.read(file, model).filter(pl.col("verdict") != FAILED)
            answers = {
                (name, digest): text for name, digest, text in there.select("id", "input_digest", "answer").rows()
            }
            otherwise += [
                f"{row.id} by {model}"
                for row in added
                if row.verdict != FAILED and answers.get((row.id, row.input_digest), row.answer) != row.answer
            ]
    if otherwise and not replace:
        more = f" and {len(otherwise) - SHOWN:,} more" if len(otherwise) > SHOWN else ""
        raise InputError(
            f"{path} can't be imported: {len(otherwise):,} are answered otherwise in the cache: "
            f"{', '.join(otherwise[:SHOWN])}{more}",
            "nothing was imported; --refresh replaces those answers",
        )


def _runtime(value: Any) -> dict[str, Any]:
    """`runtime` as a table has it: an object, JSON of one, or a note."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = {"note": value}
    return dict(value) if isinstance(value, dict) else {"note": value} if value else {}


def _refuse(path: Path, unit: str, problems: Problems, why: str = "") -> None:
    if problems:
        listed = "\n    ".join(f"{unit} {number}: {problem}" for number, problem in problems[:SHOWN])
        more = f"\n    and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
        hint = "mend or remove these; nothing was imported"
        raise InputError(f"{path} can't be imported:\n    {listed}{more}", f"{why}; {hint}" if why else hint)
