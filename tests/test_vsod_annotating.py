"""`annotate vsod`: the table and the page that people fill in, and that nothing they wrote is ever lost."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from build_bench.annotating import annotate
from build_bench.builders.vsod import VsodBuilder, VsodSettings
from build_bench.errors import InputError
from build_bench.raw_sources.vsod_answers import read_answers, read_cells
from build_bench.records import Draft
from tests.fakes import vsod as fake

HIDDEN = (None, None, 0.2, 0.9, 0.4, None, None, None)
MARKUP = "</script><b onclick=alert(1)>&amp;{x}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "raw" / "vsod"
    for number in range(1, 5):
        fake.clip(root, f"test_{number:04d}", HIDDEN)
    return root


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "annotate"


def cells(path: Path) -> dict[str, dict[str, str]]:
    return {key: dict(row.texts) for key, row in read_cells(path).items()}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def data_of(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)
    assert found
    return json.loads(found[1])


def test_the_table_has_a_row_per_video_and_suggestions_beside_it(root: Path, out: Path) -> None:
    paths = annotate(root, out)
    assert paths == [out / "answers.csv", out / "answers.html"]
    assert (out / "answers.csv").read_text().splitlines()[:2] == [
        f"{fake.HEADER},frames,suggested_first,suggested_reference,suggested_strong",
        "test_0001,,,,,,8,3,1,true",
    ]
    assert read_answers(out / "answers.csv") == {}  # a suggestion is no answer


def test_a_filled_in_table_builds_with_the_same_suggestions(root: Path, out: Path) -> None:
    annotate(root, out)
    edit(out / "answers.csv", "test_0001,,", "test_0001,count,3")
    shutil.copy(out / "answers.csv", root)
    builder = VsodBuilder(VsodSettings(), 0)
    (draft,) = [one for one in builder.plan(builder.open(root, root)) if isinstance(one, Draft)]
    assert (draft.start, draft.reference.frame) == (3, 1)
    assert builder.facts() == {"suggested_first": 1, "suggested_reference": 1, "suggested_strong": 1}


def test_the_raw_folder_is_only_read(root: Path, out: Path) -> None:
    fake.table(root, "test_0001,count,3,,,")
    before = {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}
    annotate(root, out)
    assert {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]} == before


def test_the_page_shows_every_frame_of_every_video(root: Path, out: Path) -> None:
    fake.table(root, "test_0002,speaker,Nemo,2,7,yes")
    annotate(root, out)
    first, second, *_ = data_of(out / "answers.html")["videos"]
    assert (first["key"], first["frames"], first["first"], first["reference"]) == ("test_0001", list(range(8)), 3, 1)
    assert first["covers"] == [-1, -1, 20, 90, 40, -1, -1, -1]
    assert second["row"] == {
        "question_kind": "speaker", "answer": "Nemo", "first": "2", "reference": "7", "strong": "true"
    }  # fmt: skip
    sheet = Image.open(out / first["sheet"])
    width, height = first["tile"]
    assert sheet.size == (width * first["columns"], height)
    for place in range(8):
        red = sheet.getpixel((place * width + width // 2, height // 2))
        assert isinstance(red, tuple)
        assert abs(red[0] - place * 16) < 8


def test_of_a_long_video_the_suggested_frames_are_among_those_shown(root: Path, out: Path) -> None:
    fake.clip(root, "test_0009", [0.9 if number == 301 else None for number in range(500)], size=(8, 4))
    annotate(root, out)
    last = data_of(out / "answers.html")["videos"][-1]
    assert 120 <= len(last["frames"]) <= 122
    assert {0, 300, 301, 499} <= set(last["frames"])


def test_what_cannot_be_built_is_said_and_shown_in_grey(root: Path, out: Path) -> None:
    data = root / fake.DATASET / "Data" / "test"
    (data / "test_0001" / "0003.JPEG").write_bytes(b"<html>")
    (data / "test_0002" / "0004.JPEG").unlink()
    for path in (data / "test_0003").iterdir():
        path.unlink()
    annotate(root, out)
    first, second, third, _ = data_of(out / "answers.html")["videos"]
    sheet = Image.open(out / first["sheet"])
    assert sheet.getpixel((int(3.5 * first["tile"][0]), 40)) == pytest.approx((128, 128, 128), abs=4)
    assert second["trouble"] == "missing_frames: 1 of 8, the first after frame 3"
    assert third["trouble"] == "too_few_frames: 0 frames"


def test_running_again_keeps_every_answer_and_adds_new_videos(root: Path, out: Path) -> None:
    annotate(root, out)
    edit(out / "answers.csv", "test_0002,,,,,", 'test_0002,speaker,"Holmes, Sherlock",2,7,true')
    edit(out / "answers.csv", "test_0003,,,,,", "test_0003,count,,,,")
    fake.clip(root, "test_0000", HIDDEN)
    fake.remove(root, "test_0002")
    annotate(root, out)
    found = cells(out / "answers.csv")
    assert sorted(found) == [f"test_{number:04d}" for number in range(5)]
    assert list(found["test_0002"].values()) == ["test_0002", "speaker", "Holmes, Sherlock", "2", "7", "true"]
    assert found["test_0003"]["question_kind"] == "count"
    before = (out / "answers.csv").read_bytes(), (out / "answers.html").read_bytes()
    annotate(root, out)
    assert ((out / "answers.csv").read_bytes(), (out / "answers.html").read_bytes()) == before


def test_the_tables_in_use_and_in_work_are_merged(root: Path, out: Path) -> None:
    annotate(root, out)
    edit(out / "answers.csv", "test_0001,,,", "test_0001,count,3,")
    fake.table(root, "test_0002,event,Concert,,,", "test_0001,,,5,,")
    annotate(root, out)
    found = cells(out / "answers.csv")
    assert list(found["test_0001"].values()) == ["test_0001", "count", "3", "5", "", ""]
    assert found["test_0002"]["answer"] == "Concert"


def test_a_correction_in_the_table_in_use_reaches_an_untouched_copy(root: Path, out: Path) -> None:
    fake.table(root, "test_0001,count,3,,,")
    annotate(root, out)
    fake.table(root, "test_0001,count,4,,,")
    annotate(root, out)
    assert cells(out / "answers.csv")["test_0001"]["answer"] == "4"


def test_two_people_who_differ_are_told_and_nothing_is_overwritten(root: Path, out: Path) -> None:
    fake.table(root, "test_0001,count,3,,,")
    annotate(root, out)
    edit(out / "answers.csv", "test_0001,count,3", "test_0001,count,5")
    fake.table(root, "test_0001,count,4,,,")
    before = (out / "answers.csv").read_bytes()
    with pytest.raises(InputError, match=r"test_0001: answer is '4' in .* and '5' in "):
        annotate(root, out)
    assert (out / "answers.csv").read_bytes() == before


def test_sheets_are_made_once_and_old_ones_go(root: Path, out: Path) -> None:
    annotate(root, out)
    times = {path.name: path.stat().st_mtime_ns for path in (out / "sheets").iterdir()}
    assert len(times) == 4
    fake.remove(root, "test_0004")
    frames = root / fake.DATASET / "Data" / "test" / "test_0001"
    shutil.copy(frames / "0007.JPEG", frames / "0000.JPEG")
    annotate(root, out)
    again = {path.name: path.stat().st_mtime_ns for path in (out / "sheets").iterdir()}
    assert len(again) == 3
    assert len(times.items() & again.items()) == 2


def test_a_zip_is_annotated_in_place(root: Path, out: Path, tmp_path: Path) -> None:
    annotate(root, out)
    fake.pack(root)
    annotate(root, tmp_path / "packed")
    assert (tmp_path / "packed" / "answers.csv").read_bytes() == (out / "answers.csv").read_bytes()


def test_the_page_needs_nothing_from_outside_and_takes_no_text_for_markup(root: Path, out: Path) -> None:
    fake.table(root, f'test_0001,speaker,"{MARKUP}",,,', "gone,event,Concert,,,")
    annotate(root, out)
    text = (out / "answers.html").read_text()
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    assert text.count("</script>") == 2
    data = data_of(out / "answers.html")
    assert data["videos"][0]["row"]["answer"] == MARKUP
    assert data["others"][0]["video"] == "gone"
    assert "%DATA%" not in text
    assert str(root) not in text


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--virtual-time-budget=2000", "--dump-dom",
)  # fmt: skip
HANDS = """
const press = (...keys) => { for (const key of keys)
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); };
const type = text => { document.activeElement.value = text; document.activeElement.dispatchEvent(new Event("input")); };
"""


def in_browser(out: Path, profile: Path, script: str) -> str:
    """The table that the page would save after `script`."""
    show = "document.body.replaceChildren(make('pre', table() + document.querySelectorAll('b[onclick]').length));"
    page = out / "driven.html"
    page.write_text(f"{(out / 'answers.html').read_text()}<script>{HANDS}{script};{show}</script>")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search("<pre>(.*?)</pre>", shown, re.S)
    assert found, shown[-2000:]
    return html.unescape(found[1])


@pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine")
def test_the_page_is_filled_in_from_the_keyboard_and_a_reload_loses_nothing(
    root: Path, out: Path, tmp_path: Path
) -> None:
    fake.table(root, f'test_0004,speaker,"{MARKUP}",,,', "gone,event,Concert,1,2,true")
    annotate(root, out)
    keys = """
        press("1"); type('Nemo, "Captain"'); press("Enter");
        press("w");
        press("2"); type("3"); press("Escape");
        press("ArrowLeft", "f", "ArrowRight", "ArrowRight", "ArrowRight", "r", "y")
    """
    wanted = (
        f"{fake.HEADER},frames,suggested_first,suggested_reference,suggested_strong\n"
        'test_0001,speaker,"Nemo, ""Captain""",,,,8,3,1,true\n'
        "test_0002,,,,,false,8,3,1,true\n"
        "test_0003,count,3,2,5,true,8,3,1,true\n"
        f"test_0004,speaker,{MARKUP},,,,8,3,1,true\n"
        "gone,event,Concert,1,2,true,,,,\n"
    )
    assert in_browser(out, tmp_path / "profile", keys) == f"{wanted}0"
    assert in_browser(out, tmp_path / "profile", "") == f"{wanted}0"
    (root / "answers.csv").write_text(wanted.replace(MARKUP, "Ahab"))
    annotate(root, tmp_path / "again")
    assert (tmp_path / "again" / "answers.csv").read_text() == wanted.replace(MARKUP, "Ahab")
