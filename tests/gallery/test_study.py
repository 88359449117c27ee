"""A study: a person answers as a model does, nothing gives an answer away, and the saved file comes in as a model's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from build_bench import cli
from build_bench.episode import Episode
from build_bench.filters import predictions
from build_bench.store import Work
from tests.gallery.conftest import Row, Window, command

Opened = Callable[..., Window]
NAME = "person:Zoë </script>"


@pytest.fixture(scope="module")
def study(demo: Work) -> Path:
    command("preview", "--workers", "1", "--work", str(demo.root), "--study", "3", "--seed", "5")
    return demo.reports / "study"


def answer(page: object, letter: str, following: str) -> None:
    page.keyboard.press(letter)  # type: ignore[attr-defined]
    page.wait_for_selector(f"h1:has-text('{following}')")  # type: ignore[attr-defined]


def test_a_study_is_answered_saved_imported_and_stands_beside_the_models(
    window: Opened, study: Path, demo: Work, rows: dict[str, Row], tmp_path: Path
) -> None:
    shown = window(study)
    page = shown.open()
    answer(page, "b", "Question 2 of 3")
    page = shown.open()  # closed and opened again
    assert page.locator("h1").inner_text() == "Question 2 of 3"
    page.locator(".choices button").first.click()
    page.wait_for_selector("h1:has-text('Question 3 of 3')")
    page.get_by_text("Back").click()
    page.wait_for_selector("h1:has-text('Question 2 of 3')")
    assert page.locator(".choices [aria-pressed=true] kbd").all_inner_texts() == ["A"]
    answer(page, "c", "Question 3 of 3")
    answer(page, "d", "That was the last one")
    page.get_by_text("Save as a file").click()
    assert "enter a name" in page.locator("#saved").inner_text()
    page.fill("[name=person]", NAME)
    with page.expect_download() as saving:
        page.get_by_text("Save as a file").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    assert file.suffix == ".jsonl"

    shutil.copytree(demo.root, tmp_path / "work", ignore=shutil.ignore_patterns("raw", "gallery", "dataset"))
    work = Work(tmp_path / "work", demo.raw)
    report = json.loads(command("predict", "--import", str(file), "--work", str(work.root), "--json"))
    assert report["imported"] == {NAME: 3}
    assert (report["stale"], report["passed_over"]) == (0, [])
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len({line["id"] for line in lines}) == 3
    for line, choice in zip(lines, (1, 2, 3), strict=True):
        row = rows[line["id"]]
        assert Episode(row).read(line["answer"]).choice == choice
        found = predictions.read(predictions.path_of(work, NAME, row["scenario"]), NAME)
        assert found.filter(found["id"] == row["id"])["choice"].to_list() == [choice]
    scenario = rows[lines[0]["id"]]["scenario"]
    audit = json.loads(command("audit", scenario, "--work", str(work.root), "--json"))
    assert NAME in audit["models"]
    why = json.loads(command("audit", "--sample", lines[0]["id"], "--work", str(work.root), "--json"))
    assert why["samples"][lines[0]["id"]]["answers"][NAME]["answer"] == lines[0]["answer"]


def test_nothing_in_the_folder_gives_an_answer_away(window: Opened, study: Path, rows: dict[str, Row]) -> None:
    texts = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    data = next(data.decode() for path, data in texts.items() if path.name == "study.js" and path.parent.name == "data")
    samples = json.loads(data.removeprefix("put(...").removesuffix(");\n"))[1]["samples"]
    assert [set(sample) for sample in samples] == [{"key", "digest", "picture", "question", "choices"}] * 3
    assert sorted(path.name for path in texts if path.parent.name == "pictures") == sorted(
        Path(sample["picture"]).name for sample in samples
    )
    page = window(study).open()
    shown = page.content()
    for name in rows:
        assert all(name.encode() not in found for found in texts.values())
        assert name not in shown
    assert not {path.name for path in texts} & {"play.js", "sample.js", "index.js", "overview.js"}


def test_the_same_seed_draws_the_same_study_and_a_scenario_has_as_many_as_another(demo: Work, tmp_path: Path) -> None:
    def draw(seed: int, name: str) -> bytes:
        command(
            "preview", "--work", str(demo.root), "--study", "14", "--seed", str(seed), "--out", str(tmp_path / name)
        )
        return (tmp_path / name / "data" / "study.js").read_bytes()

    first = draw(1, "a")
    assert draw(1, "b") == first
    assert draw(2, "b") != first
    assert len(list((tmp_path / "b" / "pictures").iterdir())) == 14


@pytest.mark.parametrize("width", [360, 1600])
def test_the_study_is_accessible(width: int, window: Opened, study: Path, axe: str) -> None:
    scheme = "dark" if width == 360 else "light"
    page = window(study, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True).open()
    for button in ("Skip", "Save"):
        page.evaluate(axe)
        assert page.evaluate("accepted()") == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.get_by_text(button, exact=False).first.click()
    page.wait_for_selector("[name=person]")
    assert page.evaluate("accepted()") == []


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--study", "1000"], 2, "there are 194 samples"),
        (["--study", "0"], 2, "0 is not in the range"),
        (["--study", "3", "--full"], 2, "leave --sample and --full out"),
    ],
)
def test_a_study_that_cannot_be_is_refused(arguments: list[str], code: int, sentence: str, demo: Work) -> None:
    done = CliRunner().invoke(cli.group, ["preview", "--work", str(demo.root), *arguments])
    error = done.exception
    shown = getattr(error, "message", "") + getattr(error, "hint", "") + done.output
    assert sentence in shown
    assert getattr(error, "exit_code", done.exit_code) == code
