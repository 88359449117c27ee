"""A built work folder to ask models about, and models to ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from build_bench import config, stages
from build_bench.demo import SETTINGS
from build_bench.executors.local import Local
from build_bench.filters import predictions
from build_bench.filters.inputs import FirstTurn
from build_bench.models import ANSWERED, Answer, Options
from build_bench.predicting import Request
from build_bench.store import Work
from tests.fakes import fake

SCENARIO = "coco"
"""The one whose first turn is a crop."""
TOKENS = 12
"""Of an answer in these tests: gibberish needs no more."""


def build(root: Path, scenario: str = SCENARIO) -> Work:
    """The demo's samples of a scenario."""
    work = Work(root, root / "raw")
    fake(scenario).write(work.raw / scenario)
    stages.build(work, config.read([scenario], None, SETTINGS), [scenario], Local(1))
    return work


def request(**changes: Any) -> Request:
    return Request(**{"scenarios": [SCENARIO], "options": Options(), **changes})


def rows(work: Work, model: str, scenario: str = SCENARIO) -> pl.DataFrame:
    return predictions.read(predictions.path_of(work, model, scenario), model)


class Scripted:
    """A model of tests: answers by `say`, and knows whom it was asked about."""

    runtime: Mapping[str, Any] = {"device": "test"}

    def __init__(self, say: Callable[[FirstTurn], Answer], name: str = "openai:scripted") -> None:
        self.name, self._say = name, say
        self.asked: list[str] = []

    def __call__(self, name: str, options: Options) -> Scripted:
        """As `models.load`."""
        return self

    def answers(self, turns: Iterable[FirstTurn]) -> Generator[tuple[FirstTurn, Answer]]:
        for turn in turns:
            self.asked.append(turn.row["id"])
            yield turn, self._say(turn)


def right(turn: FirstTurn) -> Answer:
    return Answer(ANSWERED, str(turn.row["answer"]), (100, 3))


_KILLED = """
import os, sys
from pathlib import Path
from build_bench import journal, models, predicting
from build_bench.predicting import predict
from build_bench.store import Work
from tests.asked import TOKENS, Scripted, request, right

root, name, last, where, fold, refresh = sys.argv[1:]
journal.FOLD = float(fold)
owner, method = {"add": (journal.Journal, "add"), "merge": (predicting.predictions, "merge")}[where]
original, calls = getattr(owner, method), []

def dies(*arguments):
    calls.append(1)
    original(*arguments)
    if len(calls) == int(last):
        os._exit(9)

setattr(owner, method, dies)
load = Scripted(right) if name == "openai:scripted" else models.load
asked = request(options=models.Options(max_tokens=TOKENS), refresh=refresh == "True")
predict(Work(Path(root), Path(root) / "raw"), name, asked, load)
"""


def killed_run(work: Work, name: str, where: str, last: int, fold: float, *, refresh: bool = False, **env: str) -> None:
    """Ask a model in another process, which dies without a word after the `last` answer that was kept (`where` is add)
    or folded into the cache (merge)."""
    arguments = [sys.executable, "-c", _KILLED, str(work.root), name, str(last), where, str(fold), str(refresh)]
    done = subprocess.run(
        arguments, check=False, cwd=Path(__file__).parents[1], env=os.environ | env, capture_output=True, text=True
    )
    assert done.returncode == 9, done.stderr
