"""What the commands share: their options, and the order in which they are listed."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from build_bench.config import Config
    from build_bench.mirror import Mirror
    from build_bench.store import Work

Command = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has."""

    work_folder: Path | None
    raw: Path | None
    config_file: Path | None
    changes: tuple[str, ...]
    seed: int | None
    as_json: bool
    split: str = "test"
    per_class: int | None = None
    most: int | None = None
    mirror: Mirror | None = None
    """Of a work folder in an object store."""
    home: str = "work"
    """The work folder where none is named."""

    def work(self, home: str = "") -> Work:
        """The work folder; the training split's lies in the test's, and is built of the same sources. `home`: another
        default."""
        from build_bench.store import Work

        root = self.mirror.folder if self.mirror else self.work_folder or Path(home or self.home)
        raw = self.raw or root / "raw"
        if self.split == "train":
            return Work(root / "train", raw, test=root, shared=self.mirror)
        return Work(root, raw, shared=self.mirror)

    def config(
        self, scenarios: Sequence[str], changes: Iterable[str] = (), base: Mapping[str, Any] | None = None
    ) -> Config:
        """The configuration of `scenarios`; the user's own settings override `changes`, and a file of theirs `base`."""
        from build_bench import config, demo

        drawn = demo.SETTINGS if demo.is_drawn(self.work().raw) else ()
        changes = [*drawn, *changes, *self._scale(scenarios), *self.changes]
        return config.read(scenarios, self.config_file, changes, self.seed, base, self.split)

    def _scale(self, scenarios: Sequence[str]) -> list[str]:
        """`--per-class` and `--limit` as settings. Raises `UsageError` if no scenario has classes to count."""
        from build_bench import config
        from build_bench.errors import UsageError

        keys = {name: config.per_class_key(name, self.split) for name in scenarios if self.per_class is not None}
        if keys and not any(keys.values()):
            raise UsageError(
                f"--per-class {self.per_class}: none of {', '.join(keys)} has a number of items per class",
                "quickdraw and imagenet_c do; --limit N takes N samples of any scenario",
            )
        limits = [f"{name}.{config.LIMIT}={self.most}" for name in scenarios if self.most is not None]
        return limits + [f"{name}.{key}={self.per_class}" for name, key in keys.items() if key]

    def print(self, result: Any, lines: Iterable[str]) -> None:
        """The result: as JSON for a program, as lines for a person."""
        click.echo(json.dumps(result, indent=2, sort_keys=True) if self.as_json else "\n".join(lines))


def _located(place: str | None) -> Path | str | None:
    """A folder, as a path or file:// address; of another address its text."""
    from build_bench.errors import UsageError, shown

    if place and (name := shown(place)) != place:
        raise UsageError(
            f"{name}: the name of that folder isn't UTF-8, which what lies in it is written with", "rename it"
        )
    address = re.fullmatch(r"(\w[\w+.:-]+):(/.*)?", place or "")
    if not address:
        return Path(place) if place else None
    scheme, rest = address[1], address[2] or ""
    name = re.sub("/+", "/", rest.lstrip("/"))
    if scheme == "file":
        return Path("/", name)
    return f"{scheme}://{'/' if rest.startswith('///') else ''}{name}"  # hdfs:///NAME names no host


def _raw_folder(place: str | None) -> Path | None:
    from build_bench.errors import UsageError

    located = _located(place)
    if isinstance(located, str):
        raise UsageError(
            f"--raw {located}: sources are read by offset, which needs a folder that all machines see",
            "leave --raw out: those below raw/ of a --work address are brought to where they are read",
        )
    return located


