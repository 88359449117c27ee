"""The audit as lines for a terminal and as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from build_bench import store
from build_bench.filters.audit import PAPER
from build_bench.filters.comparing import STANDS
from build_bench.filters.inputs import VERDICTS

ALL = "all"
SPARED = "at the first turn a right category counts as wrong here: nothing is correct, and the rule drops nothing"
_GAPS = 10
"""Listed in a terminal."""


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "-" if share is None else f"{share:.1%}"


def letter(place: int) -> str:
    """The letter that a place is shown with."""
    return chr(ord("A") + place)


def called(model: str, report: dict[str, Any]) -> str:
    """A model's name, with what it is if it is none."""
    what = " (a baseline)" if model in report["baselines"] else " (a person)" if model in report["people"] else ""
    return f"{model}{what}"


def models_line(report: dict[str, Any]) -> str:
    """Who counts, baselines and people called so, who is shown but doesn't count, and who is left out."""
    asked = report["models"]
    names, beside = (", ".join(called(model, report) for model in report[key]) for key in ("models", "beside"))
    only = (
        ""
        if set(asked) - {*report["baselines"], *report["people"]}
        else " No real model among them: nothing is said about how hard the samples are."
    )
    others = f" Shown, but not counted: {beside}." if beside else ""
    left_out = f" Left out: {', '.join(report['left_out'])}." if report["left_out"] else ""
    return f"Counted: {names}.{only}{others}{left_out}"


