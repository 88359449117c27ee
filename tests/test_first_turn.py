"""The 25 % rule and the keep list: exact at the line, monotonic, indifferent to order, and never on stale answers."""

from __future__ import annotations

import json
import random
import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from build_bench import cli, stages, standing
from build_bench.errors import InputError, UsageError
from build_bench.filters import first_turn, keep_list
from build_bench.store import Work
from tests import predicted
from tests.predicted import RULE, SCENARIOS, filtered, predict, right, settings, wrong

shares = st.builds(Fraction, st.integers(0, 120), st.integers(1, 60))


@st.composite
def answered(draw: st.DrawFn) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """Samples, and predictions of models: stale, missing and failed ones among them."""
    count = draw(st.integers(1, 12))
    ids = [f"s-{number:02}" for number in range(count)]
    flags = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    samples = pl.DataFrame({"id": ids, "input_digest": ["now"] * count, "first_turn_answerable": flags})
    verdict = st.sampled_from(["correct", "wrong", "abstain", ""])
    models = []
    for _ in range(draw(st.integers(1, 6))):
        rows = [
            (name, digest, draw(verdict)) for name in ids for digest in draw(st.sets(st.sampled_from(["now", "then"])))
        ]
        models.append(
            pl.DataFrame(rows, {"id": pl.String, "input_digest": pl.String, "verdict": pl.String}, orient="row")
        )
    return samples, models


def tally(samples: pl.DataFrame, models: list[pl.DataFrame]) -> pl.DataFrame:
    marks = [first_turn.marks(samples.lazy(), model.lazy()) for model in models]
    return first_turn.tally(first_turn.side_by_side(samples.lazy(), marks), len(models)).collect()


def kept(counts: pl.DataFrame, threshold: Fraction) -> set[str]:
    return set(counts.filter(first_turn.kept(counts, first_turn.Rule(threshold)))["id"])


@pytest.mark.parametrize(("correct", "dropped"), [(5, False), (6, True)])
def test_of_22_models_6_drop_and_5_stay(correct: int, dropped: bool) -> None:
    assert RULE.name == "first_turn_25_v1"
    assert RULE.drops(correct, 22) is dropped


def test_the_line_itself_drops_where_floats_would_slip() -> None:
    assert first_turn.rule("0.1").drops(3, 30)
    assert first_turn.rule("0.7").drops(7, 10)
    assert first_turn.rule("1/3").drops(1, 3)
    assert not first_turn.rule("0.33333333333333334").drops(1, 3)


@given(st.integers(0, 40), st.integers(1, 40), shares)
def test_integers_agree_with_fractions(correct: int, models: int, threshold: Fraction) -> None:
    assert first_turn.Rule(threshold).drops(correct, models) == (Fraction(correct, models) >= threshold)


@given(answered())
def test_the_tally_is_that_of_a_plain_loop(case: tuple[pl.DataFrame, list[pl.DataFrame]]) -> None:
    samples, models = case
    for name, answerable, correct, count in tally(samples, models).rows():
        fresh = [v for model in models for i, d, v in model.rows() if (i, d) == (name, "now") and v]
        assert (correct, count) == (fresh.count("correct"), len(fresh))
        assert (name in kept(tally(samples, models), RULE.threshold)) is not RULE.drops(correct, count, answerable)


@given(answered(), shares, shares)
def test_a_higher_threshold_never_keeps_fewer(
    case: tuple[pl.DataFrame, list[pl.DataFrame]], one: Fraction, other: Fraction
) -> None:
    counts = tally(*case)
    assert kept(counts, min(one, other)) <= kept(counts, max(one, other))


@given(answered())
def test_zero_keeps_only_what_the_rule_spares_and_above_one_keeps_all(
    case: tuple[pl.DataFrame, list[pl.DataFrame]],
) -> None:
    counts = tally(*case)
    spared = counts.filter(~pl.col("first_turn_answerable") | (pl.col("models") == 0))
    assert kept(counts, Fraction(0)) == set(spared["id"])
    assert kept(counts, Fraction(101, 100)) == set(counts["id"])


@given(answered(), st.randoms())
def test_the_order_of_rows_and_files_changes_nothing(
    case: tuple[pl.DataFrame, list[pl.DataFrame]], draw: random.Random
) -> None:
    samples, models = case
    shuffled = [model.sample(fraction=1, shuffle=True, seed=draw.randint(0, 9)) for model in models]
    draw.shuffle(shuffled)
    assert tally(samples, models).equals(tally(samples, shuffled))


