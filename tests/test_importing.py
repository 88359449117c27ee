"""`predict --import` by the command itself: all of a table or nothing of it, and no answer lost or made up."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from build_bench import cli, store
from build_bench.errors import BuildBenchError, InputError, UsageError
from build_bench.filters import coverage, inputs, predictions
from build_bench.store import Work
from tests import predicted
from tests.predicted import SCENARIOS, predict, right, shown, wrong

ENDINGS = ["csv", "jsonl", "parquet"]
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return predicted.built(tmp_path_factory.mktemp("imported"))


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    shutil.copytree(template.root, tmp_path / "work")
    return Work(tmp_path / "work", template.raw)


def bring_in(work: Work, path: Path, *more: str) -> Any:
    return CliRunner().invoke(cli.group, ["predict", "--import", str(path), "--work", str(work.root), *more])


def imported(work: Work, path: Path, *more: str) -> dict[str, Any]:
    done = bring_in(work, path, "--json", *more)
    assert done.exit_code == 0, (done.output, done.exception)
    return dict(json.loads(done.stdout))


def refused(work: Work, path: Path, *more: str, kind: type[BuildBenchError] = InputError) -> str:
    """What a refusal says; the cache is what it was."""
    before = content(work)
    error = bring_in(work, path, *more).exception
    assert type(error) is kind, error
    assert content(work) == before
    return error.message


def content(work: Work) -> dict[str, bytes]:
    files = [path for path in work.predictions.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files}


def table(work: Work, model: str = "x/y", say: predicted.Say = right) -> Lines:
    turns = [turn for scenario in SCENARIOS for turn in inputs.first_turns(work, scenario)]
    return [{"model": model, "id": turn.row["id"], "answer": say(turn, 0)} for turn in turns]


def write(path: Path, lines: Lines) -> Path:
    """As others write: by `csv`, `json` or polars."""
    if path.suffix == ".parquet":
        pl.DataFrame(lines).write_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, lines[0])
            writer.writeheader()
            writer.writerows(lines)
    return path


def cached(work: Work, model: str, scenario: str = "mvp_n") -> dict[str, dict[str, Any]]:
    frame = predictions.read(predictions.path_of(work, model, scenario), model)
    return {row["id"]: row for row in frame.iter_rows(named=True)}


def covered(work: Work, model: str, scenario: str = "mvp_n") -> coverage.Coverage:
    return coverage.of(predictions.path_of(work, model, scenario), shown(work)[scenario])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_of_each_format_comes_in_and_says_what_it_brought(work: Work, tmp_path: Path, ending: str) -> None:
    lines = table(work)
    lines[0]["answer"] = 'Two\nlines, "quoted"'
    report = imported(work, write(tmp_path / f"t.{ending}", [*lines, lines[1]]))
    assert report["imported"] == {"x/y": len(lines)}
    assert (report["repeated"], report["failed"], report["stale"]) == (1, 0, 0)
    assert all(covered(work, "x/y", scenario).complete for scenario in SCENARIOS)
    assert cached(work, "x/y", "rod")[lines[0]["id"]]["answer"] == lines[0]["answer"]
    assert bring_in(work, tmp_path / f"t.{ending}").stdout.startswith(f"x/y: {len(lines):,} answers\n1 rows say")


@pytest.mark.parametrize("ending", ENDINGS)
def test_failures_in_our_own_file_stay_failures_on_another_machine(work: Work, tmp_path: Path, ending: str) -> None:
    predict(work, "x/y", lambda turn, number: "" if number < 3 else right(turn, number))
    path = predictions.path_of(work, "x/y", "mvp_n")
    before = cached(work, "x/y")
    lines = pq.read_table(path, partitioning=None).to_pylist()
    shutil.rmtree(work.predictions)
    report = imported(work, write(tmp_path / f"t.{ending}", lines))
    assert (report["imported"], report["failed"]) == ({"x/y": len(lines) - 3}, 3)
    assert covered(work, "x/y").failed == 3
    keys = ("id", "input_digest", "answer", "verdict", "choice", "created")
    assert [[r[key] for key in keys] for r in cached(work, "x/y").values()] == [
        [r[key] for key in keys] for r in before.values()
    ]
    errors = [json.loads(row["runtime"]).get("error") for row in cached(work, "x/y").values()]
    assert errors == ["refused"] * 3 + [None] * (len(lines) - 3)


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ({"answer": ""}, "unparsed"),  # it wrote nothing, and there is no word of a failure
        ({"answer": "", "verdict": ""}, predictions.FAILED),
        ({"answer": "", "verdict": "unparsed"}, "unparsed"),
        ({"answer": "", "runtime": '{"error": "timeout"}'}, predictions.FAILED),
        ({"answer": "", "verdict": "", "input_digest": "0123456789ab"}, predictions.FAILED),
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_answer_is_a_failure_where_the_table_says_so(
    work: Work, tmp_path: Path, ending: str, cells: dict[str, str], verdict: str
) -> None:
    line = {**table(work)[-1], **cells}
    imported(work, write(tmp_path / f"t.{ending}", [line]))
    assert cached(work, "x/y")[line["id"]]["verdict"] == verdict


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["x" * 250, "\u20ac" * 70])
def test_a_models_name_that_is_no_folder_is_named_before_another_model_comes_in(
    work: Work, tmp_path: Path, ending: str, name: str
) -> None:
    path = write(tmp_path / f"t.{ending}", [*table(work, "okay")[:2], *table(work, name)[:2]])
    assert "bytes as a folder" in refused(work, path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two\nlines", "can't be shown"),
        ("\x1b[31mred", "can't be shown"),
        ("\u202egpj", "can't be shown"),
        (" x", "with a space"),
        ("x ", "with a space"),
        ("  ", "has no name"),
    ],
)
def test_a_models_name_that_would_not_be_seen_is_refused(work: Work, tmp_path: Path, name: str, said: str) -> None:
    message = refused(work, write(tmp_path / "t.csv", table(work, name)[:1]))
    assert "line 2: the model" in message
    assert said in message
    assert message.isprintable() or message.replace("\n    ", "").isprintable()


@pytest.mark.parametrize("name", ["my mod\u00e8le/\u65e5\u672c", "../../up", "..", "a\\b", "hf:org/m@1"])
def test_a_models_name_is_a_name_whatever_it_looks_like(work: Work, tmp_path: Path, name: str) -> None:
    assert imported(work, write(tmp_path / "t.csv", table(work, name)))["imported"] == {name: len(table(work))}
    assert predictions.models(work) == [name]
    assert len([path for path in work.predictions.rglob("*") if path.is_file()]) == len(SCENARIOS)


@pytest.mark.parametrize("key", ["model", "id", "verdict", "input_digest", "other", "answer"])
def test_a_cell_of_a_million_characters_is_not_shown_whole(work: Work, tmp_path: Path, key: str) -> None:
    path = write(tmp_path / "t.csv", [{**table(work)[-1], key: "y" * 1_000_000}])
    if key in ("other", "answer"):
        assert len(bring_in(work, path).stdout) < 500
        assert imported(work, path)["imported"] == {"x/y": 1}
    else:
        assert len(refused(work, path)) < 500


@pytest.mark.parametrize("digest", ["zzz", "0123456789AB", "0123456789abc", "0" * 64])
def test_a_digest_that_is_none_is_named(work: Work, tmp_path: Path, digest: str) -> None:
    path = write(tmp_path / "t.csv", [{**table(work)[-1], "input_digest": digest}])
    assert "expected 12 hex digits" in refused(work, path)


@pytest.mark.parametrize("key", ["answer", "model", "id", "created"])
def test_half_a_character_is_named_before_anything_comes_in(work: Work, tmp_path: Path, key: str) -> None:
    lines = [{**line, "created": "today"} for line in table(work)[-3:]]
    lines[2][key] = "\ud83d"
    assert f"line 3: {key} is '\\ud83d'" in refused(work, write(tmp_path / "t.jsonl", lines))


def test_a_damaged_file_of_a_second_model_is_named_before_the_first_comes_in(work: Work, tmp_path: Path) -> None:
    predict(work, "second", right)
    path = predictions.path_of(work, "second", "mvp_n")
    path.write_bytes(path.read_bytes()[:-100])
    lines = [*table(work, "first"), *table(work, "second")]
    assert str(path) in refused(work, write(tmp_path / "t.csv", lines))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{"input_digest": "NOW"}, {"answer": "No."}], "answered otherwise in line 2"),
        ([{"verdict": ""}, {"verdict": "wrong"}], "is correct, not wrong"),
        (
            [
                {"input_digest": "0123456789ab", "verdict": "wrong"},
                {"input_digest": "0123456789ab", "verdict": "correct"},
            ],
            "judged otherwise in line 2",
        ),
    ],
)
def test_rows_that_contradict_each_other_are_named_however_they_are_written(
    work: Work, tmp_path: Path, changes: Lines, said: str
) -> None:
    line = {**table(work)[-1], "verdict": "", "input_digest": ""}
    now = dict(shown(work)["mvp_n"].table.select("id", "input_digest").rows())[line["id"]]
    lines = [{**line, **{k: now if v == "NOW" else v for k, v in change.items()}} for change in changes]
    assert said in refused(work, write(tmp_path / "t.csv", lines))


def test_a_failure_beside_an_answer_to_the_same_sample_is_no_contradiction(work: Work, tmp_path: Path) -> None:
    line = {**table(work)[-1], "verdict": ""}
    for lines in ([line, {**line, "answer": ""}], [{**line, "answer": ""}, line]):
        assert imported(work, write(tmp_path / "t.csv", lines))["imported"] == {"x/y": 1}
        assert cached(work, "x/y")[line["id"]]["verdict"] == "correct"


def test_other_answers_than_the_caches_come_in_by_refresh_alone(work: Work, tmp_path: Path) -> None:
    predict(work, "x/y", wrong)
    path = write(tmp_path / "t.csv", table(work)[:-1])
    count = len(table(work)) - 1
    assert f"{count} are answered otherwise in the cache: rod-" in refused(work, path)
    assert "--refresh" in bring_in(work, path).exception.hint
    assert imported(work, path, "--refresh")["imported"] == {"x/y": count}
    assert [row["answer"] for row in cached(work, "x/y", "rod").values()] == [
        line["answer"] for line in table(work)[:11]
    ]
    assert [row["verdict"] for row in cached(work, "x/y").values()][-1] == "wrong"
    assert imported(work, path)["imported"] == {"x/y": count}


@pytest.mark.parametrize("option", ["--limit", "--batch-size", "--concurrency", "--max-tokens", "--price-in"])
def test_an_option_of_asking_is_refused_beside_a_table(work: Work, tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "t.csv", table(work))
    assert refused(work, path, option, "5", kind=UsageError).startswith(f"{option} is for asking models")


def test_an_answer_may_be_of_any_length(work: Work, tmp_path: Path) -> None:
    long = "x" * 200_000
    imported(work, write(tmp_path / "t.csv", [{**table(work)[-1], "answer": long}]))
    assert next(iter(cached(work, "x/y").values()))["answer"] == long


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "model,id,answer,answer\nm,ID,A.,B.\n", "two columns 'answer'"),
        ("t.jsonl", '{"model": "m", "id": "ID", "answer": "A.", "answer": "B."}\n', "the key 'answer' is there twice"),
        ("t.jsonl", '{"model": "m", "id": "ID", "answer": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "line 1: no JSON"),
    ],
)
def test_what_would_be_lost_of_a_table_is_named(work: Work, tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text.replace("ID", table(work)[-1]["id"]))
    assert said in refused(work, tmp_path / name)


def test_columns_of_a_table_that_nobody_reads_may_be_there_twice(work: Work, tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([("model", "id", "answer", "note", "note"), ("m", table(work)[-1]["id"], "A.", 1, 2)])
    (tmp_path / "t.csv").write_text(text.getvalue())
    assert imported(work, tmp_path / "t.csv")["passed_over"] == ["note", "note"]


def test_an_old_table_imported_anew_is_told_where_no_digest_tells(work: Work, tmp_path: Path) -> None:
    old = write(tmp_path / "t.csv", table(work))
    questions = tmp_path / "questions.jsonl"
    done = CliRunner().invoke(cli.group, ["predict", "--export", str(questions), "--work", str(work.root)])
    assert done.exit_code == 0, done.output
    asked = {row["id"]: row for row in map(json.loads, questions.read_text().splitlines())}
    turns = [turn for scenario in SCENARIOS for turn in inputs.first_turns(work, scenario)]
    assert [(t.prompt, t.digest) for t in turns] == [(r["prompt"], r["input_digest"]) for r in asked.values()]
    dated = [{**line, "input_digest": asked[line["id"]]["input_digest"]} for line in table(work)]
    assert imported(work, old)["changed"] == {}
    changed = reword(work)
    assert covered(work, "x/y").stale == 1
    assert imported(work, write(tmp_path / "dated.csv", dated))["stale"] == 1
    assert covered(work, "x/y").stale == 1
    done = bring_in(work, old)
    assert "1 samples changed since x/y gave these very answers" in done.stdout
    assert covered(work, "x/y").complete
    assert changed in asked
    assert "changed" not in bring_in(work, old).stdout


@pytest.mark.parametrize("option", [["--limit", "2"], ["--refresh"], ["--base-url", "http://here/v1"]])
def test_an_option_of_asking_beside_an_export_is_refused(work: Work, tmp_path: Path, option: list[str]) -> None:
    arguments = ["predict", "--export", str(tmp_path / "q.csv"), "--work", str(work.root), *option]
    error = CliRunner().invoke(cli.group, arguments).exception
    assert isinstance(error, UsageError)
    assert error.message == f"{option[0]} is for asking models, not for --export"
    assert not (tmp_path / "q.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_export_with_answers_beside_it_comes_back_as_it_is(work: Work, tmp_path: Path, ending: str) -> None:
    questions = tmp_path / f"q.{ending}"
    CliRunner().invoke(cli.group, ["predict", "--export", str(questions), "--work", str(work.root)])
    read = pl.read_csv if ending == "csv" else pl.read_ndjson
    answers = {line["id"]: line["answer"] for line in table(work)}
    lines = [{**row, "model": "x/y", "answer": answers[row["id"]]} for row in read(questions).to_dicts()]
    report = imported(work, write(tmp_path / f"a.{ending}", lines))
    assert (report["imported"], report["passed_over"]) == ({"x/y": len(answers)}, ["scenario", "prompt"])
    assert all(covered(work, "x/y", scenario).complete for scenario in SCENARIOS)


def reword(work: Work) -> str:
    """Change the question of one sample; returns its id."""
    path = work.plans("mvp_n")
    plans, stamp = pq.read_table(path), store.stamp_of(path)
    edited = plans.to_pylist()
    edited[3]["question"] = "What on earth is this?"
    store.write_table(path, plans.from_pylist(edited, plans.schema), stamp, 1024)
    return str(edited[3]["id"])


def test_a_person_is_called_one_whatever_name_was_typed(work: Work, tmp_path: Path) -> None:
    lines = [{**line, "runtime": json.dumps({"person": True})} for line in table(work, "anna")]
    assert set(imported(work, write(tmp_path / "t.csv", lines))["imported"]) == {"person:anna"}
    assert predictions.models(work) == ["person:anna"]


def test_only_a_close_id_is_suggested_and_repeated_ones_are_explained(work: Work, tmp_path: Path) -> None:
    lines = table(work)
    near = lines[0]["id"]
    path = write(tmp_path / "t.csv", [{**lines[0], "id": "nope-1"}, {**lines[0], "id": near + "x"}])
    said = refused(work, path)
    assert said.count("did you mean") == 1
    assert f"did you mean {near!r}?" in said
    twice = write(tmp_path / "twice.csv", [*lines, *table(work, say=wrong)])
    error = bring_in(work, twice).exception
    assert isinstance(error, InputError)
    assert error.hint.startswith("a model answers a sample once: several splits")
