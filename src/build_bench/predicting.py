"""Stage `predict`: plans + frames + a model -> predictions/, the cache of first turns (contract section 6).

Each answer is kept as it comes: a line in a journal, which is folded into the cache now and then. A run killed at any
moment loses what was being answered then, and asks nothing again that was answered.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import filelock
import polars as pl

from build_bench import models, store
from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.executors import Progress, notice
from build_bench.filters import coverage, inputs, predictions
from build_bench.filters.inputs import FirstTurn, Inputs
from build_bench.filters.predictions import Prediction
from build_bench.journal import Journal, Place, Refresh
from build_bench.models import ANSWERED, FAILED, REFUSED, Answer, Model, Options
from build_bench.store import Work

HOPELESS = 20
"""Samples after which a model that answered none is not asked for the rest."""
BEFORE = "answered before"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of each model."""

    scenarios: Sequence[str]
    options: Options
    limit: int | None = None
    """Only so many samples of each scenario, the same in every run."""
    refresh: bool = False
    """Ask again for what is answered: an answer is forgotten when a new one is there."""

    @property
    def settings(self) -> str:
        """What answers depend on: a refresh that was interrupted goes on with the same."""
        return store.digest_of([self.options.seed, self.options.max_tokens])


@dataclass(frozen=True, slots=True)
class Task:
    """What a model has yet to answer of a scenario."""

    place: Place
    inputs: Inputs
    ids: frozenset[str]
    fresh: int
    all: bool
    """Whether `ids` is all that is missing, or only so many as the limit allows."""

    @property
    def title(self) -> str:
        return f"predict {self.place.scenario} with {self.place.model}"


def predict(
    work: Work, name: str, request: Request, load: Callable[[str, Options], Model] = models.load
) -> dict[str, Any]:
    """Ask the model `name` (KIND:NAME) for what it hasn't answered as it is now; returns the counts of `_report`.

    Raises `InputError` if a scenario is not built, `UsageError` if there is no such model, `NetworkError`.
    """
    started = time.monotonic()
    model_name = models.cache_name(name)
    with alone(work, model_name):
        tasks = tasks_of(work, model_name, request)
        # Loading takes minutes: not before something is to be asked.
        model = load(name, request.options) if any(task.ids for task in tasks) else None
        counts: dict[str, Counter[str]] = {}
        reasons: dict[str, list[str]] = {}
        for task in tasks:
            failures = reasons.setdefault(task.place.scenario, [])
            journal = Journal(task.place, task.inputs)
            found = ask(task, model, failures, journal) if model and task.ids else Counter()
            if request.refresh and task.all:
                Refresh(task.place).finish(task.inputs)
            counts[task.place.scenario] = found + Counter({BEFORE: task.fresh})
    why = {scenario: coverage.reasons(failures) for scenario, failures in reasons.items() if failures}
    return {**report_of(model_name, counts, time.monotonic() - started), "reasons": why}


@contextmanager
def alone(work: Work, model: str) -> Iterator[None]:
    """Two models can be asked at a time, one model only once. Building goes on meanwhile: a run may take days."""
    path = Place(work, model, "").folder / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(path, timeout=0):
            yield
    except filelock.Timeout:
        raise BuildBenchError(f"{model} is being asked by another build-bench", "wait for it") from None


@contextmanager
def _looking(work: Work) -> Iterator[None]:
    """Keep builds out while the samples are looked at: half of them would be seen. Other models' runs wait."""
    path = work.own / "predict" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    turn = filelock.FileLock(path)
    try:
        turn.acquire(timeout=0)
    except filelock.Timeout:
        notice("waiting for another predict, which is looking at the samples")
        turn.acquire()
    try:
        with work.locked():
            yield
    finally:
        turn.release()


def tasks_of(work: Work, model: str, request: Request) -> list[Task]:
    """What is to be asked, scenario by scenario. Folds what a killed run left."""
    built = inputs.built(work, request.scenarios)
    if not request.scenarios:
        raise InputError(f"nothing is built in {work.root}", "run build-bench build SCENARIO, or build-bench all")
    for scenario in request.scenarios:
        if scenario not in built:
            raise InputError(f"{scenario} is not built", f"run build-bench build {scenario}")
    found = []
    for scenario in built:
        place = Place(work, model, scenario)
        with _looking(work):
            shown = inputs.read(work, scenario)
            Journal(place, shown).fold()
        found.append(task_of(place, shown, request))
    return found


