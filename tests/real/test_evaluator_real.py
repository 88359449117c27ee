"""Real pictures and drawings, where they lie beside the repository, built, exported and played beside the evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_bench import config, stages
from build_bench.executors.local import Local
from build_bench.layouts.proactivebench import export
from build_bench.store import Work
from tests.evaluator.running import evaluator, exported, walk

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
SETTINGS = ["coco.negatives=supercategory", "coco.crops_per_image=9"]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/samples is not beside the repository")
def test_real_samples_are_played_alike(tmp_path: Path) -> None:
    evaluator()
    work, names = Work(tmp_path / "work", SAMPLES), ["coco", "quickdraw"]
    settings = config.read(names, None, SETTINGS)
    stages.build(work, settings, names, Local(2))
    stages.assemble(work, settings, names)
    export(work.dataset, tmp_path / "out")
    samples = exported(work.dataset, tmp_path / "out")
    assert len(samples) > 50
    result = walk(samples, 100, tmp_path, tmp_path / "out")
    assert result["differences"] == 0, result["first"]
