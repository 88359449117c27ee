"""`audit`: what any threshold would keep, what the keep list hangs on, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from build_bench import manifests
from build_bench.filters import comparing, coverage, first_turn, keep_list, sweep
from build_bench.filters.first_turn import Rule
from build_bench.filters.inputs import Inputs
from build_bench.filters.keep_list import BASELINE, Marked
from build_bench.store import Work

DEFAULT_RANGE = "0:1:0.01"
PAPER = {"before": 0.325, "after": 0.064}
"""First-turn accuracy over all samples, before and after the filter (paper, section 3.3)."""


def audit(
    work: Work, models: Sequence[str], inputs: Mapping[str, Inputs], rule: Rule, at: Sequence[Fraction]
) -> dict[str, Any]:
    """The report of contract section 9 and more; plain values, `--json` prints it as it is.

    Each scenario has `total`, `kept`, `first_turn_accuracy`, `kept_first_turn_accuracy`, `curve` ([threshold, kept,
    their accuracy]), `paper`, `models` (answered, accuracy, verdicts), `without` (leave one out), `agreement` (rows,
    columns as `models_asked`), `places`, `nearest`; `all` has the first five over all scenarios. Raises `InputError`
    for a prediction file that is broken.
    """
    histograms, scenarios = {}, {}
    full = True
    expected = manifests.table("expected.toml")
    for scenario, shown in inputs.items():
        marked = keep_list.mark(work, models, scenario, shown)
        marks = marked.table.collect(engine="streaming")
        counts = first_turn.tally(marks.lazy(), len(marked.files)).collect()
        full = full and bool((counts["models"] == len(models)).all())
        histograms[scenario] = first_turn.histogram(counts)
        scenarios[scenario] = {
            **_swept(histograms[scenario], rule, at),
            "paper": dict(expected.get(scenario, {})),
            **_compared(marked, marks, counts, rule),
        }
    return {
        "rule": rule.name,
        "threshold": float(rule.threshold),
        "models": list(models),
        "baselines": [model for model in models if model.startswith(BASELINE)],
        "gaps": [] if full else coverage.gaps(coverage.table(work, models, inputs)),
        "all": {**_swept(sweep.total(list(histograms.values())), rule, at), "paper": _paper(expected, inputs)},
        "scenarios": scenarios,
    }


def _swept(histogram: sweep.Histogram, rule: Rule, at: Sequence[Fraction]) -> dict[str, Any]:
    every, kept = sweep.left(histogram), sweep.left(histogram, rule)
    return {
        "total": every.samples,
        "kept": kept.samples,
        "first_turn_accuracy": every.accuracy,
        "kept_first_turn_accuracy": kept.accuracy,
        "curve": sweep.curve(histogram, at),
    }


def _paper(expected: Mapping[str, Any], inputs: Mapping[str, Inputs]) -> dict[str, int]:
    """The paper's counts of the scenarios that are here."""
    return {side: sum(expected.get(scenario, {}).get(side, 0) for scenario in inputs) for side in ("before", "after")}


def _compared(marked: Marked, marks: pl.DataFrame, counts: pl.DataFrame, rule: Rule) -> dict[str, Any]:
    asked = list(marked.files)
    answers = comparing.chosen(marked)
    return {
        "models_asked": asked,
        "models": comparing.by_model(answers, asked),
        "without": comparing.without_each(marks, asked, rule),
        "agreement": comparing.agreement(marks, asked),
        "places": comparing.places(answers, marked.inputs, counts),
        "nearest": comparing.nearest(counts, rule),
    }
