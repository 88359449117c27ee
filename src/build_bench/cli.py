"""The commands, in the order of the pipeline: parse, call one stage, print. Heavy modules are imported where used."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from build_bench import __version__
from build_bench.command_options import (
    Common,
    Pipeline,
    common,
    known,
    option,
    scenario_option,
    strict_option,
    variable,
    workers_option,
)
from build_bench.errors import BuildBenchError, InputError
from build_bench.filter_commands import audit, filter_
from build_bench.predict_command import predict

if TYPE_CHECKING:
    from build_bench.store import Work

DEMO, ADOPTED = "demo", "adopted"
"""The work folders of `all --demo` and of `adopt`, unless another is named: what isn't built from the sources doesn't
belong among what is."""


@click.group(cls=Pipeline, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="build-bench")
def group() -> None:
    """Build ProactiveBench out of public datasets: from raw files to a dataset that load_dataset reads.

    \b
    build-bench all --demo     see it work: draws its own raw files, needs no download
    build-bench all            build what lies under work/raw
    build-bench status         what is there, and what is stale and why

    Every option can be given as an environment variable too: BUILD_BENCH_WORK=/data/bench, BUILD_BENCH_SEED=1.
    """


@group.command("all")
@option(
    "--demo",
    is_flag=True,
    help="Draw tiny raw files in the sources' real layout, and build those; in ./demo unless --work names a folder.",
)
@option("--no-fetch", is_flag=True, help="Build from what lies under raw/. This version can't fetch: it always does.")
@scenario_option
@workers_option
@strict_option
@common
def all_(
    options: Common, demo: bool, no_fetch: bool, scenarios: tuple[str, ...], workers: int | None, strict: bool
) -> None:
    """Build every scenario and lay out the dataset."""
    from build_bench import executors, stages
    from build_bench.demo import SETTINGS, draw

    names = known(scenarios)
    work = options.work(DEMO if demo else "work")
    config = options.config(names, SETTINGS if demo else ())
    if demo:
        with work.locked():
            draw(work.raw, names)
    stages.build(work, config, names, workers or executors.cores())
    if demo:
        stages.predict_baselines(work, names, config.seed)
    note = stages.filter_again(work, names)
    stages.assemble(work, config, names, unfiltered=bool(note))
    report = stages.status(work, config, names)
    lines = [*report_lines(report), *filter(None, [note]), "", *how_to_look(work, names)]
    if demo and not note:
        lines += [f"What the filter did with it: {stages.audit_page(work, names)}"]
    finish(
        options,
        {"dataset": str(work.dataset), "note": note, **report},
        lines,
        stages.defects(config, names, report) if strict else {},
    )


@group.command()
@click.argument("scenario", type=click.Choice(["vsod"]))
@common
def annotate(options: Common, scenario: str) -> None:
    """Write the table that people must fill in, and a page with pictures to do it on."""
    from build_bench.annotating import annotate as write

    work = options.work()
    settings = options.config([scenario]).settings[scenario]
    with work.locked():
        table, page = write(work.raw / scenario, work.root / "annotate" / scenario, settings)
    goes = work.raw / scenario / table.name
    lines = [f"Open {page} in a browser; what it saves goes to {goes}", f"The table itself: {table}"]
    options.print({"table": str(table), "page": str(page)}, lines)


@group.command()
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...", required=True)
@option("--only", type=click.Choice(["plan", "render"]), help="Only this half.")
@workers_option
@strict_option
@common
def build(options: Common, scenarios: tuple[str, ...], only: str | None, workers: int | None, strict: bool) -> None:
    """Build or rebuild single scenarios: what is there already and fits is kept."""
    from build_bench import executors, stages

    names = known(scenarios)
    config, work = options.config(names), options.work()
    stages.build(work, config, names, workers or executors.cores(), only or "")
    report = stages.status(work, config, names)
    lines = [*report_lines(report), "", "build-bench assemble lays out the dataset of all that is built"]
    finish(options, report, lines, stages.defects(config, names, report) if strict else {})


group.add_command(predict)
group.add_command(filter_)
group.add_command(audit)


@group.command()
@scenario_option
@option("--unfiltered", is_flag=True, help="Leave the split `filtered` out, whatever keep lists there are.")
@common
def assemble(options: Common, scenarios: tuple[str, ...], unfiltered: bool) -> None:
    """Lay out the dataset repository on disk, of what is built."""
    from build_bench import stages

    work = options.work()
    names = known(scenarios) if scenarios else [name for name in known(()) if work.plans(name).exists()]
    if not names:
        raise InputError(
            f"nothing is built in {work.root}", "run build-bench build SCENARIO, or name the folder with --work"
        )
    manifest = stages.assemble(work, options.config(names), names, unfiltered=unfiltered)
    options.print(manifest, how_to_look(work, names))


@group.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
@common
def verify(options: Common, folder: Path | None) -> None:
    """Check a dataset tree against its manifest: every file, row, picture, state and move."""
    from build_bench.verifying import verify as check

    folder = folder or options.work().dataset
    files, problems = check(folder)
    result = {
        "ok": not problems,
        "files": files,
        "problems": [{"path": p.path, "problem": p.problem} for p in problems],
    }
    fine = f"{folder}: {files} files, all as the manifest says"
    options.print(result, [f"{p.path}: {p.problem}" for p in problems] or [fine])
    if problems:
        sys.exit(1)


@group.command()
@option("--layout", type=click.Choice(["proactivebench"]), required=True, help="Whose layout.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@common
def export(options: Common, folder: Path, layout: str) -> None:
    """Write the dataset in the layout that the published evaluator reads."""
    from build_bench.layouts.proactivebench import export as write

    result = write(options.work().dataset, folder)
    lines = [
        f"{name}: {facts['records']:,} records, {facts['pictures']:,} pictures"
        for name, facts in result["datasets"].items()
    ]
    options.print(result, [*lines, f"The {layout} layout is in {folder}.", result["note"]])


@group.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True))
@option(
    "--filter-ids",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The ids of the split `filtered`, as JSON: dataset name to list.",
)
@common
def adopt(options: Common, folder: Path, filter_ids: Path | None) -> None:
    """Turn a release in that layout into a dataset of ours; in ./adopted unless --work names a folder."""
    from build_bench.layouts.adopting import adopt as take_over

    work = options.work(ADOPTED)
    manifest = take_over(folder, work, filter_ids)
    lines = [*report_lines(manifest), "", *how_to_look(work, [*manifest["scenarios"]])]
    options.print({"dataset": str(work.dataset), **manifest}, lines)


@group.command()
@common
def status(options: Common) -> None:
    """Per scenario: planned, rendered, rejected; what is stale and why."""
    from build_bench import stages

    names = known(())
    report = stages.status(options.work(), options.config(names), names)
    options.print(report, report_lines(report))


def report_lines(report: dict[str, Any]) -> Iterable[str]:
    """`status` for a person."""
    for name, facts in report["scenarios"].items():
        yield (
            f"{name}: {facts['candidates']:,} candidates, {facts['built']:,} built ({facts['frames']:,} frames), "
            f"{facts['rejected']:,} rejected"
        )
        for reason, count in facts["rejected_by_reason"].items():
            yield f"    {count:,} {reason}"
        yield from (f"    not in the source: {textwrap.shorten(gap, 160, placeholder=' ...')}" for gap in facts["gaps"])
        if facts.get("kept") is not None:
            yield f"    {facts['kept']:,} kept by the filter"
        yield from (f"    {count:,} answered by {model}" for model, count in facts.get("predicted_by", {}).items())
        yield from (f"    stale: {why}" for why in facts.get("stale", ()))


def how_to_look(work: Work, names: Sequence[str]) -> Iterable[str]:
    """Where the dataset is, and what to do with it."""
    yield f"The dataset is in {work.dataset}: look at README.md and the pictures in assets/ there, or load it:"
    yield f'    datasets.load_dataset("{work.dataset.resolve()}", "{names[0]}", split="unfiltered")'
    yield f"Why a candidate is not in it: {work.root / 'rejected'}"


def finish(options: Common, result: dict[str, Any], lines: Iterable[str], defects: dict[str, int]) -> None:
    """Print a result. Broken items of a source fail a run under `--strict`: then the error is part of the result."""
    if not defects:
        options.print(result, lines)
        return
    found = ", ".join(f"{count} {reason}" for reason, count in defects.items())
    error = BuildBenchError(
        f"broken items were left out: {found}", "rejected/ names each; without --strict this is exit 0"
    )
    options.print({**result, "error": error.as_json()}, lines)
    click.echo(f"build-bench: {error.message}\n{error.hint}", err=True)
    sys.exit(error.exit_code)


def main() -> None:
    """Run a command; an error is one sentence, and a traceback only under -v."""
    arguments = sys.argv[1:]
    try:
        group(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        fail(arguments, error.exit_code, "usage", error.format_message(), "see --help")
    except BuildBenchError as error:
        fail(arguments, error.exit_code, error.code, error.message, error.hint)
    except (KeyboardInterrupt, click.Abort):
        fail(arguments, 130, "interrupted", "interrupted", "run the same command again: what is finished is kept")
    except OSError as error:
        fail(arguments, 3, "input", str(error), "mend that and run the same command again: what is finished is kept")
    except Exception as error:
        what = f"unexpected {type(error).__name__}: {error}"
        fail(arguments, 1, "internal", what, "this is a mistake in build-bench: -v shows where; please report it")


def fail(arguments: Sequence[str], exit_code: int, code: str, message: str, hint: str) -> None:
    """Say what went wrong, where each reader looks for it, and exit."""
    if "-v" in arguments or _asked("--verbose", arguments):
        traceback.print_exc()
    if _asked("--json", arguments):
        click.echo(json.dumps({"error": {"code": code, "message": message, "hint": hint}}))
    click.echo(f"build-bench: {message}" + (f"\n{hint}" if hint else ""), err=True)
    sys.exit(exit_code)


def _asked(flag: str, arguments: Sequence[str]) -> bool:
    """Whether a flag is set, before or without click, which may be what failed."""
    return flag in arguments or os.environ.get(variable(flag), "").lower() in {"1", "true", "t", "yes", "y", "on"}
