"""A study: a person answers as a model does, nothing gives an answer away, and the saved file comes in as a model's."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image, ImageCms

from build_bench import cli
from build_bench.episode import Episode
from build_bench.errors import InputError
from build_bench.filters import predictions
from build_bench.filters.inputs import FirstTurn
from build_bench.gallery import study as studies
from build_bench.gallery.dataset import Dataset
from build_bench.gallery.writing import Request, write
from build_bench.imaging import decode
from build_bench.store import Work
from tests.gallery.conftest import Row, Window, command

Opened = Callable[..., Window]
NAME = "person:Zoë </script>"


@pytest.fixture(scope="module")
def study(demo: Work) -> Path:
    command("preview", "--workers", "1", "--work", str(demo.root), "--study", "3", "--seed", "5")
    return demo.reports / "study"


READY = ".choices:not([aria-busy])"


def answer(page: Any, letter: str, following: str) -> None:
    page.wait_for_selector(READY)
    page.keyboard.press(letter)
    page.wait_for_selector(f"h1:has-text('{following}')")


def test_a_study_is_answered_saved_imported_and_stands_beside_the_models(
    window: Opened, study: Path, demo: Work, rows: dict[str, Row], tmp_path: Path
) -> None:
    shown = window(study)
    page = shown.open()
    answer(page, "b", "Question 2 of 3")
    page = shown.open()  # closed and opened again
    assert page.locator("h1").inner_text() == "Question 2 of 3"
    page.wait_for_selector(READY)
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
    saved = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    ids = json.loads((work.own / "studies" / f"{saved[0]['runtime']['study']}.json").read_text())
    lines = [line | {"id": ids[int(line["id"].rpartition("-")[2]) - 1]} for line in saved]
    assert not any(name in file.read_text(encoding="utf-8") for name in rows)
    assert len({line["id"] for line in lines}) == 3
    for line, choice in zip(lines, (1, 2, 3), strict=True):
        row = rows[line["id"]]
        assert Episode(row).read(line["answer"]).choice == choice
        found = predictions.read(predictions.path_of(work, NAME, row["scenario"]), NAME)
        assert found.filter(found["id"] == row["id"])["choice"].to_list() == [choice]
    scenario = rows[lines[0]["id"]]["scenario"]
    audit = json.loads(command("audit", scenario, "--work", str(work.root), "--json"))
    assert NAME in audit["people"]
    assert NAME not in audit["models"], "people are shown beside the models, and don't count"
    write(Dataset(demo.dataset, [scenario]), work, tmp_path / "gallery", Request())
    overview = (tmp_path / "gallery" / "data" / "overview.js").read_text(encoding="utf-8")
    assert [NAME, "a person"] in json.loads(overview.removeprefix("put(...").removesuffix(");\n"))[1]["models"]
    why = json.loads(command("audit", "--sample", lines[0]["id"], "--models", NAME, "--work", str(work.root), "--json"))
    assert why["samples"][lines[0]["id"]]["answers"][NAME]["answer"] == lines[0]["answer"]


def test_nothing_in_the_folder_gives_an_answer_away(window: Opened, study: Path, rows: dict[str, Row]) -> None:
    texts = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    data = next(data.decode() for path, data in texts.items() if path.name == "study.js" and path.parent.name == "data")
    samples = json.loads(data.removeprefix("put(...").removesuffix(");\n"))[1]["samples"]
    assert [set(sample) for sample in samples] == [{"digest", "picture", "question", "choices"}] * 3
    assert sorted(path.name for path in texts if path.parent.name == "pictures") == sorted(
        Path(sample["picture"]).name for sample in samples
    )
    page = window(study).open()
    shown = page.content()
    for name in rows:
        assert all(name.encode() not in found for found in texts.values())
        assert name not in shown
    assert not {path.name for path in texts} & {"play.js", "sample.js", "index.js", "overview.js"}


def test_pictures_and_saved_answers_carry_nothing_but_pixels_and_numbers(demo: Work, tmp_path: Path) -> None:
    command("preview", "changeit", "--work", str(demo.root), "--study", "4", "--out", str(tmp_path / "out"))
    for path in (tmp_path / "out" / "pictures").iterdir():
        with Image.open(path) as shown:
            assert not set(shown.info) & {"comment", "exif", "icc_profile", "Software", "parsed"}, path


def test_what_a_model_sees_is_what_a_person_sees(demo: Work) -> None:
    for turn in studies.drawn(Dataset(demo.dataset), 35, 3):
        _, data = studies._picture(turn, "1")
        assert decode(data).tobytes() == decode(turn.picture, turn.episode.view.crop).tobytes()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_colour_profile_is_left_out_as_models_do_not_see_it(kind: str, demo: Work) -> None:
    source = io.BytesIO()
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.effect_noise((900, 700), 90).convert("RGB").save(source, kind, icc_profile=profile)
    turns = studies.drawn(Dataset(demo.dataset), 35, 3)
    assert {bool(turn.episode.view.crop) for turn in turns} == {True, False}
    for turn in turns:
        _, data = studies._picture(FirstTurn(turn.row, source.getvalue()), "1")
        assert "icc_profile" not in Image.open(io.BytesIO(data)).info
        assert decode(data).tobytes() == decode(source.getvalue(), turn.episode.view.crop).tobytes()


def test_pictures_of_another_study_have_other_names(demo: Work, tmp_path: Path) -> None:
    """A page that is still open would show them beside the questions of the former one."""
    drawn = []
    for seed in ("1", "2"):
        command("preview", "--work", str(demo.root), "--study", "3", "--seed", seed, "--out", str(tmp_path / "out"))
        drawn.append({path.name for path in (tmp_path / "out" / "pictures").iterdir()})
    assert [len(names) for names in drawn] == [3, 3]
    assert not drawn[0] & drawn[1]


def test_a_held_key_answers_one_question(window: Opened, study: Path) -> None:
    page = window(study, viewport={"width": 804, "height": 700}).open()
    page.wait_for_selector(READY)
    page.keyboard.down("b")
    page.wait_for_selector(f"h1:has-text('Question 2 of 3') ~ .stage {READY}")
    page.keyboard.down("b")
    assert page.locator("h1").inner_text() == "Question 2 of 3"
    assert page.evaluate("finished()") == 1


def test_two_windows_on_one_study_keep_what_both_answered(window: Opened, study: Path) -> None:
    first, second = (window(study, viewport={"width": 900, "height": 700}).open() for _ in "ab")
    answer(first, "a", "Question 2 of 3")
    second.wait_for_selector(READY)
    second.wait_for_selector(".choices button:has-text('your answer')")  # it was given in the other window
    second.get_by_text("Next").click()
    answer(second, "b", "Question 3 of 3")
    assert second.locator("#kept").inner_text().startswith("2 of 3")
    answer(first, "c", "Question 3 of 3")
    kept = json.loads(first.evaluate("localStorage.getItem(storeName())"))["answers"]
    assert {place: one["choice"] for place, one in kept.items()} == {"0": 0, "1": 2}
    answer(first, "d", "That was the last one")
    assert first.evaluate("rows().length") == 3


def test_a_double_click_answers_one_question(window: Opened, study: Path) -> None:
    page = window(study, viewport={"width": 800, "height": 700}).open()
    page.wait_for_selector(READY)
    before = page.evaluate("performance.now()")
    page.locator(".choices button").first.dblclick()
    page.keyboard.press("b")
    assert page.locator("h1").inner_text() == "Question 2 of 3"
    assert page.evaluate("finished()") == 1
    page.wait_for_selector(READY)
    assert page.evaluate("since") - before >= 400, "the clock starts when the question can be answered"


def test_the_next_person_starts_anew(window: Opened, study: Path) -> None:
    shown = window(study, viewport={"width": 801, "height": 700})
    page = shown.open()
    answer(page, "a", "Question 2 of 3")
    page = shown.open()
    assert "keeps 1 answer." in page.locator(".note").inner_text()
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Start anew").click()
    assert page.evaluate("finished()") == 1
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Start anew").click()
    page.wait_for_selector("h1:has-text('Question 1 of 3')")
    assert shown.open().evaluate("finished()") == 0


@pytest.mark.parametrize(
    "kept",
    ["{", "7", "null", '{"answers": 3}', '{"name": 3, "answers": {"0": {"choice": 99}, "9": {}, "x": null}}',
     '{"answers": {"0": {"choice": 1.5, "seconds": 1, "created": ""}, "1": {"choice": 0}}}'],
)  # fmt: skip
def test_what_a_browser_kept_damaged_is_left_out_with_a_note(kept: str, window: Opened, study: Path) -> None:
    shown = window(study, viewport={"width": 802, "height": 700})
    page = shown.open()
    page.evaluate("kept => localStorage.setItem(storeName(), kept)", kept)
    page = shown.open()
    assert page.locator("h1").inner_text() == "Question 1 of 3"
    assert "damaged" in page.locator(".note").inner_text()
    assert page.evaluate("rows().length") == 0


def test_what_was_chosen_is_marked_with_words(window: Opened, study: Path) -> None:
    page = window(study, viewport={"width": 803, "height": 700}).open()
    answer(page, "b", "Question 2 of 3")
    page.get_by_text("Back").click()
    page.wait_for_selector("h1:has-text('Question 1 of 3')")
    assert page.locator(".choices button", has_text="your answer").locator("kbd").all_inner_texts() == ["B"]
    assert "They are answers like the others" in page.locator("main").inner_text()


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


def test_a_study_whose_answers_could_not_be_imported_is_refused(demo: Work, tmp_path: Path) -> None:
    ask = ["preview", "--study", "2", "--dataset", str(demo.dataset), "--out", str(tmp_path / "out"), "--work"]
    done = CliRunner().invoke(cli.group, [*ask, str(tmp_path / "none")])
    assert isinstance(done.exception, InputError)
    assert "is not built in" in done.exception.message
    assert not (tmp_path / "out").exists()
    command(*ask, str(demo.root))
    turns = studies.drawn(Dataset(demo.dataset), 2, 0)
    other = [FirstTurn({**turn.row, "question": "Changed since?"}, turn.picture) for turn in turns]
    with pytest.raises(InputError, match=r"shows .* otherwise than"):
        studies.check_importable(demo, other, demo.dataset)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("study-0123456789ab-1", r"line 2: the study was not made with this work folder"),
        ("study-{}-4", r"line 2: the study has no question 4, only 3"),
    ],
)
def test_answers_of_a_study_that_is_not_known_are_refused(
    name: str, sentence: str, demo: Work, study: Path, tmp_path: Path
) -> None:
    text = (study / "data" / "study.js").read_text()
    file = tmp_path / "saved.jsonl"
    named = name.format(json.loads(text.removeprefix("put(...").removesuffix(");\n"))[1]["study"])
    file.write_text("not JSON, which importing says\n" + json.dumps({"model": "m", "id": named, "answer": "A"}))
    with pytest.raises(InputError, match=sentence):
        studies.with_ids(demo, file)


def test_a_table_that_names_samples_is_imported_as_it_is(demo: Work, tmp_path: Path) -> None:
    file = tmp_path / "others.jsonl"
    file.write_bytes(b'{"model": "m", "id": "coco-1", "answer": "\xff"}')
    assert studies.with_ids(demo, file) == file


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
