"""Asking models: each sample once, whatever happens; and what is recorded of it."""

from __future__ import annotations

import json
import queue
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from build_bench import cli, executors, journal, models, predicting, store
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.filters import inputs, predictions
from build_bench.filters.inputs import FirstTurn
from build_bench.journal import Journal, Place
from build_bench.models import ANSWERED, FAILED, REFUSED, Answer, Options
from build_bench.predicting import predict
from build_bench.store import Work
from tests.asked import SCENARIO, TOKENS, Scripted, build, killed_run, request, right, rows

NAME = "openai:scripted"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def work(once: Work, tmp_path: Path) -> Work:
    shutil.copytree(once.root, tmp_path / "work")
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


def ids(work: Work) -> list[str]:
    return list(inputs.read(work, SCENARIO).table["id"])


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {what: count for what, count in report["scenarios"][SCENARIO].items() if count}


@pytest.mark.parametrize(
    ("name", "verdict"), [("abstain", "abstain"), ("ask", "proactive"), ("first", None), ("random", None)]
)
def test_baselines_do_as_they_are_called(name: str, verdict: str | None, work: Work) -> None:
    report = predict(work, f"baseline:{name}", request())
    found = rows(work, f"baseline:{name}")
    assert counts(report) == {"answered": len(ids(work))}
    assert list(found["id"]) == ids(work)
    assert "unparsed" not in set(found["verdict"])
    if verdict:
        assert set(found["verdict"]) == {verdict}
    if name == "first":
        assert set(found["choice"]) == {0}


def test_random_answers_depend_on_seed_and_sample_alone(work: Work) -> None:
    def drawn(seed: int, **changes: Any) -> dict[str, str]:
        shutil.rmtree(work.predictions, ignore_errors=True)
        predict(work, "baseline:random", request(options=Options(seed=seed), **changes))
        return dict(rows(work, "baseline:random").select("id", "answer").iter_rows())

    everything = drawn(0)
    assert drawn(0) == everything
    few = drawn(0, limit=3)
    assert len(few) == 3
    assert few.items() <= everything.items()
    assert drawn(1) != everything
    assert len(set(rows(work, "baseline:random")["choice"])) >= 3


def test_a_row_says_what_was_asked_answered_and_with_what(work: Work) -> None:
    predict(work, NAME, request(), Scripted(right))
    row = rows(work, NAME).row(0, named=True)
    turn = next(inputs.first_turns(work, SCENARIO))
    assert (row["model"], row["id"], row["input_digest"]) == (NAME, turn.row["id"], turn.digest)
    assert (row["answer"], row["verdict"]) == (turn.row["answer"], "correct")
    assert json.loads(row["runtime"]) == {"device": "test"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", row["created"])


def test_what_is_answered_is_not_asked_again(work: Work) -> None:
    first, second = Scripted(right), Scripted(right)
    predict(work, NAME, request(limit=4), first)
    report = predict(work, NAME, request(), second)
    assert sorted(first.asked + second.asked) == ids(work)
    assert counts(report) == {"answered": len(ids(work)) - 4, "answered before": 4}
    assert report["tokens"] == {"read": 100 * (len(ids(work)) - 4), "written": 3 * (len(ids(work)) - 4)}


def test_a_model_that_has_nothing_to_do_is_not_loaded(work: Work) -> None:
    predict(work, NAME, request(), Scripted(right))

    def load(name: str, options: Options) -> models.Model:
        raise AssertionError("loaded")

    assert counts(predict(work, NAME, request(), load)) == {"answered before": len(ids(work))}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), NetworkError("gone"), RuntimeError("bug")])
@pytest.mark.parametrize("fold", [0.0, 60.0])
def test_whatever_ends_a_run_keeps_what_was_answered(
    error: BaseException, fold: float, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "FOLD", fold)

    def say(turn: FirstTurn) -> Answer:
        if len(broken.asked) == 6:
            raise error
        return right(turn)

    broken, rest = Scripted(say), Scripted(right)
    with pytest.raises(type(error)):
        predict(work, NAME, request(), broken)
    assert list(rows(work, NAME)["id"]) == ids(work)[:5]
    predict(work, NAME, request(), rest)
    assert broken.asked[:5] + rest.asked == ids(work)


