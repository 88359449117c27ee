"""Files of ours that another program wrote to, or that are damaged: named or made again, never trusted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from build_bench import cli, stages, standing
from build_bench.errors import InputError
from build_bench.filters import binding, inputs, predictions
from build_bench.filters.filtering import Choice
from build_bench.store import Work
from tests import predicted
from tests.predicted import RULE, SCENARIOS, filtered, predict, settings, third_right, wrong

Changed = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    work = predicted.built(tmp_path_factory.mktemp("bound"))
    predict(work, "odd", third_right)
    predict(work, "third", wrong)
    return work


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    return predicted.copied(template, tmp_path)


def audited(work: Work) -> object:
    return stages.audit(work, SCENARIOS, Choice(RULE), [])


tables = st.lists(st.tuples(st.text(max_size=3) | st.none(), st.integers(-9, 9) | st.none(), st.booleans()), max_size=5)


def table_of(rows: list[tuple[str | None, int | None, bool]]) -> pa.Table:
    schema = pa.schema([("a", pa.string()), ("b", pa.int32()), ("c", pa.bool_())])
    return pa.Table.from_pylist([dict(zip("abc", row, strict=True)) for row in rows], schema)


@given(tables, tables)
def test_the_digest_of_rows_tells_tables_apart_and_not_how_they_lie_in_memory(
    rows: list[tuple[str | None, int | None, bool]], others: list[tuple[str | None, int | None, bool]]
) -> None:
    table = table_of(rows)
    parts = pa.concat_tables([table_of([("x", 1, True), *rows[:1]]).slice(1), table_of(rows[1:])])
    assert binding.content(parts) == binding.content(table)
    assert (binding.content(table_of(others)) == binding.content(table)) == (others == rows)


def change(path: Path, changed: Changed) -> None:
    """As another program does: its own rows, our stamp."""
    table = pq.read_table(path, partitioning=None)
    pq.write_table(changed(table).replace_schema_metadata(table.schema.metadata), path)


def shuffled(table: pa.Table) -> pa.Table:
    return table.take(list(range(len(table)))[::-1])


def replaced(table: pa.Table, **values: str) -> pa.Table:
    for name, value in values.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array([value] * len(table)))
    return table


def verdicts_swapped(table: pa.Table) -> pa.Table:
    """The file is as long as it was, and its columns have the same statistics."""
    verdicts = table["verdict"].to_pylist()
    verdicts[0], verdicts[1] = verdicts[1], verdicts[0]
    return table.set_column(table.schema.get_field_index("verdict"), "verdict", pa.array(verdicts))


def keep_lists(work: Work) -> dict[str, bytes]:
    return {name: work.keep(name).read_bytes() for name in SCENARIOS}


@pytest.mark.parametrize("remembered", [False, True])
def test_rows_that_another_program_shuffled_are_counted_where_they_belong(
    remembered: bool, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    if remembered:
        monkeypatch.setattr(binding, "_YOUNG", 0)
    filtered(work)
    before, report = keep_lists(work), audited(work)
    shutil.rmtree(work.root / "keep")
    change(predictions.path_of(work, "odd", "mvp_n"), shuffled)
    filtered(work)
    assert keep_lists(work) == before
    assert audited(work) == report


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda table: replaced(table, verdict="correct"), "but its verdict is correct"),
        (verdicts_swapped, "but its verdict is"),
        (lambda table: table.slice(2), "odd, mvp_n: 2 missing"),
        (lambda table: pa.concat_tables([table, table.slice(0, 1)]), "two predictions of one input"),
        (lambda table: replaced(table, model="other"), "another model than odd"),
    ],
)
def test_a_predictions_file_that_another_program_changed_is_never_trusted(
    changed: Changed, said: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "_YOUNG", 0)
    filtered(work)
    before = keep_lists(work)
    path = predictions.path_of(work, "odd", "mvp_n")
    change(path, changed)
    with pytest.raises(InputError) as refused:
        filtered(work)
    assert said in refused.value.message
    assert keep_lists(work) == before


def test_a_models_folder_that_was_copied_is_no_other_model(work: Work) -> None:
    shutil.copytree(work.predictions / "third", work.predictions / "hf%3Aother")
    for use in (filtered, audited):
        with pytest.raises(InputError, match="another model than hf:other"):
            use(work)


def test_a_file_is_read_for_its_digest_once_and_known_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "_YOUNG", 0)
    read: list[Path] = []
    original = predictions._table
    monkeypatch.setattr(predictions, "_table", lambda path, **how: read.append(path) or original(path, **how))
    filtered(work)
    files = sorted(work.predictions.glob("*/*.parquet"))
    assert sorted(read) == files
    filtered(work)
    assert sorted(read) == files
    files[0].touch()
    filtered(work)
    assert sorted(read) == sorted([*files, files[0]])


@pytest.mark.parametrize("changed", [lambda table: table.slice(3), shuffled, lambda table: table.drop_columns("kept")])
def test_a_keep_list_that_another_program_changed_is_named_and_made_again(changed: Changed, work: Work) -> None:
    filtered(work)
    before = keep_lists(work)
    change(work.keep("mvp_n"), changed)
    with pytest.raises(InputError, match=r"mvp_n\.parquet is not as build-bench filter wrote it"):
        stages.assemble(work, settings(), SCENARIOS)
    facts = standing.status(work, settings(), ["mvp_n"])["scenarios"]["mvp_n"]
    assert any("is not as build-bench filter wrote it" in line for line in facts["stale"])
    filtered(work)
    assert keep_lists(work) == before
    stages.assemble(work, settings(), SCENARIOS)


def damage(path: Path) -> None:
    """In a data page; what is at the end, which tells where pages are, stays."""
    data = bytearray(path.read_bytes())
    data[40:120] = bytes(80)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "command", [["filter"], ["audit"], ["audit", "--sample", "ID"], ["predict", "--import", "FILE"]]
)
@pytest.mark.parametrize("how", ["page", "cut"])
def test_a_damaged_predictions_file_is_named_by_every_command(
    command: list[str], how: str, work: Work, tmp_path: Path
) -> None:
    sample = inputs.read(work, "mvp_n").table["id"][0]
    (tmp_path / "t.csv").write_text(f"model,id,answer\nthird,{sample},B.\n")
    path = predictions.path_of(work, "third", "mvp_n")
    if how == "page":
        damage(path)
    else:
        path.write_bytes(path.read_bytes()[:-200])
    words = {"ID": sample, "FILE": str(tmp_path / "t.csv")}
    arguments = [words.get(word, word) for word in command]
    done = CliRunner().invoke(cli.group, [*arguments, "--work", str(work.root), *SCENARIOS])
    assert isinstance(done.exception, InputError)
    assert f"{path} can't be read" in done.exception.message


def test_damaged_keep_lists_and_digests_are_made_again(work: Work) -> None:
    filtered(work)
    before = keep_lists(work)
    damage(work.keep("mvp_n"))
    damage(work.own / "inputs" / "mvp_n.parquet")
    damage(work.own / "inputs" / "rod.parquet")
    assert stages.filter_again(work, SCENARIOS) == ""
    assert keep_lists(work) == before
    damage(work.keep("mvp_n"))
    with pytest.raises(InputError, match=r"mvp_n\.parquet can't be read"):
        stages.assemble(work, settings(), SCENARIOS)


def test_a_folder_whose_name_is_no_unicode_is_named(work: Work) -> None:
    folder = work.predictions / os.fsdecode(b"\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes Unicode alone")
    shutil.copy(predictions.path_of(work, "third", "rod"), folder)
    with pytest.raises(InputError, match="is no model's folder"):
        filtered(work)
