"""What a run that asks a model leaves when it is killed: the answers not yet in the cache, and how far a refresh came.

Both lie in work/.build-bench/predict/<model>/, a file per scenario.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from build_bench import store
from build_bench.executors import notice
from build_bench.filters import predictions
from build_bench.filters.inputs import Inputs
from build_bench.filters.predictions import FAILED, Prediction
from build_bench.store import Work

FOLD = 60.0
"""Seconds between two foldings, each of which writes the model's whole file."""

_PART = ".part-"


@dataclass(frozen=True, slots=True)
class Place:
    """A model's answers to a scenario."""

    work: Work
    model: str
    scenario: str

    @property
    def folder(self) -> Path:
        """What is kept of the model's runs."""
        return self.work.own / "predict" / predictions.folder_name(self.model)


class _State(msgspec.Struct):
    settings: str
    answered: dict[str, str]
    """Sample -> digest of what it showed."""


class Refresh:
    """What a refresh has answered so far. It goes on where it was killed, until `finish`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._path = place.folder / f"{place.scenario}.refresh.json"

    def go_on(self, settings: str) -> dict[str, str]:
        """Begin, or go on if one is unfinished whose answers came of the same settings; returns what it has answered:
        sample -> digest of what it showed."""
        state = self._read()
        if state is None or state.settings != settings:
            state = _State(settings, {})
            self._write(state)
        return state.answered

    def add(self, rows: Iterable[Prediction]) -> None:
        """Those of `rows` with an answer needn't be asked for again, if a refresh is under way."""
        if state := self._read():
            state.answered.update({row.id: row.input_digest for row in rows if row.verdict != FAILED})
            self._write(state)

    def finish(self, inputs: Inputs) -> None:
        """All was asked for. What nobody asks any more is forgotten too."""
        predictions.forget_former(self._place.work, self._place.model, self._place.scenario, inputs)
        self._path.unlink(missing_ok=True)

    def _read(self) -> _State | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_State)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _write(self, state: _State) -> None:
        store.write_bytes(self._path, msgspec.json.encode(state))


class Journal:
    """What was answered since the last folding, a line each."""

    def __init__(self, place: Place, inputs: Inputs) -> None:
        self._place, self._inputs = place, inputs
        self._path = place.folder / f"{place.scenario}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._folded = time.monotonic()

    def add(self, prediction: Prediction) -> None:
        """Keep it, whatever happens to this process."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(prediction) + b"\n")

    @property
    def due(self) -> bool:
        """Whether it is time to fold."""
        return time.monotonic() - self._folded >= FOLD

    def fold(self) -> list[Prediction]:
        """Move it into the cache, with what other machines wrote (`PartJournal`); returns it.

        Killed in between, the next folding adds the same rows again: nothing changes.
        """
        for path in self._path.parent.glob(f"{self._place.scenario}{_PART}*.jsonl"):
            path.rename(path.with_suffix(f".{secrets.token_hex(4)}.taken"))  # a machine that is still at it begins anew
        parts = sorted(self._path.parent.glob(f"{self._place.scenario}{_PART}*.taken"))
        paths = [path for path in (self._path, *parts) if path.exists()]
        rows = [row for path in paths for row in _read(path)]
        if rows:
            predictions.merge(self._place.work, self._place.model, self._place.scenario, rows, self._inputs)
            self._place.work.give(predictions.path_of(self._place.work, self._place.model, self._place.scenario))
            Refresh(self._place).add(rows)
        for path in paths:
            path.unlink(missing_ok=True)
        self._place.work.give(*paths)  # that they are gone: else a killed run's come back, over a later refresh
        self._folded = time.monotonic()
        return rows


class PartJournal(Journal):
    """That of one machine among several: whoever sent them folds all, as only one may write the cache."""

    def __init__(self, place: Place, inputs: Inputs, part: int) -> None:
        super().__init__(place, inputs)
        self._path = part_path(place, part)

    @property
    def due(self) -> bool:
        """Never."""
        return False

    def fold(self) -> list[Prediction]:
        """Leave it to be folded."""
        return []

    def known(self) -> set[str]:
        """The samples that this part answered before it was killed."""
        return {row.id for row in _read(self._path) if row.verdict != FAILED}


def part_path(place: Place, part: int) -> Path:
    """The journal of a part."""
    return place.folder / f"{place.scenario}{_PART}{part:05d}.jsonl"


def _read(path: Path) -> Iterator[Prediction]:
    """All lines but the one that a killed run left unfinished, and damaged ones: those samples are asked again."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield msgspec.json.decode(line, type=Prediction)
        except msgspec.DecodeError:
            notice(f"{path}, line {number} is damaged: that sample is asked again")
