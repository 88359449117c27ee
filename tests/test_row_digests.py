"""A row's digest changes with whatever a reader of the dataset sees of it, and with nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from build_bench import row_digests, schema
from tests.samples import plan

Row = dict[str, Any]


def rows(count: int = 3) -> list[Row]:
    made = []
    for number in range(count):
        planned = plan(f"cat/{number}")
        frames = [{"bytes": f"{number} {name}".encode(), "path": name} for name in planned.frames]
        drawn = pa.Table.from_pylist([{"id": planned.id, "frames": frames}], schema.RENDERED)
        made += schema.published_table(schema.plans_table([planned]), drawn).to_pylist()
    return made


def digests(found: list[Row]) -> dict[str, str]:
    return dict(row_digests.of(pa.Table.from_pylist(found, schema.PUBLISHED)))


def test_every_published_column_is_covered_but_those_that_another_model_changes() -> None:
    covered = [name for generation in row_digests.GENERATIONS for name in generation]
    assert sorted([*covered, *row_digests.VOLATILE]) == sorted(schema.PUBLISHED.names), (
        "a new column gets a tuple of its own in GENERATIONS: else every row of the next release counts as changed"
    )


@pytest.mark.parametrize("column", [name for name in row_digests.GENERATIONS[0] if name not in ("id", "frames")])
def test_any_other_value_is_another_row(column: str) -> None:
    before = rows()
    after = copy.deepcopy(before)
    after[1][column] = {str: "other", int: 77, bool: not after[1][column]}.get(type(after[1][column]))
    found = [digests(before), digests(after)]
    assert [name for name in found[0] if found[0][name] != found[1][name]] == [before[1]["id"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda frames: frames[0].update(bytes=b"another picture"),
        lambda frames: frames[0].update(path="another.png"),
        lambda frames: frames[0].update(bytes=None),
        lambda frames: frames.reverse(),
        lambda frames: frames.pop(),
        lambda frames: frames.append(dict(frames[0])),
    ],
)
def test_other_pictures_are_another_row(change: Callable[[list[Row]], Any]) -> None:
    before = rows()
    after = copy.deepcopy(before)
    change(after[1]["frames"])
    found = [digests(before), digests(after)]
    assert [name for name in found[0] if found[0][name] != found[1][name]] == [before[1]["id"]]


def test_scores_order_and_how_a_table_is_cut_change_nothing() -> None:
    before = rows(5)
    scored = [{**row, "first_turn_accuracy": 0.5, "num_models": 4} for row in before]
    table = pa.Table.from_pylist(scored, schema.PUBLISHED)
    cut = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert dict(row_digests.of(cut)) == digests(before)
    assert [*row_digests.of(table.slice(1, 3))] == [*digests(before).items()][1:4]
    assert digests(before[::-1]) == digests(before)


def test_a_row_that_only_gained_a_column_is_the_same() -> None:
    assert row_digests.same("0123456789abcdef", "0123456789abcdef" + "f" * 16)
    assert not row_digests.same("0123456789abcdef", "0123456789abcdee" + "f" * 16)
