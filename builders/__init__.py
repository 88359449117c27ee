"""What the benchmark makes of each source: the registry, and what a builder is.

A builder selects and yields. It doesn't word, order options, write files, log or download.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from build_bench.errors import Rejected, UsageError, unknown
from build_bench.raw_sources import Reader
from build_bench.records import Draft, Framed, Plan, Rejection

SCENARIOS = {
    "rod": "build_bench.builders.rod:RodBuilder",
    "vsod": "build_bench.builders.vsod:VsodBuilder",
    "mvp_n": "build_bench.builders.mvp_n:MvpNBuilder",
    "imagenet_c": "build_bench.builders.imagenet_c:ImageNetCBuilder",
    "quickdraw": "build_bench.builders.quickdraw:QuickDrawBuilder",
    "changeit": "build_bench.builders.changeit:ChangeItBuilder",
    "coco": "build_bench.builders.coco:CocoBuilder",
}
"""The scenarios, in the order in which everything lists them. Loaded when used: names must not cost an import."""

TEST, TRAIN = "test", "train"
"""The splits of `--split`: what the benchmark is, and what a model may be trained on."""

TRAINING = {
    "quickdraw": "build_bench.builders.quickdraw_train:QuickDrawTrain",
    "coco": "build_bench.builders.coco_train:CocoTrain",
}
"""The scenarios that have a training split (paper, section 5), and what builds it: docs/decisions/train-split.md."""

R = TypeVar("R", bound=Reader)


class Builder(ABC, Generic[R]):
    """Builds one scenario. `Settings` is a frozen dataclass: every tunable with its type, default and meaning."""

    scenario: ClassVar[str]
    Settings: ClassVar[type]
    reader: ClassVar[type[Reader]]
    render_version: ClassVar[int] = 1
    """Raise it when `render` gives other bytes for the same recipe: all frames are then rendered again."""

    shard: ClassVar[int] = 96
    """Samples per shard on average: fewer where one takes long, so that there are shards enough to share out."""

    def __init__(self, settings: Any, seed: int) -> None:
        self.settings = settings
        self.seed = seed

    def check(self, work: Path) -> None:
        """Raise if something that planning needs isn't installed: called before any work is done."""

    def open(self, root: Path, scratch: Path) -> R:
        """The source under `root`; cheap, nothing is read yet. Raises `InputError` if it is absent.

        A reader may keep what is costly to find out (an index of a tar) in the folder `scratch`: it makes that folder
        itself, and only when needed.
        """
        return self.reader(root)  # type: ignore[return-value]

    @abstractmethod
    def plan(self, raw: R) -> Iterator[Draft | Rejection]:
        """One outcome for each candidate, in any order. Decodes no picture."""

    def beside(self) -> str:
        """What changes with anything that planning reads beside the source (a table that people made): a plan is stale
        when it differs."""
        return ""

    @abstractmethod
    def stamp(self, plan: Plan | Framed, raw: R) -> str:
        """What changes when the source of this sample's frames changes: size and time, or a checksum. Empty where the
        recipe says it all. Without it a picture that is replaced would not be rendered again."""

    by_rule: ClassVar[frozenset[str]] = frozenset()
    """The reasons for which the paper's rules leave a sound item out. Any other is a defect of the source, and fails
    a build under `--strict`."""

    def prepare(self, raw: R, plans: Iterator[Plan]) -> None:
        """Called once before shards are spread over processes, if any is missing, with all plans: the place to read an
        archive that can only be read in order."""

    def finish(self, raw: R) -> None:
        """Called once every shard is on disk: the place to drop what `prepare` laid out."""

    @abstractmethod
    def render(self, plan: Plan, raw: R) -> Iterator[bytes]:
        """The encoded frames, in the order of `plan.frames`. Raises `Rejected` if they can't be made."""

    def render_many(self, plans: Iterable[Plan], raw: R) -> Iterator[tuple[Plan, list[bytes] | Rejected]]:
        """Each plan with its frames, or why it has none. Override it where many at once are cheaper than one by one."""
        for plan in plans:
            try:
                yield plan, list(self.render(plan, raw))
            except Rejected as why:
                yield plan, why

    def seconds(self, recipe: str) -> float:
        """What a sample takes to render, about, on one core: what takes longest begins first, and a cluster's jobs are
        sized by it."""
        return 0.02

    def facts(self) -> dict[str, Any]:
        """What the manifest says beside the settings (which table of neighbours was used, say)."""
        return {}


def load(scenario: str, split: str = TEST) -> type[Builder[Any]]:
    """The builder's class. Raises `UsageError`, naming the nearest, if there is no such scenario in that split."""
    if scenario not in SCENARIOS:
        raise unknown("scenario", scenario, SCENARIOS)
    if split == TRAIN and scenario not in TRAINING:
        raise UsageError(f"{scenario} has no training split", f"{' and '.join(TRAINING)} have one")
    module, name = (TRAINING if split == TRAIN else SCENARIOS)[scenario].split(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def made(scenario: str, settings: Any, seed: int) -> Builder[Any]:
    """The builder whose `Settings` these are."""
    kinds = (load(scenario, split) for split in (TEST, TRAIN) if split == TEST or scenario in TRAINING)
    return next(kind(settings, seed) for kind in kinds if kind.Settings is type(settings))


def defaults(scenario: str, split: str = TEST) -> dict[str, Any]:
    """Every tunable of a scenario with its default."""
    return {field.name: field.default for field in fields(load(scenario, split).Settings)}
