"""The training split of Quick, Draw!: other drawings than the test's, one picture of each (paper, section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from build_bench.builders.quickdraw import QuickDrawBuilder, QuickDrawSettings
from build_bench.builders.single_turn import single_turn
from build_bench.errors import InputError
from build_bench.raw_sources.quickdraw import Drawing, QuickDraw
from build_bench.raw_sources.quickdraw_files import SAMPLE
from build_bench.records import Draft, Plan, Rejection


@dataclass(frozen=True, slots=True)
class QuickDrawTrainSettings(QuickDrawSettings):
    """Those of the test, whose drawings are left out, and:"""

    train_per_class: int = 50
    """Drawings of each word: 17,250 of 345 words (paper, appendix C: 17k)."""

    def __post_init__(self) -> None:
        QuickDrawSettings.__post_init__(self)
        if self.train_per_class < 1:
            raise ValueError(f"train_per_class = {self.train_per_class}, expected at least 1 drawing")


class QuickDrawTrain(QuickDrawBuilder):
    """One example for each of `train_per_class` drawings of a word."""

    Settings = QuickDrawTrainSettings
    settings: QuickDrawTrainSettings

    def plan(self, raw: QuickDraw) -> Iterator[Draft | Rejection]:
        self._draw = {"largest_hashes": len(raw.words) - len(raw.sampled), "ranges": len(raw.sampled)}
        test, drafts = self.settings.per_class, 0
        for word in raw.words:
            for outcome in raw.choose_last(
                word, self.settings.train_per_class, test, self.seed, self.settings.min_strokes
            ):
                if isinstance(outcome, Drawing):
                    drafts += 1
                    yield single_turn(self._draft(outcome), self.seed, self.scenario)
                else:
                    yield outcome
        if raw.sampled and not drafts:
            raise InputError(
                f"quickdraw: {raw.root / SAMPLE} has only the {test} drawings of a word that the test takes",
                "move it away and run build-bench fetch quickdraw: whole files have the drawings to train on",
            )

    def _stored(self, plan: Plan, pictures: Sequence[NDArray[np.uint8]]) -> Sequence[NDArray[np.uint8]]:
        """The one after the stroke that the frame is named by."""
        return [pictures[int(plan.frames[0].removesuffix(".png"))]]
