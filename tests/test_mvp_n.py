"""MVP-N (paper A.3): which sets become samples, how they play, and why the others don't."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from build_bench import manifests, planning, prompting, records
from build_bench.builders.mvp_n import MvpNBuilder, MvpNSettings
from build_bench.config import read
from build_bench.errors import InputError, Rejected, UsageError
from build_bench.raw_sources.mvp_n import MvpN
from build_bench.records import END, Draft, Plan, Rejection
from build_bench.store import Work
from tests.fakes import mvp_n as fake
from tests.fakes.mvp_n import key_of, paths

KEYS = ("rotate", "view", "angle", "orientation", "different")
SOUND = paths("0001", "001")
"""A set that each tree holds beside the one in question, so that something is built."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "mvp_n"


def planned(root: Path, seed: int = 0, **settings: str) -> tuple[dict[str, Draft], dict[str, Rejection]]:
    """What is planned and what is rejected, by source key."""
    builder = MvpNBuilder(MvpNSettings(**settings), seed)
    raw = builder.open(root, root.parent)
    outcomes = list(builder.plan(raw))
    assert raw.census.candidates == len(outcomes)
    drafts = {one.source.key: one for one in outcomes if isinstance(one, Draft)}
    return drafts, {one.source_key: one for one in outcomes if isinstance(one, Rejection)}


def plan_of(draft: Draft) -> Plan:
    return prompting.word(draft, prompting.load_pool("mvp_n"), "mvp_n", 0)


def rendered(root: Path, draft: Draft) -> list[bytes]:
    builder = MvpNBuilder(MvpNSettings(), 0)
    return list(builder.render(plan_of(draft), MvpN(root)))


def test_views_without_information_come_first_in_the_lists_order_and_one_with_it_last(root: Path) -> None:
    mixed = ["0000/7/0003_0.png", "0000/7/0009_1.png", "0000/7/0001_0.png", "0000/7/0002_1.png", "0000/7/0000_0.png"]
    fake.draw(root, {"0000": [mixed]})
    drafts, _ = planned(root)
    draft = drafts[key_of("0000", mixed)]
    assert draft.frames[:3] == ("7-0003_0.png", "7-0001_0.png", "7-0000_0.png")
    assert draft.frames[3] in ("7-0009_1.png", "7-0002_1.png")
    assert len(draft.frames) == 4


def test_which_informative_view_is_last_is_drawn_for_each_set_alone(root: Path) -> None:
    sets = [paths("0000", "0111", first=first) for first in range(0, 120, 4)]
    fake.draw(root, {"0000": sets})
    drafts, _ = planned(root)
    chosen = {key: one.frames[-1] for key, one in drafts.items()}
    places = [
        int(chosen[key_of("0000", one)][2 + 3 : 2 + 7]) - first
        for one, first in zip(sets, range(0, 120, 4), strict=True)
    ]
    assert set(places) == {1, 2, 3}
    fake.draw(root, {"0000": sets[:7]})
    fewer, _ = planned(root)
    assert {key: one.frames[-1] for key, one in fewer.items()} == {
        key_of("0000", s): chosen[key_of("0000", s)] for s in sets[:7]
    }


def test_asking_leads_from_view_to_view_and_ends_the_episode_at_the_last(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "00001")]})
    (draft,) = planned(root)[0].values()
    assert [state.view.frame for state in draft.states] == [0, 1, 2, 3, 4]
    assert [state.moves for state in draft.states] == [((0, 1),), ((0, 2),), ((0, 3),), ((0, 4),), ((0, END),)]
    assert draft.max_turns == 5
    assert draft.reference == records.View(4)
    assert draft.asks == (records.Ask("change_view"),)
    assert draft.first_turn_answerable


def test_the_files_own_bytes_are_the_frames(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "001")]})
    (draft,) = planned(root)[0].values()
    assert rendered(root, draft) == [(root / "data" / "test" / path).read_bytes() for path in paths("0000", "001")]


def test_views_of_one_set_may_lie_in_several_folders(root: Path) -> None:
    views = ["0000/7/0000_0.png", "0000/8/0000_0.png", "0000/9/x_y_0000_1.png"]
    fake.draw(root, {"0000": [views]})
    (draft,) = planned(root)[0].values()
    assert draft.frames == ("7-0000_0.png", "8-0000_0.png", "9-x_y_0000_1.png")
    assert len(set(rendered(root, draft))) == 3


