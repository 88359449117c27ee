"""Baselines: answers that look at no picture. What a score means is what it is above these."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from build_bench import __version__
from build_bench.draws import Draw
from build_bench.errors import unknown
from build_bench.filters.inputs import FirstTurn
from build_bench.models import ANSWERED, Answer, Options
from build_bench.records import ABSTAIN, PROACTIVE


def _at_random(turn: FirstTurn, seed: int) -> str:
    """Any of the choices, each as likely as another; another sample more or less changes nothing."""
    row = turn.row
    return Draw(seed, row["scenario"], row["id"]).choice("baseline:random", turn.episode.choices)


def _first(turn: FirstTurn, seed: int) -> str:
    return turn.episode.choices[0]


def _abstain(turn: FirstTurn, seed: int) -> str:
    return _of_kind(turn, ABSTAIN)


def _ask(turn: FirstTurn, seed: int) -> str:
    return _of_kind(turn, PROACTIVE)


def _of_kind(turn: FirstTurn, kind: str) -> str:
    """The first choice of that kind; the first of all where none is open."""
    options = turn.row["options"]
    open_here = (options[index] for index in turn.row["states"][turn.row["start"]]["options"])
    return next((str(option["text"]) for option in open_here if option["kind"] == kind), turn.episode.choices[0])


BASELINES: dict[str, Callable[[FirstTurn, int], str]] = {
    "random": _at_random,
    "abstain": _abstain,
    "ask": _ask,
    "first": _first,
}


class Baseline:
    """`baseline:NAME`. Raises `UsageError` for a name that is none of `BASELINES`."""

    def __init__(self, name: str, options: Options) -> None:
        if name not in BASELINES:
            raise unknown("baseline", name, BASELINES)
        self.name = f"baseline:{name}"
        self._choose, self._seed = BASELINES[name], options.seed

    @property
    def runtime(self) -> Mapping[str, Any]:
        """Which version, and the seed."""
        return {"versions": {"build-bench": __version__}, "generation": {"seed": self._seed}}

    def answers(self, turns: Iterable[FirstTurn]) -> Generator[tuple[FirstTurn, Answer]]:
        """One answer each, in order."""
        for turn in turns:
            yield turn, Answer(ANSWERED, self._choose(turn, self._seed))
