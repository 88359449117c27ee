"""A small built work folder with predictions in it: what the tests of the cache, the filter and the audit share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from build_bench import config, stages
from build_bench.demo import SETTINGS
from build_bench.executors.local import Local
from build_bench.filters import first_turn, inputs, predictions
from build_bench.filters.filtering import Choice
from build_bench.filters.inputs import FirstTurn, Inputs
from build_bench.store import Work
from tests.fakes import fake

SCENARIOS = ["rod", "mvp_n"]
RULE = first_turn.rule()

Say = Callable[[FirstTurn, int], str]
"""What a made-up model answers to the sample with that number."""


def built(root: Path) -> Work:
    """Two scenarios, planned and rendered."""
    work = Work(root / "work", root / "raw")
    for scenario in SCENARIOS:
        fake(scenario).write(work.raw / scenario)
    stages.build(work, settings(), SCENARIOS, Local(1))
    return work


def copied(template: Work, folder: Path) -> Work:
    """A work folder that a test may change, of the same sources."""
    shutil.copytree(template.root, folder / "work")
    return Work(folder / "work", template.raw)


def settings() -> config.Config:
    """Those that both were built with."""
    return config.read(SCENARIOS, None, SETTINGS)


def filtered(work: Work, **choice: Any) -> dict[str, Any]:
    """The filter's report."""
    return stages.filter_(work, SCENARIOS, Choice(**{"rule": RULE, **choice}))


def shown(work: Work) -> dict[str, Inputs]:
    """The inputs of both."""
    return {scenario: inputs.read(work, scenario) for scenario in SCENARIOS}


def right(turn: FirstTurn, number: int) -> str:
    """The right category."""
    return str(turn.row["answer"])


def wrong(turn: FirstTurn, number: int) -> str:
    """A wrong category."""
    return next(str(c) for c in turn.row["categories"] if c != turn.row["answer"])


def third_right(turn: FirstTurn, number: int) -> str:
    """The right category at every third sample, a wrong one at the others."""
    return right(turn, number) if number % 3 == 0 else wrong(turn, number)


def predict(work: Work, model: str, say: Say, scenarios: list[str] | None = None) -> None:
    """Let a made-up model answer; an empty answer is a failure."""
    for scenario in scenarios or SCENARIOS:
        rows = []
        for number, turn in enumerate(inputs.first_turns(work, scenario)):
            text = say(turn, number)
            made = predictions.answered(turn.row, turn.digest, text, {"device": "none"})
            rows.append(made if text else predictions.failed(turn.row["id"], turn.digest, "refused", {}))
        predictions.merge(work, model, scenario, rows, inputs.read(work, scenario))


def with_three_models(root: Path) -> Work:
    """`built`; "odd" is right at every third sample, "org/model" and "third" never."""
    work = built(root)
    predict(work, "odd", third_right)
    predict(work, "org/model", wrong)
    predict(work, "third", wrong)
    return work
