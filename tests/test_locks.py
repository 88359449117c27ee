"""A release is built again from its lock, byte for byte, or what differs is named; no lock becomes another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from build_bench import cli, config, locks, stages, store
from build_bench.demo import SETTINGS
from build_bench.errors import BuildBenchError, InputError, UsageError
from build_bench.filters import first_turn, predictions
from build_bench.filters.filtering import Choice
from build_bench.locks import checkout
from build_bench.store import Work
from build_bench.verifying import verify
from tests.predicted import SCENARIOS, built, predict, right, wrong


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """v1.0.0: two scenarios, filtered by a third of two models."""
    work = built(tmp_path_factory.mktemp("released"))
    predict(work, "org/model", lambda turn, number: (right if number % 3 else wrong)(turn, number))
    stages.predict_baselines(work, SCENARIOS, 0, ["baseline:abstain"])
    stages.filter_(work, SCENARIOS, Choice(first_turn.rule("1/3"), ("org/model", "baseline:abstain")))
    manifest = stages.assemble(work, config.read(SCENARIOS, None, SETTINGS), SCENARIOS)
    stages.seal(work, manifest, "v1.0.0", work.root / "checkout")
    return work


@pytest.fixture
def work(released: Work, tmp_path: Path) -> Work:
    root = Path(shutil.copytree(released.root, tmp_path / "work"))
    return Work(root, Path(shutil.copytree(released.raw, tmp_path / "raw")))


@pytest.fixture
def fresh(work: Work, tmp_path: Path) -> Work:
    """Only the sources, the models' predictions and the locks: baselines answer anew."""
    no_baselines = shutil.ignore_patterns("baseline*")
    shutil.copytree(work.predictions, tmp_path / "fresh" / "predictions", ignore=no_baselines)
    shutil.copytree(work.releases, tmp_path / "fresh" / "releases")
    return Work(tmp_path / "fresh", work.raw)


def contents(work: Work) -> dict[str, bytes]:
    return {
        str(path.relative_to(work.dataset)): path.read_bytes() for path in work.dataset.rglob("*") if path.is_file()
    }


def run(work: Work, *arguments: str) -> Result:
    places = ["--work", str(work.root), "--raw", str(work.raw), "--workers", "1"]
    return CliRunner().invoke(cli.group, ["all", *places, *arguments])


def refusal(result: Result, kind: type[BuildBenchError]) -> str:
    assert isinstance(result.exception, kind), result.output
    return result.exception.message


def test_a_release_is_kept_whole_with_a_lock_for_the_checkout(released: Work) -> None:
    assert verify(released.dataset)[1] == []
    assert (released.releases / "v1.0.0" / "manifest.json").read_bytes() == contents(released)["manifest.json"]
    for folder in (released.releases / "v1.0.0", released.root / "checkout"):
        assert (folder / "CHANGELOG.md").read_bytes() == contents(released)["CHANGELOG.md"]
    lock = json.loads((released.root / "checkout" / "v1.0.0.json").read_bytes())
    assert set(lock["scenarios"]) == set(SCENARIOS)
    assert all(len(source["sha256"]) == 64 for source in lock["scenarios"]["mvp_n"]["sources"] if "sha256" in source)
    assert lock["rule"] == "first_turn_1/3_v1"
    assert "rows" not in lock["scenarios"]["rod"]


AGREEING = [
    "--seed", "0", "--set", "mvp_n.split=test", "--scenario", "rod", "--scenario", "mvp_n", "--release", "v1.0.0"
]  # fmt: skip


@pytest.mark.parametrize(("name", "agreeing"), [("v1.0.0", AGREEING), ("checkout/v1.0.0.json", [])])
def test_a_release_is_built_again_byte_for_byte(name: str, agreeing: list[str], fresh: Work, released: Work) -> None:
    if "/" in name:
        name = str(released.root / name)
        shutil.rmtree(fresh.releases)
    done = run(fresh, "--from-release", name, *agreeing)
    assert done.exit_code == 0, done.output
    assert "The same bytes as v1.0.0" in done.output
    assert contents(fresh) == contents(released)
    assert (fresh.releases / "v1.0.0" / "manifest.json").exists()


