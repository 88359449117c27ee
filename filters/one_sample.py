"""Why one sample is in or out: its counts, what each model said, the rule; or why it was never built."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from build_bench import prompting, store
from build_bench.errors import UsageError
from build_bench.filters import inputs as first_inputs
from build_bench.filters import predictions
from build_bench.filters.first_turn import Rule
from build_bench.filters.inputs import FirstTurn, Inputs
from build_bench.filters.predictions import FAILED
from build_bench.store import Work

STALE = "stale"
"""Said of an answer to what the sample showed formerly: it doesn't count."""


def explain(
    work: Work, sample: str, models: Sequence[str], inputs: Mapping[str, Inputs], rule: Rule, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything about one sample. Raises `UsageError`, naming the nearest, if no candidate has that id.

    `kept` and `why` always; for a built sample also `correct`, `models`, `needed`, `prompt`, `right`, and `answers`:
    per model, and per one that doesn't count and said something (`beside`), `counted`, its verdict and text.
    """
    for scenario, shown in inputs.items():
        row = shown.table.filter(pl.col("id") == sample)
        if len(row):
            turn = first_turn_of(work, scenario, sample)
            answers = {model: _answer(work, model, turn, counted=True) for model in models}
            answers |= {name: _answer(work, name, turn, counted=False) for name in beside}
            return _built(turn, answers, rule)
        if sample.startswith(f"{scenario}-") and (why := _rejected(work, scenario, sample)):
            return {"id": sample, "scenario": scenario, "kept": False, "why": why}
    scenario = sample.partition("-")[0]
    known = [name for key, shown in inputs.items() if key == scenario for name in shown.table["id"]]
    known = known or [name for shown in inputs.values() for name in shown.table["id"]]
    near = difflib.get_close_matches(sample, known, n=1)
    example = f"did you mean {near[0]!r}?" if near else f"ids begin with the scenario, as {known[0]!r} does"
    raise UsageError(f"there is no sample {sample!r}", example)


def _rejected(work: Work, scenario: str, sample: str) -> str:
    for rejection in store.read_rejections(work.rejected(scenario)):
        if f"{scenario}-{prompting.slug(rejection.source_key)}" == sample:
            detail = f": {rejection.detail}" if rejection.detail else ""
            return f"rejected at stage {rejection.stage}, {rejection.reason}{detail}"
    return ""


def _answer(work: Work, model: str, turn: FirstTurn, *, counted: bool) -> dict[str, Any]:
    """What a model said of a sample, and whether it counts."""
    path = predictions.path_of(work, model, turn.row["scenario"])
    rows = predictions.read(path, model, turn.row["id"]).to_dicts() if path.exists() else []
    return {"counted": counted, **said([_judged(turn, row) for row in rows], turn.digest)}


def _built(turn: FirstTurn, answers: Mapping[str, Mapping[str, Any]], rule: Rule) -> dict[str, Any]:
    sample, answerable = turn.row["id"], turn.row["first_turn_answerable"]
    given = [one for one in answers.values() if one["counted"] and one["verdict"] not in (FAILED, STALE, None)]
    correct = sum(one["verdict"] == "correct" for one in given)
    return {
        "id": sample,
        "scenario": turn.row["scenario"],
        "kept": not rule.drops(correct, len(given), answerable),
        "why": why(correct, len(given), answerable, rule),
        "correct": correct,
        "models": len(given),
        "needed": rule.needed(len(given)),
        "rule": rule.name,
        "threshold": float(rule.threshold),
        "prompt": turn.prompt,
        "right": turn.row["answer"],
        "crop": list(turn.episode.view.crop),
        "source": dict(turn.row["source"]),
        "answers": {name: one for name, one in answers.items() if one["counted"] or one["verdict"] is not None},
    }


def _judged(turn: FirstTurn, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with the verdict by the rules as they are: its file may not have been judged again yet."""
    if row["verdict"] == FAILED or row["input_digest"] != turn.digest:
        return row
    return {**row, "verdict": first_inputs.judge(turn.row, row["answer"])[0]}


def first_turn_of(work: Work, scenario: str, sample: str) -> FirstTurn:
    """What one built sample shows."""
    return next(first_inputs.first_turns(work, scenario, {sample}))


def said(rows: Sequence[Mapping[str, Any]], digest: str) -> dict[str, Any]:
    """What a model said of the sample that `digest` stands for, of its `rows`: verdict, answer, error."""
    for row in rows:
        if row["input_digest"] == digest:
            error = json.loads(row["runtime"] or "{}").get("error", "") if row["verdict"] == FAILED else ""
            return {"verdict": row["verdict"], "answer": row["answer"], **({"error": error} if error else {})}
    return {"verdict": STALE if rows else None, "answer": rows[-1]["answer"] if rows else None}


def why(correct: int, models: int, answerable: bool, rule: Rule) -> str:
    """What the rule makes of a sample that `correct` of the `models` that answered got right, in words."""
    if not answerable:
        return "kept: at the first turn a right category counts as wrong here, so the rule spares it"
    if not models:
        return "kept: no model has answered it as it is now"
    side = "dropped" if rule.drops(correct, models) else "kept"
    line = f"the line is {rule.needed(models)} of {models} (a share of {float(rule.threshold):g}, {rule.name})"
    return f"{side}: {correct} of {models} models were right at the first turn, {line}"
