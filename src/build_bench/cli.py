"""The commands, in the order of the pipeline: parse, call one stage, print. Heavy modules are imported where used."""

from __future__ import annotations

import functools
import json
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from build_bench import __version__
from build_bench.errors import BuildBenchError

if TYPE_CHECKING:
    from build_bench.config import Config
    from build_bench.store import Work

Command = Callable[..., None]

DEMO = "demo"
"""The work folder of `all --demo`, unless another is named: drawn files don't belong among real ones."""


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has."""

    work_folder: Path | None
    raw: Path | None
    config_file: Path | None
    changes: tuple[str, ...]
    seed: int | None
    as_json: bool

    def work(self, default: str = "work") -> Work:
        """The work folder."""
        from build_bench.store import Work

        root = self.work_folder or Path(default)
        return Work(root, self.raw or root / "raw")

    def config(self, scenarios: Sequence[str], changes: Iterable[str] = ()) -> Config:
        """The configuration of `scenarios`; the user's own settings override `changes`."""
        from build_bench import config

        return config.read(scenarios, self.config_file, [*changes, *self.changes], self.seed)

    def print(self, result: Any, lines: Iterable[str]) -> None:
        """The result: as JSON for a program, as lines for a person."""
        click.echo(json.dumps(result, indent=2, sort_keys=True) if self.as_json else "\n".join(lines))


def option(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    """A click option that BUILD_BENCH_<OPTION> sets too, whatever the command."""
    long = max(names, key=len).removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=f"BUILD_BENCH_{long}", **attributes)


def common(command: Command) -> Command:
    """Give a command the shared options; it gets them as its first argument."""

    @functools.wraps(command)
    def call(
        work: Path | None, raw: Path | None, config: Path | None, changes: tuple[str, ...], seed: int | None,
        as_json: bool, verbose: bool, **rest: Any,
    ) -> None:  # fmt: skip
        command(Common(work, raw, config, changes, seed, as_json), **rest)

    folder = click.Path(path_type=Path, file_okay=False)
    file = click.Path(path_type=Path, dir_okay=False, exists=True)
    shared: list[Callable[[Command], Command]] = [
        option("--work", type=folder, help="Where everything is made.  [default: ./work]"),
        option("--raw", type=folder, help="Where the sources lie; only read.  [default: <work>/raw]"),
        option("--config", type=file, help="Settings as TOML, a table per scenario."),
        click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", envvar="BUILD_BENCH_SET",
                     help="One setting, as in coco.negatives=supercategory; repeatable."),
        option("--seed", type=int, help="What every random choice depends on.  [default: 0]"),
        click.option("--json", "as_json", is_flag=True, envvar="BUILD_BENCH_JSON",
                     help="Print the result as JSON; progress and logs go to stderr anyway."),
        option("-v", "--verbose", is_flag=True, help="Show tracebacks."),
    ]  # fmt: skip
    return functools.reduce(lambda built, add: add(built), reversed(shared), call)


workers_option = option("--workers", type=click.IntRange(1), help="Processes.  [default: one per core]")
strict_option = option("--strict", is_flag=True, help="Exit with 1 if an item of a source turns out to be broken.")


class Pipeline(click.Group):
    """Lists the commands in the order of the pipeline, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands."""
        return list(self.commands)


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
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME",
    envvar="BUILD_BENCH_SCENARIO",
    help="Only this one; repeatable.",
)
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
        draw(work.raw, names)
    report = stages.build(work, config, names, workers or executors.cores())
    stages.assemble(work, config, names)
    options.print({"dataset": str(work.dataset), **report}, [*report_lines(report), "", *how_to_look(work, names)])
    fail_if_strict(stages.defects(config, names, report), strict)


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
    config = options.config(names)
    report = stages.build(options.work(), config, names, workers or executors.cores(), only or "")
    options.print(report, report_lines(report))
    fail_if_strict(stages.defects(config, names, report), strict)


@group.command()
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME",
    envvar="BUILD_BENCH_SCENARIO",
    help="Only this one; repeatable.",
)
@common
def assemble(options: Common, scenarios: tuple[str, ...]) -> None:
    """Lay out the dataset repository on disk, of what is built."""
    from build_bench import stages

    work = options.work()
    names = known(scenarios) if scenarios else [name for name in known(()) if work.plans(name).exists()]
    manifest = stages.assemble(work, options.config(names), names)
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
@common
def status(options: Common) -> None:
    """Per scenario: planned, rendered, rejected; what is stale and why."""
    from build_bench import stages

    names = known(())
    report = stages.status(options.work(), options.config(names), names)
    options.print(report, report_lines(report))


def known(scenarios: Sequence[str]) -> list[str]:
    """The scenarios named, each once and in the registry's order; all of them if none is. Raises `UsageError`."""
    from build_bench.builders import SCENARIOS
    from build_bench.errors import unknown

    for name in scenarios:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
    return [name for name in SCENARIOS if name in scenarios or not scenarios]


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
        yield from (f"    stale: {why}" for why in facts["stale"])


def how_to_look(work: Work, names: Sequence[str]) -> Iterable[str]:
    """Where the dataset is, and what to do with it."""
    yield f"The dataset is in {work.dataset}: look at README.md and the pictures in assets/ there, or load it:"
    yield f'    datasets.load_dataset("{work.dataset.resolve()}", "{names[0]}", split="unfiltered")'
    yield f"Why a candidate is not in it: {work.root / 'rejected'}"


def fail_if_strict(defects: dict[str, int], strict: bool) -> None:
    """Under `--strict`, broken items of a source fail the run that left them out."""
    if defects and strict:
        found = ", ".join(f"{count} {reason}" for reason, count in defects.items())
        raise BuildBenchError(
            f"broken items were left out: {found}", "rejected/ names each; without --strict this is exit 0"
        )


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


def fail(arguments: Sequence[str], exit_code: int, code: str, message: str, hint: str) -> None:
    """Say what went wrong, where each reader looks for it, and exit."""
    if {"-v", "--verbose"}.intersection(arguments):
        traceback.print_exc()
    if "--json" in arguments or os.environ.get("BUILD_BENCH_JSON"):
        click.echo(json.dumps({"error": {"code": code, "message": message, "hint": hint}}))
    click.echo(f"build-bench: {message}" + (f"\n{hint}" if hint else ""), err=True)
    sys.exit(exit_code)
