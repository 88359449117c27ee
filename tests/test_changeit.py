"""ChangeIt: which seconds are shown, what the words are, and what becomes of files that aren't as they should be."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from av.video.frame import VideoFrame
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from build_bench import manifests, prompting, soundness
from build_bench.builders import changeit as building
from build_bench.builders.changeit import INFORMATIVE, THING, ChangeItBuilder, ChangeItSettings
from build_bench.builders.changeit_pictures import Encoder, shown_size
from build_bench.builders.changeit_steps import TOLERANCE, grid
from build_bench.builders.changeit_words import CONFUSABLE, Words
from build_bench.draws import Draw
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources.changeit import QUESTIONS, ChangeIt
from build_bench.records import Draft, Plan, Rejection
from build_bench.schema import plan_row
from tests.fakes.changeit import annotate, film, pack, remove, set_matrix, shuffle, write

VIDEO = "-aB3_dEfGh1"
LABELS = [0] * 4 + [1] * 3 + [2] * 6 + [3] * 4 + [0] * 3
WORDS = [row["category"] for row in csv.DictReader(io.StringIO(manifests.text("annotations/changeit_words.csv")))]
POOL = prompting.load_pool("changeit")


def outcomes(root: Path, **settings: Any) -> dict[str, Draft | Rejection]:
    """Per source key what planning makes of it."""
    builder = ChangeItBuilder(ChangeItSettings(**settings), 0)
    found = list(builder.plan(ChangeIt(root)))
    keyed = {each.source.key if isinstance(each, Draft) else each.source_key: each for each in found}
    assert len(keyed) == len(found)
    return keyed


def reasons(root: Path, **settings: Any) -> dict[str, str]:
    """Per source key the reason for rejection, `planned` for the others."""
    found = outcomes(root, **settings)
    return {key: each.reason if isinstance(each, Rejection) else "planned" for key, each in found.items()}


def rendered(root: Path, key: str, **settings: Any) -> dict[str, bytes]:
    """The frames of one sample by name. Raises `Rejected`."""
    builder, raw, plan = planned(root, key, **settings)
    return dict(zip(plan.frames, builder.render(plan, raw), strict=True))


def planned(root: Path, key: str, **settings: Any) -> tuple[ChangeItBuilder, ChangeIt, Plan]:
    builder, raw = ChangeItBuilder(ChangeItSettings(**settings), 0), ChangeIt(root)
    drafts = [each for each in builder.plan(raw) if isinstance(each, Draft) and each.source.key == key]
    return builder, raw, prompting.word(drafts[0], POOL, "changeit", 0)


def one(root: Path, labels: list[int] = LABELS, seconds: int | None = None, category: str = "apple") -> str:
    """A source of one video; returns the key of its question about the action."""
    annotate(root, category, VIDEO, labels)
    pts = range(10 * (len(labels) if seconds is None else seconds))
    film(root / "downloads" / category / f"{VIDEO}.mp4", pts)
    return f"{category}/{VIDEO}/action"


# which seconds


@st.composite
def labelled(draw: st.DrawFn) -> list[int]:
    runs = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), min_size=1, max_size=12))
    return [label for label, length in runs for _ in range(length)]


@given(labelled(), st.sampled_from(QUESTIONS), st.integers(2, 24))
def test_an_informative_second_can_be_waited_for_and_the_evaluator_can_play_it(
    labels: list[int], kind: str, most: int
) -> None:
    wanted = INFORMATIVE[kind]
    usable = len(labels) - TOLERANCE
    chosen = grid(labels, wanted, most)
    if chosen is None:
        assert not any(label in wanted for label in labels[1:usable])
        return
    assert 2 <= len(chosen.seconds) <= most
    assert list(chosen.seconds) == [at * chosen.step for at in range(len(chosen.seconds))]
    assert chosen.seconds[-1] < usable  # a file that is one picture short has it
    assert labels[chosen.seconds[chosen.reference]] in wanted
    assert chosen.reference > 0


def test_the_step_is_the_finest_that_keeps_the_whole_video_within_so_many_frames() -> None:
    labels = [0] * 50 + [2] * 100 + [0] * 51
    chosen = grid(labels, {2}, 16)
    assert chosen is not None
    assert chosen.step == 13  # 200 usable seconds in 16 frames: 12 would need 17
    assert chosen.seconds == tuple(range(0, 200, 13))
    assert chosen.seconds[chosen.reference] == 104  # the deepest in 50..149 of the grid's seconds


def test_a_short_action_between_two_steps_makes_them_longer() -> None:
    labels = [0] * 61 + [2] + [0] * 16
    chosen = grid(labels, {2}, 16)
    assert chosen is not None
    assert (chosen.step, chosen.seconds, chosen.reference) == (61, (0, 61), 1)


def test_an_action_before_the_first_step_makes_them_shorter_and_leaves_the_end_out() -> None:
    labels = [0] * 8 + [2] * 4 + [0] * 354  # as ball/f2XvaUHPAd4
    chosen = grid(labels, {2}, 16)
    assert chosen is not None
    assert chosen.step == 11
    assert chosen.seconds == tuple(range(0, 176, 11))


def test_the_record_that_the_evaluator_reads_ends_where_the_states_do(tmp_path: Path) -> None:
    annotate(tmp_path, "ball", VIDEO, [0] * 8 + [2] * 4 + [0] * 354)
    annotate(tmp_path, "apple", VIDEO, LABELS)
    for category in ("ball", "apple"):
        (tmp_path / "downloads" / category).mkdir(parents=True)
        (tmp_path / "downloads" / category / f"{VIDEO}.webm").touch()
    drafts = [each for each in outcomes(tmp_path).values() if isinstance(each, Draft)]
    assert len(drafts) == 4
    for draft in drafts:
        recipe = json.loads(draft.recipe)
        step, count = recipe["step_size"], recipe["num_images"]
        assert 0 < step < count
        seconds = [int(name.removesuffix(".jpg")) for name in draft.frames]
        assert seconds[-1] == step * ((count - 1) // step)
        assert draft.max_turns == len(seconds)
        for at, state in enumerate(draft.states):  # the evaluator's own conditions
            open_asks = {draft.asks[ask].action for ask, _ in state.moves}
            assert ("rewind" in open_asks) == (seconds[at] - step >= 0)
            assert ("wait" in open_asks) == (seconds[at] + step < count)


def test_a_draft_can_be_played(tmp_path: Path) -> None:
    _, _, plan = planned(tmp_path, one(tmp_path))
    assert list(soundness.problems(plan_row(plan))) == []


# words


def test_every_category_has_words_and_no_question_has_two_right_answers() -> None:
    words = Words()
    rows = list(csv.DictReader(io.StringIO(manifests.text("annotations/changeit_words.csv"))))
    together = list(csv.DictReader(io.StringIO(manifests.text(CONFUSABLE))))
    assert len(rows) == 44
    known = {row["category"] for row in rows}
    assert all(name in known for row in together for name in row["categories"].split())
    for row in rows:
        for kind in QUESTIONS:
            answer = row[kind]
            groups = [group["categories"].split() for group in together if group["kind"] == kind]
            near = {name for group in groups if row["category"] in group for name in group}
            for number in range(40):
                wrong = words.wrong(kind, [row["category"]], answer, Draw(number, "changeit", row["category"]))
                assert len({prompting.normalised(word) for word in (answer, *wrong)}) == 4
                assert not set(wrong) & {words.word(name, kind) for name in near}


def test_categories_of_one_object_share_its_word() -> None:
    words = Words()
    assert words.word("eggs", "object") == words.word("whisk_eggs", "object") == "eggs"
    assert words.word("milk", "object") == words.word("boil_milk", "object") == "milk"


def test_no_wrong_answer_is_right_elsewhere_in_the_tables(tmp_path: Path) -> None:
    """57 annotated videos are listed under another category as well."""
    key = one(tmp_path)
    left = {"cube", "tortilla", "t-shirt", "shoes", "rope"}
    listed = [name for name in WORDS if name not in left]
    (tmp_path / "videos").mkdir()
    for category in listed:
        (tmp_path / "videos" / f"{category}.csv").write_text(f"{VIDEO},0.512\n")
    found = outcomes(tmp_path)
    about_object = found[key.replace("action", "object")]
    assert isinstance(about_object, Draft)
    assert set(about_object.distractors) <= {"rubik's cube", "tortilla", "t-shirt", "shoes", "rope"}
    about_action = found[key]  # a box is wrapped, a ribbon tied, a pan cleaned: of those left only the cube's word is
    assert isinstance(about_action, Rejection)
    assert about_action.reason == "too_few_words"


def test_a_row_of_ones_own_takes_the_place_of_the_row_that_ships(tmp_path: Path) -> None:
    own = tmp_path / "words.csv"
    own.write_bytes("\ufeffcategory,object,action\r\napple,pomme,cutting up\r\nbicycle,bicycle,repairing\r\n".encode())
    words = Words(own)
    assert words.word("apple", "object") == "pomme"
    assert words.word("bicycle", "action") == "repairing"
    assert words.word("avocado", "object") == "avocado"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("object,action\n", ":1"),
        ("category,object,action\napple,apple\n", ":2"),
        ("category,object,action\napple,apple,cutting\napple,apple,peeling\n", ":3"),
        ("category,object,action\napple,x,cutting\n", ":2"),  # the evaluator would read "X." as a letter
        ("category,object,action\napple,{fruit},cutting\n", ":2"),
    ],
)
def test_a_broken_table_of_words_is_refused_by_line(text: str, place: str, tmp_path: Path) -> None:
    own = tmp_path / "words.csv"
    own.write_text(text)
    with pytest.raises(InputError, match=rf"words\.csv{place}"):
        Words(own)


def test_a_category_without_words_is_listed_not_guessed(tmp_path: Path) -> None:
    key = one(tmp_path, category="bicycle")
    assert reasons(tmp_path)[key] == "no_words"
    (tmp_path / "words.csv").write_text("category,object,action\nbicycle,,repairing\n")
    assert reasons(tmp_path) == {key: "planned", f"bicycle/{VIDEO}/object": "no_words"}


def test_requests_are_the_evaluators_to_the_letter(tmp_path: Path) -> None:
    texts = set()
    for kind in QUESTIONS:
        _, _, plan = planned(tmp_path, one(tmp_path).replace("action", kind))
        texts |= {option.text for option in plan.options if option.action}
        assert plan.open_proactive == (f"Wait for the {THING[kind]}", "Rewind the video")
        assert plan.context == "This is a frame extracted from a video. Answer the following question."
    assert texts == {"Rewind the video.", "Wait for the object to appear.", "Wait for the action to happen."}


# annotations


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "is empty"),
        ("0,0\n1,2\n3,2\n", ":3"),
        ("0,0\n1,4\n", ":2"),
        ("0,0\n1,2\n2,", ":3"),
        ("0,0\n\n1,2\n", ":2"),
        ("second,label\n0,1\n", ":1"),
    ],
)
def test_an_annotation_with_a_broken_row_is_rejected_by_line(text: str, where: str, tmp_path: Path) -> None:
    key = one(tmp_path)
    (tmp_path / "annotations" / "apple" / f"{VIDEO}.fps1.csv").write_text(text)
    found = outcomes(tmp_path)[key]
    assert isinstance(found, Rejection)
    assert found.reason == "bad_annotation"
    assert where in found.detail


def test_line_ends_and_marks_at_the_beginning_make_no_difference(tmp_path: Path) -> None:
    key = one(tmp_path)
    before = outcomes(tmp_path)
    path = tmp_path / "annotations" / "apple" / f"{VIDEO}.fps1.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").rstrip())
    assert outcomes(tmp_path) == before
    assert isinstance(before[key], Draft)


@pytest.mark.parametrize(
    ("labels", "about_object", "about_action"),
    [
        ([0] * 9, "no_label", "no_label"),
        ([0, 1, 1, 0, 3, 3, 0], "planned", "no_label"),
        ([0, 0, 0, 0, 0, 2], "out_of_reach", "out_of_reach"),
        ([2, 0, 0, 0, 0, 0], "out_of_reach", "out_of_reach"),
        ([2, 2], "out_of_reach", "out_of_reach"),
        ([2] * 6, "planned", "planned"),
    ],
)
def test_a_question_needs_a_second_that_answers_it(
    labels: list[int], about_object: str, about_action: str, tmp_path: Path
) -> None:
    key = one(tmp_path, labels)
    assert reasons(tmp_path) == {key: about_action, key.replace("action", "object"): about_object}


def test_videos_that_begin_with_the_answer_can_be_left_out(tmp_path: Path) -> None:
    key = one(tmp_path, [1, 1, 2, 2, 2, 3, 3])
    about_object = key.replace("action", "object")
    assert reasons(tmp_path) == {key: "planned", about_object: "planned"}
    assert reasons(tmp_path, informative_start=False) == {key: "planned", about_object: "informative_start"}


def test_labels_that_mean_something_else_are_refused(tmp_path: Path) -> None:
    one(tmp_path)
    (tmp_path / "labels.csv").write_text('LABEL_ID,MEANING\n0,"background"\n1,"action"\n')
    with pytest.raises(InputError, match=r"labels\.csv"):
        outcomes(tmp_path)


def test_a_video_annotated_in_two_categories_gives_samples_in_both_from_one_file(tmp_path: Path) -> None:
    one(tmp_path, category="milk")
    annotate(tmp_path, "boil_milk", VIDEO, LABELS)
    found = reasons(tmp_path)
    assert found == {f"{c}/{VIDEO}/{kind}": "planned" for c in ("milk", "boil_milk") for kind in QUESTIONS}
    assert rendered(tmp_path, f"boil_milk/{VIDEO}/object")


# layouts


def test_a_zip_of_the_repository_is_read_in_place(tmp_path: Path) -> None:
    write(tmp_path / "changeit")
    before = outcomes(tmp_path / "changeit")
    shuffle(tmp_path / "changeit")
    assert outcomes(tmp_path / "changeit") == before
    pack(tmp_path / "changeit")
    assert not (tmp_path / "changeit" / "annotations").exists()
    assert outcomes(tmp_path / "changeit") == before
    assert [p.name for p in ChangeIt(tmp_path / "changeit").files][:1] == ["ChangeIt-main.zip"]


def test_a_clone_in_a_folder_of_its_own_is_found(tmp_path: Path) -> None:
    key = one(tmp_path / "raw" / "ChangeIt")
    shutil.move(tmp_path / "raw" / "ChangeIt" / "downloads", tmp_path / "raw" / "downloads")
    assert reasons(tmp_path / "raw")[key] == "planned"


@pytest.mark.parametrize("name", [f"{VIDEO}.webm", f"{VIDEO}.f135.mp4", f"{VIDEO}.mkv"])
def test_the_names_that_downloaders_give_are_found(name: str, tmp_path: Path) -> None:
    key = one(tmp_path)
    folder = tmp_path / "downloads" / "apple"
    (folder / f"{VIDEO}.mp4").rename(folder / name)
    assert reasons(tmp_path)[key] == "planned"


def test_a_download_that_isnt_finished_is_none(tmp_path: Path) -> None:
    key = one(tmp_path)
    folder = tmp_path / "downloads" / "apple"
    (folder / f"{VIDEO}.mp4").rename(folder / f"{VIDEO}.mp4.part")
    found = outcomes(tmp_path)[key]
    assert isinstance(found, Rejection)
    assert (found.reason, found.detail) == ("missing_video", f"only {VIDEO}.mp4.part is there")


def test_what_is_not_here_is_a_gap_and_what_was_not_looked_at_is_counted(tmp_path: Path) -> None:
    root = tmp_path / "changeit"
    write(root)
    raw = ChangeIt(root)
    found = list(ChangeItBuilder(ChangeItSettings(), 0).plan(raw))
    assert raw.census.candidates == len(found) == 20
    assert raw.census.passed_over == 6
    assert raw.gaps == ("annotated videos that samples could be made of, but that are not in downloads/: 1",)


def test_one_video_fewer_is_two_samples_fewer(tmp_path: Path) -> None:
    write(tmp_path / "changeit")
    before = outcomes(tmp_path / "changeit")
    remove(tmp_path / "changeit", "cake/cAk3_Dr4w03/object")
    after = outcomes(tmp_path / "changeit")
    assert after == {key: each for key, each in before.items() if "cAk3_Dr4w03" not in key}


# pictures


def test_frames_are_the_seconds_of_the_grid_and_say_so(tmp_path: Path) -> None:
    frames = rendered(tmp_path, one(tmp_path), frames=5)
    assert list(frames) == ["0.jpg", "4.jpg", "8.jpg", "12.jpg", "16.jpg"]
    for name, data in frames.items():
        picture = Image.open(io.BytesIO(data))
        assert (picture.format, picture.size) == ("JPEG", (64, 48))
        second = name.removesuffix(".jpg")
        assert picture.info["comment"].decode() == (
            f"apple/{VIDEO}: picture {second} of 20 at 1 fps; 20 seconds annotated"
        )


@pytest.mark.parametrize("seconds", [19, 21])
def test_one_picture_more_or_less_is_tolerated_and_recorded(seconds: int, tmp_path: Path) -> None:
    frames = rendered(tmp_path, one(tmp_path, seconds=seconds))
    assert list(frames)[-1] == "18.jpg"
    comment = Image.open(io.BytesIO(frames["18.jpg"])).info["comment"].decode()
    assert comment.endswith(f"picture 18 of {seconds} at 1 fps; 20 seconds annotated")


@pytest.mark.parametrize("seconds", [8, 18, 22, 40])
def test_a_file_that_doesnt_fit_its_annotation_is_rejected_with_both_counts(seconds: int, tmp_path: Path) -> None:
    with pytest.raises(Rejected) as why:
        rendered(tmp_path, one(tmp_path, seconds=seconds))
    assert why.value.reason == "frame_count"
    assert why.value.detail == f"{VIDEO}.mp4: {seconds} pictures at 1 fps, 20 seconds annotated"


def test_both_questions_on_a_video_are_answered_by_one_decoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = one(tmp_path, [0] * 9 + [1] * 20 + [0] * 8 + [2] + [0] * 20)
    opened = []
    video = building.Video
    monkeypatch.setattr(building, "Video", lambda *args: opened.append(args) or video(*args))
    builder, raw, first = planned(tmp_path, key)
    _, _, second = planned(tmp_path, key.replace("action", "object"))
    frames = {plan.question_kind: list(builder.render(plan, raw)) for plan in (first, second)}
    assert first.frames != second.frames
    assert len(opened) == 1
    alone = ChangeItBuilder(ChangeItSettings(), 0)
    assert list(alone.render(second, raw)) == frames["object"]
    film(tmp_path / "downloads" / "apple" / f"{VIDEO}.mp4", range(30))
    with pytest.raises(Rejected, match="frame_count"):
        list(builder.render(second, raw))
    with pytest.raises(Rejected, match="frame_count"):
        list(builder.render(first, raw))
    assert len(opened) == 3


def test_a_video_that_vanished_after_planning_is_rejected(tmp_path: Path) -> None:
    builder, raw, plan = planned(tmp_path, one(tmp_path))
    before = builder.stamp(plan, raw)
    (tmp_path / "downloads" / "apple" / f"{VIDEO}.mp4").unlink()
    with pytest.raises(Rejected, match="missing_video"):
        list(builder.render(plan, raw))
    assert builder.stamp(plan, raw) == builder.stamp(plan, ChangeIt(tmp_path)) != before


TURNS = {
    "quarter to the right": ((0, 1, -1, 0), Image.Transpose.ROTATE_270),
    "half": ((-1, 0, 0, -1), Image.Transpose.ROTATE_180),
    "quarter to the left": ((0, -1, 1, 0), Image.Transpose.ROTATE_90),
    "mirrored": ((-1, 0, 0, 1), Image.Transpose.FLIP_LEFT_RIGHT),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_turned_video_is_shown_upright(name: str, tmp_path: Path) -> None:
    matrix, way = TURNS[name]
    plain = rendered(tmp_path / "plain", one(tmp_path / "plain"))
    key = one(tmp_path / "turned")
    set_matrix(tmp_path / "turned" / "downloads" / "apple" / f"{VIDEO}.mp4", *matrix)
    for number, data in rendered(tmp_path / "turned", key).items():
        upright = Image.open(io.BytesIO(plain[number])).transpose(way)
        shown = Image.open(io.BytesIO(data))
        assert shown.size == upright.size
        assert np.abs(np.asarray(shown, int) - np.asarray(upright, int)).mean() < 4


def test_a_video_turned_by_another_angle_is_rejected(tmp_path: Path) -> None:
    key = one(tmp_path)
    path = tmp_path / "downloads" / "apple" / f"{VIDEO}.mp4"
    set_matrix(path, 1, 1, -1, 1)
    with pytest.raises(Rejected, match="display_matrix"):
        rendered(tmp_path, key)


@pytest.mark.parametrize(
    ("size", "aspect", "tallest", "expected"),
    [
        ((854, 480), 1.0, 480, (854, 480)),
        ((1920, 1080), 1.0, 480, (853, 480)),
        ((1080, 1920), 1.0, 480, (480, 853)),
        ((320, 240), 1.0, 480, (320, 240)),
        ((1920, 1080), 1.0, 0, (1920, 1080)),
        ((720, 576), 16 / 15, 480, (640, 480)),
        ((640, 480), 0.5, 0, (640, 960)),
    ],
)
def test_pixels_are_square_and_the_shorter_side_is_bounded(
    size: tuple[int, int], aspect: float, tallest: int, expected: tuple[int, int]
) -> None:
    assert shown_size(VideoFrame(*size, "yuv420p"), aspect, tallest) == expected


@pytest.mark.parametrize("matrix", ["bt709", "bt601"])
def test_colours_are_read_by_the_matrix_that_the_video_names(matrix: str) -> None:
    red, blue = (0.2126, 0.0722) if matrix == "bt709" else (0.299, 0.114)
    frame = VideoFrame(64, 48, "yuv420p")
    colour = np.array([200, 60, 30]) / 255
    y = float(np.dot(colour, [red, 1 - red - blue, blue]))
    planes = 16 + 219 * y, 128 + 112 * (colour[2] - y) / (1 - blue), 128 + 112 * (colour[0] - y) / (1 - red)
    for plane, value in zip(frame.planes, planes, strict=True):
        plane.update(bytes([round(value)]) * plane.buffer_size)
    frame.colorspace = 1 if matrix == "bt709" else 5
    frame.pts, frame.time_base = 0, Fraction(1, 10)
    shown = np.asarray(Image.open(io.BytesIO(Encoder(0).jpeg(frame, 1.0, ""))), int)
    assert np.abs(shown - [200, 60, 30]).max() <= 3


def test_a_frame_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    key = one(tmp_path)
    assert rendered(tmp_path, key) == rendered(tmp_path, key)


@pytest.mark.parametrize("bad", [{"frames": 1}, {"short_side": 5}, {"short_side": -1}, {"rounding": "nearest"}])
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ChangeItSettings(**bad)


def test_the_demo_has_one_of_each_kind_that_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "changeit")
    counts = Counter(reasons(tmp_path / "changeit").values())
    assert counts == {"planned": 17, "missing_video": 2, "no_label": 1}
