"""What a stranger's archive may hold: no member leads a reader out of its folder, none is refused without a word."""

from __future__ import annotations

import io
import pickle
import re
import stat
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from build_bench import raw_sources
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources import members, rod_spool
from build_bench.raw_sources.changeit import ChangeIt
from build_bench.raw_sources.coco import Coco
from build_bench.raw_sources.imagenet_c_names import Names, stem
from build_bench.raw_sources.members import why_name
from build_bench.raw_sources.mvp_n import MvpN
from build_bench.raw_sources.rod import Rod
from build_bench.raw_sources.tar_index import walk
from build_bench.raw_sources.vsod import Vsod
from tests.fakes import changeit
from tests.fakes import imagenet_c as tars
from tests.fakes import rod as packed_rod
from tests.fakes import vsod as clips

OUT = "leads out of the archive"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a/b.jpg", ""), ("./a/b.jpg", ""), ("a/..b.jpg", ""), ("a../b", ""), ("a/.DS_Store", ""), ("ü/naïve.jpg", ""),
        ("", "has no name"), ("__MACOSX/a/._b.jpg", ""), ("a/" * 30 + "b", ""), ("a/", ""),
        ("../a", OUT), ("a/../../b", OUT), ("a/..", OUT), ("..", OUT), ("/etc/passwd", OUT), ("//host/share", OUT),
        ("..\\a", OUT), ("a\\..\\b", OUT), ("\\\\host\\share", OUT), ("C:\\a", OUT), ("c:/a", OUT), ("C:a", OUT),
        ("a\\b", "has a backslash or a colon in its name"), ("a/b:stream", "has a backslash or a colon in its name"),
        ("a\0.jpg", "has a control character in its name"), ("a\n.jpg", "has a control character in its name"),
        ("a\x1b[2Jb", "has a control character in its name"), ("a\x9bb", "has a control character in its name"),
        ("a/" * 40 + "b", "has a name of 81 characters in 40 folders"),
        ("a" * 1001, "has a name of 1001 characters in 0 folders"),
    ],
)  # fmt: skip
def test_a_name_is_judged_by_where_it_leads_and_what_it_holds(name: str, why: str) -> None:
    assert why_name(name) == why


@given(st.text(st.sampled_from("a./\\:C\0\n"), max_size=12), st.sampled_from(["/work/raw", "/a"]))
@example("a/./../..", "/a")
def test_a_name_that_passes_stays_below_its_folder(name: str, folder: str) -> None:
    if not why_name(name):
        assert (Path(folder) / name).resolve().is_relative_to(folder)


@pytest.mark.parametrize(
    ("digits", "value"), [(b"0", 0), (b"0512", 512), (b"9" * 20, 10**20 - 1), (b"9" * 21, -1), (b"9" * 5000, -1),
                          (b"", -1), (b"-1", -1), (b" 1", -1), (b"1e3", -1), (b"\xd9\xa1", -1)],
)  # fmt: skip
def test_a_number_of_any_length_is_read_or_refused(digits: bytes, value: int) -> None:
    assert members.number(digits) == value


def info(name: str, size: int = 10, packed: int = 10, **fields: Any) -> zipfile.ZipInfo:
    """A member as its zip's list has it."""
    made = zipfile.ZipInfo("x")
    made.filename = made.orig_filename = name
    made.file_size, made.compress_size = size, packed
    for field, value in fields.items():
        setattr(made, field, value)
    return made


@pytest.mark.parametrize(
    ("fields", "largest", "why"),
    [
        ({}, None, ""),
        ({"size": 10_320, "compress_type": 8}, None, ""),
        ({"size": 10_321, "compress_type": 8}, None, "claims 10321 bytes, more than 10 packed ones can hold"),
        ({"size": 11}, None, "claims 11 bytes, more than 10 packed ones can hold"),
        ({"size": 1 << 40}, None, f"has {1 << 40} bytes, expected at most {raw_sources.LARGEST}"),
        ({"size": 101, "packed": 101}, 100, "has 101 bytes, expected at most 100"),
        ({"flag_bits": 1}, None, "is encrypted"),
        ({"compress_type": 9}, None, "is packed by method 9, expected 0 or 8"),
    ],
)
def test_a_member_that_claims_too_much_is_not_unpacked(fields: dict[str, int], largest: int | None, why: str) -> None:
    assert members.unfit(info("a", **fields), largest) == why


