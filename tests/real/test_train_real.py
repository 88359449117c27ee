"""The training split of real rows: COCO's train2017 beside its val2017, and 25 drawings of each of 60 words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from build_bench import config, planning, stages, verifying
from build_bench.builders import TRAIN
from build_bench.executors.local import Local
from build_bench.store import Work

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/samples is not beside the repository")

PICTURES = (
    "coco.annotations=annotations/instances_val2017.json",
    "coco.pictures=val2017",
    "coco.negatives=supercategory",
)
OTHERS = ("coco.train_annotations=annotations/instances_train2017.json", "coco.train_pictures=train2017")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("real") / "raw"
    root.mkdir()
    (root / "coco").symlink_to(SAMPLES / "coco2017_subset")
    (root / "quickdraw").symlink_to(SAMPLES / "quickdraw")
    return root


@pytest.fixture(scope="module")
def works(raw: Path) -> tuple[Work, Work]:
    """The test's, and the training split's in it."""
    both = Work(raw.parent / "work", raw), Work(raw.parent / "work" / "train", raw, raw.parent / "work")
    names = ["quickdraw", "coco"]
    stages.build(both[0], config.read(names, None, PICTURES), names, Local(1), only=stages.PLAN)
    chosen = config.read(names, None, [*PICTURES, *OTHERS], split=TRAIN)
    stages.build(both[1], chosen, names, Local(1))
    stages.assemble(both[1], chosen, names)
    return both


def keys(work: Work, scenario: str) -> list[str]:
    return [source["key"] for source in pq.read_table(work.plans(scenario))["source"].to_pylist()]


def test_no_item_is_in_both_and_every_usable_one_is_in_one(works: tuple[Work, Work]) -> None:
    test, train = ({name: keys(work, name) for name in ("quickdraw", "coco")} for work in works)
    assert {*test["quickdraw"]}.isdisjoint(train["quickdraw"])
    per_word = [Counter(key.split("/")[0] for key in split["quickdraw"]) for split in (test, train)]
    assert max(per_word[0].values()) == 10
    assert len(per_word[1]) > 40
    assert {key.split("-")[0] for key in train["coco"]} == {"60760", "166532", "191381", "360772"}
    assert len(train["coco"]) == 8  # two crops of each


def test_real_examples_are_sound_and_load(works: tuple[Work, Work]) -> None:
    train = works[1]
    assert verifying.verify(train.dataset) == (5, [])
    loaded = load_dataset(str(train.dataset), "all", split="train")
    sides = Counter(any(o["kind"] == "proactive" for o in options) for options in loaded["options"])
    assert 0.4 < sides[True] / loaded.num_rows < 0.6
    for scenario in ("quickdraw", "coco"):
        stamp = planning.read_stamp(train, scenario)
        assert stamp
        assert stamp.split == TRAIN