def thresholds(report: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """How many samples some thresholds keep: a row per scenario and one for all, after a row of headings."""
    yield ("kept at", *(f"{line:.3g}" for line, _, _ in report["all"]["thresholds"]))
    for name, facts in [*report["scenarios"].items(), (ALL, report["all"])]:
        yield (name, *(f"{kept:,}" for _, kept, _ in facts["thresholds"]))


def summary(report: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row per scenario and one for all, after a row of headings."""
    yield ("scenario", "samples", "kept", "right at first", "of those kept", "paper: before", "after")
    for name, facts in [*report["scenarios"].items(), (ALL, report["all"])]:
        counts = [facts["total"], facts["kept"]]
        shares = [facts["first_turn_accuracy"], facts["kept_first_turn_accuracy"]]
        paper = [facts["paper"].get(side) for side in ("before", "after")]
        yield (
            name,
            *(f"{count:,}" for count in counts),
            *map(percent, shares),
            *("-" if count is None else f"{count:,}" for count in paper),
        )


def lines(report: dict[str, Any]) -> Iterator[str]:
    """The report in a terminal."""
    line = f"at least {report['threshold']:g} of those counted get right at first sight"
    yield f"Rule {report['rule']}: dropped is what {line}."
    yield models_line(report)
    gaps = report["gaps"]
    yield from (f"counted only where it answered: {gap}" for gap in gaps[:_GAPS])
    if len(gaps) > _GAPS:
        yield f"and {len(gaps) - _GAPS:,} more gaps: audit.json has them all"
    yield ""
    yield from aligned(summary(report))
    yield f"In the paper {percent(PAPER['before'])} were right at first before, {percent(PAPER['after'])} after."
    yield ""
    yield from aligned(thresholds(report))
    for name, facts in [*report["scenarios"].items(), (ALL, report["all"])]:
        yield ""
        yield f"{name}:"
        yield from ("    " + line for line in aligned(models_table(facts, report)))
        for rows in people_tables(facts, report):
            yield ""
            yield from ("    " + line for line in aligned(rows))
        if facts["spared"] == facts["total"]:
            yield f"    {SPARED}"
        elif name != ALL:
            near = [f"{s['id']} ({s['correct']}/{s['models']})" for side in facts["nearest"].values() for s in side[:2]]
            yield f"    nearest to the line: {', '.join(near) or 'none'}"


def models_table(facts: dict[str, Any], report: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """What each model answered and how many samples change sides by it; who doesn't count changes none."""
    yield ("model", "answered", *VERDICTS, "dropped only with it", "kept only with it")
    for model, found in [*facts["models"].items(), *facts["beside"].items()]:
        change = facts["without"].get(model)
        sides = [f"{change['to_kept']:,}", f"{change['to_dropped']:,}"] if change else ["-", "-"]
        shares = [percent(found["verdicts"][verdict]) for verdict in VERDICTS]
        yield (called(model, report), f"{found['answered']:,}", *shares, *sides)


def people_tables(facts: dict[str, Any], report: dict[str, Any]) -> Iterator[list[tuple[str, ...]]]:
    """For each person: everyone on the samples that this person answered."""
    for person, counts in facts["people"].items():
        if counts[person][0]:
            rows = [
                (called(name, report), f"{answered:,}", percent(correct / answered if answered else None))
                for name, (answered, correct) in counts.items()
            ]
            yield [(f"on what {person} answered", "answered", "correct"), *rows]


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as columns of text: the first to the left, numbers to the right."""
    table = [tuple(row) for row in rows]
    first, *others = ([len(cell) for cell in column] for column in zip(*table, strict=True))
    return [
        "  ".join([name.ljust(max(first)), *(cell.rjust(max(w)) for cell, w in zip(cells, others, strict=True))])
        for name, *cells in table
    ]


def sample_lines(found: dict[str, Any]) -> Iterator[str]:
    """Why one sample is in or out."""
    yield f"{found['id']}: {found['why']}"
    if "prompt" in found:
        yield from ("    " + line for line in found["prompt"].splitlines())
        yield f"    right: {found['right']}"
        for model, said in found["answers"].items():
            text = (
                said["error"].removeprefix("failed: ") if "error" in said else said["answer"] and repr(said["answer"])
            )
            yield f"    {model}{aside(said)}: {verdict_of(said)}  {text or ''}".rstrip()


def verdict_of(said: dict[str, Any]) -> str:
    """What came of asking a model about a sample, in a word."""
    return "missing" if said["verdict"] is None else said["verdict"] or "failed"


def aside(said: dict[str, Any]) -> str:
    """What stands behind the name of who doesn't count."""
    return "" if said["counted"] else " (not counted)"


def tables(report: dict[str, Any]) -> dict[str, list[Sequence[Any]]]:
    """File name -> rows, the first of them headings."""
    curves: list[Sequence[Any]] = [("scenario", "threshold", "kept", "accuracy_of_kept")]
    models: list[Sequence[Any]] = [
        ("scenario", "model", "baseline", "counted", "answered", *VERDICTS, "without_it_kept", "without_it_dropped")
    ]
    places: list[Sequence[Any]] = [("scenario", "place", "stands_there", "offered", "chosen")]
    near: list[Sequence[Any]] = [("scenario", "side", "id", "correct", "models")]
    agreement: list[Sequence[Any]] = [("scenario", "model", "other", "agreement")]
    for name, facts in [(ALL, report["all"]), *report["scenarios"].items()]:
        curves += [(name, *point) for point in facts["curve"]]
        for model, found in [*facts["models"].items(), *facts["beside"].items()]:
            change = facts["without"].get(model, {"to_kept": None, "to_dropped": None}).values()
            what = (model in report["baselines"], model in report["models"])
            models.append((name, model, *what, found["answered"], *found["verdicts"].values(), *change))
    for name, facts in report["scenarios"].items():
        for at in facts["places"]:
            what = STANDS.get(at["stands_there"], at["stands_there"])
            places.append((name, letter(at["place"]), what, at["offered"], at["chosen"]))
        near += [(name, side, *sample.values()) for side, found in facts["nearest"].items() for sample in found]
        pairs = zip(facts["models_asked"], facts["agreement"], strict=True)
        agreement += [
            (name, m, other, value) for m, row in pairs for other, value in zip(facts["models_asked"], row, strict=True)
        ]
    named = {"curves": curves, "models": models, "places": places, "nearest": near, "agreement": agreement}
    return {f"audit_{name}.csv": rows for name, rows in named.items()}


def write_csv(folder: Path, report: dict[str, Any]) -> list[Path]:
    """Write the tables into `folder`; returns their paths."""
    paths = []
    for name, rows in tables(report).items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        store.write_bytes(folder / name, text.getvalue().encode())
        paths.append(folder / name)
    return paths