def mode(kind: int) -> dict[str, int]:
    return {"create_system": 3, "external_attr": (kind | 0o644) << 16}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (0, ""), (stat.S_IFREG, ""), (stat.S_IFDIR, ""), (stat.S_IFLNK, "is a link"), (stat.S_IFIFO, members.NO_FILE),
        (stat.S_IFCHR, members.NO_FILE), (stat.S_IFBLK, members.NO_FILE), (stat.S_IFSOCK, members.NO_FILE),
    ],
)  # fmt: skip
def test_links_and_devices_of_a_zip_are_refused(kind: int, why: str) -> None:
    assert members.refused([info("a", **mode(kind))]) == ({"a": why} if why else {})


def test_names_that_mean_two_members_are_refused_and_folders_may_repeat() -> None:
    found = members.refused([info(name) for name in ("a", "a", "b", "B", "c", "d/", "d/", "D/")])
    assert found == {
        "a": "stands there 2 times", "b": "differs only in case from B", "B": "differs only in case from b",
    }  # fmt: skip


def test_both_spellings_of_a_name_are_judged() -> None:
    cut = info("good.jpg", orig_filename="good.jpg\0evil")
    assert set(members.refused([cut])) == {"good.jpg", "good.jpg\0evil"}
    assert members.refused([info("../evil", orig_filename="good")])["good"] == OUT


