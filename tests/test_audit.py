"""The audit: one pass says what the rule would do at every threshold, who it hangs on, why a sample is in or out."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from build_bench import cli, stages, store
from build_bench.errors import UsageError
from build_bench.filters import audit_tables, first_turn, inputs, predictions, sweep
from build_bench.filters.filtering import Choice
from build_bench.filters.first_turn import Rule
from build_bench.store import Work
from tests import predicted
from tests.predicted import SCENARIOS, predict, right, third_right

RULE = first_turn.rule("0.5")
MODELS = ["baseline:first", "odd", "third"]
CHOICE = Choice(RULE, tuple(MODELS))
NASTY = '<script>alert("x")</script> & more'

histograms = st.dictionaries(
    st.tuples(st.booleans(), st.integers(0, 22), st.integers(0, 22)).map(
        lambda key: (key[0], max(key[1:]), min(key[1:]))
    ),
    st.integers(1, 50),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    work = predicted.built(tmp_path_factory.mktemp("audited"))
    predict(work, "odd", lambda turn, number: right(turn, number) if number % 2 else NASTY)
    predict(work, "third", third_right)
    predict(work, "baseline:first", lambda turn, number: turn.episode.choices[0])
    return work


def audit(work: Work, thresholds: str = "0:1.2:0.1", rule: Rule = RULE, **more: Any) -> dict[str, Any]:
    models = more.pop("models", tuple(MODELS))
    return stages.audit(work, SCENARIOS, Choice(rule, models), sweep.thresholds(thresholds), **more)


@pytest.fixture(scope="module")
def report(work: Work) -> dict[str, Any]:
    return audit(work)


def ids(work: Work, scenario: str = "mvp_n") -> list[str]:
    return inputs.read(work, scenario).table["id"].to_list()


@given(histograms, st.lists(st.builds(Fraction, st.integers(0, 30), st.integers(1, 25)), max_size=9))
def test_the_sweep_is_the_rule_threshold_by_threshold(
    histogram: dict[tuple[bool, int, int], int], thresholds: list[Fraction]
) -> None:
    samples = [key for key, count in histogram.items() for _ in range(count)]
    for threshold, (_, kept, accuracy) in zip(thresholds, sweep.curve(histogram, thresholds), strict=True):
        stay = [(m, c) for answerable, m, c in samples if not Rule(threshold).drops(c, m, answerable)]
        answers = sum(m for m, _ in stay)
        assert kept == len(stay)
        assert accuracy == (sum(c for _, c in stay) / answers if answers else None)


def test_the_curve_is_what_filtering_at_each_threshold_keeps(work: Work, report: dict[str, Any]) -> None:
    for place, threshold in enumerate(sweep.thresholds("0:1.2:0.1")):
        kept = stages.filter_(work, SCENARIOS, Choice(Rule(threshold), tuple(MODELS)))["scenarios"]
        for scenario in SCENARIOS:
            facts = report["scenarios"][scenario]
            assert facts["curve"][place][1] == kept[scenario]["kept"]
            assert facts["curve"][place][2] == kept[scenario]["kept_first_turn_accuracy"]


def test_the_report_has_the_keys_of_the_contract(report: dict[str, Any]) -> None:
    assert report["rule"] == "first_turn_50_v1"
    assert report["threshold"] == 0.5
    assert report["models"] == MODELS
    assert report["baselines"] == ["baseline:first"]
    for facts in report["scenarios"].values():
        assert {"total", "kept", "first_turn_accuracy", "kept_first_turn_accuracy", "curve"} <= set(facts)
    assert report["scenarios"]["mvp_n"]["paper"] == {"before": 4197, "after": 2591}
    assert report["scenarios"]["rod"]["kept"] == report["scenarios"]["rod"]["total"]
    assert json.loads(json.dumps(report)) == report


def test_shares_by_verdict_add_up_and_rods_right_answers_are_wrong_at_first(report: dict[str, Any]) -> None:
    for facts in report["scenarios"].values():
        for found in facts["models"].values():
            assert sum(found["verdicts"].values()) == pytest.approx(1)
    assert report["scenarios"]["rod"]["models"]["third"]["accuracy"] == 0
    assert report["scenarios"]["mvp_n"]["models"]["odd"]["accuracy"] == pytest.approx(0.5)


def test_leaving_a_model_out_says_who_would_change_sides(work: Work, report: dict[str, Any]) -> None:
    everyone = set(kept(work, MODELS))
    for model, change in report["scenarios"]["mvp_n"]["without"].items():
        others = set(kept(work, [other for other in MODELS if other != model]))
        assert change == {"to_kept": len(others - everyone), "to_dropped": len(everyone - others)}


def kept(work: Work, models: list[str]) -> list[str]:
    stages.filter_(work, SCENARIOS, Choice(RULE, tuple(models)))
    import pyarrow.parquet as pq

    return [row["id"] for row in pq.read_table(work.keep("mvp_n")).to_pylist() if row["kept"]]


def test_agreement_is_symmetric_and_counts_both_right_or_both_not(work: Work, report: dict[str, Any]) -> None:
    facts = report["scenarios"]["mvp_n"]
    count = facts["total"]
    table = facts["agreement"]
    assert all(table[i][i] == 1 for i in range(3))
    assert table == [list(row) for row in zip(*table, strict=True)]
    same = sum((number % 2 == 1) == (number % 3 == 0) for number in range(count))
    assert table[1][2] == pytest.approx(same / count)


def test_what_stands_at_each_place_is_offered_to_every_model_and_chosen_as_often_as_there_are_answers(
    report: dict[str, Any],
) -> None:
    facts = report["scenarios"]["mvp_n"]
    places = facts["places"]
    assert sum(p["offered"] for p in places if p["stands_there"] == "correct") == 3 * facts["total"]
    unparsed = facts["models"]["odd"]["verdicts"]["unparsed"] * facts["total"]
    assert sum(p["chosen"] for p in places) == 3 * facts["total"] - round(unparsed)
    at_a = [p for p in places if p["place"] == 0]
    assert sum(p["chosen"] for p in at_a) >= facts["total"]  # baseline:first chooses nothing else


def test_the_samples_nearest_to_the_line_are_on_both_sides_of_it(report: dict[str, Any]) -> None:
    near = report["scenarios"]["mvp_n"]["nearest"]
    assert {sample["correct"] for sample in near["dropped"]} == {2}
    kept_ones = [sample["correct"] for sample in near["kept"]]
    assert kept_ones[0] == 1
    assert kept_ones == sorted(kept_ones, reverse=True)
    assert report["scenarios"]["rod"]["nearest"] == {"kept": [], "dropped": []}


@pytest.mark.parametrize("text", ["0:1", "a:1:0.1", "1:0:0.1", "0:1:0", "0:1:0.00001", "0:1:-1"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--thresholds"):
        sweep.thresholds(text)


def test_a_range_is_exact_and_has_both_ends() -> None:
    assert sweep.thresholds("0:1:0.1")[3] == Fraction(3, 10)
    assert len(sweep.thresholds("0:1:0.01")) == 101
    assert sweep.thresholds("0.25:0.25:1") == [Fraction(1, 4)]


def test_a_sample_is_explained_by_its_counts_and_every_answer(work: Work) -> None:
    names = ids(work)
    out, stays = stages.explain(work, SCENARIOS, CHOICE, [names[3], names[1]])
    assert (out["correct"], out["models"], out["needed"], out["kept"]) == (2, 3, 2, False)
    assert "dropped: 2 of 3 models were right" in out["why"]
    assert out["answers"]["third"] == {"counted": True, "verdict": "correct", "answer": out["right"]}
    assert stays["kept"]
    assert stages.explain(work, SCENARIOS, CHOICE, [ids(work, "rod")[0]])[0]["why"].startswith("kept: at the first")


def test_a_candidate_that_was_rejected_is_explained_by_its_reason(work: Work) -> None:
    rejected = [(s, r) for s in SCENARIOS for r in store.read_rejections(work.rejected(s))]
    from build_bench.prompting import slug

    for scenario, rejection in rejected:
        found = stages.explain(work, SCENARIOS, Choice(RULE), [f"{scenario}-{slug(rejection.source_key)}"])[0]
        assert found["kept"] is False
        assert rejection.reason in found["why"] or "models" in found
    with pytest.raises(UsageError) as error:
        stages.explain(work, SCENARIOS, Choice(RULE), [ids(work)[0] + "x"])
    assert error.value.hint == f"did you mean {ids(work)[0]!r}?"
    for name in ("foo", ""):
        with pytest.raises(UsageError) as error:
            stages.explain(work, SCENARIOS, Choice(RULE), [name])
        assert error.value.hint.startswith("ids begin with the scenario, as 'rod-")


def test_tables_are_written_as_csv_and_json(work: Work) -> None:
    report = audit(work)
    assert json.loads((work.reports / "audit.json").read_bytes())["rule"] == report["rule"]
    with (work.reports / "audit_curves.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["scenario"] for line in lines} == {"all", *SCENARIOS}
    for name in ("models", "places", "nearest", "agreement"):
        assert (work.reports / f"audit_{name}.csv").stat().st_size


@pytest.fixture(scope="module")
def page(work: Work, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    audit(work, samples=ids(work)[:1] + ids(work, "rod")[:1], page=path)
    return path


def test_the_page_needs_nothing_else_and_escapes_what_models_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert NASTY not in text
    assert html.escape(NASTY) in text
    assert "<script" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert text.count("data:image/png;base64,") == 2
    assert all(re.search(r'alt="[^"]+', image) for image in re.findall(r"<img[^>]*>", text))
    assert text.count("<svg") == text.count('role="img" aria-label="') == 2 * (1 + len(SCENARIOS))
    assert "baseline:first (a baseline)" in text


@pytest.mark.parametrize("width", [360, 1600])
def test_chromium_shows_the_page_without_scrolling_sideways(page: Path, tmp_path: Path, width: int) -> None:
    """Its own window can't be as narrow as a phone: the page is shown in a frame of that width."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        pytest.skip("chromium is not installed")
    shown = page.with_name(f"frame{width}.html")
    shown.write_text(
        f'<iframe id="f" style="width:{width}px;height:900px;border:0" src="{page.name}"></iframe><script>'
        "onload = () => { const root = document.getElementById('f').contentDocument.documentElement;"
        "document.title = [root.scrollWidth - root.clientWidth, root.querySelectorAll('svg').length,"
        "[...root.querySelectorAll('img')].every(i => i.naturalWidth)].join(' ') }</script>",
        encoding="utf-8",
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
               "--disable-component-update", "--disable-sync", "--no-first-run", "--allow-file-access-from-files",
               f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", shown.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<title>(-?\d+) (\d+) (\w+)</title>", done.stdout)
    assert found, done.stdout
    assert found.groups() == ("0", str(2 * (1 + len(SCENARIOS))), "true")


