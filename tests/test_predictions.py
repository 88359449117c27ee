"""The cache of predictions: what goes in comes out, nothing is lost, and what can't be used is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import shards, store
from build_bench.errors import BuildBenchError, InputError, UsageError
from build_bench.filters import coverage, filtering, first_turn, importing, inputs, predictions
from build_bench.store import Work
from tests import predicted
from tests.predicted import SCENARIOS, predict, right, shown, wrong


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return predicted.built(tmp_path_factory.mktemp("predicted"))


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    shutil.copytree(template.root, tmp_path / "work")
    return Work(tmp_path / "work", template.raw)


def rows(work: Work, model: str, scenario: str = "mvp_n") -> list[dict[str, Any]]:
    return predictions.read(predictions.path_of(work, model, scenario), model).to_dicts()


def reword(work: Work, scenario: str = "mvp_n") -> str:
    """Change the prompt of one sample; returns its id."""
    table = pq.read_table(work.plans(scenario))
    plans = table.to_pylist()
    plans[2]["question"] = "What else might this be?"
    pq.write_table(pa.Table.from_pylist(plans, table.schema), work.plans(scenario), row_group_size=1024)
    return str(plans[2]["id"])


@given(st.text(min_size=1, max_size=20))
def test_a_models_name_and_its_folder_are_one_to_one(name: str) -> None:
    try:
        folder = predictions.folder_name(name)
    except (UsageError, UnicodeEncodeError):
        return
    assert predictions.model_name(folder) == name
    assert not set(folder) & set('/\\:*?"<>| ')
    assert not folder.startswith(".")
    assert not folder.endswith(".")


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        predictions.folder_name(name)


def test_what_is_shown_is_digested_and_nothing_else(work: Work) -> None:
    turn = next(iter(inputs.first_turns(work, "mvp_n")))
    row = dict(turn.row)
    other = {**row, "hint": "Hint: other.", "max_turns": 99, "answer": row["categories"][0], "id": "mvp_n-other"}
    assert inputs.input_digest(other, "p") == inputs.input_digest(row, "p")
    assert inputs.input_digest(row, "q") != inputs.input_digest(row, "p")
    state = [{**row["states"][0], "crop": [0, 0, 1, 1]}, *row["states"][1:]]
    for change in (
        {"question": "Else?"},
        {"categories": row["categories"][::-1]},
        {"options": row["options"][::-1]},
        {"states": state},
    ):
        assert inputs.input_digest({**row, **change}, "p") != inputs.input_digest(row, "p")
    digests = dict(shown(work)["mvp_n"].table.select("id", "input_digest").rows())
    assert digests[row["id"]] == turn.digest


def test_digests_are_made_once_and_pictures_read_again_only_where_shards_changed(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shown(work)
    reword(work)

    def unread(*_: object) -> None:
        raise AssertionError("a picture was read again")

    monkeypatch.setattr(inputs, "_pictures", unread)
    after = shown(work)
    changed = before["mvp_n"].table["input_digest"] != after["mvp_n"].table["input_digest"]
    assert changed.sum() == 1
    monkeypatch.setattr(inputs, "_compute", unread)
    assert shown(work)["mvp_n"].key == after["mvp_n"].key


def test_changing_one_prompt_makes_exactly_its_predictions_stale(work: Work) -> None:
    for model in ("a", "b"):
        predict(work, model, right)
    name = reword(work)
    for model in ("a", "b"):
        covered = {s: coverage.of(predictions.path_of(work, model, s), i) for s, i in shown(work).items()}
        assert covered["rod"].complete
        assert (covered["mvp_n"].stale, covered["mvp_n"].missing, covered["mvp_n"].failed) == (1, 0, 0)
    current = dict(shown(work)["mvp_n"].table.select("id", "input_digest").rows())
    assert [row["id"] for row in rows(work, "a") if row["input_digest"] != current[row["id"]]] == [name]


def test_the_former_answer_counts_again_when_the_former_prompt_comes_back(work: Work) -> None:
    plans = work.plans("mvp_n").read_bytes()
    predict(work, "a", right)
    before = rows(work, "a")
    reword(work)
    predict(work, "a", wrong)
    assert len(rows(work, "a")) == len(before) + 1
    assert coverage.of(predictions.path_of(work, "a", "mvp_n"), shown(work)["mvp_n"]).complete
    store.write_bytes(work.plans("mvp_n"), plans)
    settled = predictions.settle(work, "a", "mvp_n", shown(work)["mvp_n"])
    assert settled.complete
    fits = pl.read_parquet(settled.path).head(len(before))
    assert fits["id"].to_list() == [row["id"] for row in before]


def test_a_failure_is_recorded_never_replaces_an_answer_and_is_replaced_by_one(work: Work) -> None:
    predict(work, "a", lambda turn, number: "" if number < 3 else right(turn, number))
    path = predictions.path_of(work, "a", "mvp_n")
    assert coverage.of(path, shown(work)["mvp_n"]).failed == 3
    failures = [row for row in rows(work, "a") if row["verdict"] == predictions.FAILED]
    assert [json.loads(row["runtime"])["error"] for row in failures] == ["refused"] * 3
    predict(work, "a", right)
    predict(work, "a", lambda turn, number: "")
    assert coverage.of(path, shown(work)["mvp_n"]).complete
    assert {row["verdict"] for row in rows(work, "a")} == {"correct"}


def test_a_corrected_answer_judges_the_predictions_again(work: Work) -> None:
    predict(work, "a", right)
    table = pq.read_table(work.plans("mvp_n"))
    plans = table.to_pylist()
    plans[0]["answer"] = next(c for c in plans[0]["categories"] if c != plans[0]["answer"])
    pq.write_table(pa.Table.from_pylist(plans, table.schema), work.plans("mvp_n"), row_group_size=1024)
    predictions.settle(work, "a", "mvp_n", shown(work)["mvp_n"])
    assert [row["id"] for row in rows(work, "a") if row["verdict"] == "wrong"] == [plans[0]["id"]]


def foreign(work: Work, change: dict[str, Any]) -> Path:
    """A file of the contract's columns alone, as another program may write it, in another order of rows."""
    predict(work, "a", right)
    path = predictions.path_of(work, "a", "mvp_n")
    frame = pl.read_parquet(path).drop("choice").reverse()
    frame.with_columns(**change).write_parquet(path)
    return path


