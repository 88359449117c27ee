"""ImageNet-C packed and unpacked, whole and in part; and the tables of labels that lie beside it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from build_bench import config, manifests, planning, stages
from build_bench.builders.imagenet_c import ImageNetCBuilder, ImageNetCSettings
from build_bench.errors import InputError
from build_bench.executors.local import Local
from build_bench.raw_sources import tar_index
from build_bench.raw_sources.imagenet_c import ImageNetC, Picture
from build_bench.raw_sources.imagenet_c_labels import BY_WNID, DEVKIT, KERAS, check, classes, ground_truth, tables
from build_bench.raw_sources.imagenet_c_names import stem
from build_bench.records import Draft, Rejection
from build_bench.store import Work
from tests.fakes import imagenet_c as fakes

PAINTED = {f"{one.wnid}/{stem(one.number)}": one for one in fakes.PICTURES}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("packed") / "imagenet_c"
    fakes.write(root)
    return root


@pytest.fixture
def root(packed: Path, tmp_path: Path) -> Path:
    shutil.copytree(packed, tmp_path / "raw" / "imagenet_c")
    return tmp_path / "raw" / "imagenet_c"


def planned(root: Path, scratch: Path) -> tuple[list[Draft | Rejection], ImageNetC]:
    builder = ImageNetCBuilder(ImageNetCSettings(), 0)
    raw = builder.open(root, scratch)
    return list(builder.plan(raw)), raw


def frames(raw: ImageNetC) -> dict[str, list[bytes]]:
    wanted = {key: Picture(one.corruption, one.wnid, one.number) for key, one in PAINTED.items() if not one.defect}
    return {key: list(raw.frames(picture)) for key, picture in wanted.items()}


# Layouts.


@pytest.mark.parametrize("layout", ["folders", "grouped", "below", "tars below", "half"])
def test_the_layout_changes_nothing(packed: Path, root: Path, layout: str, tmp_path: Path) -> None:
    if layout == "half":
        shutil.copytree(root, tmp_path / "half")
        for name in ("noise.tar", "digital.tar"):
            (tmp_path / "half" / name).unlink()
            shutil.move(root / name, tmp_path / "half" / name)
        (root / "blur.tar").unlink()
        fakes.unpack(root)
        for name in ("noise.tar", "digital.tar", "blur.tar"):
            shutil.move(tmp_path / "half" / name, root / name)
    elif layout == "tars below":
        shutil.copytree(root, root / "ImageNet-C")
        for path in root.glob("*.tar"):
            path.unlink()
    else:
        fakes.unpack(root, grouped=layout == "grouped")
    if layout == "below":
        found = list(root.iterdir())
        (root / "ImageNet-C").mkdir()
        for path in found:
            path.rename(root / "ImageNet-C" / path.name)
    before, raw_before = planned(packed, tmp_path / "scratch")
    after, raw = planned(root, tmp_path / "scratch")
    assert after == before
    assert raw.census == raw_before.census
    assert raw.gaps == raw_before.gaps
    assert frames(raw) == frames(raw_before)


def test_pictures_are_copied_byte_for_byte(packed: Path, tmp_path: Path) -> None:
    every = dict(file for path in packed.glob("*.tar") for file in fakes.content(path))
    _, raw = planned(packed, tmp_path / "scratch")
    for key, data in frames(raw).items():
        one = PAINTED[key]
        assert data == [every[f"{one.corruption}/{severity}/{key}.JPEG"] for severity in (5, 4, 3, 2, 1)]


def test_what_a_folder_lacks_is_looked_for_in_the_tar(root: Path, tmp_path: Path) -> None:
    before = frames(planned(root, tmp_path / "scratch")[1])
    shutil.copytree(root, tmp_path / "copy")
    fakes.unpack(tmp_path / "copy")
    one = fakes.PICTURES[0]
    lone = f"{one.corruption}/4/{one.wnid}/{stem(one.number)}.JPEG"
    (root / lone).parent.mkdir(parents=True)
    (root / lone).write_bytes(b"the folder's own")
    after = frames(planned(root, tmp_path / "scratch")[1])
    key = f"{one.wnid}/{stem(one.number)}"
    assert after[key][1] == b"the folder's own"
    assert after[key][0] == before[key][0]
    assert {k: v for k, v in after.items() if k != key} == {k: v for k, v in before.items() if k != key}


def test_links_and_doubles_in_a_tar_cost_their_sample_alone(root: Path, tmp_path: Path) -> None:
    before, _ = planned(root, tmp_path / "scratch")
    link, double = (one for one in fakes.PICTURES if one.corruption == "defocus_blur")
    files = fakes.content(root / "blur.tar")
    linked = f"defocus_blur/3/{link.wnid}/{stem(link.number)}.JPEG"
    doubled = next(file for file in files if f"/2/{double.wnid}/" in file[0])
    info, _ = fakes.member(linked, kind=b"2")
    info.linkname = "/etc/passwd"
    members = [fakes.member(*file) for file in files if file[0] != linked]
    fakes.tar_of(root / "blur.tar", [*members, (info, b""), fakes.member(doubled[0], b"other")])
    after, _ = planned(root, tmp_path / "scratch")
    refused = {one.source_key: one for one in after if isinstance(one, Rejection)}
    assert refused[f"{link.wnid}/{stem(link.number)}"].reason == "not_a_file"
    assert refused[f"{double.wnid}/{stem(double.number)}"].reason == "duplicate_member"
    assert [one for one in after if isinstance(one, Draft)] == [
        one for one in before if isinstance(one, Draft) and one.source.key not in refused
    ]


def test_stray_files_are_counted_as_a_gap(root: Path, tmp_path: Path) -> None:
    files = fakes.content(root / "blur.tar")
    fakes.repack(root / "blur.tar", [*files, ("README", b"hello"), ("../../etc/passwd", b"root")])
    before, raw = planned(root, tmp_path / "scratch")
    assert any("2 files are not named" in gap for gap in raw.gaps)
    assert not (tmp_path / "etc").exists()
    assert sum(isinstance(one, Draft) for one in before) == 11


def test_a_cut_tar_stops_the_build_and_is_named(root: Path, tmp_path: Path) -> None:
    data = (root / "extra.tar").read_bytes()
    (root / "extra.tar").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"extra\.tar: is cut off"):
        planned(root, tmp_path / "scratch")


def test_reading_writes_nothing_but_the_index(root: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    _, raw = planned(root, tmp_path / "scratch")
    frames(raw)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == [
        f"{group}.tar.index" for group in ("blur", "digital", "extra", "noise", "weather")
    ]


def test_a_second_opening_walks_no_tar(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = planned(root, tmp_path / "scratch")
    monkeypatch.setattr(tar_index, "walk", lambda *_: pytest.fail("walked again"))
    assert planned(root, tmp_path / "scratch")[0] == before


def test_opening_and_naming_its_files_reads_no_tar(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_index, "walk", lambda *_: pytest.fail("walked"))
    raw = ImageNetC(root, tmp_path / "scratch")
    assert [path.name for path in raw.files] == [f"{n}.tar" for n in ("blur", "digital", "extra", "noise", "weather")]
    assert not (tmp_path / "scratch").exists()


def test_a_picture_added_to_a_folder_makes_the_plan_stale(root: Path, tmp_path: Path) -> None:
    fakes.unpack(root)
    settings, work = config.read(["imagenet_c"], None, ()), Work(tmp_path / "work", root.parent)
    stages.build(work, settings, ["imagenet_c"], Local(1))
    first = planning.read_stamp(work, "imagenet_c")
    stages.build(work, settings, ["imagenet_c"], Local(1))
    assert planning.read_stamp(work, "imagenet_c") == first
    folder = next(root.glob("*/3/n*"))
    (folder / f"{stem(40_000)}.JPEG").write_bytes(b"new")
    later = time.time_ns() + 10**9
    os.utime(folder, ns=(later, later))
    stages.build(work, settings, ["imagenet_c"], Local(1))
    second = planning.read_stamp(work, "imagenet_c")
    assert first
    assert second
    assert second.candidates == first.candidates + 1


# Tables of labels.


def loc(separator: str = " ") -> str:
    return "".join(f"{one.wnid}{separator}{', '.join(one.synonyms)}\n" for one in classes().values())


def keras() -> str:
    named = {str(n): [one.wnid, one.synonyms[0].replace(" ", "_")] for n, one in enumerate(classes().values())}
    return json.dumps(named)


def devkit() -> str:
    found = sorted(classes().values(), key=lambda one: one.devkit)
    return "".join(f"{one.wnid} {one.devkit} {one.synonyms[0].replace(' ', '_')}\n" for one in found)


def truth() -> str:
    return "".join(f"{n % 1000 + 1}\n" for n in range(50_000))


TABLES = {
    "loc": (loc(), BY_WNID),
    "loc colon": (loc(" : "), BY_WNID),
    "keras": (keras(), KERAS),
    "devkit": (devkit(), DEVKIT),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ["a.txt", "imagenet_class_index.json"])
def test_a_table_is_recognised_by_its_content_whatever_it_is_called(table: str, name: str, tmp_path: Path) -> None:
    text, order = TABLES[table]
    (tmp_path / name).write_text(text)
    assert tables(tmp_path) == [tmp_path / name]
    assert check(tmp_path / name) == order
    assert ground_truth(tmp_path / name) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (keras().replace('"tench"', '"gon"'), "key '0': n01440764 is called 'gon', expected 'tench'"),
        (loc().replace("tench, Tinca tinca", "gon"), "line 1: n01440764 is called 'gon'"),
        (devkit().replace("kit_fox", "red_fox"), "line 1: n02119789 is called 'red_fox', expected 'kit fox'"),
        (loc().replace("n01440764", "n01440765"), "n01440765 is none of ImageNet's classes"),
        (loc().split("\n", 1)[1], "999 of 1000 classes: n01440764 is missing"),
        (loc() + loc().split("\n", 1)[0], "n01440764 stands there twice"),
        ("\n".join(reversed(loc().splitlines())), "stands where n01440764 is expected"),
        (keras().replace('"0": ', '"1000": ', 1), "n01440764 has number 1000"),
        (devkit().replace(" 1 ", " 2 ", 1), "n02119789 has number 2, expected 1"),
        (keras()[:-1], "JSON"),
        (keras().replace('"1": ', '"0": ', 1), "a key stands there twice"),
        (loc() + "something else\n", "line 1001: 'something else' is no class"),
    ],
    ids=["keras gon", "loc gon", "devkit", "wnid", "short", "double", "reversed", "keras number", "devkit number",
         "cut", "double key", "more"],
)  # fmt: skip
def test_an_edited_table_is_refused_and_the_entry_named(text: str, words: str, root: Path, tmp_path: Path) -> None:
    (root / "labels.txt").write_text(text)
    with pytest.raises(InputError) as refused:
        planned(root, tmp_path / "scratch")
    assert words in refused.value.message
    assert str(root / "labels.txt") in refused.value.message


def test_other_texts_are_no_tables(root: Path, tmp_path: Path) -> None:
    (root / "README.txt").write_text("n01440764 is the tench.\n")
    (root / "files.txt").write_text("".join(f"fog/3/{wnid}/{stem(1)}.JPEG\n{wnid}/x.JPEG\n" for wnid in classes()))
    (root / "counts.json").write_text(json.dumps(dict.fromkeys(classes(), 50)))
    assert tables(root) == []
    planned(root, tmp_path / "scratch")


def test_a_folder_that_the_ground_truth_contradicts_is_refused(root: Path, tmp_path: Path) -> None:
    before, _ = planned(root, tmp_path / "scratch")
    ids = truth().split()
    for one in fakes.PICTURES[1:]:
        wanted, at = str(classes()[one.wnid].devkit), one.number - 1
        other = ids.index(wanted)
        ids[at], ids[other] = ids[other], ids[at]
    for one in fakes.PICTURES[1:]:
        assert ids[one.number - 1] == str(classes()[one.wnid].devkit)
    (root / "ILSVRC2012_validation_ground_truth.txt").write_text("\n".join(ids))
    after, raw = planned(root, tmp_path / "scratch")
    wrong = [one for one in after if isinstance(one, Rejection) and one.reason == "label_mismatch"]
    assert [one.source_key for one in wrong] == [f"{fakes.PICTURES[0].wnid}/{stem(fakes.PICTURES[0].number)}"]
    assert len(after) == len(before)
    assert root / "ILSVRC2012_validation_ground_truth.txt" in raw.files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (truth().replace("1000\n", "1001\n", 1), "line 1000: '1001' is none"),
        (truth() + "5\n", "50001 ids: 50000"),
        ("2\n" + truth().split("\n", 1)[1], "id 2: 51 pictures, expected 50"),
        ("".join(f"{n % 1000}\n" for n in range(50_000)), "line 1: '0' is none of the devkit's ids"),
    ],
    ids=["id", "length", "count", "from zero"],
)
def test_an_edited_ground_truth_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "truth.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        ground_truth(tmp_path / "truth.txt")


def test_the_shipped_table_is_in_order_and_complete() -> None:
    rows = list(csv.DictReader(io.StringIO(manifests.text("annotations/imagenet_c_classes.csv"))))
    assert [row["wnid"] for row in rows] == sorted({row["wnid"] for row in rows})
    assert sorted(int(row["devkit"]) for row in rows) == list(range(1, 1001))
