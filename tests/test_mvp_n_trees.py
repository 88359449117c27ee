"""MVP-N packed and unpacked: the same names, the same bytes; what a zip must not hold is refused by name."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import pytest

from build_bench.builders.mvp_n import MvpNBuilder, MvpNSettings
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources.mvp_n import MvpN
from build_bench.records import Draft, Rejection
from tests.fakes import mvp_n as fake
from tests.fakes.mvp_n import key_of, paths

SETS = {"0000": [paths("0000", "001"), paths("0000", "01", first=5)], "0001": [paths("0001", "0001")]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fake.draw(tmp_path / "mvp_n", SETS)
    return tmp_path / "mvp_n"


def planned(raw: MvpN) -> tuple[list[Draft], list[Rejection]]:
    outcomes = list(MvpNBuilder(MvpNSettings(), 0).plan(raw))
    return [o for o in outcomes if isinstance(o, Draft)], [o for o in outcomes if isinstance(o, Rejection)]


def bytes_of(raw: MvpN) -> dict[str, bytes]:
    return {path: raw.picture(path) for sets in SETS.values() for views in sets for path in views}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("base", ["data/", "", "MVP-N/data/"])
def test_packed_and_unpacked_give_the_same(root: Path, base: str, method: int) -> None:
    folder = MvpN(root)
    drafts, pictures = planned(folder), bytes_of(folder)
    fake.pack(root, base, method)
    packed = MvpN(root)
    assert planned(packed) == drafts
    assert bytes_of(packed) == pictures
    assert [path.name for path in packed.files] == ["classes.csv", "data.zip"]
    assert sorted(path.name for path in root.iterdir()) == ["classes.csv", "data.zip"]


@pytest.mark.parametrize("inner", ["data/data", "."])
def test_an_unpacked_tree_is_found_one_folder_up_or_down(root: Path, inner: str) -> None:
    drafts = planned(MvpN(root))
    (root / "data").rename(root / "old")
    (root / inner).mkdir(parents=True, exist_ok=True)
    for part in (root / "old").iterdir():
        part.rename(root / inner / part.name)
    assert planned(MvpN(root)) == drafts


def test_what_the_folder_lacks_is_looked_for_in_the_zip(root: Path) -> None:
    drafts, pictures = planned(MvpN(root)), bytes_of(MvpN(root))
    copy = root.parent / "copy"
    fake.draw(copy, SETS)
    fake.pack(copy).rename(root / "data.zip")
    (root / "data" / "test_list" / "test_0000_100.pkl").unlink()
    (root / "data" / "test" / "0001" / "0007" / "0000_0.png").unlink()
    assert planned(MvpN(root)) == drafts
    assert bytes_of(MvpN(root)) == pictures


def test_a_zip_that_a_browser_renamed_is_found_if_it_is_the_only_one(root: Path) -> None:
    fake.pack(root, name="data (1).zip")
    assert len(planned(MvpN(root))[0]) == 3
    (root / "other.zip").write_bytes(b"")
    with pytest.raises(InputError, match=r"2 zips, data \(1\).zip and other.zip"):
        MvpN(root)


def spoil(root: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> MvpN:
    """The tree packed, with further members."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns of a duplicate name
        with zipfile.ZipFile(fake.pack(root), "a") as archive:
            for member, data in members:
                archive.writestr(member, data)
    return MvpN(root)


VICTIM = "0000/0007/0000_0.png"


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (f"data/test/{VICTIM}", "stands there 2 times"),
        (f"data/test/{VICTIM}".upper(), "differs only in case"),
        (f"data/test/{VICTIM.replace('.png', '.PNG')}", "differs only in case"),
    ],
)
def test_a_name_that_means_two_members_is_refused_with_the_sets_that_use_it(root: Path, member: str, why: str) -> None:
    raw = spoil(root, (member, fake.png("another")))
    drafts, rejections = planned(raw)
    assert [one.source.key for one in drafts] == sorted(
        [key_of("0000", SETS["0000"][1]), key_of("0001", SETS["0001"][0])]
    )
    assert [one.reason for one in rejections] == ["refused_member"]
    assert VICTIM in rejections[0].detail
    assert why in rejections[0].detail
    assert any(VICTIM in gap and why in gap for gap in raw.gaps)


