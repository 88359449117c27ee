"""A tar that is read once says what is wrong with it, however a header spells it."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from build_bench.errors import InputError
from build_bench.raw_sources import rod_tar
from build_bench.raw_sources.rod_tar import Tar


def tar_of(*members: tuple[str, bytes, bytes]) -> bytes:
    """A tar of (name, type flag, content), with its end mark."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(data)
            header = info.tobuf(tarfile.USTAR_FORMAT)
            tar.fileobj.write(header + data + bytes(-len(data) % 512))  # type: ignore[union-attr]
    return buffer.getvalue()


def names(data: bytes) -> list[str]:
    return [info.name for info in Tar(io.BytesIO(data), "rod_0.tar.gz")]


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        (b"9" * 5000 + b" path=a\n", "extended header that can't be read"),
        (b"0 path=a\n", "extended header that can't be read"),
        (b"2 path=a\n", "extended header that can't be read"),
        (b"99 path=a\n", "extended header that can't be read"),
        (b"path=a\n", "extended header that can't be read"),
        (b"5014 size=" + b"9" * 5003 + b"\n", "more than 8 GiB"),
    ],
)
def test_an_extended_header_that_makes_no_sense_is_a_sentence(records: bytes, sentence: str) -> None:
    data = tar_of(("x", tarfile.XHDTYPE, records), ("a.jpg", tarfile.REGTYPE, b"a"))
    with pytest.raises(InputError, match=rf"rod_0\.tar\.gz: .*{sentence}"):
        names(data)


def test_a_size_below_zero_is_a_sentence() -> None:
    data = bytearray(tar_of(("a.jpg", tarfile.REGTYPE, b"a")))
    data[124:136] = b"\xff" * 11 + b"\xfb"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    with pytest.raises(InputError, match="cut off or damaged"):
        names(bytes(data))


def test_what_follows_the_end_mark_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rod_tar, "_LONGEST_END", 4 << 20)
    data = tar_of(("a.jpg", tarfile.REGTYPE, b"a"))
    assert names(data + bytes(3 << 20)) == ["a.jpg"]
    endless = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data + bytes(40 << 20), 1)))
    with pytest.raises(InputError, match="more than 4 MiB after its end mark"):
        list(Tar(endless, "rod_0.tar.gz"))  # type: ignore[arg-type]
    assert endless.tell() < 8 << 20