@pytest.mark.parametrize(("where", "last", "fold"), [("add", 1, 60), ("add", 6, 60), ("add", 5, 0), ("merge", 4, 0)])
def test_killed_at_any_moment_it_loses_and_repeats_nothing(where: str, last: int, fold: int, work: Work) -> None:
    killed_run(work, NAME, where, last, fold)
    rest = Scripted(right)
    predict(work, NAME, request(), rest)
    assert rest.asked == ids(work)[last:]
    assert list(rows(work, NAME)["id"]) == ids(work)


def test_an_answer_that_was_half_written_is_asked_for_again(work: Work) -> None:
    answers = list(inputs.first_turns(work, SCENARIO))[:2]
    known = [predictions.answered(turn.row, turn.digest, "A.", {}) for turn in answers]
    shown = inputs.read(work, SCENARIO)
    kept = Journal(Place(work, NAME, SCENARIO), shown)
    for prediction in known:
        kept.add(prediction)
    path = next(work.own.rglob(f"{SCENARIO}.jsonl"))
    path.write_bytes(path.read_bytes()[:-7])
    rest = Scripted(right)
    predict(work, NAME, request(), rest)
    assert rest.asked == ids(work)[1:]
    assert not path.exists()


def test_refused_and_failed_are_recorded_retried_and_never_wrong(work: Work) -> None:
    first, second, *_ = ids(work)
    bad = {first: Answer(REFUSED, "not my business"), second: Answer(FAILED, "out of memory")}
    report = predict(work, NAME, request(), Scripted(lambda turn: bad.get(turn.row["id"]) or right(turn)))
    assert counts(report) == {"answered": len(ids(work)) - 2, "refused": 1, "failed": 1}
    found = rows(work, NAME)
    assert list(found["verdict"])[:3] == [predictions.FAILED, predictions.FAILED, "correct"]
    assert [json.loads(runtime).get("error") for runtime in found["runtime"]][:3] == [
        "refused: not my business", "failed: out of memory", None,
    ]  # fmt: skip
    again = Scripted(right)
    predict(work, NAME, request(), again)
    assert again.asked == [first, second]
    assert set(rows(work, NAME)["verdict"]) == {"correct"}
    assert len(rows(work, NAME)) == len(ids(work))


def test_a_model_that_answers_nothing_is_left_alone(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "HOPELESS", 3)
    model = Scripted(lambda turn: Answer(FAILED, "no such luck"))
    with pytest.raises(NetworkError, match="none of the first 3 samples of coco: no such luck"):
        predict(work, NAME, request(), model)
    assert len(model.asked) == 3
    assert len(rows(work, NAME)) == 3


def test_a_changed_prompt_makes_its_own_predictions_stale_and_no_others(work: Work) -> None:
    predict(work, NAME, request(), Scripted(right))
    changed = ids(work)[3]
    reword(work, changed)
    model = Scripted(right)
    predict(work, NAME, request(), model)
    assert model.asked == [changed]


def nonsense(turn: FirstTurn) -> Answer:
    return Answer(ANSWERED, "Z.")


def reword(work: Work, name: str) -> None:
    """Change the prompt of one sample."""
    path = work.plans(SCENARIO)
    table, stamp = pq.read_table(path), store.stamp_of(path)
    edited = [{**row, "question": "What on earth is this?"} if row["id"] == name else row for row in table.to_pylist()]
    store.write_table(path, table.from_pylist(edited, table.schema), stamp, 1024)


def test_refresh_replaces_what_was_answered_and_forgets_what_nobody_asks_any_more(work: Work) -> None:
    predict(work, NAME, request(), Scripted(right))
    reword(work, ids(work)[3])
    for _ in range(2):
        again = Scripted(nonsense)
        predict(work, NAME, request(refresh=True), again)
        assert again.asked == ids(work)
        assert list(rows(work, NAME)["verdict"]) == ["unparsed"] * len(ids(work))


