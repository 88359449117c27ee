"""The command `all`: everything from raw files to a dataset, or a release built again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from build_bench.command_options import (
    Common,
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
    without_option,
)
from build_bench.command_output import broken_items, finish, how_to_look, report_lines
from build_bench.errors import BuildBenchError, UsageError
from build_bench.fetch_command import accept_license_option
from build_bench.filter_commands import rule_lines
from build_bench.hub_commands import private_option, push_lines, repo_option, repository_name

if TYPE_CHECKING:
    from build_bench.config import Config
    from build_bench.locks import Lock
    from build_bench.store import Work

DEMO = "demo"
"""The work folder of `all --demo`, unless another is named: what isn't built from the sources doesn't belong among what
is."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of `all`."""

    demo: bool
    no_fetch: bool
    accepted: tuple[str, ...]
    scenarios: tuple[str, ...]
    without: tuple[str, ...]
    release: str
    from_release: str
    push: bool
    repo: str
    private: bool
    workers: int | None
    executor: str
    strict: bool


@click.command("all")
@option(
    "--demo",
    is_flag=True,
    help="Draw tiny raw files in the sources' real layout, and build those; in ./demo unless --work names a folder.",
)
@option("--no-fetch", is_flag=True, help="Build from what lies under raw/, and download nothing.")
@accept_license_option
@scenario_option
@split_option
@per_class_option
@limit_option
@without_option
@release_option
@option(
    "--from-release",
    default="",
    metavar="vX.Y.Z|FILE",
    help="Build this release again, byte for byte, from its lock or manifest.json.",
)
@option("--push", is_flag=True, help="Then publish it to the Hub; see build-bench push --help.")
@repo_option
@private_option
@spreading
@strict_option
@common
def all_(options: Common, **asked: Any) -> None:
    """Build every scenario and lay out the dataset."""
    wanted = _Asked(**asked)
    if wanted.from_release and wanted.push:
        raise UsageError("--push goes with a build, not with --from-release", "build it, look at it, then push")
    if wanted.from_release:
        _again(options, wanted)
    else:
        _anew(options, wanted)


def _anew(options: Common, asked: _Asked) -> None:
    from build_bench import stages, standing
    from build_bench.demo import SETTINGS
    from build_bench.executors.engines import engine
    from build_bench.publishing import Wanted

    names, training = known(asked.scenarios, options.split), options.split == "train"
    published, left_out = split(names, asked.without)
    work = options.work(DEMO if asked.demo else "")
    config = options.config(known([*names, *left_out]), SETTINGS if asked.demo else ())
    repo = _checked_repository(options, asked)
    spread_by = engine(asked.executor, asked.workers, config.engines)
    _get(work, config, names, asked)
    stages.build(work, config, names, spread_by)
    if asked.demo and not training:
        stages.predict_baselines(work, names, config.seed)
    note = "" if training else stages.filter_again(work, names)
    manifest = stages.assemble(work, config, published, unfiltered=bool(note), left_out=left_out)
    if asked.release and not repo:
        stages.seal(work, manifest, asked.release, lock_folder(work))
    report = standing.status(work, config, names)
    error = broken_items(standing.defects(config, names, report)) if asked.strict else None
    said = [note] if note else _filtered_by(work, manifest)
    lines = [*report_lines(report), *said, "", *how_to_look(work, published, manifest)]
    if asked.demo and not (note or training):
        lines += [f"What the filter did with it: {stages.audit_page(work, names)}"]
    if asked.demo:
        lines += [f"Look at it and play, in a browser: {_gallery(work)}"]
    result = {"dataset": str(work.dataset), "note": note, "release": asked.release or None, **report}
    if repo and note:
        error = error or BuildBenchError(f"not pushed to {repo}: {note}", "build-bench push publishes it as it is")
    if repo and not error:
        pushed = stages.push(work, repo, Wanted(asked.release, asked.private), lock_folder(work))
        result |= {"push": pushed, "release": pushed["release"]}
        lines += ["", *push_lines(pushed)]
    finish(options, result, lines, error)


def _filtered_by(work: Work, manifest: Mapping[str, Any]) -> list[str]:
    """By which rule and whom the dataset was filtered, if it was."""
    from build_bench import stages

    if not manifest.get("models"):
        return []
    return ["", *rule_lines({**manifest, "beside": stages.not_counted(work, manifest["models"])})]


def _checked_repository(options: Common, asked: _Asked) -> str:
    """Where the dataset goes after the build, if it is to go anywhere: what is wrong with that is said before it."""
    if not asked.push:
        return ""
    from build_bench.hub import Repository

    name = repository_name(options, asked.repo)
    Repository(name).check_login()
    return name


def _again(options: Common, asked: _Asked) -> None:
    from build_bench import executors, locks, rebuilding, stages, standing
    from build_bench.executors.engines import engine

    work = options.work(DEMO if asked.demo else "")
    lock, changelog = locks.read(asked.from_release, work)
    names = known([*lock.scenarios])
    _refuse_others(options, asked, lock)
    config = options.config(known([*names, *lock.left_out]), base=rebuilding.base(lock))
    rebuilding.check_options(lock, config)
    _get(work, config, names, asked)
    code = stages.check_rebuild(work, config, lock)
    if code:
        executors.notice(f"{lock.release} was made by other versions: {'; '.join(code)}")
    stages.build(work, config, names, engine(asked.executor, asked.workers, config.engines))
    stages.predict_baselines(work, names, config.seed, lock.models)
    differs = stages.rebuild(work, config, lock, changelog)
    report = standing.status(work, config, names)
    result = {"dataset": str(work.dataset), "release": lock.release, "differs": differs, "code": code, **report}
    error = broken_items(standing.defects(config, names, report)) if asked.strict else None
    lines = [*report_lines(report), "", f"The same bytes as {lock.release}, all files."]
    if differs:
        why = f", made by other versions ({'; '.join(code)})" if code else ""
        same = "" if any("/" in path for path in differs) else "; all rows and pictures are the same"
        error = BuildBenchError(f"this is not {lock.release}{why}: {', '.join(differs)} differ{same}", "see its lock")
        lines = []
    finish(options, result, lines, error)


def _refuse_others(options: Common, asked: _Asked, lock: Lock) -> None:
    """Raise `UsageError` for options that contradict a release's lock."""
    if lock.split != options.split:
        raise UsageError(f"{lock.release} is of the split {lock.split}", f"add --split {lock.split}")
    for option_name, chosen, expected in (
        ("--scenario", {*asked.scenarios}, {*lock.scenarios}),
        ("--without", {*asked.without}, {*lock.left_out}),
        ("--release", {asked.release} - {""}, {lock.release}),
    ):
        if chosen and chosen != expected:
            has = ", ".join(sorted(expected)) or "none"
            raise UsageError(f"{option_name} {', '.join(sorted(chosen))}: {lock.release} has {has}", "leave it out")


def _gallery(work: Work) -> str:
    from build_bench.gallery.dataset import Dataset
    from build_bench.gallery.writing import Request, write

    with work.locked():
        return str(write(Dataset(work.dataset), work, work.reports / "gallery", Request(each=0))["gallery"])


def _get(work: Work, config: Config, names: Sequence[str], asked: _Asked) -> None:
    """Draw the sources for a demo, else download what is missing of them."""
    if asked.demo:
        from build_bench.demo import draw

        with work.locked():
            draw(work.raw, names, config.split)
    elif not asked.no_fetch:
        from build_bench.fetching import sources
        from build_bench.fetching.running import Options

        sources.fetch_missing(work, config, names, Options(accepted=asked.accepted))
