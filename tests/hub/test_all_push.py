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
