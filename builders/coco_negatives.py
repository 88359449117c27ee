"""Which wrong categories a COCO sample gets, and from what: docs/decisions/coco-negatives.md."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from build_bench import distractors, store
from build_bench.distractors import Encoder, Ranking
from build_bench.draws import Draw
from build_bench.errors import UsageError
from build_bench.prompting import normalised
from build_bench.raw_sources.coco_annotations import Category

CLIP, SUPERCATEGORY = "clip", "supercategory"


class Negatives:
    """`how` is `clip`, `supercategory` or a table's path. `prepare` comes before the first `three`."""

    def __init__(self, how: str, encoder: Encoder) -> None:
        self._how, self._encoder = how, encoder
        self._kept: Path | None = None
        self._groups: Mapping[str, str] = {}
        self._ranking: Ranking = {}

    def check(self, work: Path) -> None:
        """Raise `UsageError` if these negatives can't be had: the encoder isn't installed, the table isn't there."""
        if self._how == CLIP:
            self._kept = work / "plans" / "coco.neighbours.csv"
            if not distractors.made_by(self._kept, self._encoder) and not distractors.text_encoder_installed():
                raise UsageError(
                    "coco.negatives=clip needs the package open_clip, which isn't installed",
                    "pip install 'build-bench[clip]', or --set coco.negatives=supercategory, or a table's path",
                )
        elif self._how != SUPERCATEGORY and not Path(self._how).is_file():
            raise UsageError(
                f"coco.negatives={self._how}: there is no such file", "known: clip, supercategory, or a table's path"
            )

    @property
    def table(self) -> Path | None:
        """The file that the neighbours come from; None for supercategories."""
        if self._how == SUPERCATEGORY:
            return None
        return self._kept if self._how == CLIP else Path(self._how)

    def beside(self) -> str:
        """Checksum of what people put there: a table, weights. Not of the kept table, which is made of them."""
        if self._how == CLIP:
            return self._encoder.described()["sha256"]
        table = self.table
        return sha256(table.read_bytes()).hexdigest() if table is not None and table.is_file() else ""

    def prepare(self, categories: Mapping[int, Category]) -> None:
        """Read or make the table for these categories. A made one is kept beside the plans."""
        names = sorted(category.name for category in categories.values())
        if self._how == SUPERCATEGORY:
            self._groups = {category.name: category.supercategory for category in categories.values()}
        elif self._how == CLIP:
            self._ranking = self._kept_ranking(names) or self._new_ranking(names)
        else:
            self._ranking = distractors.read_table(Path(self._how))
            distractors.check_table(self._ranking, names, Path(self._how))

    def _kept_ranking(self, names: list[str]) -> Ranking | None:
        if self._kept is None or not distractors.made_by(self._kept, self._encoder):
            return None
        ranking = distractors.read_table(self._kept)
        return ranking if sorted(ranking) == names else None

    def _new_ranking(self, names: list[str]) -> Ranking:
        if not distractors.text_encoder_installed():  # the kept table was for other categories
            raise UsageError(
                "coco.negatives=clip: the kept table is for other categories, and open_clip isn't installed",
                "pip install 'build-bench[clip]', or --set coco.negatives=supercategory",
            )
        ranking = distractors.rank_by_text(names, self._encoder)
        if self._kept:
            store.write_bytes(self._kept, distractors.format_table(ranking, self._encoder).encode())
        return ranking

    def three(self, answer: str, draw: Draw) -> tuple[str, str, str]:
        """The wrong categories of one sample. Raises `InputError` if there aren't three that differ from it."""
        if self._how == SUPERCATEGORY:
            return distractors.nearest(answer, distractors.same_group_first(answer, self._groups, draw), normalised)
        return distractors.nearest(answer, self._ranking[answer], normalised)

    def facts(self) -> dict[str, Any]:
        """For the manifest: which negatives, and of a table what it was made by and its sha256."""
        facts: dict[str, Any] = {"negatives": self._how if self.table is None or self._how == CLIP else self.table.name}
        if self._how == CLIP:
            facts |= {f"clip_{key}": value for key, value in self._encoder.described().items() if value}
        if self.table is not None and self.table.is_file():
            facts["table_sha256"] = sha256(self.table.read_bytes()).hexdigest()
        return facts
