"""The command line: instant help, one-sentence errors, exit codes that scripts can rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from build_bench import cli
from tests.fakes import fake


def run(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    code = "from build_bench.cli import main; main()"
    base = {"PATH": "/usr/bin:/bin", "HOME": str(cwd or Path.cwd())}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, env=base | env, check=False
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['build-bench', '--help']\n"
        "from build_bench.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pyarrow', 'polars', 'datasets', 'PIL', 'cv2', 'msgspec'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"
    assert "build-bench all --demo" in shown


@pytest.mark.parametrize("name", cli.group.commands)
def test_every_command_has_help_and_the_shared_options(name: str) -> None:
    command = cli.group.commands[name]
    assert command.help
    names = {option for parameter in command.params for option in parameter.opts}
    assert {"--work", "--raw", "--config", "--set", "--seed", "--json", "--verbose"} <= names
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert str(parameter.envvar).startswith("BUILD_BENCH_")


@pytest.mark.parametrize(("name", "home"), [("build", "work"), ("pull", "pulled"), ("adopt", "adopted")])
def test_help_names_the_work_folder_that_a_command_takes_by_default(name: str, home: str) -> None:
    shown = CliRunner().invoke(cli.group, [name, "--help"]).output
    assert f"[default: ./{home}]" in " ".join(shown.split())


def test_commands_are_listed_in_the_order_of_the_pipeline() -> None:
    listed = list(cli.group.commands)
    assert listed.index("build") < listed.index("assemble") < listed.index("verify")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence", "hint"),
    [
        (["build", "quikdraw"], 2, "no scenario 'quikdraw'", "did you mean 'quickdraw'"),
        (["build"], 2, "Missing argument", "--help"),
        (["biuld"], 2, "No such command 'biuld'", ""),
        (["build", "quickdraw", "--set", "quickdraw.siez=1"], 2, "no setting of quickdraw called 'siez'", "'size'"),
        (["build", "quickdraw", "--workers", "0"], 2, "workers", ""),
        (["build", "quickdraw"], 3, "Quick, Draw! is not in", "--scenario"),
        (["all", "--scenario", "quickdraw"], 3, "Quick, Draw! is not in", "CC-BY-4.0"),
        (["verify"], 3, "has no manifest.json", "assemble"),
        (["status", "--work", os.fsdecode(b"w\xff")], 2, "isn't UTF-8", "rename it"),
    ],
)
def test_an_error_is_a_sentence_with_what_to_do(
    arguments: list[str], code: int, sentence: str, hint: str, tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_error_for_a_program_is_json_on_stdout(tmp_path: Path) -> None:
    done = run("build", "quickdraw", "--json", cwd=tmp_path)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "input"
    assert error["message"] in done.stderr
    assert set(error) == {"code", "message", "hint"}


def test_a_traceback_comes_under_verbose_only(tmp_path: Path) -> None:
    assert "Traceback" in run("build", "quickdraw", "-v", cwd=tmp_path).stderr


def test_an_option_can_be_an_environment_variable(tmp_path: Path) -> None:
    done = run("status", "--json", cwd=tmp_path, BUILD_BENCH_WORK=str(tmp_path / "elsewhere"))
    stale = json.loads(done.stdout)["scenarios"]["quickdraw"]["stale"]
    assert str(tmp_path / "elsewhere") in stale[0]


def test_status_of_nothing_says_what_is_missing(tmp_path: Path) -> None:
    done = run("status", cwd=tmp_path)
    assert done.returncode == 0
    assert "Quick, Draw! is not in" in done.stdout
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(("value", "documents"), [("1", 1), ("true", 1), ("0", 0), ("false", 0)])
def test_a_flag_in_the_environment_is_read_in_errors_too(value: str, documents: int, tmp_path: Path) -> None:
    done = run("build", "quickdraw", cwd=tmp_path, BUILD_BENCH_JSON=value, BUILD_BENCH_VERBOSE=value)
    assert len(done.stdout.splitlines()) == documents
    assert ("Traceback" in done.stderr) == bool(documents)


def test_rendering_what_nobody_planned_is_said(tmp_path: Path) -> None:
    fake("mvp_n").write(tmp_path / "work" / "raw" / "mvp_n")
    for _ in range(2):
        done = run("build", "mvp_n", "--only", "render", cwd=tmp_path)
        assert done.returncode == 3
        assert "nothing to render" in done.stderr
        assert "build-bench build mvp_n" in done.stderr
        (tmp_path / "work" / "plans").mkdir(exist_ok=True)
        (tmp_path / "work" / "plans" / "mvp_n.parquet").write_bytes(b"PAR1, cut off")


def test_a_work_folder_may_be_a_file_address(tmp_path: Path) -> None:
    done = run("status", "--work", f"file://{tmp_path}/w", cwd=tmp_path)
    assert done.stdout.startswith(f"nothing is in {tmp_path}/w yet")


def test_after_a_build_of_what_was_filtered_the_filter_comes_before_assemble(tmp_path: Path) -> None:
    def build(*more: str) -> str:
        shown = run("build", "coco", "--workers", "1", *more, cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        return shown.stdout.splitlines()[-1]

    done = run("all", "--demo", "--work", "work", "--scenario", "coco", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert build().startswith("build-bench assemble")
    assert build("--limit", "3") == "build-bench predict, then filter, then assemble: what was filtered of coco changed"
