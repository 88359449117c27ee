"""What the audit says beyond the sweep: by the last filter, of baselines and people beside models, in round numbers."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from build_bench import cli, stages
from build_bench.filters import first_turn, inputs, plots, predictions
from build_bench.filters.filtering import Choice
from build_bench.store import Work
from tests import predicted
from tests.predicted import SCENARIOS, predict, right, third_right, wrong

PERSON = "person:anna"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    work = predicted.built(tmp_path_factory.mktemp("beside"))
    predict(work, "odd", lambda turn, number: right(turn, number) if number % 2 else wrong(turn, number))
    predict(work, "third", third_right)
    stages.predict_baselines(work, SCENARIOS, 0, ["baseline:abstain"])
    turns = list(inputs.first_turns(work, "mvp_n"))[:4]
    answers = [predictions.answered(turn.row, turn.digest, str(turn.row["answer"]), {"person": True}) for turn in turns]
    predictions.merge(work, PERSON, "mvp_n", answers, inputs.read(work, "mvp_n"))
    return work


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    return predicted.copied(template, tmp_path)


def audit(work: Work, *arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli.group, ["audit", "--json", "--work", str(work.root), *arguments, *SCENARIOS])
    assert done.exit_code == 0, (done.output, done.exception)
    return dict(json.loads(done.stdout))


def printed(work: Work, *arguments: str) -> str:
    return CliRunner().invoke(cli.group, ["audit", "--work", str(work.root), *arguments, *SCENARIOS]).stdout


def test_it_audits_the_line_and_the_models_of_the_last_filter_unless_others_are_named(work: Work) -> None:
    assert (audit(work)["rule"], audit(work)["models"]) == ("first_turn_25_v1", ["odd", "third"])
    stages.filter_(work, SCENARIOS, Choice(first_turn.rule("0.9"), ("baseline:abstain", "third")))
    assert (audit(work)["rule"], audit(work)["models"]) == ("first_turn_90_v1", ["baseline:abstain", "third"])
    sample = inputs.read(work, "mvp_n").table["id"][0]
    assert "1 of 2 models were right at the first turn, the line is 2 of 2" in printed(work, "--sample", sample)
    assert audit(work, "--threshold", "0.3")["models"] == ["baseline:abstain", "third"]
    assert audit(work, "--models", "odd")["rule"] == "first_turn_90_v1"
    assert audit(work, "--models", "odd", "--threshold", "0.3")["rule"] == "first_turn_30_v1"


def test_who_does_not_count_is_shown_and_moves_nothing(work: Work) -> None:
    report = audit(work)
    alone = audit(work, "--models", "odd", "--models", "third")
    assert (report["beside"], report["baselines"], report["people"]) == (
        ["baseline:abstain", PERSON], ["baseline:abstain"], [PERSON],
    )  # fmt: skip
    for name in SCENARIOS:
        for key in ("kept", "curve", "models", "without", "places", "nearest", "first_turn_accuracy"):
            assert report["scenarios"][name][key] == alone["scenarios"][name][key]
    assert report["scenarios"]["mvp_n"]["beside"][PERSON]["answered"] == 4
    assert report["gaps"] == []
    text = printed(work)
    assert f"Shown, but not counted: baseline:abstain (a baseline), {PERSON} (a person)." in text


def test_models_that_are_named_leave_others_out_and_people_beside(work: Work) -> None:
    report = audit(work, "--models", "odd")
    assert (report["models"], report["beside"], report["left_out"]) == (
        ["odd"], ["baseline:abstain", PERSON], ["third"],
    )  # fmt: skip
    assert report["all"]["people"][PERSON] == {PERSON: [4, 4], "odd": [4, 2], "baseline:abstain": [4, 0]}
    assert "Counted: odd. Shown, but not counted: " in printed(work, "--models", "odd")
    assert "Left out: third.\n" in printed(work, "--except", "third")


def test_a_sample_shows_who_is_beside_and_counts_them_not(work: Work) -> None:
    page = work.root / "audit.html"
    first = inputs.read(work, "mvp_n").table["id"][0]
    text = printed(work, "--sample", first)
    assert "1 of 2 models were right" in text
    assert f"{PERSON} (not counted): correct" in text
    assert "baseline:abstain (not counted): abstain" in text
    printed(work, "--sample", first, "--html", str(page))
    assert f"{PERSON} (not counted)" in page.read_text(encoding="utf-8")
    last = inputs.read(work, "mvp_n").table["id"][9]
    assert PERSON not in printed(work, "--sample", last)


def test_why_a_sample_failed_is_said_once(work: Work) -> None:
    turn = next(inputs.first_turns(work, "mvp_n"))
    said = [predictions.failed(turn.row["id"], turn.digest, "failed: HTTP 400: too long", {})]
    predictions.merge(work, "fourth", "mvp_n", said, inputs.read(work, "mvp_n"))
    assert "fourth: failed  HTTP 400: too long\n" in printed(work, "--sample", turn.row["id"])
    assert "fourth: missing\n" in printed(work, "--sample", inputs.read(work, "rod").table["id"][0])


def test_models_are_compared_with_a_person_on_what_that_person_answered(work: Work) -> None:
    expected = {PERSON: [4, 4], "odd": [4, 2], "third": [4, 2], "baseline:abstain": [4, 0]}
    report = audit(work)
    assert report["scenarios"]["mvp_n"]["people"][PERSON] == expected
    assert report["all"]["people"][PERSON] == expected
    assert f"on what {PERSON} answered" in printed(work)


def test_totals_are_those_of_the_scenarios(work: Work) -> None:
    report = audit(work)
    parts = report["scenarios"].values()
    for model, change in report["all"]["without"].items():
        for side, count in change.items():
            assert count == sum(facts["without"][model][side] for facts in parts)
        answered = sum(facts["models"][model]["answered"] for facts in parts)
        assert report["all"]["models"][model]["answered"] == answered
    with (work.reports / "audit_models.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scenario"] == "all"]
    assert [(row["model"], row["counted"]) for row in rows] == [
        ("odd", "True"), ("third", "True"), ("baseline:abstain", "False"), (PERSON, "False"),
    ]  # fmt: skip


def test_some_thresholds_are_in_numbers_and_a_scenario_that_the_rule_spares_is_explained(work: Work) -> None:
    page = work.root / "audit.html"
    text = printed(work, "--html", str(page))
    mvp = audit(work, "--thresholds", "0:1:0.25")["scenarios"]["mvp_n"]
    kept = {line: count for line, count, _ in mvp["thresholds"]}
    assert [kept[line] for line, _, _ in mvp["curve"][1:]] == [count for _, count, _ in mvp["curve"][1:]]
    row = next(line for line in text.splitlines() if line.startswith("mvp_n") and line.split()[-1] == str(kept[1.0]))
    assert row.split()[1:] == [str(count) for count in kept.values()]
    assert text.count("at the first turn a right category counts as wrong here") == 1
    shown = page.read_text(encoding="utf-8")
    assert "rod: the samples nearest to the line" not in shown
    assert shown.count("At the first turn a right category counts as wrong here") == 1
    assert f"{PERSON} (a person)" in shown


def test_a_sample_without_an_answer_of_a_model_says_no_more_than_missing(work: Work) -> None:
    sample = inputs.read(work, "mvp_n").table["id"][9]
    assert f"{PERSON}: missing\n" in printed(work, "--sample", sample, "--models", PERSON, "--models", "odd")


@given(st.floats(0.001, 1e8), st.sampled_from([0, 1]))
def test_ticks_are_few_round_and_within(top: float, least: int) -> None:
    if top < least:
        return
    marks = plots.ticks(top, least)
    assert marks[0] == 0
    assert len(marks) <= 6
    assert marks[-1] <= top * (1 + 1e-9)
    assert all(mark == int(mark) for mark in marks) or not least
    if len(marks) > 1:
        digits = marks[1] / 10 ** math.floor(math.log10(marks[1]) + 1e-9)
        assert any(math.isclose(digits, round_one, rel_tol=1e-6) for round_one in (1, 2, 2.5, 5))
