"""Whether dataset/ is what was built and filtered last: `status` says it, and `push` before it publishes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from build_bench import cli, stages, standing
from build_bench.publishing import Wanted
from build_bench.store import Work
from tests import predicted
from tests.predicted import SCENARIOS, filtered, predict, right, settings


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Work:
    work = predicted.with_three_models(tmp_path_factory.mktemp("standing"))
    filtered(work)
    stages.assemble(work, settings(), SCENARIOS)
    return work


@pytest.fixture
def work(template: Work, tmp_path: Path) -> Work:
    return predicted.copied(template, tmp_path)


def said(work: Work) -> dict[str, Any] | None:
    return standing.of_dataset(work, standing.status(work, settings(), SCENARIOS)["scenarios"])


def stale(work: Work) -> dict[str, str]:
    found = said(work)
    assert found is not None
    return dict(found["stale"])


def test_a_dataset_of_what_is_there_is_not_stale(work: Work) -> None:
    found = said(work)
    assert found == {"release": None, "splits": {"unfiltered": 25, "filtered": 20}, "stale": {}}


def test_another_threshold_makes_it_stale_until_it_is_assembled(work: Work) -> None:
    filtered(work, rule=predicted.first_turn.rule("0.9"))
    assert stale(work) == dict.fromkeys(SCENARIOS, "built or filtered otherwise since")
    stages.assemble(work, settings(), SCENARIOS)
    assert stale(work) == {}


def test_another_models_answers_make_it_stale(work: Work) -> None:
    predict(work, "fourth", right)
    filtered(work)
    assert stale(work) == dict.fromkeys(SCENARIOS, "built or filtered otherwise since")


def test_one_that_was_not_filtered_or_lacks_a_scenario_is_named(work: Work) -> None:
    stages.assemble(work, settings(), ["rod"], unfiltered=True)
    assert stale(work) == {"rod": "filtered since, or laid out with --unfiltered", "mvp_n": "not in it"}


def test_a_scenario_that_is_left_out_is_not_missed(work: Work) -> None:
    stages.assemble(work, settings(), ["rod"], left_out=["mvp_n"])
    assert stale(work) == {}


def test_what_is_stale_itself_says_nothing_of_the_dataset(work: Work) -> None:
    shutil.rmtree(work.frames("mvp_n"))
    filtered(work, rule=predicted.first_turn.rule("0.9"))
    assert [*stale(work)] == ["rod"]


def test_without_a_dataset_there_is_nothing_to_say(work: Work) -> None:
    shutil.rmtree(work.dataset)
    assert said(work) is None


def status(work: Work, *arguments: str) -> str:
    changes = (f"--set={change}" for change in predicted.SETTINGS if change.startswith("mvp_n"))
    done = CliRunner().invoke(
        cli.group, ["status", "--work", str(work.root), "--raw", str(work.raw), *changes, *arguments]
    )
    assert done.exit_code == 0
    return done.stdout


def test_status_says_what_to_do_about_it(work: Work) -> None:
    assert "dataset: 25 in unfiltered, 20 in filtered, not released\n" in status(work)
    filtered(work, rule=predicted.first_turn.rule("0.9"))
    told = status(work)
    assert "    built or filtered otherwise since: rod, mvp_n\n" in told
    assert "    build-bench assemble lays it out again\n" in told
    assert json.loads(status(work, "--json"))["dataset"]["stale"] == stale(work)
    shutil.rmtree(work.dataset)
    assert "dataset: not laid out yet; build-bench assemble does it\n" in status(work)


def test_push_says_that_it_publishes_something_older(
    work: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("build_bench.publishing.push", lambda *_: {})
    filtered(work, rule=predicted.first_turn.rule("0.9"))
    stages.push(work, "a/b", Wanted(dry_run=True), None)
    assert "rod was built or filtered otherwise since; build-bench assemble takes that in" in capsys.readouterr().err
