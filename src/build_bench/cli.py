"""The commands, in the order of the pipeline: parse, call one stage, print. Heavy modules are imported where used."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from build_bench import __version__
from build_bench.all_command import all_
from build_bench.command_options import (
    Common,
    Pipeline,
    common,
    known,
    limit_option,
    lock_folder,
    option,
    per_class_option,
    release_option,
    scenario_option,
    split,
    split_option,
    spreading,
    strict_option,
    variable,
    without_option,
)
from build_bench.command_output import (
    after_build,
    broken_items,
    dataset_lines,
    finish,
    how_to_look,
    no_folder,
    report_lines,
)
from build_bench.doctor_command import doctor
from build_bench.errors import BuildBenchError, InputError
from build_bench.fetch_command import fetch
from build_bench.filter_commands import audit, filter_
from build_bench.hub_commands import pull, push
from build_bench.predict_command import predict
from build_bench.preview_command import preview

ADOPTED = "adopted"
"""The work folder of `adopt`, unless another is named: what isn't built doesn't belong among what is."""


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


group.add_command(all_)
group.add_command(fetch)


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
@split_option
@per_class_option
@limit_option
@spreading
@strict_option
@common
def build(
    options: Common, scenarios: tuple[str, ...], only: str | None, workers: int | None, executor: str, strict: bool
) -> None:
    """Build or rebuild single scenarios: what is there already and fits is kept."""
    from build_bench import stages, standing
    from build_bench.executors.engines import engine

    names = known(scenarios, options.split)
    config, work = options.config(names), options.work()
    stages.build(work, config, names, engine(executor, workers, config.engines), only or "")
    report = standing.status(work, config, names)
    lines = [*report_lines(report), "", after_build(work, report)]
    finish(options, report, lines, broken_items(standing.defects(config, names, report)) if strict else None)


group.add_command(predict)
group.add_command(filter_)
group.add_command(audit)


@group.command()
@scenario_option
@split_option
@per_class_option
@limit_option
@without_option
@option("--unfiltered", is_flag=True, help="Leave the split `filtered` out, whatever keep lists there are.")
@release_option
@common
def assemble(
    options: Common, scenarios: tuple[str, ...], without: tuple[str, ...], unfiltered: bool, release: str
) -> None:
    """Lay out the dataset repository on disk, of what is built."""
    from build_bench import stages

    work = options.work()
    names = known(scenarios, options.split)
    names = names if scenarios else [name for name in names if work.plans(name).exists()]
    if not names:
        raise InputError(
            f"nothing is built in {work.root}", "run build-bench build SCENARIO, or name the folder with --work"
        )
    published, left_out = split(names, without)
    config = options.config(known([*names, *left_out]))
    manifest = stages.assemble(work, config, published, unfiltered=unfiltered, left_out=left_out)
    if release:
        manifest = stages.seal(work, manifest, release, lock_folder(work))
    options.print(manifest, how_to_look(work, published, manifest))


group.add_command(preview)
group.add_command(push)
group.add_command(pull)


@group.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
@split_option
@common
def verify(options: Common, folder: Path | None) -> None:
    """Check a dataset tree against its manifest: every file, row, picture, state and move.

    DIR is the tree, as pulled/dataset.  [default: <work>/dataset]
    """
    from build_bench.tree import MANIFEST
    from build_bench.verifying import verify as check

    work = options.work()
    folder = folder or work.dataset
    files, problems = check(folder, work.test and work.test / "dataset")
    result = {
        "ok": not problems,
        "files": files,
        "problems": [{"path": p.path, "problem": p.problem} for p in problems],
    }
    lines = [f"{p.path}: {p.problem}" for p in problems] or [f"{folder}: {files} files, all as the manifest says"]
    if work.test and not problems:
        test = work.test / "dataset"
        there = (test / MANIFEST).is_file()
        lines.append(f"no item of it is in {test}" if there else f"not compared with the test: there is no {test}")
    options.print(result, lines)
    if problems:
        sys.exit(1)


@group.command()
@option("--layout", type=click.Choice(["proactivebench"]), required=True, help="Whose layout.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@common
def export(options: Common, folder: Path, layout: str) -> None:
    """Write the dataset in the layout that the published evaluator reads.

    DIR is the folder to write: one that isn't there yet, or an export, which is replaced.
    """
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
@partial(common, home=ADOPTED)
def adopt(options: Common, folder: Path, filter_ids: Path | None) -> None:
    """Turn a release in that layout into a dataset of ours; in ./adopted unless --work names a folder.

    DIR holds an official release of ProactiveBench, its folders or zips, or what `export` wrote.
    """
    from build_bench.layouts.adopting import adopt as take_over

    work = options.work()
    manifest = take_over(folder, work, filter_ids)
    lines = [*report_lines(manifest), "", *how_to_look(work, [*manifest["scenarios"]], manifest)]
    options.print({"dataset": str(work.dataset), **manifest}, lines)


@group.command()
@split_option
@per_class_option
@limit_option
@common
def status(options: Common) -> None:
    """Per scenario: fetched, planned, rendered, predicted, kept; what is stale and why."""
    from build_bench import demo, standing
    from build_bench.fetching import sources as fetching

    names, work = known((), options.split), options.work()
    config = options.config(names)
    report = standing.status(work, config, names)
    drawn = demo.is_drawn(work.raw)
    for source in fetching.look(work, config, names):
        report["scenarios"][source.name]["fetched"] = "drawn" if drawn else source.state
    report["dataset"] = standing.of_dataset(work, report["scenarios"])
    options.print(report, [*no_folder(work), *report_lines(report), *dataset_lines(work, report)])


group.add_command(doctor)


def main() -> None:
    """Run a command; an error is one sentence, and a traceback only under -v."""
    arguments = sys.argv[1:]
    gc.set_threshold(50_000)  # millions of small records, hardly a cycle: looking for some took a fifth of planning
    try:
        group(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        fail(arguments, error.exit_code, "usage", error.format_message(), "see --help")
    except BuildBenchError as error:
        fail(arguments, error.exit_code, error.code, error.message, error.hint)
    except (KeyboardInterrupt, click.Abort):
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # once more, while Ray ends: no traceback then
        fail(arguments, 130, "interrupted", "interrupted", "run the same command again: what is finished is kept")
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        fail(arguments, 3, "input", what, "mend that and run the same command again: what is finished is kept")
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
