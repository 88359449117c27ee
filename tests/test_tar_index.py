"""The index of a tar says what `tarfile` says, and says so of a damaged one."""

from __future__ import annotations

import os
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench.errors import InputError
from build_bench.raw_sources import tar_index
from build_bench.raw_sources.imagenet_c_names import Names, stem
from build_bench.raw_sources.tar_index import DOUBLE, LINK, PLAIN, TarIndex, indexed, walk
from tests.fakes.imagenet_c import File, member, repack, tar_of

FORMS = {"gnu": tarfile.GNU_FORMAT, "ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT}
LONG = "very/" * 24


def any_name(data: bytes) -> int:
    """Every name is wanted: its checksum is its key."""
    return hash(data[: data.index(0)]) & 0x7FFFFFFFFFFFFFFF or 1


def found(path: Path, index: TarIndex) -> dict[int, bytes]:
    data = path.read_bytes()
    spans = zip(index.keys.tolist(), index.offsets.tolist(), index.sizes.tolist(), strict=True)
    return {key: data[offset : offset + size] for key, offset, size in spans}


def picture(number: int, corruption: str = "fog", severity: int = 3, wnid: str = "n01440764") -> str:
    return f"{corruption}/{severity}/{wnid}/{stem(number)}.JPEG"


def three(path: Path) -> list[File]:
    files = [(picture(n), bytes([n]) * (700 * n)) for n in (1, 2, 3)]
    repack(path, files)
    return files


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["fog/a", "./fog/a", f"{LONG}a", f"{LONG}ä", "x" * 100, f"{'y' * 90}/{'z' * 99}"])
def test_names_are_read_as_each_format_writes_them(tmp_path: Path, form: str, name: str) -> None:
    path = tmp_path / "a.tar"
    repack(path, [("first", b"1"), (name, b"content"), ("last", b"")], FORMS[form])
    whole = {any_name(n.encode() + b"\0"): data for n, data in (("first", b"1"), (name, b"content"), ("last", b""))}
    assert found(path, walk(path, any_name)) == whole


FILES = st.lists(st.tuples(st.text("abc/_ä0", min_size=1, max_size=260), st.binary(max_size=2000)), max_size=12)


