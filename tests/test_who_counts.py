"""Who counts, by which line: models before baselines, people only if named, and always as it was said last."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from build_bench import cli, stages, standing, store
from build_bench.demo import SETTINGS
from build_bench.errors import InputError, UsageError
from build_bench.filters import first_turn, inputs, keep_list, predictions
from build_bench.filters.filtering import Choice
from build_bench.store import Work
from tests import predicted
from tests.predicted import RULE, SCENARIOS, filtered, predict, right, settings, wrong


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return predicted.with_three_models(tmp_path_factory.mktemp("counted"))


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    return predicted.copied(template, tmp_path)


def command(work: Work, *arguments: str) -> Any:
    return CliRunner().invoke(cli.group, [*arguments, "--work", str(work.root), *SCENARIOS])


def test_baselines_count_only_where_no_model_is_and_people_never_unless_named(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0)
    predict(work, "person:anna", right, ["rod"])
    assert set(filtered(work)["models"]) == {"odd", "org/model", "third"}
    said = command(work, "filter").stdout
    assert "counted: odd, org/model, third\n" in said
    assert "not counted: baseline:abstain, baseline:ask, baseline:first, baseline:random, person:anna\n" in said
    facts = standing.status(work, settings(), SCENARIOS)["scenarios"]
    assert not any("keep list" in line for name in SCENARIOS for line in facts[name]["stale"])
    for name in ("odd", "org%2Fmodel", "third"):
        shutil.rmtree(work.predictions / name)
    assert set(filtered(work)["models"]) == set(stages.BASELINES)
    predict(work, "third", wrong)
    with pytest.raises(InputError, match="came in of third"):
        stages.assemble(work, settings(), SCENARIOS)
    report = filtered(work, models=("person:anna", "third"), allow_missing=True)
    assert set(report["models"]) == {"person:anna", "third"}


def test_a_baseline_and_a_person_are_not_called_models_by_status(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0, ["baseline:ask"])
    predict(work, "person:anna", right, ["rod"])
    predict(work, "person:bert", right, ["rod"])
    said = CliRunner().invoke(cli.group, ["status", "--work", str(work.root), "--raw", str(work.raw)]).stdout
    assert "asked: 3 models, 1 baseline, 2 people\n" in said
    assert "asked: 3 models, 1 baseline\n" in said


def test_all_says_by_which_rule_and_whom_it_filtered(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0, ["baseline:ask"])
    predict(work, "person:anna", right, ["rod"])
    folders = ["--work", str(work.root), "--raw", str(work.raw)]
    assert command(work, "filter", "--threshold", "0.5", "--models", "odd", "--models", "third").exit_code == 0
    everything = ["all", "--no-fetch", "--workers", "1", *(f"--scenario={name}" for name in SCENARIOS), *folders]
    done = CliRunner().invoke(cli.group, [*everything, *(f"--set={s}" for s in SETTINGS if s.startswith("mvp_n"))])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "first_turn_50_v1: dropped is what at least 0.5 of those counted get right at first sight\n" in done.stdout
    assert "counted: odd, third\nin the cache, but not counted: baseline:ask, org/model, person:anna\n" in done.stdout


def test_people_alone_filter_nothing(work: Work) -> None:
    shutil.rmtree(work.predictions)
    predict(work, "person:anna", right)
    with pytest.raises(InputError, match="no model is left that counts, of person:anna"):
        filtered(work)


def test_a_keep_list_by_models_that_no_longer_count_is_stale(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0)
    named = filtered(work, models=("third", "baseline:first"))
    assert set(named["models"]) == {"third", "baseline:first"}
    stamp = keep_list.read_stamp(work, "rod")
    assert stamp
    keep_list.write(work, "rod", keep_list.read(work, "rod"), replace(stamp, all_models=True))
    (why,) = [
        line for line in standing.status(work, settings(), ["rod"])["scenarios"]["rod"]["stale"] if "keep list" in line
    ]
    assert "came in of odd, org/model" in why


def test_a_half_asked_model_can_be_left_out_and_stays_out(work: Work) -> None:
    predict(work, "half", right, ["rod"])
    assert command(work, "filter").exception
    assert command(work, "filter", "--except", "half").exit_code == 0
    assert stages.filter_again(work, SCENARIOS) == ""
    assert stages.assemble(work, settings(), SCENARIOS)["models"].keys() == {"odd", "org/model", "third"}
    assert json.loads(command(work, "audit", "--except", "half", "--json").stdout)["gaps"] == []
    assert isinstance(command(work, "filter", "--except", "hal").exception, UsageError)


@pytest.mark.parametrize(("text", "meant"), [("25", "0.25"), ("2", "0.02"), ("12.5", "0.125"), ("33.3", "0.333")])
@pytest.mark.parametrize("name", ["filter", "audit"])
def test_a_percentage_is_no_share(name: str, text: str, meant: str, work: Work) -> None:
    error = command(work, name, "--threshold", text).exception
    assert isinstance(error, UsageError)
    assert error.hint == f"did you mean {meant}?"
    assert first_turn.rule("1.01").needed(100) == 101


@pytest.mark.parametrize(
    ("name", "meant"), [("dice", "openai:dice"), ("mdoel", "org/model"), ("org/modle", "org/model")]
)
def test_a_model_is_found_by_a_part_of_its_name(name: str, meant: str, work: Work) -> None:
    predict(work, "openai:dice", wrong)
    with pytest.raises(UsageError) as error:
        filtered(work, models=(name,))
    assert error.value.hint.startswith(f"did you mean {meant!r}?")


def test_why_samples_failed_is_said_where_it_stops_the_filter_and_where_it_is_allowed(work: Work) -> None:
    rows = []
    for number, turn in enumerate(inputs.first_turns(work, "mvp_n")):
        text = "failed: HTTP 400: too long" if number % 3 else "refused: no"
        rows.append(predictions.failed(turn.row["id"], turn.digest, text, {}))
    predict(work, "fourth", right, ["rod"])
    predictions.merge(work, "fourth", "mvp_n", rows, inputs.read(work, "mvp_n"))
    line = "fourth, mvp_n: 14 failed (HTTP 400: too long (9 times); refused: no (5 times))"
    assert line in command(work, "filter").exception.message
    assert line in command(work, "filter", "--allow-missing").stdout


def test_filtering_again_never_takes_another_threshold_without_a_word(work: Work) -> None:
    stages.filter_(work, ["rod"], Choice(first_turn.rule("0.5")))
    assert stages.filter_again(work, ["mvp_n"]) == ""
    stamp = keep_list.read_stamp(work, "mvp_n")
    assert stamp
    assert stamp.rule == "first_turn_50_v1"
    stages.filter_(work, ["mvp_n"], Choice(RULE))
    before = [work.keep(name).read_bytes() for name in SCENARIOS]
    note = stages.filter_again(work, SCENARIOS)
    assert "different rules or models: rod by first_turn_50_v1, mvp_n by first_turn_25_v1" in note
    assert "--threshold" in note
    assert [work.keep(name).read_bytes() for name in SCENARIOS] == before
    work.keep("rod").write_bytes(b"no parquet")
    assert "the keep list of rod can't be read" in stages.filter_again(work, SCENARIOS)


def test_a_build_in_other_settings_is_filtered_by_the_threshold_of_before(work: Work) -> None:
    stages.predict_baselines(work, SCENARIOS, 0)
    assert command(work, "filter", "--threshold", "0.5", "--models", "baseline:first").exit_code == 0
    table, stamp = pq.read_table(work.plans("mvp_n")), store.stamp_of(work.plans("mvp_n"))
    asked = [{**row, "question": f"{row['question']} Now?"} for row in table.to_pylist()]
    store.write_table(work.plans("mvp_n"), table.from_pylist(asked, table.schema), stamp, 1024)
    stages.predict_baselines(work, SCENARIOS, 0)
    assert stages.filter_again(work, SCENARIOS) == ""
    found = keep_list.read_stamp(work, "mvp_n")
    assert found
    assert (found.rule, list(found.models)) == ("first_turn_50_v1", ["baseline:first"])
    page = stages.audit_page(work, SCENARIOS).read_text()
    assert "first_turn_50_v1" in page
