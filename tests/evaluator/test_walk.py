"""The proof: the published evaluator and `Episode` show, ask, end and judge alike, whatever a model answers.

`POLICIES=1000 pytest tests/evaluator` walks more of it.
"""

from __future__ import annotations

import copy
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build_bench import builders, config, stages
from build_bench.crops import DIRECTIONS
from build_bench.demo import SETTINGS, draw
from build_bench.executors.local import Local
from build_bench.layouts.proactivebench import export
from build_bench.layouts.record import DATASETS
from build_bench.store import Work
from tests.evaluator import stress
from tests.evaluator.running import ROOT, Row, evaluator, exported, made_up, walk

POLICIES = int(os.environ.get("POLICIES", "100"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo of all seven, exported; work/dataset beside it."""
    evaluator()
    root = tmp_path_factory.mktemp("walk")
    work, names = Work(root / "work", root / "raw"), list(builders.SCENARIOS)
    settings = config.read(names, None, SETTINGS)
    draw(work.raw, names)
    stages.build(work, settings, names, Local(2))
    stages.assemble(work, settings, names)
    export(work.dataset, root / "exported")
    return root


def test_every_sample_of_the_demo_is_played_alike(folder: Path, tmp_path: Path) -> None:
    samples = exported(folder / "work" / "dataset", folder / "exported")
    assert {sample["dataset"] for sample in samples} == {*DATASETS.values()}
    result = walk(samples, POLICIES, tmp_path, folder / "exported")
    assert result["differences"] == 0, result["first"]
    assert result["policies"] == len(samples) * POLICIES


def test_every_shape_that_a_builder_can_give_is_played_alike(tmp_path: Path) -> None:
    evaluator()
    rows = stress.rows()
    records = made_up(rows)
    tracks = {
        (each["record"]["direction"], each["record"]["granularity"]) for each in records if "crop" in each["record"]
    }
    assert len(rows) >= 2000
    assert {*Counter(row["scenario"] for row in rows)} == {*DATASETS}
    assert tracks >= {(direction, g) for direction in DIRECTIONS for g in (3, 4, 5)}
    result = walk(records, POLICIES, tmp_path)
    assert result["differences"] == 0, result["first"]
    assert (result["samples"], result["policies"]) == (len(rows), len(rows) * POLICIES)


def _state(row: Row, number: int = -1, **changes: Any) -> None:
    row["states"][row["start"] if number < 0 else number].update(changes)


def _first_of(row: Row) -> dict[str, Any]:
    state: dict[str, Any] = row["states"][row["start"]]
    return state


def _longer_crop(row: Row) -> None:
    crop = list(_first_of(row)["crop"])
    _state(row, crop=[*crop[:3], crop[3] + 1])


def _ends_early(row: Row) -> None:
    _state(row, moves=[-1] * len(_first_of(row)["moves"]))


def _other_order(row: Row) -> None:
    state = _first_of(row)
    _state(row, options=list(state["options"])[::-1], moves=list(state["moves"])[::-1])


def _swapped_moves(row: Row) -> None:
    state = _first_of(row)
    valid = [place for place, move in enumerate(state["moves"]) if move >= 0]
    moves = list(state["moves"])
    moves[valid[0]], moves[valid[1]] = moves[valid[1]], moves[valid[0]]
    _state(row, moves=moves)


def _set(**changes: Any) -> Callable[[Row], None]:
    return lambda row: row.update(changes)


SEEDED: dict[str, tuple[str, Callable[[Row], None]]] = {
    "a crop of another pixel": ("coco", _longer_crop),
    "an episode that ends early": ("quickdraw", _ends_early),
    "options in another order": ("imagenet_c", _other_order),
    "left for right": ("rod", _swapped_moves),
    "right at the first turn": ("rod", _set(first_turn_answerable=True)),
    "fewer turns": ("vsod", _set(max_turns=1)),
    "another hint": ("mvp_n", _set(hint="Hint: ask.")),
    "another question": ("changeit", _set(question="What?")),
    "another answer": (
        "changeit",
        lambda row: row.update(answer=next(c for c in row["categories"] if c != row["answer"])),
    ),
    "another reference": ("quickdraw", lambda row: row["reference"].update(frame=0)),
    "another start": ("vsod", lambda row: row.update(start=(row["start"] + 1) % len(row["states"]))),
    "an option of another kind": (
        "imagenet_c",
        lambda row: [option.update(kind="abstain") for option in row["options"] if option["kind"] == "invalid"],
    ),
}


def test_each_seeded_difference_is_found(tmp_path: Path) -> None:
    evaluator()
    rows = {row["scenario"]: row for row in stress.rows() if len(row["states"]) > 3}
    samples = []
    for number, (name, (scenario, spoil)) in enumerate(SEEDED.items()):
        sample = copy.deepcopy(made_up([rows[scenario]])[0])
        spoil(sample["row"])
        samples.append(sample | {"row": sample["row"] | {"id": f"{number} {name}"}})
    result = walk(samples, max(POLICIES, 100), tmp_path)  # fewer miss some
    assert sorted(result["differing"]) == sorted(sample["row"]["id"] for sample in samples)


def test_the_loader_in_the_readme_plays_every_record(folder: Path) -> None:
    python, wheel = evaluator()
    found = re.search(r"```python\n(import json.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert found[1].count("\n") <= 12
    for name in DATASETS.values():
        code = found[1].replace("QuickDraw", name) + "\n    print(environment.id)"
        done = subprocess.run(
            [python, "-c", code], env={"PYTHONPATH": wheel}, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        records = (folder / "exported" / f"{name}_preprocessed.jsonl").read_bytes().splitlines()
        assert done.stdout.split() == [str(number) for number in range(len(records))]