def task_of(place: Place, shown: Inputs, request: Request) -> Task:
    """What is to be asked of a scenario."""
    fresh = _refreshed(place, shown, request.settings) if request.refresh else _fresh(place, shown)
    every = set(shown.table["id"].to_list())
    wanted = _few(every, request.limit) if request.limit else every
    return Task(place, shown, frozenset(wanted - fresh), len(wanted & fresh), every - fresh <= wanted)


def _few(ids: set[str], limit: int) -> set[str]:
    """So many of a scenario's samples, spread over all of it: the same each time, and those of a lower limit first."""
    return set(sorted(ids, key=lambda name: hashlib.sha256(name.encode()).digest())[:limit])


def _fresh(place: Place, shown: Inputs) -> set[str]:
    """The samples that the model has answered as they are now."""
    path = predictions.path_of(place.work, place.model, place.scenario)
    if not path.exists():
        return set()
    answers = predictions.read(path, place.model).filter(pl.col("verdict") != predictions.FAILED)
    return set(answers.join(shown.table, on=["id", "input_digest"], how="semi")["id"].to_list())


def _refreshed(place: Place, shown: Inputs, settings: str) -> set[str]:
    """Those that it has answered since a refresh began that wasn't finished. Begins one if there is none."""
    answered = Refresh(place).go_on(settings)
    found = {name for name, digest in shown.table.select("id", "input_digest").rows() if answered.get(name) == digest}
    if found:
        notice(f"going on with the refresh of {place.scenario}: {len(found):,} samples have their new answer")
    return found


def ask(task: Task, model: Model, failures: list[str], journal: Journal) -> Counter[str]:
    """Ask for a scenario's samples and keep the answers; returns how many came to what, and the tokens. Why there was
    no answer is added to `failures`."""
    counts: Counter[str] = Counter()
    turns = inputs.first_turns(task.place.work, task.place.scenario, task.ids)
    try:
        with closing(model.answers(turns)) as answers, Progress(task.title, len(task.ids), "samples") as progress:
            for turn, answer in answers:
                journal.add(_prediction(turn, answer, model.runtime))
                counts.update({answer.outcome: 1, "tokens_in": answer.tokens[0], "tokens_out": answer.tokens[1]})
                lost = counts[REFUSED] + counts[FAILED]
                progress.mark(f"{lost:,} without an answer" if lost else "")
                progress.add(1)
                failures += [answer.text] if answer.outcome != ANSWERED else []
                _stop_if_hopeless(task, counts, answer)
                if journal.due:
                    journal.fold()
    except KeyboardInterrupt:
        notice(f"{counts[ANSWERED]:,} answers of {task.place.scenario} are kept: run the same again to go on")
        raise
    finally:
        journal.fold()
    return counts


def _prediction(turn: FirstTurn, answer: Answer, runtime: Mapping[str, Any]) -> Prediction:
    if answer.outcome == ANSWERED:
        return predictions.answered(turn.row, turn.digest, answer.text, runtime)
    return predictions.failed(turn.row["id"], turn.digest, f"{answer.outcome}: {answer.text}", runtime)


def _stop_if_hopeless(task: Task, counts: Counter[str], answer: Answer) -> None:
    if not task.fresh and not counts[ANSWERED] and counts[REFUSED] + counts[FAILED] >= HOPELESS:
        raise failure([task.place.model])(
            f"{task.place.model} answered none of the first {HOPELESS} samples of {task.place.scenario}: {answer.text}",
            "they are recorded with their reasons, and asked again next time",
        )


def failure(names: Sequence[str]) -> type[BuildBenchError]:
    """The kind of error where these models answered nothing: a server's is the network's."""
    return NetworkError if all(name.startswith("openai:") for name in names) else BuildBenchError


def report_of(model: str, counts: Mapping[str, Counter[str]], seconds: float) -> dict[str, Any]:
    """Per scenario how many were answered, now or before, refused and failed; and what it took."""
    total = Counter[str]()
    for found in counts.values():
        total.update(found)
    outcomes = (ANSWERED, BEFORE, REFUSED, FAILED)
    return {
        "model": model,
        "scenarios": {name: {outcome: found[outcome] for outcome in outcomes} for name, found in counts.items()},
        "seconds": round(seconds, 1),
        "tokens": {"read": total["tokens_in"], "written": total["tokens_out"]},
    }
