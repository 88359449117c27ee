"""MS-COCO, reader and builder: what is selected, what is rejected for which reason, and what must not matter."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from build_bench import prompting, raw_sources
from build_bench.builders.coco import CocoBuilder, CocoSettings
from build_bench.demo.coco import FIRST_ID, SCENES, write
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources.coco import Coco
from build_bench.records import Draft, Plan, Rejection, View

NAMES = ("cat", "dog", "cow", "sheep", "bus", "car")
CATEGORIES = [{"id": 3 * i + 1, "name": name, "supercategory": "thing"} for i, name in enumerate(NAMES)]
Row = dict[str, Any]


def image(image_id: int, **changes: Any) -> Row:
    url = f"http://images.cocodataset.org/val2014/COCO_val2014_{image_id:012d}.jpg"
    name = f"COCO_val2014_{image_id:012d}.jpg"
    return {"license": 4, "file_name": name, "coco_url": url, "height": 240, "width": 320, "id": image_id, **changes}


def annotation(annotation_id: int, image_id: int, **changes: Any) -> Row:
    box = [100.25, 60.5, 120.5, 110.25]
    row = {"segmentation": [[1.5, 2.0, 3, 4, 5, 6]], "area": 99.5, "iscrowd": 0, "image_id": image_id, "bbox": box}
    return {**row, "category_id": 4, "id": annotation_id, **changes}


def jpeg(size: tuple[int, int] = (320, 240), mode: str = "RGB", **options: Any) -> bytes:
    buffer = io.BytesIO()
    gradient = Image.linear_gradient("L").resize(size).convert(mode)
    gradient.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def lay(root: Path, images: list[Row], annotations: list[Row], **changes: Any) -> Path:
    """A source under `root`, with a picture for each image."""
    licenses = [
        {"id": 4, "name": "Attribution License", "url": "http:\\/\\/creativecommons.org\\/licenses\\/by\\/2.0\\/"}
    ]
    tables = {"images": images, "annotations": annotations, "categories": CATEGORIES, "licenses": licenses, **changes}
    (root / "val2014").mkdir(parents=True)
    (root / "annotations").mkdir()
    (root / "annotations" / "instances_val2014.json").write_text(json.dumps(tables))
    for row in images:
        if str(row.get("file_name", "")).startswith("COCO_"):
            (root / "val2014" / row["file_name"]).write_bytes(jpeg())
    return root


def builder(**settings: Any) -> CocoBuilder:
    return CocoBuilder(CocoSettings(**{"negatives": "supercategory", **settings}), seed=0)


def outcomes(root: Path, **settings: Any) -> dict[str, Draft | Rejection]:
    """Everything that planning says, by source key; checks that each candidate has one outcome."""
    one = builder(**settings)
    raw = one.open(root, root / "unused")
    found = list(one.plan(raw))
    keyed = {outcome.source.key if isinstance(outcome, Draft) else outcome.source_key: outcome for outcome in found}
    assert len(keyed) == len(found) == raw.census.candidates
    return keyed


def reason_of(outcome: Draft | Rejection) -> tuple[str, str]:
    assert isinstance(outcome, Rejection)
    return outcome.reason, outcome.detail


def plan_of(draft: Draft | Rejection) -> Plan:
    assert isinstance(draft, Draft)
    return prompting.word(draft, prompting.load_pool("coco"), "coco", 0)


def test_a_single_object_becomes_a_sample_that_says_where_it_is_from(tmp_path: Path) -> None:
    draft = outcomes(lay(tmp_path / "coco", [image(7)], [annotation(1, 7)]))["7"]
    assert isinstance(draft, Draft)
    assert draft.answer == "dog"
    assert draft.source.url == "http://images.cocodataset.org/val2014/COCO_val2014_000000000007.jpg"
    assert draft.source.license == "Attribution License (http://creativecommons.org/licenses/by/2.0/)"
    assert draft.frames == ("COCO_val2014_000000000007.jpg",)
    assert draft.reference == View(0)
    assert draft.group == "7"
    plan = plan_of(draft)
    assert plan.id == "coco-7"
    assert plan.answer == "Dog."
    assert len(set(plan.categories)) == 4


def test_an_image_without_a_known_licence_carries_the_note_on_terms(tmp_path: Path) -> None:
    draft = outcomes(lay(tmp_path / "coco", [image(7, license=99)], [annotation(1, 7)]))["7"]
    assert isinstance(draft, Draft)
    assert draft.source.license.startswith("annotations CC-BY-4.0")


@pytest.mark.parametrize(
    ("annotations", "reason", "detail"),
    [
        ([], "no_annotation", ""),
        ([annotation(1, 7), annotation(2, 7)], "several_objects", "2 annotations"),
        ([annotation(1, 7), annotation(900100000007, 7, iscrowd=1)], "several_objects", "2 annotations"),
        ([annotation(900100000007, 7, iscrowd=1, bbox=[1, 116, 102, 91])], "crowd", "annotation 900100000007"),
        ([annotation(918, 7, bbox=[96.65, 88.33, 1.03, 0.0])], "zero_area", "annotation 918: 1.03 x 0.0 px"),
        ([annotation(1, 7, bbox=[96.65, 88.33, 60, -4.5])], "zero_area", "annotation 1"),
        ([annotation(1, 7, bbox=[57.14, 25.93, 40.0, 1.85])], "below_floor", "40.00 x 1.85 px"),
        ([annotation(1, 7, bbox=[310.0, 25.0, 60.0, 60.0])], "below_floor", "10.00 x 60.00 px"),
        ([annotation(1, 7, bbox=[320.0, 10.0, 50.0, 50.0])], "outside_image", "annotation 1"),
        ([annotation(1, 7, bbox=[-80.0, 10.0, 50.0, 50.0])], "outside_image", "annotation 1"),
        ([annotation(1, 7, category_id=2)], "unknown_category", "category 2"),
        ([annotation(1, 7, bbox=[1, 2, 3])], "wrong_type", "annotation 1: bbox"),
        ([annotation(1, 7, bbox="1 2 3 4")], "wrong_type", "annotation 1: bbox"),
        ([annotation(1, 7, category_id="dog")], "wrong_type", "annotations[0]: Expected `int`, got `str`"),
        ([annotation(2**70, 7)], "wrong_type", "annotations[0]"),
    ],
)
def test_what_has_not_exactly_one_usable_object_is_rejected(
    annotations: list[Row], reason: str, detail: str, tmp_path: Path
) -> None:
    sound = annotation(5, 8)
    found = outcomes(lay(tmp_path / "coco", [image(7), image(8)], [*annotations, sound]))
    assert reason_of(found["7"])[0] == reason
    assert detail in reason_of(found["7"])[1]
    assert isinstance(found["8"], Draft), "the others are built"


def test_a_box_that_sticks_out_is_clipped(tmp_path: Path) -> None:
    draft = outcomes(lay(tmp_path / "coco", [image(7)], [annotation(1, 7, bbox=[-20.0, 100.0, 120.0, 400.0])]))["7"]
    assert isinstance(draft, Draft)
    recipe = json.loads(draft.recipe)
    assert recipe["box"] == [0.0, 100.0, 100.0, 240.0]


def test_ids_given_twice_are_named_and_only_their_images_rejected(tmp_path: Path) -> None:
    images = [image(7), image(8), image(9), image(10), image(10)]
    annotations = [annotation(1, 7), annotation(1, 8), annotation(2, 9), annotation(3, 10)]
    found = outcomes(lay(tmp_path / "coco", images, annotations))
    assert reason_of(found["7"]) == ("duplicate_annotation_id", "annotation id 1 is given twice")
    assert reason_of(found["8"]) == ("duplicate_annotation_id", "annotation id 1 is given twice")
    assert reason_of(found["10"])[0] == "duplicate_image_id"
    assert isinstance(found["9"], Draft)


def test_a_row_that_does_not_even_say_whose_it_is_stands_for_itself(tmp_path: Path) -> None:
    rows = [annotation(1, 7), {**annotation(2, 8), "image_id": None}, 5]
    found = outcomes(lay(tmp_path / "coco", [image(7), image(8), {"id": "x"}], rows))
    assert reason_of(found["annotations[1]"])[0] == "wrong_type"
    assert reason_of(found["annotations[2]"])[0] == "wrong_type"
    assert reason_of(found["images[2]"])[0] == "wrong_type"
    assert isinstance(found["7"], Draft)


def test_a_wrong_row_of_categories_is_a_gap_and_its_images_are_of_unknown_category(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7)], categories=[*CATEGORIES[2:], {"id": 4}])
    one = builder()
    raw = one.open(root, root / "unused")
    (outcome,) = one.plan(raw)
    assert reason_of(outcome)[0] == "unknown_category"
    assert any("categories[4]" in gap for gap in raw.gaps)


def test_annotations_of_unlisted_images_and_absent_pictures_are_gaps(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7), image(8)], [annotation(1, 7), annotation(2, 8), annotation(3, 99)])
    (root / "val2014" / image(7)["file_name"]).unlink()
    one = builder()
    raw = one.open(root, root / "unused")
    found = {outcome.source_key: outcome for outcome in one.plan(raw) if isinstance(outcome, Rejection)}
    assert reason_of(found["7"]) == ("missing_picture", image(7)["file_name"])
    assert [gap.split()[0] for gap in raw.gaps] == ["1", "1"]


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "a/../../b.jpg", "..\\x.jpg", "C:x.jpg", ""])
def test_a_file_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7, file_name=name)], [annotation(1, 7)])
    (tmp_path / "coco" / "secret.jpg").write_bytes(b"secret")
    assert reason_of(outcomes(root)["7"])[0] == "bad_file_name"
    with pytest.raises(Rejected):
        Coco(root).picture(name)


def test_a_picture_that_can_not_be_there_is_missing_and_the_others_are_built(tmp_path: Path) -> None:
    images = [image(7, file_name="x" * 5000 + ".jpg"), image(8, file_name="link.jpg"), image(9)]
    root = lay(tmp_path / "coco", images, [annotation(n, n) for n in (7, 8, 9)])
    (root / "val2014" / "link.jpg").symlink_to("nowhere")
    found = outcomes(root)
    assert [reason_of(found[key])[0] for key in "78"] == ["missing_picture"] * 2
    assert isinstance(found["9"], Draft)
    assert Coco(root).stamp(images[0]["file_name"]) == Coco(root).stamp("link.jpg") == "missing"


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_larger_than_any_picture_is_not_read(
    packed: bool, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_sources, "LARGEST", 100)
    root = pack(drawn, tmp_path / "coco", zipfile.ZIP_DEFLATED) if packed else drawn
    with pytest.raises(Rejected, match="too_large"):
        Coco(root).picture(f"COCO_val2014_{FIRST_ID:012d}.jpg")


@pytest.mark.parametrize("name", ["cat {foo}", "", " . ", "a\tb", "C", "I do not know"])
def test_a_category_that_can_not_be_shown_is_refused_by_name_before_anything_is_planned(
    name: str, tmp_path: Path
) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7)], categories=[*CATEGORIES, {"id": 99, "name": name}])
    with pytest.raises(InputError, match="coco: category 99") as caught:
        outcomes(root)
    assert repr(name) in caught.value.message


def test_a_picture_too_small_for_a_first_view_has_none(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7, width=31, height=31)], [annotation(1, 7, bbox=[2, 2, 26, 26])])
    assert reason_of(outcomes(root)["7"])[0] == "no_view"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.9}]', "is a list"),
        ('{"annotations": [], "categories": []}', "has no 'images'"),
        ('{"images": [], "annotations": [{"image_id": 7, "id": 1, "caption": "a"}]}', "has no 'categories'"),
        ('{"images": 5, "annotations": [], "categories": []}', "another kind of file"),
        ('"images"', "another kind of file"),
        ('{"images": [], "annotations": [}', "not valid JSON at byte 31"),
        ('{"images": [], "annotations": [', "not valid JSON at byte 31"),
        ("", "is empty"),
        ('{"images": [], "info": ' + "[" * 100_000, "nested too deep"),
        ('{"images": [{"id": "x"}, ' + "[" * 100_000, "nested too deep"),
    ],
)
def test_another_kind_of_file_or_broken_json_is_refused_by_name(text: str, problem: str, tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [], [])
    (root / "annotations" / "instances_val2014.json").write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        list(builder().plan(Coco(root)))
    assert "instances_val2014.json" in caught.value.message


def test_a_mark_before_the_first_byte_does_not_matter(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7)])
    path = root / "annotations" / "instances_val2014.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert isinstance(outcomes(root)["7"], Draft)


def test_one_category_id_with_two_names_is_an_error(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [], [], categories=[*CATEGORIES, {"id": 1, "name": "horse"}])
    with pytest.raises(InputError, match="category 1 is both 'cat' and 'horse'"):
        list(builder().plan(Coco(root)))


@pytest.mark.parametrize("absent", ["val2014", "annotations"])
def test_a_source_that_is_not_there_is_named_with_what_to_do(absent: str, tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [], [])
    (root / absent).rename(tmp_path / absent)
    with pytest.raises(InputError, match=r"val2014\.zip") as caught:
        Coco(root)
    assert "curl" in caught.value.hint


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("raw") / "coco"
    write(root)
    return root


def pack(drawn: Path, root: Path, compression: int) -> Path:
    root.mkdir()
    with zipfile.ZipFile(root / "val2014.zip", "w") as archive:
        for path in sorted((drawn / "val2014").iterdir()):
            archive.write(path, f"val2014/{path.name}")
    with zipfile.ZipFile(root / "annotations_trainval2014.zip", "w", compression) as archive:
        archive.writestr("annotations/captions_val2014.json", "{}")
        archive.write(drawn / "annotations" / "instances_val2014.json", "annotations/instances_val2014.json")
    return root


def frames_of(root: Path, **settings: Any) -> dict[str, bytes]:
    one = builder(**settings)
    raw = one.open(root, root / "unused")
    plans = [plan_of(outcome) for outcome in one.plan(raw) if isinstance(outcome, Draft)]
    return {plan.id: b"".join(one.render(plan, raw)) for plan in plans}


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zips_give_what_folders_give(compression: int, drawn: Path, tmp_path: Path) -> None:
    root = pack(drawn, tmp_path / "coco", compression)
    assert outcomes(root) == outcomes(drawn)
    assert frames_of(root) == frames_of(drawn)
    assert [path.name for path in Coco(root).files] == ["annotations_trainval2014.zip", "val2014.zip"]


def test_the_naming_of_2017_and_other_places_are_found(drawn: Path, tmp_path: Path) -> None:
    root = tmp_path / "coco"
    (root / "images" / "val2017").mkdir(parents=True)
    text = (drawn / "annotations" / "instances_val2014.json").read_text()
    (root / "instances_val2017.json").write_text(text.replace("COCO_val2014_", ""))
    for path in (drawn / "val2014").iterdir():
        os.link(path, root / "images" / "val2017" / path.name.removeprefix("COCO_val2014_"))
    split = {"annotations": "annotations/instances_val2017.json", "pictures": "val2017"}
    assert frames_of(root, **split) == frames_of(drawn)
    assert all(
        out.source.dataset == "MS-COCO 2017" for out in outcomes(root, **split).values() if isinstance(out, Draft)
    )


def test_frames_are_the_pictures_own_bytes(drawn: Path) -> None:
    for sample, data in frames_of(drawn).items():
        name = f"COCO_val2014_{int(sample.removeprefix('coco-')):012d}.jpg"
        assert data == (drawn / "val2014" / name).read_bytes()


def test_the_order_of_rows_and_keys_changes_nothing(drawn: Path, tmp_path: Path) -> None:
    data = json.loads((drawn / "annotations" / "instances_val2014.json").read_text())
    turned = {
        key: [dict(reversed(row.items())) for row in reversed(rows)] if isinstance(rows, list) else rows
        for key, rows in reversed(data.items())
    }
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "instances_val2014.json").write_text(json.dumps(turned, indent=1))
    (tmp_path / "val2014").symlink_to(drawn / "val2014")
    assert outcomes(tmp_path) == outcomes(drawn)


def test_one_image_fewer_changes_nothing_else(drawn: Path, tmp_path: Path) -> None:
    data = json.loads((drawn / "annotations" / "instances_val2014.json").read_text())
    data["images"] = [row for row in data["images"] if row["id"] != FIRST_ID + 4]
    data["annotations"] = [row for row in data["annotations"] if row["image_id"] != FIRST_ID + 4]
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "instances_val2014.json").write_text(json.dumps(data))
    (tmp_path / "val2014").symlink_to(drawn / "val2014")
    before = outcomes(drawn)
    del before[str(FIRST_ID + 4)]
    assert outcomes(tmp_path) == before


def test_further_crops_look_from_other_sides_and_leave_the_first_alone(drawn: Path) -> None:
    first, more = outcomes(drawn), outcomes(drawn, crops_per_image=3)
    assert {key: more[key] for key in first} == first
    for key, draft in first.items():
        if isinstance(draft, Draft):
            crops = [draft, more[f"{key}-2"], more[f"{key}-3"]]
            ways = {json.loads(crop.recipe)["direction"] for crop in crops if isinstance(crop, Draft)}
            assert len(ways) == 3


def test_more_crops_than_sides_with_room_are_rejected_one_by_one(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7, bbox=[150, 100, 30, 30])])
    found = outcomes(root, crops_per_image=9)
    assert reason_of(found["7-9"])[0] == "no_view", "a small object has no view to zoom out of"
    assert isinstance(found["7-8"], Draft)


def test_the_demo_has_every_direction_and_each_reason(drawn: Path) -> None:
    found = outcomes(drawn)
    assert len(found) == len(SCENES)
    recipes = [json.loads(out.recipe) for out in found.values() if isinstance(out, Draft)]
    assert {recipe["direction"] for recipe in recipes} == {
        "left", "right", "up", "down", "up_left", "up_right", "down_left", "down_right", "zoom",
    }  # fmt: skip
    reasons = {out.reason for out in found.values() if isinstance(out, Rejection)}
    assert reasons == {"several_objects", "crowd", "no_annotation", "zero_area", "below_floor"}


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (320, 240)).save(buffer, "PNG")
    return buffer.getvalue()


def _turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return jpeg(exif=exif.tobytes())


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda: b"", "not_a_picture"),
        (lambda: b"<!DOCTYPE html><title>404</title>", "not_a_picture"),
        (lambda: jpeg()[: len(jpeg()) * 6 // 10], "truncated_picture"),
        (lambda: jpeg((240, 320)), "size_mismatch"),
        (lambda: jpeg(mode="CMYK"), "colour_mode"),
        (_turned, "exif_orientation"),
        (_png, "not_a_jpeg"),
    ],
)
def test_a_picture_that_would_not_be_seen_as_annotated_is_rejected(
    spoil: Callable[[], bytes], reason: str, tmp_path: Path
) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7)])
    one = builder()
    raw = one.open(root, root / "unused")
    (draft,) = one.plan(raw)
    (root / "val2014" / image(7)["file_name"]).write_bytes(spoil())
    with pytest.raises(Rejected) as caught:
        list(one.render(plan_of(draft), raw))
    assert caught.value.reason == reason


def test_grey_pictures_are_pictures(tmp_path: Path) -> None:
    root = lay(tmp_path / "coco", [image(7)], [annotation(1, 7)])
    (root / "val2014" / image(7)["file_name"]).write_bytes(jpeg(mode="L"))
    assert frames_of(root) == {"coco-7": jpeg(mode="L")}


def test_a_damaged_member_of_a_zip_is_one_rejection(drawn: Path, tmp_path: Path) -> None:
    root = pack(drawn, tmp_path / "coco", zipfile.ZIP_STORED)
    path = root / "val2014.zip"
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
    data = bytearray(path.read_bytes())
    data[info.header_offset + 2000] ^= 0xFF
    path.write_bytes(data)
    raw = Coco(root)
    with pytest.raises(Rejected, match="unreadable_picture"):
        raw.picture(Path(info.filename).name)
    assert raw.picture(f"COCO_val2014_{FIRST_ID + 1:012d}.jpg")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_flipped_bit_in_packed_annotations_is_an_error(compression: int, drawn: Path, tmp_path: Path) -> None:
    root = pack(drawn, tmp_path / "coco", compression)
    path = root / "annotations_trainval2014.zip"
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[1]
    data = bytearray(path.read_bytes())
    data[info.header_offset + 200] ^= 0x01
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"instances_val2014\.json"):
        list(builder().plan(Coco(root)))


@pytest.mark.parametrize("packed", [False, True])
def test_a_stamp_changes_when_the_picture_does(packed: bool, drawn: Path, tmp_path: Path) -> None:
    name = f"COCO_val2014_{FIRST_ID:012d}.jpg"
    root = (
        pack(drawn, tmp_path / "coco", zipfile.ZIP_STORED) if packed else lay(tmp_path / "coco", [image(FIRST_ID)], [])
    )
    before = Coco(root).stamp(name)
    assert before == Coco(root).stamp(name)
    if packed:
        with zipfile.ZipFile(root / "val2014.zip", "w") as archive:
            archive.writestr(f"val2014/{name}", jpeg())
    else:
        (root / "val2014" / name).write_bytes(jpeg(quality=20))
    assert Coco(root).stamp(name) != before


def test_a_reader_travels_to_other_processes(drawn: Path, tmp_path: Path) -> None:
    root = pack(drawn, tmp_path / "coco", zipfile.ZIP_STORED)
    raw = Coco(root)
    name = f"COCO_val2014_{FIRST_ID:012d}.jpg"
    assert pickle.loads(pickle.dumps(raw)).picture(name) == raw.picture(name)


def test_a_child_process_opens_a_zip_of_its_own(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Coco(pack(drawn, tmp_path / "coco", zipfile.ZIP_STORED))
    name = f"COCO_val2014_{FIRST_ID:012d}.jpg"
    raw.picture(name)
    parents = raw._zip(raw.root / "val2014.zip")
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert raw._zip(raw.root / "val2014.zip") is not parents
    assert raw.picture(name)


@pytest.mark.parametrize(
    "settings",
    [{"margin": -0.1}, {"max_iou": 1.5}, {"min_side": 0}, {"crops_per_image": 10}, {"clip_prompt": "a photo"},
     {"clip_prompt": "{x}"}, {"clip_weights": ""}, {"annotations": "/etc/passwd"}, {"annotations": "a/../../b.json"},
     {"annotations": ""}, {"pictures": "../.."}, {"pictures": "/srv"}, {"pictures": "..\\x"}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings: Row) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        CocoSettings(**settings)
