"""The gallery's folder: an overview, a list of all samples, and a page on which each can be played.

index.html, *.css, *.js   the pages
data/overview.js          scenarios, models, what is stale
data/index.js             a column per filter: all that the list needs
data/rows/                the texts of a slice of samples
pictures/                 their pictures, a folder per slice
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from build_bench import builders, card, manifests
from build_bench.executors import Progress, local
from build_bench.filters import keep_list, predictions
from build_bench.gallery import answers, choosing, folder
from build_bench.gallery.answers import Answers
from build_bench.gallery.dataset import WORDS, Dataset, Slice, share
from build_bench.gallery.pictures import SIDE, Sample, Task, made
from build_bench.store import Work

KIND = "gallery"
PAGES = {
    name: name
    for name in ("index.html", "gallery.css", "data.js", "play.js", "shown.js", "overview.js", "list.js", "graph.js",
                 "sample.js", "main.js")
}  # fmt: skip
EACH = 100
"""Samples of each scenario that can be played, unless more are asked for."""
FEW = 8
"""Slices that are not worth starting processes for."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to show."""

    samples: tuple[str, ...] = ()
    """These alone; all if none is named."""
    each: int = EACH
    """Samples of each scenario that can be played; 0: all."""
    full: bool = False
    """Whether their pictures are the originals."""
    workers: int = 1


def write(dataset: Dataset, work: Work | None, out: Path, request: Request) -> dict[str, Any]:
    """Write the gallery of a dataset; returns gallery, samples, playable, files, bytes, replaced (what lay there, if
    not all of it is there now).

    `work`: where what models answered is looked up; None: nowhere. Raises `InputError` for a damaged dataset,
    `UsageError` for an unknown sample or a folder that isn't ours.
    """
    if work:
        answers.refuse_rejected(work, dataset, request.samples)
    slices, index = dataset.slices(request.samples)
    with folder.claimed(out, KIND) as before:
        report = _write(dataset, work, out, request, (slices, index))
        now = folder.Holds(KIND, report["samples"], report["playable"], list(choosing.by_scenario(index)))
        folder.mark(out, now)
    return report | {"replaced": msgspec.to_builtins(before) if before.more_than(now) else None}