@pytest.mark.parametrize(
    "text", ["", "a", "-0.1", "nan", "inf", "1/0", "0.25%", "1e9", "0." + "1" * 99, "1e999999999", "1e-99999999", "1_0"]
)
def test_a_threshold_that_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a share"):
        first_turn.rule(text)


def test_another_threshold_is_another_rule() -> None:
    names = [first_turn.rule(text).name for text in ("0.25", "1/4", "0.3", "0.125", "1/3")]
    expected = ["first_turn_25_v1", "first_turn_25_v1", "first_turn_30_v1", "first_turn_12.5_v1", "first_turn_1/3_v1"]
    assert names == expected


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return predicted.with_three_models(tmp_path_factory.mktemp("filtered"))


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    return predicted.copied(template, tmp_path)


def test_rod_is_spared_and_the_rest_goes_by_the_line(work: Work) -> None:
    report = filtered(work)["scenarios"]
    assert report["rod"]["kept"] == report["rod"]["total"]
    total = report["mvp_n"]["total"]
    assert report["mvp_n"]["kept"] == total - len(range(0, total, 3))
    assert report["mvp_n"]["kept_first_turn_accuracy"] == 0


def test_filtering_again_writes_nothing_and_gives_the_same_bytes(work: Work, template: Work) -> None:
    filtered(work)
    before = [work.keep(name).stat().st_mtime_ns for name in SCENARIOS]
    content = [work.keep(name).read_bytes() for name in SCENARIOS]
    filtered(work)
    assert [work.keep(name).stat().st_mtime_ns for name in SCENARIOS] == before
    shutil.rmtree(work.root / "keep")
    filtered(work)
    assert [work.keep(name).read_bytes() for name in SCENARIOS] == content


def test_a_work_folder_whose_name_looks_like_a_pattern_is_a_folder(template: Work, tmp_path: Path) -> None:
    work = predicted.copied(template, tmp_path / "run [1] of *?")
    predict(work, "fourth", lambda turn, number: "" if number < 2 else right(turn, number), ["mvp_n"])
    assert filtered(work, allow_missing=True)["allowed_missing"]["mvp_n"]["fourth"]["failed"] == 2
    done = CliRunner().invoke(cli.group, ["audit", "--work", str(work.root), "--raw", str(work.raw), "--json"])
    assert done.exit_code == 0, done.output


def test_what_isnt_covered_stops_it_with_a_list_unless_allowed(work: Work) -> None:
    predict(work, "fourth", lambda turn, number: "" if number < 2 else right(turn, number), ["mvp_n"])
    with pytest.raises(InputError) as error:
        filtered(work)
    assert error.value.exit_code == 3
    assert "fourth, mvp_n: 2 failed" in error.value.message
    assert "fourth, rod: 11 missing" in error.value.message
    assert "third" not in error.value.message
    assert not work.keep("rod").exists()
    report = filtered(work, allow_missing=True)
    assert report["allowed_missing"]["mvp_n"]["fourth"]["failed"] == 2
    table = pq.read_table(work.keep("mvp_n")).to_pylist()
    assert [row["models"] for row in table] == [3, 3, *[4] * (len(table) - 2)]
    assert filtered(work, models=("third", "org/model"))["allowed_missing"] == {}


def test_an_unknown_model_is_answered_with_the_nearest(work: Work) -> None:
    with pytest.raises(UsageError) as error:
        filtered(work, models=("thrid",))
    assert "did you mean 'third'?" in error.value.hint


def test_without_cudf_the_gpu_engine_says_so(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="cudf_polars"):
        filtered(work, engine="gpu")


def test_a_keep_list_goes_stale_with_what_it_was_decided_on(work: Work) -> None:
    def why() -> list[str]:
        facts = standing.status(work, settings(), ["mvp_n"])["scenarios"]["mvp_n"]
        return [line for line in facts["stale"] if "keep list" in line]

    assert standing.status(work, settings(), ["mvp_n"])["scenarios"]["mvp_n"]["kept"] is None
    filtered(work)
    assert why() == []
    facts = standing.status(work, settings(), ["mvp_n"])["scenarios"]["mvp_n"]
    assert facts["predicted_by"] == dict.fromkeys(["odd", "org/model", "third"], facts["built"])
    assert facts["kept"] < facts["built"]
    predict(work, "third", right, ["mvp_n"])
    assert why() == ["keep list: predictions changed of third"]
    filtered(work)
    predict(work, "new", wrong)
    assert why() == ["keep list: predictions came in of new"]
    with pytest.raises(InputError, match="came in of new"):
        stages.assemble(work, settings(), SCENARIOS)
    assert stages.assemble(work, settings(), SCENARIOS, unfiltered=True)["threshold"] is None


