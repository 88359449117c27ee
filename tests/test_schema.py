"""The published columns are those of the contract, and rows survive the way through parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given

from build_bench import schema
from build_bench.prompting import word
from build_bench.records import Draft
from tests.samples import POOL, drafts

CONTRACT = (
    "id scenario question question_kind context hint reference_question options categories answer frames states start "
    "reference max_turns first_turn_answerable open_answers source first_turn_accuracy num_models"
)


def test_the_columns_are_those_of_the_contract_in_its_order() -> None:
    assert schema.PUBLISHED.names == CONTRACT.split()


def test_datasets_sees_pictures_in_the_same_columns() -> None:
    features = schema.features()
    assert features.arrow_schema.remove_metadata().equals(schema.PUBLISHED)
    assert str(features["frames"]).startswith("List(Image(")
    assert set(features["options"].feature) == {"text", "kind", "action"}


@given(drafts())
def test_a_plan_comes_back_from_its_row(drafted: Draft) -> None:
    worded = word(drafted, POOL, "made_up", 0)
    assert schema.plan_of(schema.plans_table([worded]).to_pylist()[0]) == worded


def test_a_plan_comes_back_from_parquet(tmp_path: Path) -> None:
    from tests.samples import plan

    plans = [plan(f"cat/{number}") for number in range(3)]
    pq.write_table(schema.plans_table(plans), tmp_path / "plans.parquet")
    assert [schema.plan_of(row) for row in pq.read_table(tmp_path / "plans.parquet").to_pylist()] == plans


def test_an_empty_table_has_the_same_columns() -> None:
    empty = pa.Table.from_pylist([], schema.RENDERED)
    assert schema.published_table(schema.plans_table([]), empty).schema.equals(schema.PUBLISHED)