def option(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    """A click option that BUILD_BENCH_<OPTION> sets too, whatever the command."""
    long = next(name for name in names if name.startswith("--"))
    return click.option(*names, envvar=variable(long), **attributes)


def variable(long: str) -> str:
    """The environment variable of an option: BUILD_BENCH_DRY_RUN of --dry-run."""
    return f"BUILD_BENCH_{long.removeprefix('--').replace('-', '_').upper()}"


def common(command: Command, home: str = "work") -> Command:
    """Give a command the shared options; it gets them as its first argument. `home`: its work folder by default."""

    @functools.wraps(command)
    def call(
        work: str | None, raw: str | None, config: Path | None, changes: tuple[str, ...], seed: int | None,
        as_json: bool, verbose: bool, **rest: Any,
    ) -> None:  # fmt: skip
        named = {name: rest.pop(name) for name in ("split", "per_class", "most") if name in rest}
        located, sources = _located(work), _raw_folder(raw)
        if not isinstance(located, str):
            command(Common(located, sources, config, changes, seed, as_json, **named, home=home), **rest)
            return
        from build_bench.joining import Answers
        from build_bench.mirror import Mirror

        mirror = Mirror.of(located, Answers())
        with mirror.opened():
            command(Common(None, sources, config, changes, seed, as_json, **named, mirror=mirror), **rest)

    place = click.Path(file_okay=False)  # as text: a path has no two slashes
    file = click.Path(path_type=Path, dir_okay=False, exists=True)
    shared: list[Callable[[Command], Command]] = [
        option("--work", type=place,
                     help=f"Where everything is made; a folder, or s3://BUCKET/NAME.  [default: ./{home}]"),
        option("--raw", type=place, help="Where the sources lie; only fetch writes there.  [default: <work>/raw]"),
        option("--config", type=file, help="Settings as TOML, a table per scenario."),
        option("--set", "changes", multiple=True, metavar="KEY=VALUE",
                     help="One setting, as in coco.negatives=supercategory; repeatable."),
        option("--seed", type=int, help="What every random choice depends on.  [default: 0]"),
        option("--json", "as_json", is_flag=True,
                     help="Print the result as JSON; progress and logs go to stderr anyway."),
        option("-v", "--verbose", is_flag=True, help="Show tracebacks."),
    ]  # fmt: skip
    first: Command = call
    return functools.reduce(lambda built, add: add(built), reversed(shared), first)


workers_option = option("--workers", type=click.IntRange(1), help="Processes.  [default: one per core]")
executor_option = option(
    "--executor", type=click.Choice(["local", "ray", "slurm"]), default="local", show_default=True,
    help="Where the work is done: processes here, a Ray cluster, a Slurm cluster. The bytes are the same.",
)  # fmt: skip


def spreading(command: Command) -> Command:
    """Give a command --workers and --executor."""
    return executor_option(workers_option(command))


split_option = option(
    "--split", type=click.Choice(["test", "train"]), default="test", show_default=True,
    help="train: examples to train on, none of which is in the test; in <work>/train.",
)  # fmt: skip
per_class_option = option(
    "--per-class",
    type=click.IntRange(1),
    metavar="N",
    help="Items of each class, of scenarios that have classes.  [default: as the settings say]",
)
limit_option = option(
    "--limit", "most", type=click.IntRange(1), metavar="N", help="Samples of each scenario, at most.  [default: all]"
)
scenario_option = option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Only this one; repeatable.")
without_option = option(
    "--without", multiple=True, metavar="NAME",
    help="Don't publish this one: its licence forbids it, say. The card tells how to build it; repeatable.",
)  # fmt: skip


def _version(_context: click.Context, _parameter: click.Parameter, version: str) -> str:
    """Refuse what is no version before a build, not after it."""
    if version:
        from build_bench import releases

        releases.parse(version)
    return version


release_option = option(
    "--release", default="", metavar="vX.Y.Z", callback=_version,
    help="Make it this release: CHANGELOG.md is written, a lock is kept.",
)  # fmt: skip
strict_option = option("--strict", is_flag=True, help="Exit with 1 if an item of a source turns out to be broken.")


class Pipeline(click.Group):
    """Lists the commands in the order of the pipeline, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands."""
        return list(self.commands)


def known(scenarios: Sequence[str], split: str = "test") -> list[str]:
    """The scenarios named, each once and in the registry's order; all of the split if none is. Raises `UsageError`."""
    from build_bench.builders import SCENARIOS, TRAIN, TRAINING
    from build_bench.errors import UsageError, unknown

    for name in scenarios:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
        if split == TRAIN and name not in TRAINING:
            raise UsageError(f"{name} has no training split", f"--split train builds {' and '.join(TRAINING)}")
    names = TRAINING if split == TRAIN else SCENARIOS
    return [name for name in SCENARIOS if name in (scenarios or names)]


def split(names: Sequence[str], without: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which of `names` are published, and which scenarios are left out. Raises `UsageError` if none is published."""
    from build_bench.errors import UsageError

    out = known(without) if without else []
    published = [name for name in names if name not in out]
    if not published:
        raise UsageError(f"without {', '.join(out)} there is nothing to publish", "leave fewer out")
    return published, out


def lock_folder(work: Work) -> Path | None:
    """Where locks go beside the work folder: into the checkout, but not those of a demo or a training split, whose
    numbers are others."""
    from build_bench import demo, locks

    return None if demo.is_drawn(work.raw) or work.test else locks.checkout()
