"""`audit`: what any threshold would keep, what the keep list hangs on, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from build_bench import manifests
from build_bench.filters import comparing, coverage, first_turn, keep_list, predictions, sweep
from build_bench.filters.first_turn import Rule
from build_bench.filters.inputs import Inputs
from build_bench.filters.keep_list import BASELINE, PERSON
from build_bench.store import Work

DEFAULT_RANGE = "0:1:0.01"
SHOWN = tuple(map(Fraction, ("1/10", "1/5", "1/4", "1/3", "1/2", "3/4", "1")))
"""Thresholds whose numbers stand in a table."""
PAPER = {"before": 0.325, "after": 0.064}
"""First-turn accuracy over all samples, before and after the filter (paper, section 3.3)."""


def audit(
    work: Work, models: Sequence[str], inputs: Mapping[str, Inputs], rule: Rule, at: Sequence[Fraction],
    beside: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """The report of contract section 9 and more; plain values, `--json` prints it as it is.

    Each scenario has `total`, `kept`, `first_turn_accuracy`, `kept_first_turn_accuracy`, `curve` ([threshold, kept,
    their accuracy]), `thresholds` (the same at `SHOWN`), `spared` (samples that the rule can't drop), `paper`, `models`
    (answered, accuracy, verdicts), `without` (leave one out), `beside` (as `models`: who is shown, but doesn't count),
    `people` (who was right on the samples that a person answered), `agreement` (rows, columns as `models_asked`),
    `places`, `nearest`; `all` has those up to `people`. Raises `InputError` for a prediction file that is broken.
    """
    histograms, scenarios, said = {}, {}, []
    full = True
    expected = manifests.table("expected.toml")
    for scenario, shown in inputs.items():
        marked = keep_list.mark(work, [*models, *beside], scenario, shown)
        marks = marked.table.collect(engine="streaming")
        asked = [model for model in models if model in marked.files]
        others = [model for model in beside if model in marked.files]
        answers = comparing.chosen(marked)
        said.append(answers)
        counts = first_turn.tally(marks.lazy(), len(asked)).collect()
        full = full and bool((counts["models"] == len(models)).all())
        histograms[scenario] = first_turn.histogram(counts)
        scenarios[scenario] = {
            **_swept(histograms[scenario], rule, at),
            "paper": dict(expected.get(scenario, {})),
            "models": comparing.by_model(answers, asked),
            "without": comparing.without_each(marks, asked, rule),
            "beside": comparing.by_model(answers, others),
            "people": comparing.by_people(marks, [*asked, *others]),
            "models_asked": asked,
            "agreement": comparing.agreement(marks, asked),
            "places": comparing.places(answers.filter(pl.col("model").is_in(asked)), shown, counts),
            "nearest": comparing.nearest(counts, rule),
        }
    return {
        "rule": rule.name,
        "threshold": float(rule.threshold),
        "models": list(models),
        "beside": list(beside),
        "left_out": [name for name in predictions.models(work) if name not in (*models, *beside)],
        "baselines": [model for model in (*models, *beside) if model.startswith(BASELINE)],
        "people": [model for model in (*models, *beside) if model.startswith(PERSON)],
        "gaps": [] if full else coverage.gaps(coverage.table(work, models, inputs)),
        "all": {
            **_swept(sweep.total(list(histograms.values())), rule, at),
            "paper": _paper(expected, inputs),
            "models": comparing.by_model(pl.concat(said), models),
            "without": {
                model: _added([facts["without"].get(model, {}) for facts in scenarios.values()]) for model in models
            },
            "beside": comparing.by_model(pl.concat(said), beside),
            "people": comparing.people_in_all([facts["people"] for facts in scenarios.values()]),
        },
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
        "thresholds": sweep.curve(histogram, SHOWN),
        "spared": sum(count for (answerable, _, _), count in histogram.items() if not answerable),
    }


def _added(changes: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {side: sum(change.get(side, 0) for change in changes) for side in ("to_kept", "to_dropped")}


def _paper(expected: Mapping[str, Any], inputs: Mapping[str, Inputs]) -> dict[str, int]:
    """The paper's counts of the scenarios that are here."""
    return {side: sum(expected.get(scenario, {}).get(side, 0) for scenario in inputs) for side in ("before", "after")}