@pytest.mark.parametrize("data", [b"", b"<html>", b"PK\3\4" + bytes(90), b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_zip_is_a_sentence(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.zip: not a readable zip"):
        members.open_zip(tmp_path / "a.zip")


def test_a_gap_names_the_first_and_counts_the_rest() -> None:
    (line,) = members.gap(Path("x/a.zip"), {f"a{n}\n": "is a link" for n in range(10)})
    assert line.startswith("10 members of a.zip refused: a0\\n (is a link), ")
    assert line.endswith(" and 2 more")
    assert not list(members.gap(Path("a.zip"), {}))


# Each reader.


def add(path: Path, name: str, data: bytes = b"evil", **fields: Any) -> None:
    """Put a further member into a zip; `name` as it is, whatever `zipfile` would make of it."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore", UserWarning)
        made = info(name, len(data), len(data), **fields)
        archive.writestr(made, data)


def coco_zip(root: Path) -> Path:
    (root / "annotations").mkdir(parents=True)
    (root / "annotations" / "instances_val2014.json").write_text("{}")
    path = root / "val2014.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.jpg", "b.jpg", "c.jpg"):
            archive.writestr(f"val2014/{name}", name)
    return path


def vsod_zip(root: Path) -> Path:
    clips.clip(root, "test_0001", [None, 0.5])
    clips.table(root, "test_0001,count,3,,,")
    clips.pack(root)
    return root / f"{clips.DATASET}.zip"


def test_coco_names_a_refused_picture_and_a_gap_the_members_that_no_image_needs(tmp_path: Path) -> None:
    path = coco_zip(tmp_path / "coco")
    first, second = "val2014/a.jpg", "val2014/b.jpg"
    add(path, first)
    add(path, second.upper())
    add(path, "../../evil.jpg")
    raw = Coco(path.parent)
    for name, why in ((first, "stands there 2 times"), (second, "differs only in case")):
        for read in (raw.has, raw.picture):
            with pytest.raises(Rejected, match=f"refused_member: val2014.zip:{name}: {why}"):
                read(PurePosixPath(name).name)
    assert raw.picture("c.jpg") == b"c.jpg"
    assert any(f"../../evil.jpg ({OUT})" in gap for gap in raw.gaps)


@pytest.mark.parametrize(
    "member", [{"name": "../a/instances_val2014.json"}, {"name": "a/instances_val2014.json", **mode(stat.S_IFLNK)}]
)
def test_cocos_table_is_read_from_no_refused_member(member: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "val2014").mkdir()
    zipfile.ZipFile(tmp_path / "annotations_trainval2014.zip", "w").close()
    add(tmp_path / "annotations_trainval2014.zip", **member)
    with pytest.raises(InputError, match=rf"annotations_trainval2014\.zip: {re.escape(member['name'])}: "):
        Coco(tmp_path)


def test_vsod_rejects_the_video_of_a_refused_frame_when_it_plans(tmp_path: Path) -> None:
    path = vsod_zip(tmp_path / "vsod")
    add(path, f"{clips.DATASET}/Data/test/test_0001/0002.JPEG", b"/etc/passwd", **mode(stat.S_IFLNK))
    add(path, "../Data/test/test_0002/0000.JPEG")
    add(path, "readme\x1b[2J")
    raw = Vsod(path.parent)
    first, second = raw.videos()
    assert first.problem == ("refused_member", f"{path.name}:{clips.DATASET}/Data/test/test_0001/0002.JPEG: is a link")
    assert second.problem == ("refused_member", f"{path.name}:../Data/test/test_0002/0000.JPEG: {OUT}")
    with pytest.raises(Rejected, match="is a link"):
        raw.frame(first.whose, "0002.JPEG")
    assert any("readme\\x1b[2J (has a control character in its name)" in gap for gap in raw.gaps)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.csv", "ChangeIt-main/annotations/APPLE/x", "ChangeIt-main/a\\b",
        "//x", "//a/b/c.csv", f"__MACOSX/{'a/' * 20_000}x",
    ],
)  # fmt: skip
def test_changeits_zip_is_a_table_and_not_read_with_a_refused_member(name: str, tmp_path: Path) -> None:
    changeit.annotate(tmp_path, "apple", "aaaaaaaaaaa", [0, 1])
    for table in ("categories.csv", "labels.csv"):
        (tmp_path / table).write_text("")
    (tmp_path / "videos").mkdir()
    changeit.pack(tmp_path)
    assert len(list(ChangeIt(tmp_path)._base.iterdir()))
    add(tmp_path / "ChangeIt-main.zip", name)
    if "APPLE" in name:
        add(tmp_path / "ChangeIt-main.zip", name.lower().replace("changeit", "ChangeIt"))
    with pytest.raises(InputError, match=r"ChangeIt-main\.zip: "):
        ChangeIt(tmp_path)


def test_a_damaged_table_in_changeits_zip_is_a_sentence(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ChangeIt.zip", "w") as archive:
        archive.writestr("annotations/apple/aaaaaaaaaaa.fps1.csv", "0,1\n1,2\n")
    data = (tmp_path / "ChangeIt.zip").read_bytes()
    (tmp_path / "ChangeIt.zip").write_bytes(data.replace(b"0,1\n", b"0,3\n", 1))
    (found,) = ChangeIt(tmp_path).videos()
    assert "can't be read: Bad CRC-32" in found.problem


def test_imagenet_cs_strays_are_named_when_they_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "fog.tar"
    good = f"fog/3/n01440764/{stem(1)}.JPEG"
    hidden, _ = tars.member("x", b"evil")
    hidden.pax_headers = {"path": f"{good}\0/evil"}
    link, _ = tars.member("fog/evil", kind=tarfile.SYMTYPE)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for one, data in (tars.member(f"../{good}", b"evil"), (hidden, b"evil"), (link, b""), tars.member("README")):
            tar.addfile(one, io.BytesIO(data))
    index = walk(path, Names())
    assert (len(index.keys), index.strays) == (0, 4)
    assert [why.rpartition(" (")[2] for why in index.refused] == [
        f"{OUT})", "has a backslash or a colon in its name)", f"{members.NO_FILE})",
    ]  # fmt: skip


def test_a_packed_tar_that_grows_beyond_reason_stops_and_names_the_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rod_spool, "ROOM", 1 << 20)
    (tmp_path / "rod_1.tar.gz").write_bytes(packed_rod.packed([("rod_1/x/large.jpg", bytes(4 << 20))]))
    with pytest.raises(InputError, match=r"rod_1\.tar\.gz: rod_1/x/large\.jpg would make it 4,\d+,\d+ bytes"):
        list(Rod(tmp_path, tmp_path / "scratch").entries())
    assert not list((tmp_path / "scratch").glob("*"))


# No name leads any reader astray. Every file that Python opens while a reader works is looked at.

_OPENED: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _OPENED is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _OPENED.append(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace"))


sys.addaudithook(_note)


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Nothing outside `folder` is opened meanwhile but the program's own files, and nothing appears beside it."""
    global _OPENED
    ours = [folder, Path(members.__file__).parents[1], Path(sys.prefix), Path(sys.base_prefix)]
    before = sorted(folder.parent.iterdir())
    _OPENED = []
    try:
        yield
    finally:
        opened, _OPENED = _OPENED, None
    astray = [path for path in opened if not any(Path(path).resolve().is_relative_to(own) for own in ours)]
    assert not [path for path in astray if not path.startswith(("/proc/", "/dev/null"))]
    assert sorted(folder.parent.iterdir()) == before


PART = st.sampled_from(
    ["..", ".", "", "a", "C:", "/", "\\", "\0", "..\\..", "\x1b[2J", "\n", "val2014", "Data", "test"]
)
LAST = st.sampled_from(
    [
        "natural_bluebl_brownc-banana-s3.jpg",
        "0000.JPEG",
        "x.fps1.csv",
        "test_0000_100.pkl",
        "passwd",
        "a.jpg",
        "0000_0.png",
    ]
)
NAMES = st.lists(
    st.builds(lambda lead, parts, last: lead + "/".join([*parts, last]),
              st.sampled_from(["", "/", "../", "rod_1/banana/", "X/Data/test/", "data/test/0000/", "annotations/"]),
              st.lists(PART, max_size=4), LAST),
    min_size=1, max_size=4,
)  # fmt: skip


def zipped(path: Path, names: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    zipfile.ZipFile(path, "w").close()
    for name in names:
        add(path, name)


def read_rod(root: Path, names: list[str]) -> list[str]:
    (root / "rod").mkdir()
    (root / "rod" / "rod_1.tar.gz").write_bytes(packed_rod.packed([(name, b"evil") for name in names]))
    raw = Rod(root / "rod", root / "scratch")
    entries = list(raw.entries())
    used = [picture for entry in entries if not entry.problem for picture in entry.steps.values()]
    for picture in used:
        raw.picture(picture)
    return [picture.member for picture in used]


def read_vsod(root: Path, names: list[str]) -> list[str]:
    zipped(root / "vsod" / "a.zip", [*names, "Data/test/good/0000.JPEG"])
    clips.table(root / "vsod", "good,count,3,,,")
    raw = Vsod(root / "vsod")
    used = []
    for video in raw.videos():
        for name in video.frames:
            try:
                raw.frame(video.whose, name)
                used.append(f"Data/{'/'.join(video.whose)}/{name}")
            except Rejected:
                continue
    return [*used, *raw.gaps]


def read_mvp_n(root: Path, names: list[str]) -> list[str]:
    views = [f"test/0000/0007/000{n}_{n}.png" for n in (0, 1)]
    zipped(root / "mvp_n" / "data.zip", [*names, *(f"data/{view}" for view in views)])
    add(root / "mvp_n" / "data.zip", "data/test_list/test_0001_100.pkl", pickle.dumps([views]))
    raw = MvpN(root / "mvp_n")
    used = [view.path for entry in raw.sets() if not entry.problem for view in entry.views]
    for view in used:
        if f"test/{view}" in raw._index:
            raw.picture(view)
    return [*used, *raw._index, *raw.gaps]


def read_coco(root: Path, names: list[str]) -> list[str]:
    path = coco_zip(root / "coco")
    for name in names:
        add(path, name)
    raw = Coco(path.parent)
    used = []
    for name in {name.removeprefix("val2014/") for name in names}:
        try:
            raw.picture(name)
            used.append(name)
        except Rejected:
            continue
    return [*used, *raw.gaps]


def read_imagenet_c(root: Path, names: list[str]) -> list[str]:
    tars.repack(root / "fog.tar", [(name, b"evil") for name in names], tarfile.PAX_FORMAT)
    return list(walk(root / "fog.tar", Names()).refused)


def read_changeit(root: Path, names: list[str]) -> list[str]:
    zipped(root / "changeit" / "ChangeIt.zip", [*names, "annotations/apple/aaaaaaaaaaa.fps1.csv"])
    raw = ChangeIt(root / "changeit")
    return [f"annotations/{one.category}/{one.video}" for one in raw.videos()]


@pytest.mark.parametrize("read", [read_rod, read_vsod, read_mvp_n, read_coco, read_imagenet_c, read_changeit])
@settings(max_examples=12)
@given(names=NAMES)
@example(names=["../../../etc/passwd", "/etc/passwd", "..\\..\\evil"])
def test_no_member_leads_a_reader_out_of_its_folder(
    read: Callable[[Path, list[str]], list[str]], names: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "raw"
        root.mkdir()
        with watched(root):
            try:
                said = read(root, names)
            except InputError as error:
                said = [error.message.replace(str(root), "")]
        for text in said:
            assert text.isprintable()
        for path in (text for text in said if not re.search(r" refused: |\(| ", text)):
            assert (root / path).resolve().is_relative_to(root)