@pytest.mark.parametrize(("where", "last", "fold"), [("add", 5, 60), ("add", 5, 0), ("merge", 4, 0)])
def test_a_refresh_that_is_killed_goes_on_and_forgets_no_answer_before_its_new_one_is_there(
    where: str, last: int, fold: int, work: Work
) -> None:
    predict(work, NAME, request(), Scripted(nonsense))
    killed_run(work, NAME, where, last, fold, refresh=True)
    assert len(rows(work, NAME)) == len(ids(work))
    rest, another = Scripted(right), Scripted(nonsense)
    again = request(refresh=True, options=Options(max_tokens=TOKENS))
    predict(work, NAME, again, rest)
    assert rest.asked == ids(work)[last:]
    assert set(rows(work, NAME)["verdict"]) == {"correct"}
    predict(work, NAME, again, another)
    assert another.asked == ids(work)


def test_a_refresh_in_other_settings_begins_anew(work: Work) -> None:
    killed_run(work, NAME, "add", 5, 60, refresh=True)
    other = Scripted(right)
    predict(work, NAME, request(refresh=True, options=Options(max_tokens=99)), other)
    assert other.asked == ids(work)


def test_a_refresh_of_so_many_samples_keeps_the_answers_to_the_others_and_goes_on_with_them(work: Work) -> None:
    predict(work, NAME, request(), Scripted(nonsense))
    first, second = Scripted(right), Scripted(right)
    predict(work, NAME, request(refresh=True, limit=2), first)
    verdicts = dict(rows(work, NAME).select("id", "verdict").iter_rows())
    assert {name for name in ids(work) if verdicts[name] == "correct"} == {*first.asked}
    report = predict(work, NAME, request(refresh=True), second)
    assert sorted(first.asked + second.asked) == ids(work)
    assert len(first.asked) == 2
    assert counts(report) == {"answered": len(ids(work)) - 2, "answered before": 2}


@pytest.mark.parametrize("error", [UsageError("HTTP 401"), NetworkError("gone")])
def test_a_refresh_whose_server_refuses_everything_loses_nothing(error: BuildBenchError, work: Work) -> None:
    def say(turn: FirstTurn) -> Answer:
        raise error

    predict(work, NAME, request(), Scripted(right))
    before = rows(work, NAME)
    with pytest.raises(type(error)):
        predict(work, NAME, request(refresh=True), Scripted(say))
    predict(work, NAME, request(refresh=True), Scripted(lambda turn: Answer(FAILED, "no luck")))
    assert rows(work, NAME).equals(before)


def test_refresh_forgets_nothing_where_the_model_can_not_be_loaded(work: Work) -> None:
    predict(work, NAME, request(), Scripted(right))

    def load(name: str, options: Options) -> models.Model:
        raise UsageError("no such model")

    with pytest.raises(UsageError):
        predict(work, NAME, request(refresh=True), load)
    assert len(rows(work, NAME)) == len(ids(work))


def test_one_model_is_asked_by_one_run_at_a_time(work: Work) -> None:
    lock = work.own / "predict" / predictions.folder_name(NAME) / "lock"
    lock.parent.mkdir(parents=True)
    with filelock.FileLock(lock), pytest.raises(BuildBenchError, match="being asked by another"):
        predict(work, NAME, request(), Scripted(right))
    with filelock.FileLock(lock):
        predict(work, "baseline:ask", request())


def test_what_is_not_built_is_named(work: Work) -> None:
    with pytest.raises(InputError, match="quickdraw is not built"):
        predict(work, NAME, replace(request(), scenarios=["quickdraw"]), Scripted(right))
    with pytest.raises(InputError, match="nothing is built"):
        predict(work, NAME, replace(request(), scenarios=[]), Scripted(right))


