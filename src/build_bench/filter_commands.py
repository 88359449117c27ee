"""The commands `filter` and `audit`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from build_bench.command_options import Common, common, known, option

SCENARIOS = click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
THRESHOLD = option(
    "--threshold", default="0.25", show_default=True, metavar="SHARE",
    help="Drop what at least this share of the models gets right at first sight; compared exactly.",
)  # fmt: skip
MODELS = option(
    "--models", multiple=True, metavar="NAME", help="Only this model; repeatable.  [default: all in the cache]"
)


@click.command("filter")
@SCENARIOS
@THRESHOLD
@MODELS
@option(
    "--allow-missing",
    is_flag=True,
    help="Filter even if predictions are missing, stale or failed; the manifest will say so.",
)
@option(
    "--engine",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    show_default=True,
    help="gpu: the same query by cudf_polars.",
)
@common
def filter_(
    options: Common,
    scenarios: tuple[str, ...],
    threshold: str,
    models: tuple[str, ...],
    allow_missing: bool,
    engine: str,
) -> None:
    """Apply the first-turn rule to the cached predictions: which samples are kept.

    All built scenarios, unless some are named. What no model's fresh prediction covers is listed and stops it.
    """
    from build_bench import stages
    from build_bench.filters.filtering import Choice
    from build_bench.filters.first_turn import rule

    choice = Choice(rule(threshold), models, allow_missing, engine)
    report = stages.filter_(options.work(), known(scenarios), choice)
    options.print(report, filter_lines(report))


def filter_lines(report: dict[str, Any]) -> Iterable[str]:
    """What a filter came to, for a person."""
    yield f"{report['rule']}: {len(report['models'])} models, dropped from a share of {report['threshold']:g} on"
    for name, facts in report["scenarios"].items():
        yield f"{name}: {facts['kept']:,} of {facts['total']:,} kept"


@click.command()
@SCENARIOS
@THRESHOLD
@MODELS
@option("--thresholds", default="0:1:0.01", show_default=True, metavar="A:B:STEP", help="Which thresholds to try.")
@option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page with plots, and with the samples of --sample.",
)
@option("--sample", "samples", multiple=True, metavar="ID", help="Why this sample is in or out; repeatable.")
@common
def audit(
    options: Common, scenarios: tuple[str, ...], threshold: str, models: tuple[str, ...], thresholds: str,
    html: Path | None, samples: tuple[str, ...],
) -> None:  # fmt: skip
    """What every threshold would keep, what each model changes, and why a sample is in or out.

    Tables go to reports/ as CSV and JSON too.
    """
    from build_bench import stages
    from build_bench.filters import audit_tables, sweep
    from build_bench.filters.filtering import Choice
    from build_bench.filters.first_turn import rule

    names, work = known(scenarios), options.work()
    choice = Choice(rule(threshold), models)
    if samples and not html:
        found = stages.explain(work, names, choice, samples)
        options.print({"samples": {one["id"]: one for one in found}},
                      (line for one in found for line in audit_tables.sample_lines(one)))  # fmt: skip
        return
    report = stages.audit(work, names, choice, sweep.thresholds(thresholds), samples, html)
    written = [f"Tables of every threshold, model and place: {work.reports}", *([f"The page: {html}"] if html else [])]
    options.print(report, [*audit_tables.lines(report), "", *written])
