"""`push` and `pull` as they are typed: what is printed, how they end, and that the token is nowhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build_bench.cli import main
from tests import trees

from .conftest import client_env
from .faults import COMMIT
from .server import Hub

REPO = "lab/bench"
LFS = pytest.mark.parametrize("storage", ["lfs"], indirect=True)
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    plans = [plan for plan in trees.some_plans() if plan.scenario == "quickdraw"]
    trees.lay_out(tmp_path / "work" / "dataset", plans)
    return tmp_path / "work"


@pytest.fixture
def command(hub: Hub, tmp_path: Path, storage: str) -> Command:
    """Run build-bench in an environment of its own."""

    def run(*arguments: object, token: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "build_bench", *map(str, arguments)],
            env=client_env(hub, tmp_path / "home", xet=storage == "xet", token=token) | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


@LFS
def test_a_release_goes_to_the_hub_and_comes_back(hub: Hub, command: Command, work: Path, tmp_path: Path) -> None:
    pushed = command("push", "--work", work, "--release", "v1.0.0", "--json", BUILD_BENCH_REPO=REPO)
    assert pushed.returncode == 0, pushed.stderr
    report = json.loads(pushed.stdout)
    assert report.keys() >= {"repo", "release", "revision", "uploaded_bytes", "files"}
    (tmp_path / "bench.toml").write_text(f'repo = "{REPO}"')
    pulled = command("pull", "--json", "--config", "bench.toml")
    assert pulled.returncode == 0, pulled.stderr
    assert json.loads(pulled.stdout)["revision"] == report["revision"]
    assert command("verify", "pulled/dataset").returncode == 0
    for folder in (work, tmp_path / "pulled"):
        assert (folder / "releases" / "v1.0.0" / "manifest.json").read_bytes() == hub.read(
            REPO, "v1.0.0", "manifest.json"
        )


@LFS
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "which repository?"),
        (("--repo", "bench"), 2, "'bench' is no repository's name"),
        (("--repo", "lab/bench", "--release", "1.0"), 2, "'1.0' is no release"),
        (("--repo", "lab/bench", "--work", "nowhere"), 3, "has no manifest.json"),
    ],
)
def test_a_mistake_is_a_sentence(
    hub: Hub, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...], code: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "argv", ["build-bench", "push", "--work", str(work), *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


TOKENS = {
    "none": "",
    "one that may only read": "reader",
    "a wrong one": "hf_wrongwrongwrong",
    "no ASCII": "hf_schlüssel",
}


@LFS
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_that_wont_do_is_said_and_no_token_is_shown(
    hub: Hub, command: Command, work: Path, tmp_path: Path, kind: str
) -> None:
    token = hub.reader_token if TOKENS[kind] == "reader" else TOKENS[kind]
    ended = command("push", "--work", work, "--repo", REPO, "-v", "--json", token=token, HF_DEBUG="1")
    assert ended.returncode == 3, ended.stderr
    assert "token" in json.loads(ended.stdout)["error"]["message"] + json.loads(ended.stdout)["error"]["hint"]
    check_no_token(token, ended, tmp_path)


def check_no_token(token: str, ended: Any, folder: Path) -> None:
    if token:
        assert token not in ended.stdout + ended.stderr
        for path in folder.rglob("*"):
            assert not path.is_file() or token.encode() not in path.read_bytes(), path


@LFS
def test_a_token_is_in_no_output_and_no_file(hub: Hub, command: Command, work: Path, tmp_path: Path) -> None:
    hub.fail(COMMIT, 429, headers={"Retry-After": "0"})
    check_no_token(hub.token, command("push", "--work", work, "--repo", REPO, "-v", HF_DEBUG="1"), tmp_path)
    assert hub.tags(REPO)
    hub.fail("GET */refs", 418)
    ended = command("push", "--work", work, "--repo", REPO, "-v", HF_DEBUG="1")
    assert ended.returncode == 1
    assert "418" in ended.stderr
    check_no_token(hub.token, ended, tmp_path)
    check_no_token(hub.token, command("pull", "--repo", REPO, "-v", HF_DEBUG="1"), tmp_path)


@LFS
@pytest.mark.parametrize("applied", [False, True])
def test_a_push_that_is_killed_at_the_commit_is_finished_by_the_next(
    hub: Hub, work: Path, tmp_path: Path, command: Command, applied: bool
) -> None:
    arguments = [sys.executable, "-m", "build_bench", "push", "--work", str(work), "--repo", REPO]
    process = subprocess.Popen(
        arguments,
        env=client_env(hub, tmp_path / "home", xet=False),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    hub.before(COMMIT, process.kill) if not applied else hub.before("POST */tag/*", process.kill)
    assert process.wait() < 0
    assert not hub.tags(REPO) or applied
    ended = command("push", "--work", work, "--repo", REPO, "--json")
    assert ended.returncode == 0, ended.stderr
    assert [commit.title for commit in hub.commits(REPO)].count("Release v1.0.0") == 1
    assert hub.tags(REPO) == {"v1.0.0": json.loads(ended.stdout)["revision"]}


@LFS
def test_nothing_else_runs_in_the_work_folder_while_its_dataset_is_uploaded(
    hub: Hub, command: Command, work: Path
) -> None:
    answers: list[Any] = []
    hub.before(COMMIT, lambda: answers.append(command("push", "--work", work, "--repo", REPO)))
    assert command("push", "--work", work, "--repo", REPO).returncode == 0
    assert [answer.returncode for answer in answers] == [1]
    assert "another build-bench is working" in answers[0].stderr