def test_the_command_prints_a_table_json_or_one_sample(work: Work, page: Path) -> None:
    run = CliRunner().invoke
    named = [part for name in MODELS for part in ("--models", name)]
    shared = ["--threshold", "0.25", *named, "--work", str(work.root), *SCENARIOS]
    table = run(cli.group, ["audit", *shared])
    assert table.exit_code == 0, table.output
    assert "Rule first_turn_25_v1" in table.output
    assert "baseline:first (a baseline)" in table.output
    report = json.loads(run(cli.group, ["audit", "--json", "--thresholds", "0:1:0.25", *shared]).stdout)
    assert len(report["scenarios"]["rod"]["curve"]) == 5
    one = run(cli.group, ["audit", "--sample", ids(work)[0], *shared])
    assert "third: correct" in one.output


def test_what_isnt_answered_is_named_and_not_counted(work: Work, tmp_path: Path) -> None:
    shutil.copytree(work.root, tmp_path / "work")
    copied = Work(tmp_path / "work", work.raw)
    predictions.path_of(copied, "odd", "mvp_n").unlink()
    report = audit(copied)
    assert report["gaps"] == [f"odd, mvp_n: {report['scenarios']['mvp_n']['total']} missing"]
    assert report["scenarios"]["mvp_n"]["models_asked"] == ["baseline:first", "third"]


