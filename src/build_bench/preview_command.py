"""The command `preview`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from build_bench.command_options import Common, common, known, option, split_option, workers_option
from build_bench.errors import UsageError

if TYPE_CHECKING:
    from build_bench.gallery.dataset import Dataset
    from build_bench.store import Work

FOLDER = click.Path(path_type=Path, file_okay=False)
ALL = 0
"""Of `--playable`: every sample."""


def _count(_: click.Context, __: click.Parameter, value: str) -> int:
    """Read `--playable`."""
    if value != "all" and not (value.isascii() and value.isdigit() and int(value)):
        raise click.BadParameter(f"{value!r} is neither a number from 1 nor 'all'")
    return ALL if value == "all" else int(value)


@click.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@option("--sample", "samples", multiple=True, metavar="ID", help="Only this sample; repeatable.")
@option(
    "--out",
    type=FOLDER,
    help="Where to write.  [default: gallery, samples or study in <work>/reports, or beside --dataset]",
)
@option("--dataset", type=FOLDER, help="The dataset to show, as adopted or pulled.  [default: <work>/dataset]")
@option(
    "--playable",
    callback=_count,
    default="100",
    show_default=True,
    metavar="N|all",
    help="Samples of each scenario whose pictures are written, so that they can be played.",
)
@option("--full", is_flag=True, help="Copy the original pictures of the samples that can be played.")
@split_option
@option("--study", type=click.IntRange(1), metavar="N", help="Write N samples for a person to answer instead.")
@workers_option
@common
def preview(
    options: Common, scenarios: tuple[str, ...], samples: tuple[str, ...], out: Path | None, dataset: Path | None,
    playable: int, full: bool, study: int | None, workers: int | None,
) -> None:  # fmt: skip
    """Write pages on which a person looks at the dataset and plays its samples.

    \b
    build-bench preview                      all samples in a list, 100 of each scenario to play
    build-bench preview coco --playable all  one scenario, and all of it to play
    build-bench preview --sample ID --full   one sample with its original pictures
    build-bench preview --study 30 --seed 1  what a person answers, beside the models

    The folder needs no server and no network. Every sample takes about 15 KB; one that can be played 30 to 60 KB more
    for each of its pictures, scaled to 640 pixels. All pictures of the dataset are read once: 150 GB take minutes.
    Running again makes only what is missing.

    A study has no answers in it; --seed draws its samples. What it saves comes in through predict --import, with the
    work folder that it was made with: that one knows which samples they are.
    """
    from build_bench.gallery.dataset import Dataset

    if study and (samples or full):
        raise UsageError("--study draws its samples and shows them as models see them", "leave --sample and --full out")
    work = options.work()
    shown = Dataset(dataset or work.dataset, known(scenarios) if scenarios else ())
    kind = "study" if study else "samples" if samples else "gallery"
    out = out or (dataset.absolute().parent if dataset else work.reports) / kind
    _refuse_ours(out, shown.folder, work)
    if study:
        _study(options, shown, out, study)
        return
    from build_bench import executors
    from build_bench.gallery.writing import Request, write

    request = Request(samples, playable, full, workers or executors.cores())
    named = options.work_folder or options.mirror
    known_by = work if not dataset or named else None  # elsewhere it knows nothing of this dataset
    with nullcontext() if dataset else work.locked():
        report = write(shown, known_by, out, request)
    options.print(report, gallery_lines(report))


def _study(options: Common, dataset: Dataset, out: Path, count: int) -> None:
    from build_bench.gallery import study as studies

    work, seed = options.work(), options.config(()).seed
    turns = studies.drawn(dataset, count, seed)
    studies.check_importable(work, turns, dataset.folder)
    with work.locked():
        report = studies.write(turns, work, out, seed)
    options.print(report, study_lines(report))


def _refuse_ours(out: Path, dataset: Path, work: Work) -> None:
    """Raise `UsageError` if `out` lies where others look for what a stage made."""
    ours = [dataset, work.dataset, work.raw, work.predictions, work.releases, work.own]
    ours += [work.root / name for name in ("plans", "frames", "rejected", "keep")]
    for folder in ours:
        if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(folder)):
            raise UsageError(f"--out {out} lies in {folder}, which holds no pages", "name a folder outside of it")


def gallery_lines(report: dict[str, Any]) -> Iterable[str]:
    """What was written, for a person."""
    yield (
        f"{report['samples']:,} samples, {report['playable']:,} of them to play; "
        f"{report['files']:,} files, {report['bytes'] / 1e6:,.1f} MB"
    )
    if before := report["replaced"]:
        of = ", ".join(before["scenarios"])
        yield f"They take the place of {before['samples']:,} samples of {of}, {before['playable']:,} of them to play."
    yield f"Open it in a browser: {report['gallery']}"


def study_lines(report: dict[str, Any]) -> Iterable[str]:
    """What was written, for a person."""
    yield f"{report['samples']:,} samples to answer; {report['bytes'] / 1e6:,.1f} MB"
    yield f"Open it in a browser: {report['study']}"
    yield "What it saves comes in with build-bench predict --import FILE; then audit shows it beside the models."