def test_a_log_has_a_line_now_and_then(
    work: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executors, "TELL", 0.0)
    predict(work, NAME, request(limit=2), Scripted(right))
    assert re.search(
        r"predict coco with openai:scripted: 1 of 2 samples, .* a second, .* left", capsys.readouterr().err
    )


def invoke(work: Work, *arguments: str) -> Any:
    return CliRunner().invoke(cli.group, ["predict", "--work", str(work.root), *arguments])


def test_the_command_asks_several_models_about_all_that_is_built(work: Work) -> None:
    done = invoke(work, "--model", "baseline:ask", "--model", "baseline:first", "--limit", "2", "--json")
    assert done.exit_code == 0, done.output
    reports = json.loads(done.stdout)["models"]
    assert [report["model"] for report in reports] == ["baseline:ask", "baseline:first"]
    assert all(list(report["scenarios"]) == [SCENARIO] and counts(report) == {"answered": 2} for report in reports)
    assert "coco: 2 answered before\n" in invoke(work, "--model", "baseline:ask", "--limit", "2", SCENARIO).stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ([], "needs --model KIND:NAME, or --import FILE", "baseline:random"),
        (["--model", "llava"], "expected KIND:NAME", "hf:"),
        (["--model", "opnai:x"], "no kind of model 'opnai'", "did you mean 'openai'"),
        (["--model", "baseline:randm"], "no baseline 'randm'", "did you mean 'random'"),
        (["--model", "openai:x"], "OPENAI_API_KEY is not set", "--base-url"),
        (["--model", "openai:x", "--base-url", "http://me:secret@here/v1"], "expected http", "OPENAI_API_KEY"),
    ],
)
def test_a_wrong_command_line_is_told_how_it_should_be(
    arguments: list[str], message: str, hint: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    error = invoke(work, *arguments).exception
    assert isinstance(error, UsageError)
    assert message in error.message
    assert hint in error.hint
    assert "secret" not in error.message + error.hint


def test_a_missing_extra_is_named_with_the_line_that_installs_it(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = lambda name: None  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", find)
    with pytest.raises(UsageError) as missing:
        predict(work, "hf:some/model", request())
    assert "torch, transformers, accelerate" in missing.value.message
    assert missing.value.hint == "pip install 'build-bench[predict]'"


def test_an_answer_may_have_as_many_tokens_as_in_the_evaluators_script() -> None:
    assert Options().max_tokens == 50


def folder_of(root: Path, weights: bytes, **others: bytes) -> str:
    """A folder `tiny` below `root` that looks like a model, as --model names it."""
    files = {"config.json": b"{}", "model.safetensors": weights, **others}
    folder = root / "tiny"
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return f"hf:{folder}"


def test_a_folder_is_called_by_its_name_and_its_content_wherever_it_lies(tmp_path: Path) -> None:
    first = models.cache_name(folder_of(tmp_path / "a", b"weights"))
    assert re.fullmatch(r"hf:tiny@[0-9a-f]{8}", first)
    assert models.cache_name(folder_of(tmp_path / "b", b"weights", **{"README.md": b"mine"})) == first
    assert models.cache_name("hf:org/model") == "hf:org/model"


def test_other_weights_or_settings_in_a_folder_of_the_same_name_are_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("build_bench.models.folders._WHOLE", 1 << 20)  # larger ones are read in places
    large = bytes(5 << 20)
    names = {
        models.cache_name(folder_of(tmp_path / str(number), weights, **others))
        for number, (weights, others) in enumerate(
            [
                (b"weights", {}),
                (b"Weights", {}),
                (b"weights", {"generation_config.json": b"{}"}),
                (large, {}),
                (large[:-1] + b"1", {}),
                (large[: 2 << 20] + bytes([1]) * (1 << 15) + large[(2 << 20) + (1 << 15) :], {}),
            ]
        )
    }
    assert len(names) == 6


def test_a_second_model_waits_until_the_first_has_looked_at_the_samples(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(predicting, "notice", said.put)
    waiting = threading.Thread(target=predict, args=(work, "baseline:ask", request()))
    with predicting._looking(work):
        waiting.start()
        assert said.get(timeout=60) == "waiting for another predict, which is looking at the samples"
    waiting.join()
    assert len(rows(work, "baseline:ask")) == len(ids(work))


def test_a_damaged_line_of_a_killed_run_costs_its_own_answer_alone(
    work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    killed_run(work, NAME, "add", 5, 60)
    path = next(work.own.rglob(f"{SCENARIO}.jsonl"))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"\xff\x00{" + lines[1][9:], *lines[2:]]))
    rest = Scripted(right)
    predict(work, NAME, request(), rest)
    assert rest.asked == [ids(work)[1], *ids(work)[5:]]
    assert f"{path}, line 2 is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["openai:m.1.partial", "openai:m.moving.partial"])
def test_a_model_may_be_called_like_one_of_our_temporary_files(name: str, work: Work) -> None:
    predict(work, name, request(), Scripted(right, name))
    predict(work, name, request(), Scripted(right, name))
    assert len(rows(work, name)) == len(ids(work))


def test_a_limit_caps_and_means_the_same_samples_spread_over_all_each_time(work: Work) -> None:
    first, again, more = Scripted(right), Scripted(right), Scripted(right)
    predict(work, NAME, request(limit=3), first)
    report = predict(work, NAME, request(limit=3), again)
    assert (len(first.asked), again.asked, counts(report)) == (3, [], {"answered before": 3})
    predict(work, NAME, request(limit=5), more)
    assert len(more.asked) == 2
    assert set(first.asked + more.asked) != set(ids(work)[:5])


def failing(turn: FirstTurn) -> Answer:
    return right(turn) if int(turn.digest, 16) % 2 else Answer(FAILED, "HTTP 400: context too long")


def test_why_there_was_no_answer_is_in_the_summary(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "__defaults__", (Scripted(failing),))
    done = invoke(work, "--model", NAME)
    assert done.exit_code == 0, done.output
    assert re.search(r"coco: \d answered, \d failed: HTTP 400: context too long\n", done.stdout)


@pytest.mark.parametrize("outcome", [FAILED, REFUSED])
@pytest.mark.parametrize(("name", "code"), [(NAME, 4), ("baseline:ask", 1)])
def test_a_model_that_answers_nothing_at_all_is_an_error(
    name: str, code: int, outcome: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Scripted(lambda turn: Answer(outcome, "no luck"), name)
    monkeypatch.setattr(predict, "__defaults__", (silent,))
    done = invoke(work, "--model", name, "--limit", "2")
    assert done.exit_code == code
    assert f"{name} answered nothing: no luck" in done.stderr
    assert f"coco: 2 {outcome}: no luck" in done.stdout


def test_an_interrupted_run_says_how_many_answers_are_kept(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    def say(turn: FirstTurn) -> Answer:
        if len(broken.asked) == 4:
            raise KeyboardInterrupt
        return right(turn)

    broken = Scripted(say)
    with pytest.raises(KeyboardInterrupt):
        predict(work, NAME, request(), broken)
    assert "3 answers of coco are kept: run the same again" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../nowhere", "./nowhere", "/no/where", "~/nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_no_model_of_the_hub(name: str) -> None:
    with pytest.raises(UsageError, match=f"there is no folder {name}"):
        models.cache_name(f"hf:{name}")


@pytest.mark.parametrize(("change", "told"), [((), True), (("--set", "slurm.gpus=1"), False)])
def test_a_model_on_a_cluster_without_a_gpu_is_no_surprise(
    work: Work, monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...], told: bool
) -> None:
    monkeypatch.setenv("PATH", "")
    done = invoke(work, "--model", "hf:some/model", "--executor", "slurm", *change)
    assert "there is no sbatch here" in str(done.exception)
    assert ("without a GPU; --set slurm.gpus=1" in done.stderr) == told
