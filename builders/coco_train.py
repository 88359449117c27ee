"""The training split of MS-COCO: pictures of its own training split, one view of each crop's way (paper, section 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from build_bench.builders.coco import CocoBuilder, CocoSettings
from build_bench.builders.single_turn import single_turn
from build_bench.draws import Draw
from build_bench.raw_sources.coco import Coco
from build_bench.records import Draft, Rejection


@dataclass(frozen=True, slots=True)
class CocoTrainSettings(CocoSettings):
    """Those of the test, whose pictures are left out, and:"""

    train_annotations: str = "annotations/instances_train2014.json"
    """Instances file, relative to raw/coco/."""
    train_pictures: str = "train2014"
    """Folder or zip of its pictures, without .zip."""
    train_crops_per_image: int = 2
    """As `crops_per_image`: one picture in fifteen is of a single object, too few for the paper's 10,000."""
    train_samples: int = 10_000
    """At most, shared out among the categories (paper, appendix C: 27k less Quick, Draw!'s 17k)."""

    def __post_init__(self) -> None:
        CocoSettings.__post_init__(self)
        if self.train_samples < 1:
            raise ValueError(f"train_samples = {self.train_samples}, expected at least 1")
        if self.train_annotations == self.annotations:
            raise ValueError(f"train_annotations = {self.train_annotations!r}, which is what the test is made of")
        own(self)


def own(settings: CocoTrainSettings) -> CocoSettings:
    """What the builder goes by: the settings of the test, of other pictures. Raises `ValueError` for a wrong one."""
    values = {field.name: getattr(settings, field.name) for field in fields(CocoSettings)}
    names = ("annotations", "pictures", "crops_per_image")
    return CocoSettings(**{**values, **{name: getattr(settings, f"train_{name}") for name in names}})


class CocoTrain(CocoBuilder):
    """At most `train_samples` examples, the same number of each category as far as there are that many."""

    Settings = CocoTrainSettings

    def __init__(self, settings: CocoTrainSettings, seed: int) -> None:
        super().__init__(own(settings), seed)
        self._test, self._most = settings.annotations, settings.train_samples

    def open(self, root: Path, scratch: Path) -> Coco:
        return Coco(root, self.settings.annotations, self.settings.pictures, self._test)

    def plan(self, raw: Coco) -> Iterator[Draft | Rejection]:
        drafts: dict[str, Draft] = {}
        for outcome in super().plan(raw):
            if isinstance(outcome, Draft):
                drafts[outcome.source.key] = outcome
            else:
                yield outcome
        of = defaultdict(list)
        for key, draft in drafts.items():
            of[draft.answer].append(key)
        chosen = shared_out(of, self._most, self.seed)
        raw.pass_over(len(drafts) - len(chosen))
        for key in chosen:
            nth = int(key.partition("-")[2] or 1) - 1  # as in 184321-2
            yield single_turn(drafts[key], self.seed, self.scenario, nth)


def shared_out(keys: Mapping[str, Sequence[str]], most: int, seed: int) -> list[str]:
    """At most `most` keys: the first draw of every category, then every second one, and so on.

    One key more changes at most one choice, and a larger `most` only adds some.
    """

    def drawn(key: str) -> int:
        return Draw(seed, "coco", key).integer("train order", 2**62)

    turns = [
        (place, drawn(f"{category}/{place}"), key)
        for category, members in keys.items()
        for place, key in enumerate(sorted(members, key=lambda key: (drawn(key), key)))
    ]
    return [key for _, _, key in sorted(turns)[:most]]
