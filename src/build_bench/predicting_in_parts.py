"""Stage `predict` on a cluster: each part of the samples is asked on another machine, and one folds what all answered.

Which samples are a part depends on what is built, not on what is answered already: a run that goes on asks for the same
parts, of which each machine leaves out what is answered.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from build_bench import models, predicting, store
from build_bench.errors import UsageError
from build_bench.executors import Progress
from build_bench.executors.jobs import Engine, Job, spread
from build_bench.filters import coverage, inputs, predictions
from build_bench.filters.predictions import Prediction
from build_bench.journal import Journal, PartJournal, Place, Refresh, part_path
from build_bench.models import ANSWERED, FAILED, REFUSED
from build_bench.predicting import BEFORE, Request, Task
from build_bench.store import Work

PART = 3000
"""Samples: at a few a second, loading the model stays under 5 % of what a part takes."""

LOOK = 5.0
"""Seconds between two looks at how far all are."""

SPREADS = ("hf:", "baseline:")
"""Kinds of models that run where they are asked."""


def predict(work: Work, name: str, request: Request, engine: Engine, parts: int | None) -> dict[str, Any]:
    """As `predicting.predict`, in `parts`. Raises `UsageError` for a model that a server runs."""
    if not name.startswith(SPREADS):
        raise UsageError(f"{name} is asked over the network, from here", "leave --executor out; see --concurrency")
    started = time.monotonic()
    work = work.absolute()
    model = models.cache_name(name)
    with predicting.alone(work, model):
        tasks = predicting.tasks_of(work, model, request)
        rows: dict[str, list[Prediction]] = {task.place.scenario: [] for task in tasks}
        if total := sum(len(task.ids) for task in tasks):
            wanted = sum(len(task.ids) + task.fresh for task in tasks)
            parts = parts or math.ceil(wanted / PART)
            asking = _Asking(work, name, model, replace(request, scenarios=[*rows]), parts)
            try:
                _spread(asking, tasks, total, engine)
            finally:
                for task in tasks:
                    rows[task.place.scenario] = Journal(task.place, task.inputs).fold()
            shutil.rmtree(asking.job_folder, ignore_errors=True)
        for task in tasks:
            if request.refresh and task.all:
                Refresh(task.place).finish(task.inputs)
    return _report(model, tasks, rows, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks for the part of a number, on whatever machine."""

    work: Work
    name: str
    model: str
    request: Request
    parts: int

    def __call__(self, part: int) -> None:
        model = None
        self.work.bring(*self.reads)
        for scenario in self.request.scenarios:
            place = Place(self.work, self.model, scenario)
            shown = inputs.read(self.work, scenario, save=False)
            journal = PartJournal(place, shown, part)
            task = predicting.task_of(place, shown, self.request)
            mine = frozenset(sorted(shown.table["id"].to_list())[part :: self.parts])
            if ids := (task.ids & mine) - journal.known():
                model = model or models.load(self.name, self.request.options)
                predicting.ask(replace(task, ids=ids), model, [], journal)
        self.work.give(*self.journals(part))
        store.write_bytes(self._mark(part), b"")

    @property
    def reads(self) -> tuple[Path, ...]:
        """What a part reads: what is asked, and what was answered."""
        answered = self.work.predictions / predictions.folder_name(self.model), Place(self.work, self.model, "").folder
        shown = [(self.work.plans(name), self.work.frames(name)) for name in self.request.scenarios]
        return (*answered, self.work.own / "inputs", *(path for paths in shown for path in paths))

    def journals(self, part: int) -> list[Path]:
        """What a part leaves."""
        return [part_path(Place(self.work, self.model, name), part) for name in self.request.scenarios]

    def is_done(self, part: int) -> bool:
        return self._mark(part).exists()

    def _mark(self, part: int) -> Path:
        return self.job_folder / "done" / f"{part:05d}"

    @property
    def job_folder(self) -> Path:
        spelled = re.sub(r"[^\w.-]+", "-", self.model)
        return self.work.jobs / f"predict-{spelled}-{store.digest_of(self.model)[:8]}"


def _spread(asking: _Asking, tasks: Sequence[Task], total: int, engine: Engine) -> None:
    built = [store.digest_of(sorted(task.inputs.table["input_digest"].to_list())) for task in tasks]
    job = Job(
        name=f"predict with {asking.model}",
        key=store.digest_of([asking.name, asking.request.settings, asking.request.limit, asking.parts, built]),
        folder=asking.job_folder,
        do=asking,
        numbers=tuple(range(asking.parts)),
        exists=asking.is_done,
        seconds=total / asking.parts,
        what="part",
    )
    if not job.record.exists():
        shutil.rmtree(job.folder, ignore_errors=True)  # marks of a run that was killed
    asking.work.give(*asking.reads)
    with _watched(asking, tasks, total):
        for part in spread(job, engine):
            asking.work.bring(*asking.journals(part))


@contextmanager
def _watched(asking: _Asking, tasks: Sequence[Task], total: int) -> Iterator[None]:
    """Show how many samples all machines have asked for, as their journals grow."""
    paths = [path for part in range(asking.parts) for path in asking.journals(part)]
    over = threading.Event()

    def watch() -> None:
        seen: dict[Path, int] = {}
        with Progress(f"predict with {asking.model}", total, "samples") as progress:
            while not over.wait(LOOK):
                progress.add(sum(_new_lines(path, seen) for path in paths))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _new_lines(path: Path, seen: dict[Path, int]) -> int:
    """Lines that were added since the last look."""
    try:
        with path.open("rb") as file:
            file.seek(seen.get(path, 0))
            added = file.read()
    except FileNotFoundError:
        return 0
    seen[path] = seen.get(path, 0) + len(added)
    return added.count(b"\n")


def _report(
    model: str, tasks: Sequence[Task], rows: Mapping[str, Sequence[Prediction]], seconds: float
) -> dict[str, Any]:
    counts, reasons = {}, {}
    for task in tasks:
        scenario = task.place.scenario
        errors = [
            json.loads(row.runtime).get("error", "") for row in rows[scenario] if row.verdict == predictions.FAILED
        ]
        refused = sum(error.startswith(f"{REFUSED}:") for error in errors)
        counts[scenario] = Counter(
            {
                ANSWERED: len(rows[scenario]) - len(errors),
                BEFORE: task.fresh,
                REFUSED: refused,
                FAILED: len(errors) - refused,
            }
        )
        if errors:
            reasons[scenario] = coverage.reasons(errors)
    return {**predicting.report_of(model, counts, seconds), "reasons": reasons}