@pytest.mark.parametrize(
    "name", ["../evil.png", "/etc/passwd", "data/test/../../../evil.png", "data\\..\\evil.png", "C:/evil.png"]
)
def test_a_member_that_leads_out_is_refused_by_name_and_the_rest_is_built(root: Path, name: str) -> None:
    raw = spoil(root, (name, b"evil"))
    drafts, rejections = planned(raw)
    assert (len(drafts), rejections) == (3, [])
    (gap,) = [gap for gap in raw.gaps if "refused" in gap]
    assert f"{ascii(name.removeprefix('data/'))[1:-1]} (leads out of the archive)" in gap
    assert not list(root.parent.rglob("evil*"))


def test_a_link_is_not_followed(root: Path) -> None:
    (root / "data" / "test" / VICTIM).unlink()
    raw = spoil(root, (fake.link_member(f"data/test/{VICTIM}"), b"/etc/passwd"))
    drafts, rejections = planned(raw)
    assert len(drafts) == 2
    assert [(one.reason, one.detail) for one in rejections] == [("refused_member", f"test/{VICTIM}: is a link")]


def test_a_list_that_is_refused_is_one_candidate(root: Path) -> None:
    raw = spoil(root, ("data/test_list/test_0000_100.pkl", b"\x80\x04]."))
    drafts, rejections = planned(raw)
    assert len(drafts) == 1
    assert [(one.source_key, one.reason) for one in rejections] == [("test_list/test_0000_100.pkl", "refused_member")]


def test_names_that_differ_in_case_alone_are_refused_in_a_folder_too(root: Path) -> None:
    other = root / "data" / "test" / VICTIM.replace(".png", ".PNG")
    other.write_bytes(b"")
    if len(list(other.parent.iterdir())) < 5:
        pytest.skip("this disk doesn't tell such names apart")
    assert [one.reason for one in planned(MvpN(root))[1]] == ["refused_member"]


def test_links_in_the_users_own_folder_are_followed(root: Path) -> None:
    drafts = planned(MvpN(root))
    (root / "data" / "test" / "0000").rename(root.parent / "elsewhere")
    (root / "data" / "test" / "0000").symlink_to(root.parent / "elsewhere", target_is_directory=True)
    (root.parent / "elsewhere" / "0007" / "around").symlink_to(root, target_is_directory=True)
    assert planned(MvpN(root)) == drafts


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_whose_bytes_are_damaged_is_rejected(root: Path, method: int) -> None:
    path = fake.pack(root, method=method)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"data/test/{VICTIM}")
    data = bytearray(path.read_bytes())
    data[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Rejected, match="unreadable_picture"):
        MvpN(root).picture(VICTIM)


@pytest.mark.parametrize("data", [b"", b"<html>confirm</html>", b"PK\3\4" + b"\0" * 99])
def test_what_is_no_zip_is_named(root: Path, data: bytes) -> None:
    fake.pack(root).write_bytes(data)
    with pytest.raises(InputError, match=r"data\.zip: not a readable zip"):
        list(MvpN(root).sets())


def test_a_zip_that_is_cut_off_is_named(root: Path) -> None:
    path = fake.pack(root)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match=r"data\.zip"):
        list(MvpN(root).sets())


def test_a_zip_of_something_else_is_named(root: Path) -> None:
    path = fake.pack(root)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pictures/cat.png", b"")
    with pytest.raises(InputError, match=r"expected test_list/ once in it, found nowhere"):
        list(MvpN(root).sets())


def test_a_zip_with_two_trees_is_not_guessed_at(root: Path) -> None:
    raw = spoil(root, ("copy/data/test_list/test_0000_100.pkl", b"\x80\x04]."))
    with pytest.raises(InputError, match="found below copy/data/, data/"):
        list(raw.sets())


def test_pictures_without_lists_are_an_error_that_says_so(root: Path) -> None:
    for path in (root / "data" / "test_list").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"no list test_list/test_<class>_100\.pkl"):
        list(MvpN(root).sets())