@pytest.mark.parametrize("front", ["./", "data/test/", "/home/someone/MVP-N/data/test/", "../data/test/"])
def test_only_the_last_three_parts_of_a_path_count(root: Path, front: str) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    fake.add_list(root, "0000", [[front + path for path in paths("0000", "01")]])
    assert list(planned(root)[0]) == [key_of("0000", paths("0000", "01"))]


DEFECTS = {
    "no_informative_view": ["0000/7/0000_0.png", "0000/7/0001_0.png"],
    "no_uninformative_view": ["0000/7/0000_1.png", "0000/7/0001_1.png"],
    "repeated_view": ["0000/7/0000_0.png", "0000/7/0001_1.png", "0000/7/0000_0.png"],
    "too_many_views": paths("0000", "0000001"),
    "wrong_class": ["0000/7/0000_0.png", "0001/7/0001_1.png"],
    "bad_mark": ["0000/7/0000_0.png", "0000/7/0001_2.png"],
}


@pytest.mark.parametrize(("reason", "views"), DEFECTS.items())
def test_a_set_that_can_not_be_used_is_rejected_for_its_reason(root: Path, reason: str, views: list[str]) -> None:
    fake.draw(root, {"0000": [views], "0001": [SOUND]})
    drafts, rejections = planned(root)
    assert list(drafts) == [key_of("0001", SOUND)]
    assert [one.reason for one in rejections.values()] == [reason]
    assert (reason in MvpNBuilder.by_rule) == reason.startswith("no_")


@pytest.mark.parametrize(
    "name", ["0001.png", "_1.png", "0001_1.jpg", "0001_1.PNG", "00.01_1.png", "0001_01.png", "0001_1", ""]
)
def test_a_name_without_a_mark_is_no_view(root: Path, name: str) -> None:
    fake.draw(root, {"0001": [SOUND]})
    fake.add_list(root, "0000", [["0000/7/0000_0.png", f"0000/7/{name}"]])
    (rejection,) = planned(root)[1].values()
    assert rejection.reason == ("bad_mark" if name else "bad_path")


ELSEWHERE = ["0001_1.png", "7/0001_1.png", "0000/../0001_1.png", "0000//0001_1.png", "a\\b/7/0001_1.png"]
ELSEWHERE += ["0000/7\0/0001_1.png", "0000/\ud800/0001_1.png", "0000/C:/0001_1.png", "/" * 5000 + "0000/7/0001_1.png"]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_a_path_that_leads_elsewhere_is_refused(root: Path, path: str) -> None:
    fake.draw(root, {"0001": [SOUND]})
    name = fake.add_list(root, "0000", [["0000/7/0000_0.png", path]])
    (rejection,) = planned(root)[1].values()
    assert rejection.reason == "bad_path"
    assert name in rejection.detail


@pytest.mark.parametrize("one", ["0000/7/0001_1.png", [["0000/7/0001_1.png"]]])
def test_what_is_no_set_is_rejected_alone(root: Path, one: object) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    name = fake.add_list(root, "0000", [one, paths("0000", "01")])
    drafts, rejections = planned(root)
    assert list(drafts) == [key_of("0000", paths("0000", "01"))]
    assert rejections[f"{name}[0]"].reason == "broken_set"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pickle.dumps([("a",)]), "refused_list"),
        (pickle.dumps([SOUND] * 10_001), "refused_list"),
        (b"<html>", "broken_list"),
    ],
)
def test_a_list_that_can_not_be_read_is_one_candidate_and_the_others_are_built(
    root: Path, data: bytes, reason: str
) -> None:
    fake.draw(root, {"0001": [SOUND]})
    name = fake.add_list(root, "0000", data)
    drafts, rejections = planned(root)
    assert list(drafts) == [key_of("0001", SOUND)]
    assert {key: one.reason for key, one in rejections.items()} == {name: reason}


def test_a_set_that_stands_twice_is_used_once(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01"), paths("0000", "001"), paths("0000", "01")]})
    drafts, rejections = planned(root)
    assert len(drafts) == 2
    assert [one.reason for one in rejections.values()] == ["duplicate_set"]


def test_a_picture_that_is_not_there_is_named(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "001"), paths("0000", "01", first=1)]})
    (root / "data" / "test" / "0000" / "0007" / "0000_0.png").unlink()
    drafts, rejections = planned(root)
    assert len(drafts) == 1
    (rejection,) = rejections.values()
    assert (rejection.reason, rejection.detail) == ("missing_picture", "test/0000/0007/0000_0.png")


