"""A work folder in S3: the same dataset as in a folder, on any machine; what one machine made another goes on with."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from build_bench import config, demo, predicting, stages
from build_bench.builders import Builder
from build_bench.demo import SETTINGS
from build_bench.executors.jobs import Engine, Job, Outcome
from build_bench.executors.local import Local
from build_bench.journal import Place
from build_bench.mirror import Mirror
from build_bench.predicting_in_parts import predict
from build_bench.store import Work

from .asked import request, rows
from .s3_server import bucket, served

NAMES = ["quickdraw", "coco"]
BASELINE = "baseline:first"
pytestmark = pytest.mark.filterwarnings("default")  # of botocore and moto


@pytest.fixture(scope="module")
def s3() -> Iterator[Mapping[str, str]]:
    with served() as environment:
        yield environment


@pytest.fixture
def work(s3: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A work folder in a bucket of its own, with drawn sources."""
    monkeypatch.setenv("BUILD_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Builder, "shard", 20)
    mirror = Mirror.of(f"{bucket()}/bench")
    demo.draw(mirror.folder / "raw", NAMES)
    return Work(mirror.folder, mirror.folder / "raw", shared=mirror)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An engine whose tasks are done on other machines, each with an empty disk: the mirror is away meanwhile."""

    mirror: Path

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        away = self.mirror.with_name("away")
        for number in numbers:
            self.mirror.rename(away)
            try:
                [(_, outcome)] = Local(2).attempt(job, [number])  # in a process of its own
            finally:
                shutil.rmtree(self.mirror, ignore_errors=True)
                away.rename(self.mirror)
            yield number, outcome


def digests(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def build(work: Work, engine: Engine) -> None:
    settings = config.read(NAMES, None, SETTINGS)
    stages.build(work, settings, NAMES, engine)
    stages.assemble(work, settings, NAMES)


def answers(work: Work) -> dict[str, str]:
    return {
        name: answer
        for scenario in NAMES
        for name, answer in rows(work, BASELINE, scenario).select("id", "answer").rows()
    }


def test_shards_made_on_other_machines_give_the_same_dataset(work: Work, tmp_path: Path) -> None:
    folder = Work(tmp_path / "folder", work.raw)
    build(folder, Local(1))
    build(work, Elsewhere(work.root))
    assert len(list(work.frames("quickdraw").iterdir())) > 3
    assert digests(work.dataset) == digests(folder.dataset)


def test_answers_given_on_other_machines_are_as_those_of_this_one(work: Work) -> None:
    build(work, Local(1))
    predicting.predict(work, BASELINE, request(scenarios=NAMES))
    expected = answers(work)
    shutil.rmtree(work.predictions)
    work.give(work.predictions)
    report = predict(work, BASELINE, request(scenarios=NAMES), Elsewhere(work.root), 3)
    assert answers(work) == expected
    assert report["scenarios"]["quickdraw"]["answered"] == 120
    work.give(work.root)
    other = Work(work.root.with_name("other"), work.raw, shared=Mirror(work.shared.url, work.root.with_name("other")))  # type: ignore[union-attr]
    other.bring(other.root)
    assert answers(other) == expected
    assert not list(other.own.rglob("*.jsonl"))


def test_a_journal_that_is_in_the_cache_does_not_come_back(work: Work) -> None:
    """Its answers would take the place of those of a later refresh."""
    build(work, Local(1))
    journal = Place(work, BASELINE, "coco").folder / "coco.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"what a killed run left\n")
    work.give(work.root)
    predicting.predict(work, BASELINE, request())
    work.bring(work.root)  # the next command's, if this one is killed before its end
    assert not journal.exists()


def test_what_a_machine_made_before_it_was_lost_is_not_made_again(work: Work) -> None:
    """Its disk is gone with it: only what each task gave is there."""
    settings = config.read(NAMES, None, SETTINGS)

    class Broken(Local):
        def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
            yield from super().attempt(job, numbers[:3])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.build(work, settings, ["quickdraw"], Broken(1))
    shutil.rmtree(work.root)
    work.bring(work.root)
    before = {path.name: path.read_bytes() for path in work.frames("quickdraw").iterdir()}
    assert len(before) == 3
    made = []

    class Counted(Local):
        def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
            made.extend(numbers)
            yield from super().attempt(job, numbers)

    stages.build(work, settings, ["quickdraw"], Counted(1))
    assert not {f"shard-{number:05d}.parquet" for number in made} & before.keys()
    assert len(made) + 3 == len(list(work.frames("quickdraw").iterdir()))


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build_bench", *arguments]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_one_machine_builds_and_another_goes_on(s3: Mapping[str, str], tmp_path: Path) -> None:
    url = f"{bucket()}/bench"
    chosen = ("--scenario", "coco", "--scenario", "quickdraw", "--scenario", "mvp_n")
    built = run("all", "--demo", *chosen, "--work", url, "--workers", "2", cwd=tmp_path, BUILD_BENCH_CACHE="one")
    assert built.returncode == 0, built.stderr
    assert run("all", "--demo", *chosen, "--work", "folder", cwd=tmp_path).returncode == 0
    [one] = (tmp_path / "one").iterdir()
    assert digests(one / "dataset") == digests(tmp_path / "folder" / "dataset")
    status = run("status", "--work", url, "--json", cwd=tmp_path, BUILD_BENCH_CACHE="two")
    assert f"{url} is worked on in {tmp_path}/two/" in status.stderr
    [two] = (tmp_path / "two").iterdir()
    assert digests(one / "predictions") == digests(two / "predictions") != {}
    found = json.loads(status.stdout)["scenarios"]
    assert [found[name]["stale"] for name in ("coco", "mvp_n", "quickdraw")] == [[], [], []]
    ask = ("preview", "--playable", "1", "--dataset", "folder/dataset", "--out", "gallery", "--work", url)
    assert run(*ask, cwd=tmp_path, BUILD_BENCH_CACHE="two").returncode == 0
    assert BASELINE in (tmp_path / "gallery/data/overview.js").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--work", "s3://nobodys/bench"), 3, "s3://nobodys/bench: The specified bucket does not exist"),
        (("--work", "ftpx://host/bench"), 2, "--work ftpx://host/bench: Protocol not known"),
        (("--work", "s3://"), 2, "--work s3://: no place to write to"),
        (("--work", "https://host/bench"), 2, "--work https://host/bench: no place to write to"),
        (("--raw", "s3://nobodys/raw"), 2, "--raw s3://nobodys/raw: sources are read by offset"),
    ],
)
def test_an_address_that_is_no_good_is_said_in_a_sentence(
    arguments: tuple[str, str], code: int, said: str, s3: Mapping[str, str], tmp_path: Path
) -> None:
    done = run("all", "--demo", "--scenario", "coco", *arguments, cwd=tmp_path, BUILD_BENCH_CACHE="cache")
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_that_is_away_is_the_networks_fault(s3: Mapping[str, str], tmp_path: Path) -> None:
    away = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    done = run("status", "--work", "s3://b/bench", cwd=tmp_path, **away)
    assert done.returncode == 4
    assert "s3://b/bench: Could not connect" in done.stderr