def test_a_file_of_another_program_is_taken_as_it_is(work: Work) -> None:
    predict(work, "a", right)
    before, digest = rows(work, "a"), predictions.settle(work, "a", "mvp_n", shown(work)["mvp_n"]).digest
    path = foreign(work, {"created": pl.lit(before[0]["created"])})
    settled = predictions.settle(work, "a", "mvp_n", shown(work)["mvp_n"])
    assert settled.complete
    assert settled.digest == digest
    assert settled.path == path
    assert [row | {"created": before[0]["created"]} for row in before] == rows(work, "a")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": pl.lit("wrong")}, "is correct, but its verdict is wrong"),
        ({"verdict": pl.lit("right")}, "not a verdict"),
        ({"model": pl.lit("b")}, "another model than a"),
        ({"id": pl.lit("mvp_n-x"), "input_digest": pl.lit("0")}, "two predictions of one input"),
        ({"answer": pl.lit(None, pl.String)}, "a value is missing"),
        ({"answer": pl.lit(b"\xff")}, "other types"),
    ],
)
def test_a_broken_file_is_named_with_the_row(work: Work, change: dict[str, Any], said: str) -> None:
    path = foreign(work, change)
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        predictions.settle(work, "a", "mvp_n", shown(work)["mvp_n"])
    assert str(path) in error.value.message
    assert said in error.value.message
    assert path.read_bytes() == before


