"""ImageNet-C: what is drawn, what is asked, and what is refused."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from build_bench import prompting
from build_bench.builders.imagenet_c import CHOICES, CLOSE, ImageNetCBuilder, ImageNetCSettings
from build_bench.builders.imagenet_c_classes import alike, names, wrong
from build_bench.draws import Draw
from build_bench.errors import InputError, Rejected
from build_bench.prompting import category, normalised, text_problem
from build_bench.raw_sources.imagenet_c import ImageNetC
from build_bench.raw_sources.imagenet_c_labels import classes
from build_bench.raw_sources.imagenet_c_names import CORRUPTIONS, GROUPS, stem
from build_bench.records import Draft, Plan, Rejection
from tests.fakes import imagenet_c as fakes

GROUP = {corruption: group for group, found in GROUPS.items() for corruption in found}
TENCH, GOLDFISH, SHARK = "n01440764", "n01443537", "n01484850"


def jpeg(colour: int = 90, size: tuple[int, int] = (224, 224), mode: str = "RGB", form: str = "JPEG") -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, (colour,) * len(mode) if len(mode) > 1 else colour).save(file, form)
    return file.getvalue()


PICTURE = jpeg()


def name(corruption: str, severity: int, wnid: str, number: int) -> str:
    return f"{corruption}/{severity}/{wnid}/{stem(number)}.JPEG"


def whole(wnid: str, numbers: range, corruptions: tuple[str, ...] = CORRUPTIONS) -> Iterator[tuple[str, str]]:
    """(group, name) of every file of these pictures."""
    for corruption in corruptions:
        for severity in range(1, 6):
            for number in numbers:
                yield GROUP[corruption], name(corruption, severity, wnid, number)


def tars(root: Path, files: list[tuple[str, str]]) -> Path:
    for group in {group for group, _ in files}:
        fakes.repack(root / f"{group}.tar", [(file, PICTURE) for at, file in files if at == group])
    return root


def outcomes(root: Path, scratch: Path, **settings: object) -> tuple[dict[str, Draft], dict[str, Rejection], ImageNetC]:
    builder = ImageNetCBuilder(ImageNetCSettings(**settings), 0)  # type: ignore[arg-type]
    raw = builder.open(root, scratch)
    found = list(builder.plan(raw))
    assert raw.census.candidates == len(found)
    drafts = {one.source.key: one for one in found if isinstance(one, Draft)}
    return drafts, {one.source_key: one for one in found if isinstance(one, Rejection)}, raw


def reasons(rejected: dict[str, Rejection]) -> Counter[str]:
    return Counter(one.reason for one in rejected.values())


def plan_of(draft: Draft) -> Plan:
    return prompting.word(draft, prompting.load_pool("imagenet_c"), "imagenet_c", 0)


def rendered(draft: Draft, raw: ImageNetC) -> list[bytes]:
    return list(ImageNetCBuilder(ImageNetCSettings(), 0).render(plan_of(draft), raw))


# What is drawn.


def test_five_of_a_class_are_drawn_and_the_rest_passed_over(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", [*whole(TENCH, range(1, 41)), *whole(SHARK, range(41, 44))])
    drafts, rejected, raw = outcomes(root, tmp_path / "scratch")
    assert Counter(key.split("/")[0] for key in drafts) == {TENCH: 5, SHARK: 3}
    assert not rejected
    assert raw.census.passed_over == 35
    assert raw.gaps == ()


def test_a_larger_number_keeps_what_a_smaller_drew(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", list(whole(TENCH, range(1, 41))))
    few, many = (outcomes(root, tmp_path / "scratch", per_class=k)[0] for k in (3, 9))
    assert len(many) == 9
    assert {key: many[key] for key in few} == few


def test_a_picture_more_or_less_takes_one_place_at_most(tmp_path: Path) -> None:
    before = outcomes(tars(tmp_path / "a", list(whole(TENCH, range(1, 30)))), tmp_path / "scratch a")[0]
    for extra in range(30, 40):
        files = [*whole(TENCH, range(1, 30)), *whole(TENCH, range(extra, extra + 1))]
        after = outcomes(tars(tmp_path / f"b{extra}", files), tmp_path / f"scratch {extra}")[0]
        assert len(set(before) - set(after)) <= 1
        assert all(after[key] == draft for key, draft in before.items() if key in after)


def test_the_corruption_is_drawn_before_looking_at_what_is_here(tmp_path: Path) -> None:
    files = [file for nth, wnid in enumerate((TENCH, GOLDFISH, SHARK)) for file in whole(wnid, range(nth + 1, 31, 3))]
    everything = outcomes(tars(tmp_path / "all", files), tmp_path / "scratch", per_class=10)[0]
    built: dict[str, Draft] = {}
    for group in GROUPS:
        root = tars(tmp_path / group, [file for file in files if file[0] == group])
        drafts, rejected, raw = outcomes(root, tmp_path / "scratch", per_class=10)
        assert drafts
        assert drafts.items() <= everything.items()
        assert reasons(rejected) == {"corruption_absent": 30 - len(drafts)}
        assert "brightness isn't here" in raw.gaps or group == "weather"
        built |= drafts
    assert built == everything


def test_another_noise_changes_the_noisy_samples_only(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", list(whole(TENCH, range(1, 41))))
    one = outcomes(root, tmp_path / "scratch", per_class=40)[0]
    other = outcomes(root, tmp_path / "scratch", per_class=40, denoise="speckle_noise")[0]
    changed = {key for key in one if one[key] != other[key]}
    assert changed == {key for key, draft in one.items() if draft.asks[0].action == "denoise"}
    assert changed


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"per_class": 0}, "at least 1"), ({"denoise": "fog"}, "gaussian_noise"), ({"deblur": ""}, "defocus_blur")],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ImageNetCSettings(**settings)  # type: ignore[arg-type]


# What is asked.


@pytest.fixture(scope="module")
def drafts(tmp_path_factory: pytest.TempPathFactory) -> list[Draft]:
    root = tmp_path_factory.mktemp("asked")
    files = list(whole(TENCH, range(1, 161), tuple(ImageNetCSettings().corruptions().values())))
    return list(outcomes(tars(root / "raw", files), root / "scratch", per_class=160)[0].values())


def test_all_eight_corruptions_come_up_about_equally(drafts: list[Draft]) -> None:
    counts = Counter(json.loads(draft.recipe)["corruption"] for draft in drafts)
    assert set(counts) == set(ImageNetCSettings().corruptions().values())
    assert 10 <= min(counts.values()) <= max(counts.values()) <= 40


def test_one_of_four_requests_is_valid_and_it_is_the_corruptions_own(drafts: list[Draft]) -> None:
    own = {corruption: action for action, corruption in ImageNetCSettings().corruptions().items()}
    for draft in drafts:
        kinds = [ask.kind for ask in draft.asks]
        assert kinds == ["proactive", "invalid", "invalid", "invalid"]
        assert draft.asks[0].action == own[json.loads(draft.recipe)["corruption"]]
        assert len({ask.action for ask in draft.asks}) == 4


def test_a_request_that_could_be_meant_as_well_is_never_a_wrong_one(drafts: list[Draft]) -> None:
    pairs = {frozenset(pair) for pair in CLOSE}
    offered: Counter[str] = Counter()
    for draft in drafts:
        for ask in draft.asks[1:]:
            assert {draft.asks[0].action, ask.action} not in pairs
            offered[ask.action] += 1
    assert set(offered) == set(CHOICES)


def test_four_valid_requests_lead_to_the_weakest_severity_and_a_fifth_ends(drafts: list[Draft]) -> None:
    for draft in drafts[:20]:
        at, seen = 0, [0]
        while (at := dict(draft.states[at].moves)[0]) >= 0:
            seen.append(at)
        assert [draft.frames[n].rsplit("-", 1)[1] for n in seen] == [f"{s}.JPEG" for s in (5, 4, 3, 2, 1)]
        assert draft.reference.frame == 4
        assert draft.max_turns == 5


def test_a_wrong_request_ends_the_episode_wherever_it_is_made(drafts: list[Draft]) -> None:
    for draft in drafts[:20]:
        for state in draft.states:
            assert [target for ask, target in state.moves if ask] == [-1, -1, -1]


def test_in_open_ended_generation_only_the_valid_request_counts_as_it_is_worded(drafts: list[Draft]) -> None:
    for draft in drafts:
        plan = plan_of(draft)
        (valid,) = [option.text for option in plan.options if option.kind == "proactive"]
        assert plan.open_proactive == (valid.rstrip("."),)
        assert plan.open_categories == ("Tench",)


# What classes are called.


def test_a_thousand_names_can_be_told_apart_as_they_are_shown() -> None:
    shown = {wnid: category(found) for wnid, found in names().items()}
    assert len({normalised(text) for text in shown.values()}) == 1000
    assert [text for text in shown.values() if text_problem(text)] == []
    assert [found for found in names().values() if text_problem(f"{found}.") or "_" in found] == []


@pytest.mark.parametrize(
    ("wnid", "found"),
    [
        ("n02012849", "Crane (bird)."),
        ("n03126707", "Construction crane."),
        ("n03710637", "Maillot."),
        ("n03710721", "Tank suit."),
        ("n02113186", "Cardigan welsh corgi."),
        ("n02963159", "Cardigan."),
        ("n03777568", "Model t ford."),
        ("n02111500", "Great pyrenees."),
        ("n01440764", "Tench."),
    ],
)
def test_clashing_and_ill_ending_names_have_others(wnid: str, found: str) -> None:
    assert category(names()[wnid]) == found


def test_every_table_names_classes_that_exist() -> None:
    assert set(names()) == set(classes())
    assert set(alike()) <= set(classes())


def test_wrong_categories_are_three_others_and_none_that_could_be_right() -> None:
    called = {found: wnid for wnid, found in names().items()}
    drawn: Counter[str] = Counter()
    for wnid in ("n04355933", "n01871265", "n03782006", "n01440764"):
        for number in range(400):
            picked = {called[found] for found in wrong(wnid, Draw(0, "imagenet_c", f"{wnid}/{number}"))}
            assert len(picked) == 3
            together = picked | {wnid}
            assert not any(together & alike().get(one, frozenset()) for one in together)
            drawn.update(picked)
    assert len(drawn) > 900


# What is refused.


def test_what_a_picture_lacks_is_named(tmp_path: Path) -> None:
    files = [file for file in whole(TENCH, range(1, 31)) if "/3/" not in file[1]]
    drafts, rejected, raw = outcomes(tars(tmp_path / "raw", files), tmp_path / "scratch")
    assert not drafts
    assert reasons(rejected) == {"missing_severity": 5}
    assert "severity 3" in next(iter(rejected.values())).detail
    assert "brightness lacks severity 3" in raw.gaps


def test_a_class_that_imagenet_lacks_is_refused(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", [*whole("n99999999", range(1, 3)), *whole(TENCH, range(3, 6))])
    drafts, rejected, _ = outcomes(root, tmp_path / "scratch")
    assert reasons(rejected) == {"unknown_class": 2}
    assert len(drafts) == 3


def test_a_picture_in_two_classes_is_refused_in_both(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", [*whole(TENCH, range(1, 4)), *whole(SHARK, range(3, 6))])
    _, rejected, _ = outcomes(root, tmp_path / "scratch")
    assert sorted(rejected) == [f"{TENCH}/{stem(3)}", f"{SHARK}/{stem(3)}"]
    assert reasons(rejected) == {"several_classes": 2}


def one_picture(root: Path, data: bytes) -> tuple[Draft, ImageNetC]:
    """A sample whose severity 2 is `data`."""
    found = list(whole(TENCH, range(1, 2)))
    for group in GROUPS:
        files = [(file, data if "/2/" in file else PICTURE) for at, file in found if at == group]
        fakes.repack(root / "raw" / f"{group}.tar", files)
    drafts, _, raw = outcomes(root / "raw", root / "scratch")
    return next(iter(drafts.values())), raw


def test_the_bytes_are_the_tars_own(tmp_path: Path) -> None:
    other = jpeg(200)
    draft, raw = one_picture(tmp_path, other)
    assert rendered(draft, raw) == [PICTURE, PICTURE, PICTURE, other, PICTURE]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PICTURE[: len(PICTURE) * 6 // 10], "truncated_picture"),
        (b"", "not_a_picture"),
        (b"<!DOCTYPE html><title>404</title>", "not_a_picture"),
        (jpeg(size=(299, 299)), "picture_size"),
        (jpeg(size=(500, 375)), "picture_size"),
        (jpeg(mode="L"), "not_a_jpeg"),
        (jpeg(mode="CMYK"), "not_a_jpeg"),
        (jpeg(form="PNG"), "not_a_jpeg"),
    ],
    ids=["cut", "empty", "html", "299 edition", "clean", "grey", "cmyk", "png"],
)
def test_a_broken_or_foreign_picture_costs_its_sample(tmp_path: Path, data: bytes, reason: str) -> None:
    draft, raw = one_picture(tmp_path, data)
    with pytest.raises(Rejected) as why:
        rendered(draft, raw)
    assert why.value.reason == reason
    assert draft.frames[3] in why.value.detail


def test_a_picture_that_vanished_after_planning_is_rejected(tmp_path: Path) -> None:
    root = tars(tmp_path / "raw", list(whole(TENCH, range(1, 3))))
    fakes.unpack(root)
    drafts, _, raw = outcomes(root, tmp_path / "scratch")
    for path in root.rglob("2/*/*.JPEG"):
        path.unlink()
    with pytest.raises(Rejected, match="missing_severity"):
        rendered(next(iter(drafts.values())), raw)


def test_nothing_recognised_is_an_error_that_says_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "imagenet_c" / "tiny" / "test_0").mkdir(parents=True)
    with pytest.raises(InputError, match=r"noise\.tar"):
        ImageNetC(tmp_path / "imagenet_c", tmp_path / "scratch")


def test_the_recipe_says_which_files_the_frames_are(drafts: list[Draft]) -> None:
    draft = drafts[0]
    recipe = json.loads(draft.recipe)
    changed = replace(draft, recipe=json.dumps({**recipe, "number": 7}))
    assert plan_of(changed).recipe != plan_of(draft).recipe
    assert [frame.startswith(stem(recipe["number"])) for frame in draft.frames] == [True] * 5