def test_a_sample_is_explained_by_the_right_answer_as_it_is_now(work: Work, tmp_path: Path) -> None:
    shutil.copytree(work.root, tmp_path / "work")
    copied = Work(tmp_path / "work", work.raw)
    table = pq.read_table(copied.plans("mvp_n"))
    plans = table.to_pylist()
    former = plans[1]["answer"]
    plans[1]["answer"] = next(category for category in plans[1]["categories"] if category != former)
    pq.write_table(pa.Table.from_pylist(plans, table.schema), copied.plans("mvp_n"), row_group_size=1024)
    before = predictions.path_of(copied, "odd", "mvp_n").read_bytes()
    (found,) = stages.explain(copied, SCENARIOS, CHOICE, [plans[1]["id"]])
    assert found["answers"]["odd"] == {"counted": True, "verdict": "wrong", "answer": former}
    assert predictions.path_of(copied, "odd", "mvp_n").read_bytes() == before
    (filtered,) = audit(copied, samples=[plans[1]["id"]])["samples"].values()
    assert filtered == found


def test_an_unknown_model_is_refused_with_a_sample_as_without_one(work: Work) -> None:
    for more in ([], ["--sample", ids(work)[0]]):
        done = CliRunner().invoke(cli.group, ["audit", "--models", "od", *more, "--work", str(work.root), *SCENARIOS])
        assert isinstance(done.exception, UsageError)
        assert "did you mean 'odd'?" in done.exception.hint


def test_gaps_are_counted_and_folded_away_before_the_tables(work: Work, tmp_path: Path) -> None:
    shutil.copytree(work.root, tmp_path / "work")
    copied = Work(tmp_path / "work", work.raw)
    for number in range(22):
        predict(copied, f"partial <{number}>", right, ["rod"])
    page = tmp_path / "audit.html"
    report = audit(copied, page=page, models=())
    text = page.read_text(encoding="utf-8")
    folded = re.search(r'<details class="gaps"><summary>(.*?)</summary><ul>(.*?)</ul></details>', text)
    assert folded
    assert "22 gaps" in folded[1]
    assert folded[2].count("<li>") == len(report["gaps"]) == 22
    assert "partial &lt;3&gt;, mvp_n" in folded[2]
    assert text.count("counted only where") == 1
    lines = list(audit_tables.lines(report))
    assert sum("counted only where it answered" in line for line in lines) == 10
    assert "and 12 more gaps: audit.json has them all" in lines