@given(FILES, st.sampled_from(sorted(FORMS)))
def test_the_index_says_what_tarfile_says(files: list[File], form: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tar"
        try:
            repack(path, [(f"f{n}{name}x", data) for n, (name, data) in enumerate(files)], FORMS[form])
        except ValueError:  # the format can't hold that name
            return
        with tarfile.open(path) as tar:
            expected = {
                any_name(one.name.encode("utf-8", "surrogateescape") + b"\0"): reader.read()
                for one in tar
                if (reader := tar.extractfile(one))
            }
        assert found(path, walk(path, any_name)) == expected


def test_headers_are_found_however_often_pages_are_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tar"
    files = [(f"{LONG if n % 3 == 0 else ''}{n}", bytes(n * 137)) for n in range(60)]
    repack(path, files, tarfile.PAX_FORMAT)
    expected = found(path, walk(path, any_name))
    assert len(expected) == 60
    for window in (0, 1, 4096, 5000):
        monkeypatch.setattr(tar_index, "WINDOW", window)
        assert found(path, walk(path, any_name)) == expected


def test_pictures_are_known_with_or_without_a_group_and_folders_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "weather.tar"
    members = [member(f"fog/{s}/", kind=tarfile.DIRTYPE) for s in range(1, 6)]
    leads = ("", "./", "weather/", "./weather/", "ImageNet-C/")
    members += [member(lead + picture(n), bytes([n])) for n, lead in enumerate(leads, 1)]
    tar_of(path, members)
    index = walk(path, Names())
    assert sorted(found(path, index).values()) == [bytes([n]) for n in range(1, 6)]
    assert index.strays == 0


@pytest.mark.parametrize(
    "name",
    [
        f"../{picture(1)}", f"/{picture(1)}", f"fog/../{picture(1)}", picture(1).replace("fog", "smog"),
        picture(1, severity=6), picture(1, severity=0), picture(0), picture(50_001), picture(99_999_999),
        picture(1).replace(".JPEG", ".jpg"), f"{picture(1)}.txt", "._ILSVRC2012_val_00000001.JPEG", "README",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_or_is_none_is_left_aside(tmp_path: Path, name: str) -> None:
    path = tmp_path / "weather.tar"
    repack(path, [(picture(2), b"2"), (name, b"x"), (picture(3), b"3")])
    index = walk(path, Names())
    assert sorted(found(path, index).values()) == [b"2", b"3"]
    assert index.strays == 1


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_file_is_known_as_such(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "weather.tar"
    info, _ = member(picture(2), kind=kind)
    info.linkname = "../../etc/passwd"
    tar_of(path, [member(picture(1), b"1"), (info, b""), member(picture(3), b"3")])
    assert walk(path, Names()).kinds.tolist() == [PLAIN, LINK, PLAIN]


def test_a_name_that_stands_there_twice_is_known_as_such(tmp_path: Path) -> None:
    path = tmp_path / "weather.tar"
    repack(path, [(picture(1), b"1"), (picture(2), b"2"), (f"./{picture(1)}", b"other")])
    assert walk(path, Names()).kinds.tolist() == [DOUBLE, DOUBLE, PLAIN]


@pytest.mark.parametrize("keep", [300, 512, 600, 1024 + 512, 1024 + 512 + 100, 3584])
def test_a_cut_tar_is_named_wherever_it_was_cut(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"weather\.tar: is cut off") as cut:
        walk(path, Names())
    assert "curl -C -" in cut.value.hint


def test_a_tar_cut_between_two_members_lacks_the_mark_of_the_end(tmp_path: Path) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    end = int(walk(path, Names()).offsets[2]) - tar_index.BLOCK
    path.write_bytes(path.read_bytes()[:end])
    with tarfile.open(path) as tar:
        assert len(tar.getnames()) == 2  # which is why its silence is no proof
    with pytest.raises(InputError, match="cut off after"):
        walk(path, Names())


@pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html>" + b" " * 2000, bytes(range(256)) * 8])
def test_what_is_no_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "weather.tar"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"weather\.tar"):
        walk(path, Names())


@given(st.integers(0, 511), st.integers(0, 7), st.integers(0, 2))
def test_a_flipped_bit_in_a_header_is_noticed(place: int, bit: int, which: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weather.tar"
        three(path)
        data = bytearray(path.read_bytes())
        before = walk(path, Names())
        data[int(before.offsets[which]) - tar_index.BLOCK + place] ^= 1 << bit
        path.write_bytes(data)
        if 148 <= place < 156:  # in the checksum itself: padding may differ, digits may not
            try:
                assert walk(path, Names()).offsets.tolist() == before.offsets.tolist()
            except InputError:
                return
        else:
            with pytest.raises(InputError, match=r"weather\.tar"):
                walk(path, Names())


@pytest.mark.parametrize("field", [b"-0000000512\0", b"\xff" * 12])
def test_a_size_below_zero_does_not_send_the_walk_back(tmp_path: Path, field: bytes) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    data = bytearray(path.read_bytes())
    data[124:136] = field
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"weather\.tar: no sound tar header at byte 0"):
        walk(path, Names())


@pytest.mark.parametrize(
    "records",
    [
        b"5014 size=" + b"9" * 5003 + b"\n", b"9" * 5000 + b" path=a\n", b"0 path=a\n", b"1 path=a\n", b"99 path=a\n",
        b"11 size=-5\n", b"12 size=1e3\n", b"28 size=" + b"9" * 19 + b"\n",
    ],
)  # fmt: skip
def test_an_extended_header_that_makes_no_sense_is_a_sentence(tmp_path: Path, records: bytes) -> None:
    path = tmp_path / "weather.tar"
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, len(records)
    first = header.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % tar_index.BLOCK)
    three(path)
    path.write_bytes(first + path.read_bytes())
    with pytest.raises(InputError, match=r"weather\.tar: (no sound tar header|is cut off)"):
        walk(path, any_name)


BINARY = b"\x80" + (700).to_bytes(11, "big")


@pytest.mark.parametrize("field", [b"       1274\0", b"00000001274 ", b"1274\0\0\0\0\0\0\0\0", BINARY])
def test_the_rarer_spellings_of_a_size_are_read(tmp_path: Path, field: bytes) -> None:
    path = tmp_path / "weather.tar"
    files = three(path)
    data = bytearray(path.read_bytes())
    data[124:136] = field
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path.write_bytes(data)
    assert sorted(found(path, walk(path, Names())).values()) == sorted(content for _, content in files)


def test_the_index_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    first = indexed(path, tmp_path / "scratch", Names())
    monkeypatch.setattr(tar_index, "walk", lambda *_: pytest.fail("walked again"))
    again = indexed(path, tmp_path / "scratch", Names())
    for column in ("keys", "offsets", "sizes", "kinds"):
        assert np.array_equal(getattr(first, column), getattr(again, column))
        assert getattr(first, column).dtype == getattr(again, column).dtype
    assert again.strays == first.strays


@pytest.mark.parametrize("change", ["size", "time"])
def test_a_tar_of_another_size_or_time_is_walked_again(tmp_path: Path, change: str) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    indexed(path, tmp_path / "scratch", Names())
    status = path.stat()
    repack(path, [(picture(9), b"9" * 40_000 if change == "size" else b"9")])
    if change == "size":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert len(indexed(path, tmp_path / "scratch", Names()).keys) == 1


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"not json\n123"])
def test_a_damaged_index_is_made_again(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "weather.tar"
    three(path)
    good = indexed(path, tmp_path / "scratch", Names())
    (kept,) = (tmp_path / "scratch").iterdir()
    whole = kept.read_bytes()
    for broken in (damage, whole[:-1], whole[:-9] + b"\xee" + whole[-8:], whole + b"x"):
        kept.write_bytes(broken)
        assert np.array_equal(indexed(path, tmp_path / "scratch", Names()).offsets, good.offsets)
        assert kept.read_bytes() == whole
