"""The command `predict`: many options, each for one kind of model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from build_bench.command_options import Common, common, known, option
from build_bench.command_output import finish
from build_bench.errors import BuildBenchError, UsageError


@click.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@option(
    "--model",
    "names",
    multiple=True,
    metavar="KIND:NAME",
    help="hf:NAME or a folder, openai:NAME, baseline:random|abstain|ask|first; repeatable.",
)
@option(
    "--import",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Take over answers instead: parquet, CSV or JSONL with model, id, answer, and better input_digest too.",
)
@option(
    "--export",
    "export",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what is asked, for models elsewhere: CSV or JSONL with id, scenario, input_digest, prompt; beside the "
    "prompt they are shown the view of the state `start` in the dataset.",
)
@option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="Only N samples of each scenario, the same each time: to try a model out.",
)
@option(
    "--refresh",
    is_flag=True,
    help="Ask again for what is answered: each new answer replaces the old one. With --import: replace other answers.",
)
@option(
    "--batch-size",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="hf: samples at once; halved where memory runs out.",
)
@option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="openai: requests at once.")
@option(
    "--base-url",
    default="",
    metavar="URL",
    help="openai: the server, as http://localhost:8000/v1.  [default: OPENAI_BASE_URL, else api.openai.com]",
)
@option(
    "--max-tokens",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Of an answer; a model that reasons first needs more.",
)
@option(
    "--price-in",
    type=click.FloatRange(0),
    metavar="PRICE",
    help="openai: of a million tokens read, to say what a run cost.",
)
@option(
    "--executor",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    show_default=True,
    help="hf, baseline: asked here, or on a Ray or Slurm cluster, a part of the samples a machine.",
)
@option("--workers", type=click.IntRange(1), metavar="N", help="Parts on a cluster.  [default: one per 3,000 samples]")
@option("--price-out", type=click.FloatRange(0), metavar="PRICE", help="openai: of a million tokens written.")
@common
def predict(
    options: Common,
    scenarios: tuple[str, ...],
    names: tuple[str, ...],
    file: Path | None,
    export: Path | None,
    limit: int | None,
    refresh: bool,
    price_in: float | None,
    price_out: float | None,
    executor: str,
    workers: int | None,
    **settings: Any,
) -> None:
    """Ask models for their first turn at the built samples, into the cache.

    \b
    build-bench predict --model baseline:random
    build-bench predict --model hf:llava-hf/llava-onevision-qwen2-7b-ov-hf quickdraw coco
    build-bench predict --model openai:my-model --base-url http://localhost:8000/v1
    build-bench predict --import answers.csv

    Answers to samples that changed since don't count. An imported table is known to be of those by its column
    input_digest, which --export gives; without it, it is taken for answers to the samples as they are now.

    What is answered is not asked again; after an interruption, run the same again. What a model refused or failed to
    answer is recorded with the reason, never counts as wrong, and is asked again next time. The key for openai: comes
    from OPENAI_API_KEY.
    """
    from build_bench import stages
    from build_bench.builders import SCENARIOS
    from build_bench.executors import engines, notice
    from build_bench.filters import inputs
    from build_bench.models import EXAMPLES
    from build_bench.models import Options as Settings

    if sum(map(bool, (names, file, export))) != 1:
        raise UsageError(
            "predict needs --model KIND:NAME, or --import FILE, or --export FILE", f"for example --model {EXAMPLES}"
        )
    work = options.work()
    chosen = known(scenarios) if scenarios else inputs.built(work, SCENARIOS)
    config = options.config(chosen)
    if export or file:
        _refuse_beside(export)
    if export:
        from build_bench.filters import exporting, filtering

        with work.locked():
            count = exporting.export(work, export, filtering.read_inputs(work, chosen))
        options.print({"file": str(export), "samples": count}, [f"{export}: {count:,} samples"])
        return
    if file:
        from build_bench.gallery import study

        report = stages.import_predictions(work, study.with_ids(work, file), chosen, replace=refresh)
        options.print(report, _import_lines(report))
        return
    cluster = None if executor == engines.LOCAL else (engines.engine(executor, workers, config.engines), workers)
    if cluster and not config.engines[executor].gpus and any(name.startswith("hf:") for name in names):
        notice(f"--executor {executor}: without a GPU; --set {executor}.gpus=1 asks for one for each part")
    asked = Settings(config.seed, **settings)
    report = stages.predict(work, names, chosen, asked, limit=limit, refresh=refresh, cluster=cluster)
    for model in report["models"]:
        read, written = model["tokens"]["read"], model["tokens"]["written"]
        priced = price_in is not None or price_out is not None
        model["cost"] = round((read * (price_in or 0) + written * (price_out or 0)) / 1e6, 6) if priced else None
    finish(options, report, _lines(report), _nothing_came(report))


def _nothing_came(report: dict[str, Any]) -> BuildBenchError | None:
    """The error for models that answered no sample at all: what was asked for isn't there."""
    from build_bench import predicting

    failed = {}
    for model in report["models"]:
        came = Counter[str]()
        for counts in model["scenarios"].values():
            came.update(counts)
        if came.total() and came.total() == came["failed"] + came["refused"]:
            failed[model["model"]] = next(iter(model["reasons"].values()))
    if not failed:
        return None
    message = "; ".join(f"{model} answered nothing: {why}" for model, why in failed.items())
    return predicting.failure([*failed])(message, "this is recorded, and asked again next time")


def _refuse_beside(export: Path | None) -> None:
    """Raise `UsageError` for an option of asking, which would be passed over without a word."""
    asking = ["limit", "batch_size", "concurrency", "base_url", "max_tokens", "price_in", "price_out"]
    context = click.get_current_context()
    for name in [*asking, "refresh"] if export else asking:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            beside = "--export" if export else "--import"
            raise UsageError(f"--{name.replace('_', '-')} is for asking models, not for {beside}", "leave it out")


def _import_lines(report: dict[str, Any]) -> Iterable[str]:
    """What was imported, for a person."""
    yield from (f"{name}: {count:,} answers" for name, count in report["imported"].items())
    if report["failed"]:
        yield f"{report['failed']:,} have no answer: they are failed, not wrong, and asked for by the next predict"
    for name, count in report["changed"].items():
        yield (
            f"{count:,} samples changed since {name} gave these very answers, which now count for the samples as they "
            "are: if they are the old ones, predict again; with the column input_digest (predict --export) it is known"
        )
    if report["repeated"]:
        yield f"{report['repeated']:,} rows say what another says"
    if report["stale"]:
        yield f"{report['stale']:,} answer what is no longer asked like that: they don't count"
    if report["passed_over"]:
        yield f"columns that were not read: {', '.join(report['passed_over'])}"


def _lines(report: dict[str, Any]) -> Iterable[str]:
    """The report for a person."""
    for model in report["models"]:
        cost = "" if model["cost"] is None else f", {model['cost']:,.2f} to pay"
        tokens = "".join(f", {count:,} tokens {what}" for what, count in model["tokens"].items() if count)
        yield f"{model['model']}: {model['seconds']:,.0f} seconds{tokens}{cost}"
        for name, counts in model["scenarios"].items():
            done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
            why = model["reasons"].get(name)
            yield f"    {name}: {done or 'nothing to do'}{f': {why}' if why else ''}"
