"""VSOD: how it is walked, how it lies on disk, what people say of it, and what is wrong with it."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from build_bench import prompting, raw_sources
from build_bench.builders import vsod_suggest
from build_bench.builders.vsod import VsodBuilder, VsodSettings
from build_bench.builders.vsod_candidates import COUNTS, Candidates, alike, events
from build_bench.builders.vsod_suggest import Seen
from build_bench.episode import Episode
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources.vsod import Vsod
from build_bench.raw_sources.vsod_boxes import BrokenXmlError, Marked, parse
from build_bench.records import Draft, Plan, Rejection
from build_bench.schema import plan_row
from tests.fakes import vsod as fake

HIDDEN = (None, None, 0.2, 0.9, 0.4, None, None, None)
"""A passer-by in frames 2 to 4, nearest in frame 3."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drawn") / "vsod"
    fake.write(root)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One video of eight frames whose only question is how many people there are."""
    root = tmp_path / "vsod"
    fake.clip(root, "test_0001", HIDDEN)
    fake.table(root, "test_0001,count,3,,,")
    return root


def outcomes(root: Path, seed: int = 0, **settings: Any) -> dict[str, Draft | Rejection]:
    builder = VsodBuilder(VsodSettings(**settings), seed)
    raw = builder.open(root, root)
    found = {(o.source.key if isinstance(o, Draft) else o.source_key): o for o in builder.plan(raw)}
    assert len(found) == raw.census.candidates
    return found


def draft(root: Path, key: str = "test_0001", seed: int = 0, **settings: Any) -> Draft:
    found = outcomes(root, seed, **settings)[key]
    assert isinstance(found, Draft), found
    return found


def plan(root: Path, key: str = "test_0001") -> Plan:
    return prompting.word(draft(root, key), prompting.load_pool("vsod"), "vsod", 0)


def rejection(root: Path, key: str = "test_0001", **settings: Any) -> tuple[str, str]:
    found = outcomes(root, **settings)[key]
    assert isinstance(found, Rejection), found
    return found.reason, found.detail


def rendered(root: Path, key: str = "test_0001") -> list[bytes]:
    builder = VsodBuilder(VsodSettings(), 0)
    return list(builder.render(plan(root, key), builder.open(root, root)))


def gaps(root: Path) -> str:
    builder = VsodBuilder(VsodSettings(), 0)
    raw = builder.open(root, root)
    list(builder.plan(raw))
    return "\n".join(raw.gaps)


def suggested(one: Draft) -> list[str]:
    return list(json.loads(one.recipe)["suggested"])


def frame_of(root: Path, number: int) -> Path:
    return root / fake.DATASET / "Data" / "test" / "test_0001" / f"{number:04d}.JPEG"


def xml_of(root: Path, number: int) -> Path:
    return root / fake.DATASET / "Annotations" / "test" / "test_0001" / f"{number:04d}.xml"


# how it is walked (paper A.2; the published evaluator)


def walk(sample: Plan, *actions: str) -> list[int]:
    row = plan_row(sample)
    episode = Episode(row)
    shown = [episode.view.frame]
    for action in actions:
        episode.choose(next(i for i, option in enumerate(row["options"]) if option["action"] == action))
        if episode.done:
            break
        shown.append(episode.view.frame)
    return shown


def test_it_starts_hidden_and_is_circular_both_ways_for_as_many_turns_as_frames(root: Path) -> None:
    sample = plan(root)
    assert walk(sample, *["wait"] * 20) == [3, 4, 5, 6, 7, 0, 1, 2]
    assert walk(sample, *["rewind"] * 20) == [3, 2, 1, 0, 7, 6, 5, 4]
    assert walk(sample, "wait", "rewind", "rewind") == [3, 4, 3, 2]
    assert sample.max_turns == len(sample.frames) == 8
    assert sample.first_turn_answerable


def test_the_evaluators_own_strings_are_used_word_for_word(root: Path) -> None:
    sample = plan(root)
    texts = {option.action: option.text for option in sample.options}
    assert texts["rewind"] == "Rewind the video."
    assert texts["wait"] == "Wait for the occlusion to disappear."
    assert sample.context == "This is a frame extracted from a video. Answer the following question."
    assert sample.hint == (
        "Hint: If there is an occlusion, waiting for it to disappear "
        "or rewinding the video might reveal what's behind it."
    )
    assert sample.open_proactive == ("Wait for the occlusion to disappear", "Rewind the video", "Move the camera")
    assert sample.reference_question == sample.question


def test_each_kind_has_fifteen_questions_of_its_own() -> None:
    pool = prompting.load_pool("vsod")
    assert {kind: len(texts) for kind, texts in pool.questions.items()} == {"speaker": 15, "count": 15, "event": 15}
    texts = [text for texts in pool.questions.values() for text in texts]
    assert len(set(texts)) == 45
    assert not set(texts) & {
        "Can you say who is speaking?", "Could you tell me who is talking?", "Can you recognize who this is?",
        "Identify this individual.", "Give me the headcount in this video.",
    }  # fmt: skip


# how it lies on disk


def nested(root: Path) -> None:
    (root / fake.DATASET).rename(root / "inner")
    (root / fake.DATASET).mkdir()
    (root / "inner").rename(root / fake.DATASET / fake.DATASET)


def split_in_two(root: Path) -> None:
    """Frames as a folder, annotations as a zip."""
    data = (root / fake.DATASET / "Data").rename(root / "Data")
    fake.pack(root, "annotations.zip")
    assert data.is_dir()


@pytest.mark.parametrize("change", [fake.unwrap, fake.pack, nested, split_in_two])
def test_packed_and_moved_around_it_is_the_same(change: Callable[[Path], None], drawn: Path, tmp_path: Path) -> None:
    before, frames = outcomes(drawn), rendered(drawn, "test_0002")
    root = Path(shutil.copytree(drawn, tmp_path / "vsod"))
    change(root)
    listing = sorted(root.rglob("*"))
    assert outcomes(root) == before
    assert rendered(root, "test_0002") == frames
    assert sorted(root.rglob("*")) == listing  # nothing is unpacked beside the source


def test_frames_are_the_sources_own_bytes(root: Path) -> None:
    assert rendered(root) == [frame_of(root, number).read_bytes() for number in range(8)]


def test_a_folder_comes_before_a_zip(root: Path, tmp_path: Path) -> None:
    fake.clip(tmp_path / "other", "test_0001", [0.9, None])
    fake.pack(tmp_path / "other")
    shutil.copy(tmp_path / "other" / f"{fake.DATASET}.zip", root)
    assert len(draft(root).frames) == 8


def test_hidden_and_foreign_files_are_no_frames(root: Path) -> None:
    before = draft(root)
    for name in ("._0000.JPEG", ".DS_Store", "Thumbs.db", "0000.txt", "cover.JPEG"):
        frame_of(root, 0).with_name(name).write_bytes(b"\0")
        xml_of(root, 0).with_name(f"{name}.xml").write_bytes(b"\0")
    (root / fake.DATASET / "Data" / ".cache").mkdir()
    assert draft(root) == before


def test_videos_of_other_splits_are_passed_over(root: Path) -> None:
    fake.clip(root, "train_0001", HIDDEN, split="train")
    raw = Vsod(root)
    assert (raw.census.candidates, raw.census.passed_over) == (1, 1)
    assert Vsod(root, "train").census.candidates == 1
    with pytest.raises(InputError, match=r"no split 'val' in .*found test, train"):
        Vsod(root, "val")


def test_a_video_whose_name_tells_no_split_is_known_by_both(tmp_path: Path) -> None:
    fake.clip(tmp_path, "clip one", HIDDEN)
    fake.table(tmp_path, "Data/test/clip one,count,3,,,")
    assert draft(tmp_path, "test/clip one").source.key == "test/clip one"


def test_a_cut_zip_is_an_error_that_names_it(root: Path) -> None:
    fake.pack(root)
    path = root / f"{fake.DATASET}.zip"
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(InputError, match=rf"{path.name}: not a readable zip"):
        Vsod(root)


def test_a_damaged_member_of_a_zip_rejects_its_video_alone(drawn: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(drawn, tmp_path / "vsod"))
    victim = (root / fake.DATASET / "Data" / "test" / "test_0001" / "0002.JPEG").read_bytes()
    fake.pack(root)
    path = root / f"{fake.DATASET}.zip"
    data = path.read_bytes()
    at = data.index(victim) + len(victim) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
    with pytest.raises(Rejected, match=r"unreadable_frame: .*0002\.JPEG: Bad CRC"):
        rendered(root, "test_0001")
    assert rendered(root, "test_0002")


# frames and annotations are joined by number


def test_a_missing_xml_shifts_no_other(root: Path) -> None:
    xml_of(root, 0).unlink()
    found = draft(root)
    assert (found.start, found.reference.frame) == (3, 1)
    assert "1 frames of 1 video (test_0001) have no XML" in gaps(root)


def test_a_frame_without_a_usable_xml_is_never_suggested(root: Path) -> None:
    for number in (0, 1, 5):
        xml_of(root, number).unlink()
    xml_of(root, 6).write_text("<annotation><object>")
    assert draft(root).reference.frame == 7
    assert "1 XML files of test_0001 can't be used: 0006.xml: not well-formed" in gaps(root)


def test_numbering_may_begin_at_one(tmp_path: Path) -> None:
    fake.clip(tmp_path, "test_0001", HIDDEN, first=1)
    fake.table(tmp_path, "test_0001,count,3,4,,")
    found = draft(tmp_path)
    assert (found.frames[0], found.start, found.reference.frame) == ("0001.JPEG", 3, 1)


def test_a_video_with_a_hole_or_a_double_is_no_video(root: Path) -> None:
    frame_of(root, 8).with_name("0002.jpg").write_bytes(b"")
    assert rejection(root) == ("duplicate_frame", "frame 2 is there twice")
    frame_of(root, 8).with_name("0002.jpg").unlink()
    frame_of(root, 2).unlink()
    frame_of(root, 3).unlink()
    assert rejection(root) == ("missing_frames", "2 of 8, the first after frame 1")
    for number in range(1, 8):
        frame_of(root, number).unlink(missing_ok=True)
    assert rejection(root) == ("too_few_frames", "1 frames")


# the annotation of a frame


def test_overlaps_count_once_and_what_lies_outside_not_at_all() -> None:
    size = (100, 50)
    assert Marked(True, ((0, 0, 50, 50), (25, 0, 75, 50)), size).covered(size) == 0.75
    assert Marked(True, ((-100, -100, 50, 500),), size).covered(size) == 0.5
    assert Marked(True, ((40, 10, 30, 20), (200, 0, 300, 50)), size).covered(size) == 0


edge = st.integers(-3, 15)


@given(st.lists(st.tuples(edge, edge, edge, edge), max_size=6))
def test_coverage_is_what_counting_pixels_gives(boxes: list[tuple[int, int, int, int]]) -> None:
    inside = {
        (x, y)
        for x in range(12)
        for y in range(10)
        if any(left <= x < right and top <= y < bottom for left, top, right, bottom in boxes)
    }
    assert Marked(True, tuple(boxes), (12, 10)).covered((12, 10)) == pytest.approx(len(inside) / 120)


def test_only_objects_right_under_the_root_mean_occluded() -> None:
    assert parse(b"<annotation><size/></annotation>").occluded is False
    assert parse(b"<annotation><part><object/></part></annotation>").occluded is False
    assert parse(b"<annotation><object/></annotation>") == Marked(True, (), None)


BOMB = b'<!DOCTYPE a [<!ENTITY x "lol"><!ENTITY y "&x;&x;&x;&x;">]><annotation>&y;</annotation>'
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><annotation>&x;</annotation>'
ODD = ("gb2312", "gbk", "big5", "utf-7", "nonsense", "rot13", "hex", "idna", "punycode", "bz2")
"""Encodings that no parser reads, or that are none."""
SIDES = b"<xmin>%s</xmin><ymin>0</ymin><xmax>9</xmax><ymax>9</ymax>"
BOX = b"<annotation><object><bndbox>" + SIDES + b"</bndbox></object></annotation>"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (BOMB, "DOCTYPE"),
        (OUTSIDE, "DOCTYPE"),
        (BOMB.decode().encode("utf-16"), "DOCTYPE"),
        (b"<annotation>&undefined;</annotation>", "not well-formed"),
        (b"", "not well-formed"),
        (b"<html>Quota exceeded", "not well-formed"),
        (b"<annotation>" + b" " * 300_000 + b"</annotation>", "expected at most"),
        *((b'<?xml version="1.0" encoding="%s"?><annotation/>' % name.encode(), "not well-formed") for name in ODD),
        (BOX % b"nan", "expected numbers"),
        (BOX % b"1e999", "expected numbers"),
        (BOX % b"left", "expected numbers"),
        (BOX % b"", "expected numbers"),
    ],
)
def test_an_xml_that_could_do_harm_or_says_nothing_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BrokenXmlError, match=why):
        parse(data)


def test_where_the_xml_tells_no_size_the_picture_does(root: Path) -> None:
    for size in (
        "",
        "<size><width>0</width><height>0</height></size>",
        "<size><width>1e200</width><height>1e200</height></size>",
    ):
        for number in (2, 3, 4):
            box = f"<xmin>0</xmin><ymin>0</ymin><xmax>{number * 4}</xmax><ymax>10</ymax>"
            xml_of(root, number).write_text(f"<annotation>{size}<object><bndbox>{box}</bndbox></object></annotation>")
        assert draft(root, strong_cover=0.8).start == 4
        assert rejection(root, strong_cover=0.81)[0] == "not_strongly_occluded"


# which frames the boxes speak for: docs/decisions/vsod-suggestions.md


def frames(text: str) -> list[Seen | None]:
    """`.` clean, `?` unknown, a digit: tenths under boxes."""
    return [None if c == "?" else Seen(c != ".", 0 if c == "." else int(c) / 10) for c in text]


@pytest.mark.parametrize(
    ("video", "first", "reference"),
    [
        ("..2894..", 4, 6),  # the largest cover; nearest clean frame
        ("..999..", 3, 1),  # ties: the middle of the run; the earlier of two
        ("9..9999.", 4, 2),  # ties in two runs: the longer one
        (".99.", 1, 0),
        ("99...", 0, 2),  # no wrapping around
        ("...99", 3, 2),
        (".0000.", 2, 0),  # objects without boxes
        ("..?9??.", 3, 1),
        ("....", None, None),
        ("9999", 1, None),
        ("?9?", 1, None),
        ("????", None, None),
    ],
)
def test_the_suggestions(video: str, first: int | None, reference: int | None) -> None:
    assert vsod_suggest.first(frames(video)) == first
    assert (None if first is None else vsod_suggest.reference(frames(video), first)) == reference


@given(st.text(".?0123456789", min_size=1, max_size=30))
def test_a_suggested_first_frame_is_occluded_most_and_a_reference_is_clean(text: str) -> None:
    video = frames(text)
    first = vsod_suggest.first(video)
    if first is None:
        assert not any(seen and seen.occluded for seen in video)
        return
    chosen = video[first]
    assert chosen is not None
    assert chosen.occluded
    assert chosen.covered == max(seen.covered for seen in video if seen and seen.occluded)
    reference = vsod_suggest.reference(video, first)
    assert (reference is None) == ("." not in text)
    assert reference is None or text[reference] == "."


def test_what_people_say_rules_and_the_rest_is_marked_as_suggested(root: Path) -> None:
    assert suggested(draft(root)) == ["first", "reference", "strong"]
    fake.table(root, "test_0001,count,3,2,7,yes")
    found = draft(root)
    assert (found.start, found.reference.frame, suggested(found)) == (2, 7, [])
    fake.table(root, "test_0001,count,3,6,,TRUE")
    found = draft(root)
    assert (found.start, found.reference.frame, suggested(found)) == (6, 5, ["reference"])


def test_suggestions_are_counted_in_the_manifest(root: Path) -> None:
    builder = VsodBuilder(VsodSettings(), 0)
    fake.table(root, "test_0001,count,3,3,,true")
    list(builder.plan(builder.open(root, root)))
    assert builder.facts() == {"suggested_first": 0, "suggested_reference": 1, "suggested_strong": 0}


def test_only_strongly_occluded_videos_are_used(root: Path) -> None:
    assert rejection(root, strong_cover=0.95) == (
        "not_strongly_occluded",
        "boxes cover 90% of frame 3, suggested from 95% on; answers.csv doesn't say",
    )
    assert draft(root, strong_cover=0.9)
    fake.table(root, "test_0001,count,3,,,false")
    assert rejection(root) == ("not_strongly_occluded", "answers.csv says so")
    fake.table(root, "test_0001,,,,,no")  # nobody has to answer for what isn't used
    assert rejection(root) == ("not_strongly_occluded", "answers.csv says so")
    fake.table(root, "test_0001,count,3,,,true")
    assert draft(root, strong_cover=0.95)
    assert VsodBuilder.by_rule >= {"not_strongly_occluded", "no_answer"}


def test_nothing_is_guessed_where_the_boxes_say_nothing(tmp_path: Path) -> None:
    for number, covers in enumerate([(None, None), (0.9, 0.8), (0.9, None), (0.9, None)], 1):
        fake.clip(tmp_path, f"test_{number:04d}", covers)
    shutil.rmtree(tmp_path / fake.DATASET / "Annotations" / "test" / "test_0003")
    (tmp_path / fake.DATASET / "Annotations" / "test" / "test_0004" / "0000.xml").unlink()
    fake.table(tmp_path, *(f"test_{number:04d},count,1,,," for number in (1, 2, 3)), "test_0004,count,1,0,1,")
    assert rejection(tmp_path, "test_0001")[0] == "no_occlusion"
    assert rejection(tmp_path, "test_0002")[0] == "no_clean_frame"
    assert rejection(tmp_path, "test_0003")[0] == "no_annotation"
    assert rejection(tmp_path, "test_0004") == (
        "no_annotation", "frame 0 has no usable XML, and answers.csv isn't strong on it"
    )  # fmt: skip
    fake.table(tmp_path, *(f"test_{number:04d},count,1,0,1,true" for number in (1, 2, 3, 4)))
    assert all(isinstance(outcome, Draft) for outcome in outcomes(tmp_path).values())


def test_frames_that_can_not_be_meant_are_rejected(root: Path) -> None:
    fake.table(root, "test_0001,count,3,99,,")
    assert rejection(root) == ("no_such_frame", "first is 99, frames run 0 to 7")
    fake.table(root, "test_0001,count,3,2,2,true")
    assert rejection(root) == ("first_is_reference", "frame 2 can't both hide and show the answer")


def test_settings_that_mean_nothing_are_refused() -> None:
    for settings in ({"strong_cover": 0.0}, {"strong_cover": 1.5}, {"split": ""}, {"split": "a/b"}):
        with pytest.raises(ValueError, match="expected"):
            VsodSettings(**settings)  # type: ignore[arg-type]


# what people say


def test_a_video_without_an_answer_is_rejected_and_listed(root: Path) -> None:
    fake.clip(root, "test_0002", HIDDEN)
    fake.clip(root, "test_0003", HIDDEN)
    fake.table(root, "test_0001,count,3,,,", "test_0003,count,,,,", "test_0009,count,3,,,")
    assert rejection(root, "test_0002") == ("no_answer", "answers.csv doesn't say what is right")
    assert rejection(root, "test_0003")[0] == "no_answer"
    assert "answers.csv doesn't answer 2 videos (test_0002, test_0003)" in gaps(root)
    assert "answers.csv has rows for 1 video (test_0009) that split 'test' here lacks" in gaps(root)


def test_annotations_without_frames_are_listed(root: Path) -> None:
    fake.clip(root, "test_0002", HIDDEN)
    shutil.rmtree(root / fake.DATASET / "Data" / "test" / "test_0002")
    assert "there are annotations but no frames of 1 video (test_0002)" in gaps(root)


def test_without_a_table_the_error_says_how_to_make_one(root: Path) -> None:
    (root / "answers.csv").unlink()
    with pytest.raises(InputError, match=r"answers\.csv is missing: people must say") as error:
        outcomes(root)
    assert "build-bench annotate vsod" in error.value.hint


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty, expected the header video,question_kind"),
        ("video,answer\n", "the column question_kind is missing"),
        (f"{fake.HEADER},frist\n", "unknown column 'frist'"),
        ("video,question_kind,answer,answer\n", "a column stands there twice"),
        (f"{fake.HEADER}\na,count,3,,,\n\na,count,4,,,\n", r"answers\.csv:4: a stands there already, in line 2"),
        (f"{fake.HEADER}\na,speaker,Holmes, Sherlock,,,\n", r"answers\.csv:2: 7 cells, expected 6"),
        (f"{fake.HEADER}\n,count,3,,,\n", "names no video"),
        (f"{fake.HEADER}\na,speeker,Nemo,,,\n", "did you mean 'speaker'"),
        (f"{fake.HEADER}\na,,Nemo,,,\n", "question_kind is '', expected speaker, count or event"),
        (f"{fake.HEADER}\na,count,three,,,\n", "answer is 'three', expected a whole number"),
        (f"{fake.HEADER}\na,count,0,,,\n", r"answers\.csv:2: a: answer is '0', expected a whole number, at least 1"),
        (f"{fake.HEADER}\na,speaker,I cannot tell,,,\n", r"answers\.csv:2: a: .*take it for an abstention"),
        (f"{fake.HEADER}\na,count,3,1.5,,\n", r"first is '1\.5', expected the number of a frame"),
        (f"{fake.HEADER}\na,count,3,,last,\n", "reference is 'last'"),
        (f"{fake.HEADER}\na,count,3,,,maybe\n", "strong is 'maybe', expected true, false or nothing"),
        (f"{fake.HEADER}\na,event,{{x}},,,\n", "expected a name in words"),
        (f"{fake.HEADER}\na,speaker,X,,,\n", "no capital before a full stop"),
        (f"{fake.HEADER}\na,count,x,,,\nb,count,y,,,\n", r"answers\.csv:2: a: .*1 more rows have something to mend"),
        (f'{fake.HEADER}\na,speaker,"Nemo,,,\n', "unexpected end of data"),
    ],
)
def test_a_wrong_table_is_an_error_that_names_the_line(text: str, why: str, root: Path) -> None:
    (root / "answers.csv").write_text(text)
    with pytest.raises(InputError, match=why):
        outcomes(root)


def test_tables_of_spreadsheets_are_read(root: Path) -> None:
    before = draft(root)
    for text in (
        "\ufeffvideo,question_kind,answer\r\ntest_0001,Count,03\r\n",
        "video;question_kind;answer;first;reference;strong\ntest_0001;count;3.;;;\n",
        f"{fake.HEADER},frames,suggested_first,suggested_reference,suggested_strong\ntest_0001,count,3,,,,8,1,2,true\n",
        f"{fake.HEADER}\ntest/test_0001,count,3\n",
    ):
        (root / "answers.csv").write_text(text, newline="")
        assert draft(root) == before
    (root / "answers.csv").write_bytes("video,question_kind,answer\nx,speaker,José\n".encode("latin-1"))
    with pytest.raises(InputError, match="can't be read"):
        outcomes(root)


# wrong answers: docs/decisions/vsod-wrong-answers.md

NAMES = ["Nemo", "Holmes", "Alice", "Pinocchio", "Robin", "Ahab", "Quijote", "Crusoe"]


def speakers(root: Path, names: list[str]) -> None:
    for number in range(1, len(names) + 1):
        fake.clip(root, f"test_{number:04d}", (0.9, None))
    fake.table(root, *(f"test_{number:04d},speaker,{name},,," for number, name in enumerate(names, 1)))


def test_wrong_answers_are_of_the_same_kind(root: Path) -> None:
    for key, kind, answer, pool in (
        ("a", "count", "35", COUNTS), ("b", "count", "3", COUNTS), ("c", "event", "Wedding", events()),
        ("d", "event", "Tea party", events()),
    ):  # fmt: skip
        fake.clip(root, f"test_{key}", HIDDEN)
        fake.table(root, f"test_{key},{kind},{answer},,,")
        wrong = draft(root, f"test_{key}").distractors
        assert set(wrong) <= set(pool) - {answer}
        assert len(set(wrong)) == 3


def test_counts_are_shown_as_in_the_released_records(root: Path) -> None:
    sample = plan(root)
    assert sample.answer == "3."
    assert all(text.rstrip(".").isdigit() and text.endswith(".") for text in sample.categories)


def test_a_video_fewer_changes_nothing_and_a_row_fewer_only_what_showed_its_name(tmp_path: Path) -> None:
    speakers(tmp_path, NAMES)
    before = outcomes(tmp_path)
    fake.remove(tmp_path, "test_0003")
    after = outcomes(tmp_path)
    assert after == {key: one for key, one in before.items() if key != "test_0003"}
    rows = (tmp_path / "answers.csv").read_text().replace("test_0003,speaker,Alice,,,\n", "")
    (tmp_path / "answers.csv").write_text(rows)
    touched = {key for key, one in outcomes(tmp_path).items() if one != before[key]}
    showed = {k for k, one in before.items() if isinstance(one, Draft) and "Alice" in one.distractors and k in after}
    assert touched == showed
    assert 0 < len(showed) < len(after)


@given(st.sets(st.sampled_from([f"n{i}" for i in range(40)]), min_size=6), st.data())
def test_a_candidate_fewer_changes_at_most_one_of_three(names: set[str], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(names)))
    answer = data.draw(st.sampled_from(sorted(names - {gone})))
    before = Candidates(names).three(answer, 0, "key")
    after = Candidates(names - {gone}).three(answer, 0, "key")
    assert answer not in before
    kept = [name for name in before if name != gone]
    assert list(after[: len(kept)]) == kept


def test_two_spellings_of_a_name_never_stand_in_one_sample(tmp_path: Path) -> None:
    assert alike("José Mourinho") == alike("jose  mourinho.") == alike("Jose\u0301 Mourinho")
    speakers(tmp_path, ["José M", "Jose m", "Nemo", "Holmes", "Ahab"])
    for key in ("test_0001", "test_0002"):
        assert sorted(draft(tmp_path, key).distractors) == ["Ahab", "Holmes", "Nemo"]
    for key in ("test_0003", "test_0004", "test_0005"):
        assert len({alike(name) for name in draft(tmp_path, key).distractors}) == 3


def test_with_too_few_names_a_speaker_is_no_question(tmp_path: Path) -> None:
    speakers(tmp_path, NAMES[:3])
    assert rejection(tmp_path) == ("too_few_names", "answers.csv has 2 other names, 3 are needed to choose from")


def test_the_shipped_events_can_all_be_shown_and_told_apart() -> None:
    assert len({alike(name) for name in events()}) == len(events()) >= 20
    assert not [name for name in events() if prompting.text_problem(prompting.category(name))]


# rendering


def jpeg(mode: str = "RGB", size: tuple[int, int] = (20, 10), **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return jpeg(exif=exif)


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 10)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not_a_picture"),
        (b"<html>Google Drive - Quota exceeded</html>", "not_a_picture"),
        (jpeg(size=(200, 200))[:600], "truncated_picture"),
        (jpeg("CMYK"), "colour_mode"),
        (turned(), "exif_orientation"),
        (png(), "not_a_jpeg"),
        (jpeg(size=(20, 12)), "mixed_sizes"),
    ],
)
def test_one_bad_frame_rejects_its_video(data: bytes, reason: str, root: Path) -> None:
    frame_of(root, 6).write_bytes(data)
    with pytest.raises(Rejected) as why:
        rendered(root)
    assert why.value.reason == reason


def test_a_reference_that_shows_nothing_new_is_rejected(root: Path) -> None:
    shutil.copy(frame_of(root, 3), frame_of(root, 1))
    fake.table(root, "test_0001,count,3,3,1,true")
    with pytest.raises(Rejected, match="nothing_revealed"):
        rendered(root)


def test_a_changed_frame_changes_the_stamp_also_in_a_zip(root: Path) -> None:
    builder = VsodBuilder(VsodSettings(), 0)

    def stamp() -> str:
        return builder.stamp(plan(root), builder.open(root, root))

    before = stamp()
    frame_of(root, 5).write_bytes(jpeg())
    assert stamp() != before
    fake.pack(root)
    packed = stamp()
    assert packed != before
    assert stamp() == packed


def test_a_frame_that_can_not_be_read_rejects_its_video(root: Path) -> None:
    for target, reason in (("nowhere", "missing_frame"), ("0008.JPEG", "unreadable_frame"), (".", "unreadable_frame")):
        frame_of(root, 8).unlink(missing_ok=True)
        frame_of(root, 8).symlink_to(target)
        assert VsodBuilder(VsodSettings(), 0).stamp(plan(root), Vsod(root))
        with pytest.raises(Rejected) as why:
            rendered(root)
        assert why.value.reason == reason


def test_a_frame_larger_than_any_picture_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.table(root, "test_0001,count,3,3,1,true")
    monkeypatch.setattr(raw_sources, "LARGEST", 100)
    for _ in range(2):
        with pytest.raises(Rejected, match="more than a picture"):
            rendered(root)
        if (root / fake.DATASET).is_dir():
            fake.pack(root)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_frame_that_is_in_a_zip_twice_is_refused_by_name(root: Path) -> None:
    member = frame_of(root, 5).relative_to(root).as_posix()
    fake.pack(root)
    with zipfile.ZipFile(root / f"{fake.DATASET}.zip", "a") as archive:
        archive.writestr(member, jpeg())
    with pytest.raises(Rejected, match=f"duplicate_frame: .*{member} more than once"):
        rendered(root)
