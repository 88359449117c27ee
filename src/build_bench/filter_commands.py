"""The commands `filter` and `audit`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from build_bench.command_options import Common, common, known, option

if TYPE_CHECKING:
    from build_bench.filters.filtering import Choice
    from build_bench.store import Work

SCENARIOS = click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
WHO = "the models in the cache, or the baselines if there is no model; people never"
LEFT_OUT = option(
    "--except", "left_out", multiple=True, metavar="NAME", help="Without this one, half-asked say; repeatable."
)


@click.command("filter")
@SCENARIOS
@option(
    "--threshold", default="0.25", show_default=True, metavar="SHARE",
    help="Drop what at least this share of the models gets right at first sight; compared exactly.",
)  # fmt: skip
@option("--models", multiple=True, metavar="NAME", help=f"Only this one counts; repeatable.  [default: {WHO}]")
@LEFT_OUT
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
    left_out: tuple[str, ...],
    allow_missing: bool,
    engine: str,
) -> None:
    """Apply the first-turn rule to the cached predictions: which samples are kept.

    All built scenarios, unless some are named. What no model's fresh prediction covers is listed and stops it.
    """
    from build_bench import stages
    from build_bench.filters.filtering import Choice
    from build_bench.filters.first_turn import rule

    choice = Choice(rule(threshold), models, allow_missing, engine, left_out)
    report = stages.filter_(options.work(), known(scenarios), choice)
    options.print(report, filter_lines(report))


def filter_lines(report: dict[str, Any]) -> Iterable[str]:
    """What a filter came to, for a person."""
    yield from rule_lines(report)
    yield from (f"counted only where it answered: {gap}" for gap in report["gaps"])
    for name, facts in report["scenarios"].items():
        yield f"{name}: {facts['kept']:,} of {facts['total']:,} kept"


def rule_lines(report: dict[str, Any]) -> Iterable[str]:
    """By which rule samples were filtered, who was counted, and who in the cache was not."""
    share = f"{report['threshold']:g} of those counted"
    yield f"{report['rule']}: dropped is what at least {share} get right at first sight"
    yield f"counted: {', '.join(report['models'])}"
    if report["beside"]:
        yield f"in the cache, but not counted: {', '.join(report['beside'])}"


@click.command()
@SCENARIOS
@option("--threshold", metavar="SHARE", help="Audit this line.  [default: that of the last filter, else 0.25]")
@option(
    "--models", multiple=True, metavar="NAME",
    help=f"Only this one counts; repeatable.  [default: those of the last filter, else {WHO}]",
)  # fmt: skip
@LEFT_OUT
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
    options: Common, scenarios: tuple[str, ...], thresholds: str, html: Path | None, samples: tuple[str, ...],
    **asked: Any,
) -> None:  # fmt: skip
    """What every threshold would keep, what each model changes, and why a sample is in or out.

    Tables go to reports/ as CSV and JSON too.
    """
    from build_bench import stages
    from build_bench.filters import audit_tables, sweep

    names, work = known(scenarios), options.work()
    choice = _choice(work, names, **asked)
    if samples and not html:
        found = stages.explain(work, names, choice, samples)
        options.print({"samples": {one["id"]: one for one in found}},
                      (line for one in found for line in audit_tables.sample_lines(one)))  # fmt: skip
        return
    report = stages.audit(work, names, choice, sweep.thresholds(thresholds), samples, html)
    written = [f"Tables of every threshold, model and place: {work.reports}", *([f"The page: {html}"] if html else [])]
    options.print(report, [*audit_tables.lines(report), "", *written])


def _choice(
    work: Work, scenarios: list[str], threshold: str | None, models: tuple[str, ...], left_out: tuple[str, ...]
) -> Choice:
    """What to audit: as the samples were filtered, but for what is named."""
    from build_bench.filters import filtering
    from build_bench.filters.first_turn import rule

    named = models or left_out
    former = None if threshold and named else filtering.former(work, scenarios)
    line = rule(threshold) if threshold else former.rule if former else rule()
    if named or not former:
        return filtering.Choice(line, models, left_out=left_out)
    return filtering.Choice(line, former.models, left_out=former.left_out)
