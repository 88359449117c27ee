"""How models compare on one scenario: what they answer, agree on and choose, and how the keep list hangs on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from build_bench.answers import CORRECT, WRONG
from build_bench.filters import first_turn
from build_bench.filters.first_turn import ANSWERED, RIGHT, Rule
from build_bench.filters.inputs import VERDICTS, Inputs
from build_bench.filters.keep_list import PERSON, Marked
from build_bench.filters.predictions import FAILED

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]

NEAREST = 10
"""Samples listed on each side of the line."""


def chosen(marked: Marked) -> pl.DataFrame:
    """model, verdict, choice, answers: how often each model came to each verdict by each place, on the samples as they
    are."""
    shown = marked.inputs.table.lazy().select("id", "input_digest")
    parts = []
    for file in marked.files.values():
        said = pl.scan_parquet(file.path, glob=False)
        fresh = said.head(len(marked.inputs.table)) if file.complete else said.join(shown, on=["id", "input_digest"])
        parts.append(fresh.select("model", "verdict", "choice"))
    if not parts:
        return pl.DataFrame(schema={"model": pl.String, "verdict": pl.String, "choice": pl.Int32, "answers": pl.UInt32})
    grouped = pl.concat(parts).filter(pl.col("verdict") != FAILED).group_by("model", "verdict", "choice")
    return grouped.agg(answers=pl.len()).sort(pl.all()).collect(engine="streaming")


def by_model(answers: pl.DataFrame, models: Sequence[str]) -> dict[str, Any]:
    """Model -> answered, accuracy, and the share of its answers that each verdict has."""
    counts = {(m, v): n for m, v, n in answers.group_by("model", "verdict").agg(pl.col("answers").sum()).rows()}
    found = {}
    for model in models:
        given = sum(counts.get((model, verdict), 0) for verdict in VERDICTS)
        shares = {verdict: counts.get((model, verdict), 0) / given if given else None for verdict in VERDICTS}
        found[model] = {"answered": given, "accuracy": shares[CORRECT], "verdicts": shares}
    return found


def places(answers: pl.DataFrame, inputs: Inputs, counts: pl.DataFrame) -> list[dict[str, Any]]:
    """Is the order fair? Per place (0 is A) and what stood there (`right`, `wrong`, or an option's kind): how often it
    was offered, over samples and models, and how often chosen."""
    by_verdict = answers.group_by("verdict", "choice").agg(pl.col("answers").sum()).rows()
    picked = {(verdict, place): number for verdict, place, number in by_verdict if place is not None}
    shown = inputs.table.select("right", "outcomes", "first_turn_answerable", given=counts["models"])
    offered = (
        shown.with_columns(place=pl.int_ranges(pl.col("outcomes").list.len()))
        .explode("outcomes", "place", empty_as_null=True, keep_nulls=True)
        # Where a right category is wrong at the first turn (ROD's), being chosen doesn't tell it from the others.
        .group_by("place", outcome="outcomes")
        .agg(pl.col("given").sum())
        .sort("place", "outcome")
    )
    return [
        {"place": place, "stands_there": outcome, "offered": given, "chosen": picked.get((outcome, place), 0)}
        for place, outcome, given in offered.rows()
    ]


def without_each(marks: pl.DataFrame, models: Sequence[str], rule: Rule) -> dict[str, dict[str, int]]:
    """Model -> how many samples would change sides if it had not been asked: `to_kept`, `to_dropped`."""
    matrix = _matrix(marks, models)
    answerable = marks["first_turn_answerable"].to_numpy()
    needed = np.array([rule.needed(number) for number in range(len(models) + 1)])
    right, answered = matrix == RIGHT, matrix >= ANSWERED
    correct, asked = right.sum(axis=1), answered.sum(axis=1)

    def dropped(correct: Numbers, asked: Numbers) -> Flags:
        return answerable & (asked > 0) & (correct >= needed[asked])

    now = dropped(correct, asked)
    found = {}
    for place, model in enumerate(models):
        then = dropped(correct - right[:, place], asked - answered[:, place])
        found[model] = {"to_kept": int((now & ~then).sum()), "to_dropped": int((then & ~now).sum())}
    return found


def by_people(marks: pl.DataFrame, asked: Sequence[str]) -> dict[str, dict[str, list[int]]]:
    """Person -> of the samples that this person answered, for each that was asked (the person first): how many were
    answered, and how many of them right. So people and models are compared on the same samples."""
    people = [name for name in asked if name.startswith(PERSON)]
    if not people:
        return {}
    matrix = _matrix(marks, asked)
    found = {}
    for person in people:
        same = matrix[matrix[:, asked.index(person)] >= ANSWERED]
        counts = {
            name: [int((same[:, at] >= ANSWERED).sum()), int((same[:, at] == RIGHT).sum())]
            for at, name in enumerate(asked)
        }
        found[person] = {person: counts[person], **counts}
    return found


def people_in_all(scenarios: Sequence[Mapping[str, Mapping[str, Sequence[int]]]]) -> dict[str, dict[str, list[int]]]:
    """`by_people` of several scenarios, added up."""
    found: dict[str, dict[str, list[int]]] = {}
    for by_person in scenarios:
        for person, counts in by_person.items():
            into = found.setdefault(person, {})
            for name, (answered, correct) in counts.items():
                before = into.get(name, [0, 0])
                into[name] = [before[0] + answered, before[1] + correct]
    return found


def agreement(marks: pl.DataFrame, models: Sequence[str]) -> list[list[float | None]]:
    """For each two models the share of samples, among those both answered, that both or neither got right."""
    matrix = _matrix(marks, models).T  # as bits: matrix products start threads, which cost more than they give here
    right, wrong = np.packbits(matrix == RIGHT, axis=1), np.packbits(matrix == ANSWERED, axis=1)
    rows: list[list[float | None]] = []
    for place in range(len(models)):
        same = _shared(right[place], right) + _shared(wrong[place], wrong)
        both = _shared(right[place] | wrong[place], right | wrong)
        rows.append([int(s) / int(b) if b else None for s, b in zip(same, both, strict=True)])
    return rows


def _shared(bits: Bits, others: Bits) -> Numbers:
    """How many bits `bits` has in common with each row of `others`."""
    shared: Numbers = np.bitwise_count(bits & others).sum(axis=1, dtype=np.int64)
    return shared


def _matrix(marks: pl.DataFrame, models: Sequence[str]) -> Bits:
    """Samples x models."""
    if not models:
        return np.zeros((len(marks), 0), np.uint8)
    return marks.select([f"mark{place}" for place in range(len(models))]).to_numpy()


def nearest(counts: pl.DataFrame, rule: Rule) -> dict[str, list[dict[str, Any]]]:
    """The samples nearest to the line on each side: those that another model or two would move."""
    open_to_it = counts.filter("first_turn_answerable", pl.col("models") > 0)
    judged = open_to_it.with_columns(
        first_turn.kept(open_to_it, rule),
        distance=(pl.col("correct") / pl.col("models") - float(rule.threshold)).abs(),
    ).sort("distance", "id")
    return {
        side: judged.filter(pl.col("kept") == is_kept).head(NEAREST).select("id", "correct", "models").to_dicts()
        for side, is_kept in (("kept", True), ("dropped", False))
    }


STANDS = {CORRECT: "the right answer", WRONG: "another category"}
"""What to call an outcome when it is what stands at a place."""
