"""Settings come from one place, and a wrong one is answered with the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_bench import config
from build_bench.errors import UsageError


def test_the_command_line_wins_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text("seed = 3\n[quickdraw]\nper_class = 5\nsize = 128\n")
    assert config.read(["quickdraw"]).settings["quickdraw"].per_class == 10
    read = config.read(["quickdraw"], file, ["quickdraw.size=64"])
    assert (read.seed, read.settings["quickdraw"].per_class, read.settings["quickdraw"].size) == (3, 5, 64)
    assert config.read(["quickdraw"], file, [], 7).seed == 7


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ("quickdraw.per_clas=5", "no setting of quickdraw called 'per_clas'", "per_class"),
        ("quikdraw.per_class=5", "no scenario 'quikdraw'", "quickdraw"),
        ("slrum.time=1", "no scenario 'slrum'", "did you mean 'slurm'"),
        ("quickdraw.per_class=five", "expected a whole number", ""),
        ("quickdraw.per_class", "expected SCENARIO.KEY=VALUE", ""),
        ("per_class=5", "expected SCENARIO.KEY=VALUE", ""),
        ("seed.x=1", "no scenario 'seed'", ""),
        (f"quickdraw.size={'9' * 30}", "expected a whole number of at most 2,147,483,647", ""),
        (f"quickdraw.size={'9' * 5000}", "expected a whole number", ""),
        ("quickdraw.line_width=inf", "expected a finite number", ""),
        ("quickdraw.line_width=nan", "expected a finite number", ""),
        ("quickdraw.line_width=1e999", "expected a finite number", ""),
        ("slurm.memory_gb=0", "slurm: memory_gb = 0: expected at least 1", ""),
        ("slurm.gpus=-1", "slurm: gpus = -1: expected at least 0", ""),
        ("slurm.largest_array=0", "slurm: largest_array = 0: expected at least 1", ""),
        ("ray.cpus=0", "ray: cpus = 0: expected more than 0", ""),
        ("ray.memory_gb=-0.5", "ray: memory_gb = -0.5: expected at least 0", ""),
    ],
)
def test_a_wrong_setting_is_refused_by_name(change: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        config.read(["quickdraw"], None, [change])
    assert message in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "seed = 'one'",
        "seed = true",
        f"seed = {2**63}",
        "quickdraw = 5",
        "[quickdraw]\nper_class = true",
        "not toml",
        "sead = 1",
        f"x = {'[' * 5000}",
        f"seed = {'9' * 5000}",
        f"seed = 0x{'f' * 5000}",
        f"[quickdraw]\nsize = {'9' * 30}",
        f"[quickdraw]\nline_width = 1{'0' * 400}",
        f"[quickdraw]\nline_width = 0x{'f' * 5000}",
        "[quickdraw]\nline_width = nan",
    ],
)
def test_a_wrong_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(text)
    with pytest.raises(UsageError):
        config.read(["quickdraw"], file)


def test_a_file_that_begins_with_a_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text("seed = 7\n", encoding="utf-8-sig")
    assert config.read(["quickdraw"], file).seed == 7


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[Slurm]\npartition = 'cpu'", "no table 'Slurm'", "did you mean 'slurm'"),
        ("[licences]\naccepted = ['coco']", "no table 'licences'", "did you mean 'licenses'"),
        ("partition = 'cpu'", "partition = 'cpu': expected seed", "below their table's name, as [slurm]"),
        ("executor = 'slurm'", "executor = 'slurm': expected seed", "options, as --executor, aren't settings"),
        ("seed =", "expected TOML", "as in seed = 0"),
        ("[slurm]\ntime = 2", "slurm.time = 2: expected text, in quotes", ""),
        ("[slurm]\nmemory_gb = '16G'", "slurm.memory_gb = '16G': expected a whole number", ""),
    ],
)
def test_a_setting_in_the_wrong_place_or_of_the_wrong_kind_is_told_where_it_belongs(
    text: str, message: str, hint: str, tmp_path: Path
) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        config.read(["quickdraw"], file)
    assert message in refused.value.message
    assert hint in refused.value.hint


def test_a_seed_is_no_scenario_also_if_the_file_has_one(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text("seed = 1")
    with pytest.raises(UsageError, match="no scenario 'seed'"):
        config.read(["quickdraw"], file, ["seed.x=1"])


def test_a_file_may_configure_scenarios_that_are_not_built(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text("[coco]\nnegatives = 'supercategory'\n")
    assert list(config.read(["quickdraw"], file).settings) == ["quickdraw"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/data/mine/table.csv", "table.csv"),
        ("local-dir:/models/clip", "local-dir:clip"),
        ("C:\\mine\\table.csv", "table.csv"),
        ("supercategory", "supercategory"),
        ("annotations/instances.json", "annotations/instances.json"),
    ],
)
def test_the_manifest_shows_no_place_of_this_machine(value: str, shown: str) -> None:
    read = config.read(["coco"], None, [f"coco.clip_model={value}"])
    assert read.public("coco")["clip_model"] == shown
