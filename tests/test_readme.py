"""The README says what the program does: its help is generated, and its commands exist.

REGENERATE_GOLDEN=1 writes the help anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from click.testing import CliRunner

from build_bench import builders, cli, config

README = Path(__file__).parents[1] / "README.md"
HELP = re.compile(r"(<!-- build-bench --help -->\n```\n)(.*?)(```\n<!-- /build-bench --help -->)", re.DOTALL)


def shown() -> str:
    return CliRunner().invoke(cli.group, ["--help"], prog_name="build-bench", terminal_width=100).output


def test_the_help_is_that_of_the_program() -> None:
    text = README.read_text(encoding="utf-8")
    if os.environ.get("REGENERATE_GOLDEN"):
        README.write_text(HELP.sub(lambda found: found[1] + shown() + found[3], text), encoding="utf-8")
        text = README.read_text(encoding="utf-8")
    found = HELP.search(text)
    assert found
    assert found[2] == shown()


def test_every_command_and_setting_it_names_exists() -> None:
    text = HELP.sub("", README.read_text(encoding="utf-8"))
    commands = set(re.findall(r"build-bench ([a-z]+)", text))
    assert commands >= {"all", "build", "status", "verify"}
    assert commands <= set(cli.group.commands)
    assert config.read(list(builders.SCENARIOS), None, re.findall(r"--set ([a-z_]+\.[a-z_]+=[\w/.-]+)", text))


def test_every_configuration_it_shows_is_one(tmp_path: Path) -> None:
    shown = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert shown
    for text in shown:
        (tmp_path / "bench.toml").write_text(text, encoding="utf-8")
        assert config.read(list(builders.SCENARIOS), tmp_path / "bench.toml")


def test_every_scenario_is_in_it() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in builders.SCENARIOS if f"| `{name}` |" not in text] == [], "the table of sources lacks them"