def _write(
    dataset: Dataset, work: Work | None, out: Path, request: Request,
    shown: tuple[Sequence[Slice], Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:  # fmt: skip
    slices, index = shown
    strips = choosing.examples(index, dataset.manifest.seed or 0)
    chosen = set(request.samples) or strips | choosing.playable(index, dataset.manifest.seed or 0, request.each)
    tasks = [*_tasks(slices, index, out / "pictures", (chosen, strips), full=request.full)]
    made_of = _made(tasks, request.workers)
    pictures = [sample for task in tasks for sample in made_of[task.key]]
    models = predictions.models(work) if work else []
    known = {n: answers.read(work, n, models) for n in dataset.scenarios} if work and models else {}
    _write_rows(dataset, tasks, pictures, known, out)
    data = {
        "index": _index(tasks, index, pictures),
        "overview": _overview(dataset, tasks, index, pictures, known) | {"full": request.full, "side": SIDE},
    }
    folder.write(out, data, PAGES)
    keys = {task.key for task in tasks}
    folder.sweep(out / "pictures", keys)
    folder.sweep(out / "data" / "rows", {f"{key}.js" for key in keys})
    files, size = folder.size(out)
    return {"gallery": str(out / "index.html"), "samples": len(index), "playable": len(chosen), "files": files,
            "bytes": size}  # fmt: skip


def _tasks(
    slices: Sequence[Slice],
    index: Sequence[Mapping[str, Any]],
    out: Path,
    ids: tuple[set[str], set[str]],
    *,
    full: bool,
) -> list[Task]:
    tasks, start = [], 0
    for part in slices:
        names = [row["id"] for row in index[start : start + part.count]]
        playable, strips = (tuple(at for at, name in enumerate(names) if name in wanted) for wanted in ids)
        tasks.append(Task(part, out, playable, strips, full))
        start += part.count
    return tasks


def _made(tasks: Sequence[Task], workers: int) -> dict[str, list[Sample]]:
    """The pictures of all slices; those that are there already are not made again."""
    found: dict[str, list[Sample]] = {}
    with Progress("pictures", len(tasks), "slices") as progress:
        for key, samples in local.run(_keyed, tasks, workers if len(tasks) > FEW else 1):
            found[key] = samples
            progress.add(1)
    return found


def _keyed(task: Task) -> tuple[str, list[Sample]]:
    return task.key, made(task)


def _write_rows(
    dataset: Dataset, tasks: Sequence[Task], pictures: Sequence[Sample], known: Mapping[str, Answers], out: Path
) -> None:
    """The texts of all samples, a file per slice."""
    samples = iter(pictures)
    for task in tasks:
        of = known.get(task.slice.scenario, answers.NOTHING)
        rows = [_row(row, task.slice.kept, next(samples), of, dataset) for row in task.slice.rows(WORDS)]
        folder.write(out, {f"rows/{task.key}": rows}, {})


def _row(row: dict[str, Any], kept: bool | None, sample: Sample, of: Answers, dataset: Dataset) -> dict[str, Any]:
    """A row as the sample's page has it."""
    now = of.keep.get(row["id"], "")
    why = answers.why(row, kept, dataset.manifest)
    del row["open_answers"], row["first_turn_accuracy"], row["num_models"]
    return row | {
        "why": why,
        "now": now if answers.differs(kept, now) else "",
        "said": of.of(row["id"], sample.digest),
        "files": sample.files,
        "sizes": sample.sizes,
    }


def _index(tasks: Sequence[Task], index: Sequence[Mapping[str, Any]], pictures: Sequence[Sample]) -> dict[str, Any]:
    """All samples by columns; texts that recur are numbers into `values`."""
    coded = {"scenario": "scenario", "kind": "question_kind", "answer": "answer"}
    values = {name: sorted({row[column] for row in index}) for name, column in coded.items()}
    places = {name: {value: place for place, value in enumerate(found)} for name, found in values.items()}
    shares = [share(row) for row in index]
    return {
        "slices": [[task.key, task.slice.count] for task in tasks],
        "ids": [row["id"] for row in index],
        "values": values,
        **{name: [places[name][row[column]] for row in index] for name, column in coded.items()},
        "turns": [row["max_turns"] for row in index],
        "correct": [correct for correct, _ in shares],
        "models": [models for _, models in shares],
        "kept": [-1 if row["kept"] is None else int(row["kept"]) for row in index],
        "playable": [int(bool(sample.files)) for sample in pictures],
    }


def _overview(
    dataset: Dataset, tasks: Sequence[Task], index: Sequence[Mapping[str, Any]], pictures: Sequence[Sample],
    known: Mapping[str, Answers],
) -> dict[str, Any]:  # fmt: skip
    manifest = dataset.manifest
    models = next(iter(known.values()), answers.NOTHING).models
    strips = [f"pictures/{task.key}/{place}-strip.jpg" for task in tasks for place in range(task.slice.count)]
    found = list(zip(index, pictures, strips, strict=True))
    scenarios = []
    for name in dataset.scenarios:
        own = [each for each in found if each[0]["scenario"] == name]
        if own:
            examples = [
                {"id": row["id"], "strip": strip, "views": sample.strip} for row, sample, strip in own if sample.strip
            ]
            scenarios.append(_scenario(name, [row for row, _, _ in own]) | {
                "playable": sum(bool(sample.files) for _, sample, _ in own),
                "examples": examples,
                "notes": list(known.get(name, answers.NOTHING).notes),
            })  # fmt: skip
    return {
        "name": card.NAMES.get(card.DRAWN if manifest.drawn else manifest.adopted, card.NAMES[card.BUILT]),
        "training": manifest.split == builders.TRAIN,
        "release": manifest.release,
        "filtered_by": manifest.filtered_by,
        "models": [[model, _what(model)] for model in models],
        "scenarios": scenarios,
    }


def _what(model: str) -> str:
    """What it is, if it is no model."""
    kinds = {keep_list.BASELINE: "a baseline", keep_list.PERSON: "a person"}
    return next((kind for prefix, kind in kinds.items() if model.startswith(prefix)), "")


def _scenario(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    about = manifests.source(name) if name in builders.SCENARIOS else {"heading": name, "sequence": ""}
    shares = [share(row) for row in rows]
    return {
        "name": name,
        "heading": about["heading"],
        "sequence": about["sequence"],
        "samples": len(rows),
        "kept": None if rows[0]["kept"] is None else sum(row["kept"] for row in rows),
        "correct": sum(correct for correct, _ in shares),
        "answers": sum(models for _, models in shares),
    }
