"""Two machines at one address ask the same model: what both were told counts, and nothing needs a person."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from build_bench.errors import BuildBenchError
from build_bench.filters import inputs, predictions
from build_bench.filters.inputs import FirstTurn
from build_bench.joining import Answers
from build_bench.mirror import Mirror
from build_bench.store import Work
from tests import predicted
from tests.predicted import filtered, predict, right, wrong

MODEL = "odd"
JOURNAL = ".build-bench/predict/odd/rod.jsonl"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return predicted.built(tmp_path_factory.mktemp("joined"))


@pytest.fixture
def machines(built: Work, tmp_path: Path) -> tuple[Work, Work]:
    """With the same built samples, at one address."""
    found = []
    for name in ("one", "two"):
        shutil.copytree(built.root, tmp_path / name)
        mirror = Mirror(f"memory://{tmp_path.name}/bench", tmp_path / name, Answers())
        found.append(Work(tmp_path / name, built.raw, shared=mirror))
    first, second = found
    first.give(first.root), second.bring(second.root)
    return first, second


def parts(of: int, number: int) -> Callable[[FirstTurn, int], str]:
    """Answers every so manyth sample; the others fail."""
    return lambda turn, at: right(turn, at) if at % of == number else ""


def answers(work: Work) -> dict[str, str]:
    rows = predictions.read(predictions.path_of(work, MODEL, "rod"), MODEL)
    return dict(rows.filter(pl.col("verdict") != "").select("id", "answer").rows())


def test_what_both_were_told_counts_whoever_gives_first(machines: tuple[Work, Work]) -> None:
    one, two = machines
    predict(one, MODEL, parts(2, 0), ["rod"]), predict(two, MODEL, parts(2, 1), ["rod"])
    one.give(one.root), two.give(two.root), one.bring(one.root)
    expected = {turn.row["id"]: turn.row["answer"] for turn in inputs.first_turns(one, "rod")}
    assert answers(one) == answers(two) == expected


def test_a_command_joins_before_it_begins_and_gives_it(machines: tuple[Work, Work]) -> None:
    one, two = machines
    predict(one, MODEL, parts(2, 0), ["rod"]), predict(two, MODEL, parts(2, 1), ["rod"])
    one.give(one.root), two.bring(two.root)
    assert len(answers(two)) == 11
    two.give(two.root), one.bring(one.root)
    assert answers(one) == answers(two)


def test_of_two_answers_the_later_stays_and_no_failure_replaces_one(
    machines: tuple[Work, Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = machines
    monkeypatch.setattr(predictions, "now", lambda: "2026-01-02T00:00:00+00:00")
    predict(one, MODEL, parts(1, 0), ["rod"])
    monkeypatch.setattr(predictions, "now", lambda: "2026-01-01T00:00:00+00:00")
    predict(two, MODEL, wrong, ["rod"])
    one.give(one.root), two.give(two.root)
    assert answers(two) == answers(one)
    monkeypatch.setattr(predictions, "now", lambda: "2026-01-03T00:00:00+00:00")
    shutil.rmtree(one.predictions)
    predict(one, MODEL, parts(2, 0), ["rod"])
    one.give(one.root)
    assert len(answers(one)) == 11


def test_what_is_joined_is_filtered_by_even_if_one_machine_judged_by_older_rules(machines: tuple[Work, Work]) -> None:
    one, two = machines
    predict(one, MODEL, parts(2, 0)), predict(two, MODEL, parts(2, 1))
    path = predictions.path_of(two, MODEL, "rod")
    rows = predictions.read(path, MODEL).with_columns(
        verdict=pl.when(pl.col("verdict") == "correct").then(pl.lit("wrong")).otherwise("verdict")
    )
    rows.write_parquet(path)
    one.give(one.root), two.give(two.root)
    assert filtered(two, rule=predicted.first_turn.rule("0.5"))["scenarios"]["mvp_n"]["kept"] == 0


def test_journals_of_two_killed_runs_are_joined_line_by_line(machines: tuple[Work, Work]) -> None:
    one, two = machines
    for work, text in ((one, "both\nmine\n"), (two, "both\ntheirs\nhalf a li")):
        (work.root / JOURNAL).parent.mkdir(parents=True)
        (work.root / JOURNAL).write_text(text)
    one.give(one.root), two.bring(two.root)
    assert sorted((two.root / JOURNAL).read_text().splitlines()) == ["both", "half a li", "mine", "theirs"]


def test_a_broken_file_is_named_and_stays(machines: tuple[Work, Work]) -> None:
    one, two = machines
    predict(one, MODEL, right, ["rod"]), predict(two, MODEL, right, ["rod"])
    path = predictions.path_of(two, MODEL, "rod")
    path.write_bytes(b"PAR1 no")
    (two.root / "reports").mkdir()
    (two.root / "reports" / "audit.json").write_text("{}")
    one.give(one.root)
    with pytest.raises(BuildBenchError, match=r"rod\.parquet can't be read"):
        two.bring(two.root)
    assert path.read_bytes() == b"PAR1 no"
    assert not list(two.own.glob("*.partial"))
    with pytest.raises(BuildBenchError, match=r"rod\.parquet can't be read"):
        two.give(two.root)
    one.bring(one.root)
    assert (one.root / "reports" / "audit.json").exists(), "all else is given"