def test_both_splits_are_assembled_with_counts_and_models(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0, ["baseline:abstain"])
    filtered(work, models=("odd", "org/model", "baseline:abstain"))
    manifest = stages.assemble(work, settings(), SCENARIOS)
    assert (manifest["rule"], manifest["threshold"]) == ("first_turn_25_v1", 0.25)
    assert set(manifest["models"]) == {"odd", "org/model", "baseline:abstain"}
    assert [name for name, facts in manifest["models"].items() if facts["baseline"]] == ["baseline:abstain"]
    splits = manifest["scenarios"]["mvp_n"]["splits"]
    assert 0 < splits["filtered"] < splits["unfiltered"]
    parts = {half: list(work.dataset.glob(f"data/mvp_n/*/{half}-*.parquet")) for half in ("kept", "dropped")}
    rows = {half: pq.read_table(paths[0]).to_pylist() for half, paths in parts.items()}
    assert {round(row["first_turn_accuracy"], 4) for row in rows["kept"]} == {0}
    assert {round(row["first_turn_accuracy"], 4) for row in rows["dropped"]} == {0.3333}
    assert {row["num_models"] for half in rows.values() for row in half} == {3}
    assert not list(work.dataset.glob("data/rod/*/dropped-*"))
    text = (work.dataset / "README.md").read_text(encoding="utf-8")
    assert "`baseline:abstain` (a baseline)" in text


def test_without_predictions_there_is_one_split_and_all_says_so_in_a_line(work: Work) -> None:
    shutil.rmtree(work.predictions)
    assert "no predictions" in stages.filter_again(work, SCENARIOS)
    assert stages.assemble(work, settings(), SCENARIOS)["models"] == {}
    assert not list(work.dataset.glob("data/*/*/dropped-*"))


def test_filtering_again_keeps_the_threshold_and_the_models_of_before(work: Work) -> None:
    filtered(work, rule=first_turn.rule("0.9"), models=("third", "org/model"))
    predict(work, "third", right, ["mvp_n"])
    assert stages.filter_again(work, SCENARIOS) == ""
    stamp = keep_list.read_stamp(work, "mvp_n")
    assert stamp
    assert (stamp.rule, list(stamp.models)) == ("first_turn_90_v1", ["org/model", "third"])


@given(st.from_regex(r"[0-9]{0,2}\.[0-9]{1,17}|[0-9]{1,9}/[1-9][0-9]{0,8}", fullmatch=True))
def test_a_threshold_of_any_length_that_is_taken_can_be_told_by_its_name(text: str) -> None:
    try:
        chosen = first_turn.rule(text)
    except UsageError:
        return
    assert first_turn.named(chosen.name) == chosen


def test_a_threshold_that_can_be_filtered_by_can_be_assembled_and_filtered_by_again(work: Work) -> None:
    shared = ["--work", str(work.root), "--threshold", "0.30000000000000004"]
    done = CliRunner().invoke(cli.group, ["filter", *shared, "--json", *SCENARIOS])
    assert done.exit_code == 0, done.output
    assert stages.filter_again(work, SCENARIOS) == ""
    assert stages.assemble(work, settings(), SCENARIOS)["threshold"] == 0.30000000000000004


def test_all_goes_on_without_a_split_where_a_model_of_before_is_gone(work: Work) -> None:
    filtered(work, models=("third", "org/model"))
    shutil.rmtree(work.predictions / "third")
    assert "Not filtered" in stages.filter_again(work, SCENARIOS)
    assert "'third'" in stages.filter_again(work, SCENARIOS)


def test_the_command_prints_counts_and_exits_with_3_where_predictions_are_missing(work: Work) -> None:
    done = CliRunner().invoke(cli.group, ["filter", "--work", str(work.root), "--json", *SCENARIOS])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scenarios"]["rod"]["kept"] == 11
    shutil.rmtree(work.predictions / "third")
    assert CliRunner().invoke(cli.group, ["filter", "--work", str(work.root), "--models", "third"]).exception