BROKEN = {
    "truncated_picture": lambda data: data[: len(data) * 6 // 10],
    "not_a_picture": lambda data: b"<html><body>404</body></html>",
}


@pytest.mark.parametrize(("reason", "broken"), [*BROKEN.items(), ("not_a_picture", lambda data: b"")])
def test_a_picture_that_does_not_decode_is_rejected(root: Path, reason: str, broken: object) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    path = root / "data" / "test" / "0000" / "0007" / "0001_1.png"
    path.write_bytes(broken(fake.png("any")))  # type: ignore[operator]
    (draft,) = planned(root)[0].values()
    with pytest.raises(Rejected) as why:
        rendered(root, draft)
    assert why.value.reason == reason


def test_a_jpeg_under_another_name_is_rejected(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    Image.new("RGB", (12, 12)).save(root / "data" / "test" / "0000" / "0007" / "0001_1.png", "JPEG")
    with pytest.raises(Rejected, match="not_a_png"):
        rendered(root, next(iter(planned(root)[0].values())))


def test_two_views_that_are_the_same_picture_are_rejected(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    folder = root / "data" / "test" / "0000" / "0007"
    (folder / "0001_1.png").write_bytes((folder / "0000_0.png").read_bytes())
    with pytest.raises(Rejected, match="same_picture"):
        rendered(root, next(iter(planned(root)[0].values())))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "1", "I;16"])
def test_every_kind_of_png_is_copied(root: Path, mode: str) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    file = root / "data" / "test" / "0000" / "0007" / "0001_1.png"
    picture = Image.new("I;16", (9, 9), 700) if mode == "I;16" else Image.new("RGB", (9, 9), (200, 3, 9)).convert(mode)
    picture.save(file)
    assert rendered(root, next(iter(planned(root)[0].values())))[1] == file.read_bytes()


def test_lists_of_other_classes_are_reported_as_lacking(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    raw = MvpN(root)
    list(MvpNBuilder(MvpNSettings(), 0).plan(raw))
    assert raw.gaps[0].startswith("no list of test sets for 43 of 44 classes: 0001, 0002")


def test_a_class_that_mvp_n_has_not_is_rejected(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")], "0044": [paths("0044", "01")]})
    assert [one.reason for one in planned(root)[1].values()] == ["unknown_class"]


def test_the_validation_sets_can_be_built_instead(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    (root / "data" / "test").rename(root / "data" / "valid")
    (root / "data" / "test_list").rename(root / "data" / "valid_list")
    (root / "data" / "valid_list" / "test_0000_100.pkl").rename(root / "data" / "valid_list" / "valid_0000_100.pkl")
    assert next(iter(planned(root, split="valid")[0])).startswith("valid/0000/")
    with pytest.raises(InputError, match="mvp_n"):
        planned(root)


@pytest.mark.parametrize("change", ["split=train", "similarity=../table.csv", "similarity=/etc/passwd", "similarity="])
def test_a_setting_that_makes_no_sense_is_refused(change: str) -> None:
    with pytest.raises(UsageError, match=r"mvp_n: (split|similarity) = "):
        read(["mvp_n"], None, [f"mvp_n.{change}"])


def test_a_picture_that_comes_later_makes_the_plan_stale(root: Path) -> None:
    fake.draw(root, {"0000": [paths("0000", "01")]})
    work, config = Work(root.parent / "work", root.parent), read(["mvp_n"])
    before = planning.inputs(work, config, "mvp_n", MvpN(root))
    (root / "data" / "test" / "0000" / "0007" / "0002_1.png").write_bytes(fake.png("new"))
    assert planning.inputs(work, config, "mvp_n", MvpN(root)) != before


def test_eleven_ways_to_ask_all_of_which_the_evaluator_takes_for_its_one_action() -> None:
    pool = prompting.load_pool("mvp_n")
    texts: Sequence[str] = pool.asks["change_view"]
    assert len(texts) == 11
    assert pool.keys["change_view"] == KEYS
    assert all(any(key in text.lower() for key in KEYS) for text in texts)
    assert {key for key in KEYS for text in texts if key in text.lower()} == set(KEYS)
    assert pool.open_proactive["change_view"] == ("Rotate the object", "Move the camera")
    assert len(pool.questions["object"]) == 15
    assert set(pool.asks) == {"change_view"}


def test_a_request_that_the_evaluator_would_not_know_is_refused() -> None:
    text = manifests.text("prompts/mvp_n.toml")
    assert "Rotate the item further." in text
    prompting.read_pool(text.replace("Rotate the item further.", "Rotate it to a different view angle."), "mvp_n.toml")
    with pytest.raises(InputError, match="exactly one action key"):
        prompting.read_pool(text.replace("Rotate the item further.", "Turn the item further."), "mvp_n.toml")