def test_a_lock_and_the_manifest_say_the_same(released: Work) -> None:
    found = [
        locks.read(str(released.root / name), released)
        for name in ("checkout/v1.0.0.json", "releases/v1.0.0/manifest.json", "releases/v1.0.0")
    ]
    assert all(each == locks.read("v1.0.0", released) for each in found)


def test_every_source_that_differs_is_named_before_anything_is_built(fresh: Work) -> None:
    lists = [path for path in sorted((fresh.raw / "mvp_n").rglob("*")) if path.suffix in (".csv", ".pkl")]
    for path in lists[:2]:
        path.write_bytes(path.read_bytes() + b"\n")
    message = refusal(run(fresh, "--from-release", "v1.0.0"), InputError)
    for path in lists[:2]:
        assert f"{path.relative_to(fresh.raw).as_posix()}: expected bytes {path.stat().st_size - 1}, sha256 " in message
    assert not fresh.plans("mvp_n").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--seed", "1"], "seed = 1, not 0"),
        (["--set", "mvp_n.split=valid"], "mvp_n.split = 'valid', not 'test'"),
        (["--scenario", "rod"], "--scenario rod: v1.0.0 has mvp_n, rod"),
        (["--without", "rod"], "--without rod: v1.0.0 has none"),
        (["--release", "v1.0.1"], "--release v1.0.1: v1.0.0 has v1.0.0"),
    ],
)
def test_an_option_that_contradicts_the_lock_is_refused(arguments: list[str], what: str, fresh: Work) -> None:
    assert what in refusal(run(fresh, "--from-release", "v1.0.0", *arguments), UsageError)
    assert not fresh.dataset.exists()


