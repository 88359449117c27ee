"""`all --push`: from nothing to a release on the Hub, in one command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from build_bench.cli import main

from .published import REPO, seen
from .server import Hub

LFS = pytest.mark.parametrize("storage", ["lfs"], indirect=True)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["build-bench", *arguments])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@LFS
def test_one_command_builds_and_publishes_both_splits(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("all", "--demo", "--scenario", "quickdraw", "--push", "--repo", REPO, "--json", "--workers", "1")
    assert run(monkeypatch, *command) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["release"] == report["push"]["release"] == seen(hub) == "v1.0.0"
    manifest = json.loads(hub.read(REPO, "v1.0.0", "manifest.json"))
    assert {*manifest["scenarios"]["quickdraw"]["splits"]} == {"filtered", "unfiltered"}
    assert run(monkeypatch, *command) == 0
    assert len(hub.commits(REPO)) == 2
    assert hub.count("POST */commit/*") == 1


@LFS
def test_a_repository_that_wont_do_is_said_before_the_build(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "all", "--demo", "--push") == 2
    assert run(monkeypatch, "all", "--demo", "--push", "--repo", "bench") == 2
    monkeypatch.delenv("HF_TOKEN")
    assert run(monkeypatch, "all", "--demo", "--push", "--repo", REPO) == 3
    assert "there is no token" in capsys.readouterr().err
    assert not (tmp_path / "demo" / "plans").exists()


@LFS
def test_a_training_split_goes_to_a_repository_of_its_own(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.toml").write_text(f'repo = "{REPO}"\n')
    command = ("all", "--demo", "--scenario", "quickdraw", "--push", "--workers", "1", "--config", "bench.toml")
    assert run(monkeypatch, *command) == 0
    assert run(monkeypatch, *command, "--split", "train") == 2
    assert "which repository?" in capsys.readouterr().err
    assert run(monkeypatch, *command, "--split", "train", "--repo", REPO) == 2
    assert f"{REPO} holds the test split, this is the train split" in capsys.readouterr().err
    assert run(monkeypatch, *command, "--split", "train", "--repo", "lab/train") == 0
    assert 'load_dataset("lab/train", split="train"' in capsys.readouterr().out
    assert seen(hub, repo="lab/train") == seen(hub) == "v1.0.0"
    manifest = json.loads(hub.read("lab/train", "v1.0.0", "manifest.json"))
    assert manifest["scenarios"]["quickdraw"]["splits"] == {"train": 24}
    assert run(monkeypatch, "pull", "--repo", "lab/train") == 0
    assert run(monkeypatch, "verify", "pulled/dataset") == 0
    again = ("all", "--demo", "--split", "train", "--work", "again", "--from-release", "pulled/dataset/manifest.json")
    assert run(monkeypatch, *again) == 0