def table(work: Work) -> list[dict[str, Any]]:
    return [
        {"model": "x/y", "id": turn.row["id"], "answer": turn.row["answer"]}
        for scenario in predicted.SCENARIOS
        for turn in inputs.first_turns(work, scenario)
    ]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    frame = pl.DataFrame(lines)
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[path.suffix](path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_others_tables_come_in_whatever_their_format(work: Work, tmp_path: Path, ending: str) -> None:
    lines = table(work)
    lines[0]["answer"] = 'Two\nlines, "quoted"'
    report = importing.import_file(work, write(tmp_path / f"t.{ending}", [*lines, lines[1]][::-1]), shown(work))
    assert report["imported"] == {"x/y": len(lines)}
    assert report["repeated"] == 1
    assert predictions.models(work) == ["x/y"]
    covered = coverage.table(work, ["x/y"], shown(work))["x/y"]
    assert all(found.complete for found in covered.values())
    found = {row["id"]: row for s in predicted.SCENARIOS for row in rows(work, "x/y", s)}
    assert found[lines[0]["id"]]["answer"] == lines[0]["answer"]
    assert found[lines[0]["id"]]["verdict"] == "unparsed"
    assert found[lines[-1]["id"]]["verdict"] == "correct"


def test_an_answer_to_a_former_input_comes_in_as_stale(work: Work, tmp_path: Path) -> None:
    line = {**table(work)[-1], "input_digest": "0123456789ab"}
    report = importing.import_file(work, write(tmp_path / "t.csv", [line]), shown(work))
    assert report["stale"] == 1
    assert coverage.of(predictions.path_of(work, "x/y", "mvp_n"), shown(work)["mvp_n"]).stale == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "mvp_n-nothing"}, "line 3: no sample is built that is called 'mvp_n-nothing'"),
        ({"verdict": "wrong"}, "is correct, not wrong"),
        ({"verdict": "perhaps"}, "expected one of correct, wrong"),
        ({"model": " "}, "line 3: the model has no name"),
    ],
)
def test_a_row_that_cant_be_used_is_named_and_nothing_is_imported(
    work: Work, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    lines = [{**line, "verdict": ""} for line in table(work)[-5:]]
    lines[1] |= change
    with pytest.raises(InputError) as error:
        importing.import_file(work, write(tmp_path / "t.csv", lines), shown(work))
    assert said in error.value.message
    assert "nothing was imported" in error.value.hint
    assert predictions.models(work) == []


def test_rows_that_contradict_each_other_are_both_named(work: Work, tmp_path: Path) -> None:
    line = table(work)[-1]
    with pytest.raises(InputError, match=r"line 3: .* answered otherwise in line 2"):
        importing.import_file(work, write(tmp_path / "t.csv", [line, {**line, "answer": "B"}]), shown(work))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "", "has no rows"),
        ("t.csv", "model,id,answer\n", "has no rows"),
        ("t.csv", "model,sample_id,answer\na,b,c\n", "did you mean 'sample_id'? rename it to 'id'"),
        ("t.csv", "model,id,response\na,b,c\n", "did you mean 'response'?"),
        ("t.csv", "model,id,answer,verdikt\na,b,c,d\n", "did you mean 'verdikt'?"),
        ("t.csv", "model,id\na,b\n", "has no column 'answer'"),
        ("t.csv", "model,id,answer\na,b\n", "line 2: 2 cells, 3 expected"),
        ("t.jsonl", '{"model": "a", "id": "b", "answer": 5}\n', "line 1: answer is 5, expected text"),
        ("t.jsonl", '{"model": "a"}\n{', "line 2: no JSON"),
        ("t.jsonl", "[1]\n", "line 1: expected an object"),
        ("t.parquet", "no parquet", "can't be read"),
        ("t.xlsx", "", "expected a name that ends in"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(work: Work, tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BuildBenchError) as error:
        importing.import_file(work, path, shown(work))
    assert said in error.value.message + error.value.hint
    assert str(path) in error.value.message


def test_a_damaged_shard_is_named_and_no_sample_is_passed_over(work: Work) -> None:
    shard = shards.paths(work, "rod")[0]
    shard.write_bytes(b"damaged")
    with pytest.raises(InputError, match="is damaged") as refused:
        inputs.read(work, "rod")
    assert "build rod" in refused.value.hint


def test_a_damaged_keep_list_is_never_taken_for_none(work: Work) -> None:
    predict(work, "a", right)
    filtering.filter_(work, SCENARIOS, filtering.Choice(first_turn.rule()))
    assert set(filtering.fresh(work, SCENARIOS)) == set(SCENARIOS)
    for scenario in SCENARIOS:
        work.keep(scenario).write_bytes(b"damaged")
    with pytest.raises(InputError, match="no keep list that can be read"):
        filtering.fresh(work, SCENARIOS)