def test_a_configuration_file_that_contradicts_the_lock_is_refused(fresh: Work, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("seed = 5\n")
    done = run(fresh, "--from-release", "v1.0.0", "--config", str(tmp_path / "c.toml"))
    assert "seed = 5, not 0" in refusal(done, UsageError)


def test_predictions_that_are_missing_or_differ_are_named(fresh: Work, work: Work) -> None:
    predict(work, "org/model", wrong, ["rod"])
    assert "rod by org/model" in refusal(run(work, "--from-release", "v1.0.0"), InputError)
    predictions.path_of(fresh, "org/model", "mvp_n").unlink()
    message = refusal(run(fresh, "--from-release", "v1.0.0"), InputError)
    assert "org/model: mvp_n" in message
    assert not fresh.plans("rod").exists()


def test_other_code_is_named_and_what_came_out_otherwise(fresh: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_bench.rebuilding.__version__", "9.9.9")
    monkeypatch.setattr("build_bench.release.__version__", "9.9.9")
    done = run(fresh, "--from-release", "v1.0.0", "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert report["differs"] == ["README.md", "manifest.json"]
    assert report["code"] == ["build-bench 9.9.9, not 0.1.0"]
    assert "9.9.9, not 0.1.0" in report["error"]["message"]


def test_the_next_release_is_numbered_and_told_by_the_last_one_kept(work: Work) -> None:
    settings = config.read(SCENARIOS, None, SETTINGS)
    smaller = stages.assemble(work, settings, ["rod"])
    with pytest.raises(UsageError, match=r"scenario mvp_n removed"):
        stages.seal(work, smaller, "v1.1.0", None)
    assert json.loads(contents(work)["manifest.json"])["release"] is None
    stages.seal(work, smaller, "v2.0.0", None)
    assert contents(work)["CHANGELOG.md"].decode().count("\n## v") == 2
    again = stages.assemble(work, settings, SCENARIOS)
    stages.seal(work, again, "v1.0.0", None)
    with pytest.raises(UsageError, match="too low after v2"):
        stages.seal(work, again, "v1.5.0", None)


@pytest.mark.parametrize("written", range(7))
def test_a_seal_that_was_cut_off_is_finished_by_the_next(
    written: int, work: Work, released: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(path: Path, data: bytes) -> None:
        if len(done) == written:
            raise KeyboardInterrupt
        done.append(path)
        write_bytes(path, data)

    done: list[Path] = []
    write_bytes = store.write_bytes
    beside = work.root / "checkout"
    shutil.rmtree(work.releases)
    shutil.rmtree(beside)
    manifest = stages.assemble(work, config.read(SCENARIOS, None, SETTINGS), SCENARIOS)
    with monkeypatch.context() as patched:
        patched.setattr(store, "write_bytes", cut)
        with pytest.raises(KeyboardInterrupt):
            stages.seal(work, manifest, "v1.0.0", beside)
    stages.seal(work, manifest, "v1.0.0", beside)
    for folder in ("dataset", "releases", "checkout"):
        paths = [path for path in (released.root / folder).rglob("*") if path.is_file()]
        for path in paths:
            assert (work.root / path.relative_to(released.root)).read_bytes() == path.read_bytes()


def test_a_lock_of_the_checkout_is_never_overwritten(work: Work, tmp_path: Path) -> None:
    settings = config.read(SCENARIOS, None, SETTINGS)
    stages.seal(work, stages.assemble(work, settings, SCENARIOS), "v1.0.0", work.root / "checkout")
    shutil.rmtree(work.releases)
    other = stages.assemble(work, settings, ["rod"])
    before = contents(work)
    with pytest.raises(UsageError, match=r"v1\.0\.0\.json is the lock of another v1\.0\.0"):
        stages.seal(work, other, "v1.0.0", work.root / "checkout")
    assert contents(work) == before
    assert not work.releases.exists()


@pytest.mark.parametrize(
    ("damage", "kind", "what"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), InputError, "can't be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), InputError, "can't be read"),
        (lambda folder: (folder / "CHANGELOG.md").unlink(), InputError, r"CHANGELOG\.md"),
        (lambda folder: (folder / "CHANGELOG.md").write_text("# Changelog\n"), InputError, "says nothing of v1.0.0"),
        (lambda folder: (folder / "CHANGELOG.md").write_bytes(b"\xff"), InputError, "can't be read"),
        (lambda folder: folder.rename(folder.with_name("v1.0.9")), UsageError, "no release 'v1.0.0'"),
    ],
)
def test_a_lock_that_is_broken_or_absent_is_named(
    damage: Callable[[Path], Any], kind: type[BuildBenchError], what: str, work: Work
) -> None:
    damage(work.releases / "v1.0.0")
    with pytest.raises(kind, match=what):
        locks.read("v1.0.0", work)


def test_what_is_left_out_is_built_but_not_laid_out(work: Work) -> None:
    done = run(work, "--scenario", "rod", "--scenario", "mvp_n", "--without", "rod", "--seed", "0")
    assert done.exit_code == 0, done.output
    assert work.plans("rod").exists()
    assert not list(work.dataset.glob("data/rod/*"))
    assert not (work.dataset / "assets" / "rod.jpg").exists()
    assert verify(work.dataset)[1] == []
    card = contents(work)["README.md"].decode()
    assert "`build-bench all --scenario rod`" in card
    assert "config_name: rod" not in card
    done = run(work, "--scenario", "rod", "--without", "rod")
    assert "nothing to publish" in refusal(done, UsageError)


def test_a_checkout_is_told_from_an_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    monkeypatch.setattr("build_bench.manifests.__file__", str(tmp_path / "manifests" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert checkout() is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert checkout() is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "build-bench"\n')
    assert checkout() == tmp_path / "manifests" / "releases"
    monkeypatch.chdir(tmp_path.parent)
    assert checkout() is None


def test_a_rule_is_found_by_its_name() -> None:
    for text in ("0.25", "1/3", "0", "1", "0.125", "1000", "22/7", "0.0001"):
        rule = first_turn.Rule(Fraction(text))
        assert first_turn.named(rule.name) == rule
    for name in ("", "first_turn_25_v2", "first_turn_1/0_v1", "first_turn_x_v1", "first_turn_-1_v1"):
        with pytest.raises(UsageError, match="no rule"):
            first_turn.named(name)
