"""MVP-N: a product seen from sides that don't tell which it is, and at last from one that does (paper A.3).

Order of views: docs/decisions/mvp_n-order.md. Names: docs/decisions/mvp_n-wrong-names.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from build_bench import imaging, manifests
from build_bench.builders import Builder
from build_bench.builders.mvp_n_names import BY_NAME, Names
from build_bench.builders.mvp_n_png import SIGNATURE, is_sound
from build_bench.draws import Draw
from build_bench.errors import Rejected
from build_bench.raw_sources.mvp_n import SPLITS, Entry, MvpN, Seen, some
from build_bench.records import END, Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View


@dataclass(frozen=True, slots=True)
class MvpNSettings:
    """The tunables of `mvp_n`."""

    split: str = "test"
    """Whose sets: `test` (the paper's count of 4,197 fits it) or `valid`."""
    similarity: str = BY_NAME
    """Wrong names beyond the class's own group: `name`, by common letters, or the name of a table in raw/mvp_n/."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ValueError(f"split = {self.split!r}, expected {' or '.join(SPLITS)}")
        parts = PurePosixPath(self.similarity).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError(
                f"similarity = {self.similarity!r}, expected {BY_NAME} or the name of a file in raw/mvp_n/"
            )

    @property
    def table(self) -> str:
        """The table's name; empty for `name`."""
        return "" if self.similarity == BY_NAME else self.similarity


class MvpNBuilder(Builder[MvpN]):
    """One sample per test set that has views of both kinds."""

    scenario = "mvp_n"
    Settings = MvpNSettings
    reader = MvpN
    by_rule: ClassVar[frozenset[str]] = frozenset({"no_informative_view", "no_uninformative_view"})
    settings: MvpNSettings

    def __init__(self, settings: MvpNSettings, seed: int) -> None:
        super().__init__(settings, seed)
        self._facts: dict[str, Any] = {}
        self._sound: set[tuple[str, str]] = set()

    def open(self, root: Path, scratch: Path) -> MvpN:
        return MvpN(root, self.settings.split, self.settings.table)

    def facts(self) -> dict[str, Any]:
        return self._facts

    def stamp(self, plan: Plan | Framed, raw: MvpN) -> str:
        return " ".join(raw.stamp(path) for path in json.loads(plan.recipe)["views"])

    def plan(self, raw: MvpN) -> Iterator[Draft | Rejection]:
        names = Names(raw.names_file, raw.root / self.settings.table if self.settings.table else None)
        self._facts = names.facts()
        entries = list(raw.sets())
        if lacking := names.lacking(entry.label for entry in entries):
            raw.lacks(f"no name for {len(lacking)} classes, missing in classes.csv: {some(lacking)}")
        for entry in entries:
            try:
                yield self._draft(entry, raw, names)
            except Rejected as why:
                yield Rejection(entry.key, "plan", why.reason, why.detail)

    def _draft(self, entry: Entry, raw: MvpN, names: Names) -> Draft:
        """The set as a sample. Raises `Rejected`."""
        if entry.problem:
            raise Rejected(*entry.problem)
        answer = names.name(entry.label)
        draw = Draw(self.seed, self.scenario, entry.key)
        views = _played(entry, draw)
        for view in views:
            if problem := raw.problem(view):
                raise Rejected(*problem)
        about = manifests.source(self.scenario)
        last = len(views) - 1
        return Draft(
            source=Source(about["title"], entry.key, about["homepage"], about["license"]),
            group=f"{self.settings.split}/{entry.label}",
            question_kind="object",
            asks=(Ask("change_view"),),
            answer=answer,
            distractors=names.three(entry.label, draw),
            frames=tuple("-".join(view.path.split("/")[1:]) for view in views),
            # In the last state the request still stands there, and ends the episode: it shows all there is.
            states=tuple(DraftState(View(at), ((0, at + 1 if at < last else END),)) for at in range(len(views))),
            reference=View(last),
            max_turns=len(views),
            recipe=json.dumps({"views": [view.path for view in views], "split": self.settings.split}),
        )

    def render(self, plan: Plan, raw: MvpN) -> Iterator[bytes]:
        """The views' own bytes, each once it is known to decode."""
        shown: list[bytes] = []
        for path in json.loads(plan.recipe)["views"]:
            data = raw.picture(path)
            seen = path, raw.stamp(path)
            if seen not in self._sound:  # a view stands in several sets
                _check(path, data)
                self._sound.add(seen)
            if data in shown:
                raise Rejected("same_picture", f"{path} and another view of the set are the same picture")
            shown.append(data)
            yield data


def _played(entry: Entry, draw: Draw) -> list[Seen]:
    """The uninformative views in the list's order, then an informative one. Raises `Rejected`."""
    if len(set(entry.views)) != len(entry.views):
        raise Rejected("repeated_view", f"{len(entry.views)} views, {len(set(entry.views))} different ones")
    informative = [view for view in entry.views if view.informative]
    uninformative = [view for view in entry.views if not view.informative]
    if not informative:
        raise Rejected("no_informative_view", f"{len(uninformative)} views, all uninformative")
    if not uninformative:
        raise Rejected("no_uninformative_view", f"{len(informative)} views, all informative")
    return [*uninformative, draw.choice("informative view", informative)]


def _check(path: str, data: bytes) -> None:
    """Raise `Rejected` unless the bytes are a PNG that decodes."""
    if not is_sound(data):
        imaging.decode(data)
        if not data.startswith(SIGNATURE):
            raise Rejected("not_a_png", f"{path} begins with {data[:8]!r}")
