"""On a cluster a model answers the same as on one machine; what a part answered before it died isn't asked again."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from build_bench import models, predicting
from build_bench.errors import BuildBenchError, UsageError
from build_bench.executors.jobs import Engine, Job, Outcome
from build_bench.executors.local import Local
from build_bench.filters.inputs import FirstTurn
from build_bench.models import FAILED, Answer
from build_bench.predicting_in_parts import predict
from build_bench.store import Work
from tests.asked import Scripted, build, request, right, rows

NAME = "baseline:first"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def work(once: Work, tmp_path: Path) -> Work:
    shutil.copytree(once.root, tmp_path / "work")
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scripted], None]:
    return lambda model: monkeypatch.setattr(models, "load", model)


def answers(work: Work) -> dict[str, str]:
    return dict(rows(work, NAME).select("id", "answer").iter_rows())


@pytest.mark.parametrize("parts", [None, 1, 3, 100])
def test_any_number_of_parts_answers_as_one_machine_does(parts: int | None, work: Work) -> None:
    one = predicting.predict(work, NAME, request())
    expected = answers(work)
    shutil.rmtree(work.predictions)
    report = predict(work, NAME, request(), Local(2 if parts == 3 else 1), parts)
    assert answers(work) == expected
    assert report["scenarios"] == one["scenarios"]
    again = predict(work, NAME, request(), Local(1), parts)
    assert again["scenarios"]["coco"]["answered before"] == len(expected)
    assert not list((work.own / "predict").rglob("*.jsonl")) + list(work.jobs.iterdir())


def test_a_part_that_dies_is_begun_again_where_it_was(work: Work, loads: Callable[[Scripted], None]) -> None:
    def say(turn: FirstTurn) -> Answer:
        if len(model.asked) == 7:
            raise RuntimeError("the driver of the GPU")
        return right(turn)

    model = Scripted(say)
    loads(model)
    report = predict(work, NAME, request(), Local(1), 2)
    assert report["scenarios"]["coco"]["answered"] == len(answers(work)) > 8
    assert [turn for turn, count in Counter(model.asked).items() if count > 1] == [model.asked[6]]


def test_what_a_run_that_failed_answered_is_kept(work: Work, loads: Callable[[Scripted], None]) -> None:
    def say(turn: FirstTurn) -> Answer:
        if len(model.asked) > 5:
            raise BuildBenchError("the weights are gone")
        return right(turn)

    model = Scripted(say)
    loads(model)
    with pytest.raises(BuildBenchError, match=r"2 of 2 parts failed twice: part 0, 1: the weights are gone"):
        predict(work, NAME, request(), Local(1), 2)
    assert len(answers(work)) == 5
    loads(second := Scripted(right))
    predict(work, NAME, request(), Local(1), 2)
    assert not set(second.asked) & set(model.asked[:5])


def test_failures_are_counted_with_their_reasons(work: Work, loads: Callable[[Scripted], None]) -> None:
    def say(turn: FirstTurn) -> Answer:
        return Answer(FAILED, "too small") if turn.row["id"] == model.asked[0] else right(turn)

    model = Scripted(say)
    loads(model)
    report = predict(work, NAME, request(), Local(1), 1)
    assert report["scenarios"]["coco"]["failed"] == 1
    assert report["reasons"] == {"coco": "too small"}


class Gone:
    """An engine that does one part and is gone, as a driver that was killed."""

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        job.do(numbers[0])
        raise KeyboardInterrupt


@pytest.mark.parametrize("refresh", [False, True])
def test_an_interrupted_run_goes_on_and_a_limit_and_a_refresh_hold(
    refresh: bool, work: Work, loads: Callable[[Scripted], None]
) -> None:
    if refresh:
        predicting.predict(work, NAME, request())
    gone: Engine = Gone()
    first, second = Scripted(right), Scripted(right)
    loads(first)
    with pytest.raises(KeyboardInterrupt):
        predict(work, NAME, request(limit=6, refresh=refresh), gone, 3)
    loads(second)
    predict(work, NAME, request(limit=6, refresh=refresh), Local(1), 3)
    assert first.asked
    assert len(set(first.asked + second.asked)) == len(first.asked + second.asked) == 6


def test_a_model_behind_a_server_is_asked_from_here(work: Work) -> None:
    with pytest.raises(UsageError, match="openai:x is asked over the network"):
        predict(work, "openai:x", request(), Local(1), 2)


def test_a_baseline_that_is_none_is_no_surprise_on_the_nodes(work: Work) -> None:
    with pytest.raises(UsageError, match="no baseline 'foo'"):
        predict(work, "baseline:foo", request(), Local(1), 1)
    assert not work.jobs.exists()
