"""What the quick look calls sound, a decoder opens: it may only be too strict."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from build_bench.builders.mvp_n_png import is_sound
from build_bench.imaging import decode
from tests.fakes.mvp_n import png

WHOLE = png("whole")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def built(stream: bytes, width: int = 2, height: int = 2, between: bytes = b"") -> bytes:
    """A PNG of 8-bit RGB with right checksums, whatever its stream is."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + between + chunk(b"IDAT", stream) + chunk(b"IEND", b"")


ROWS = bytes([0, 1, 2, 3, 4, 5, 6]) * 2


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA"])
def test_a_whole_picture_is_sound(mode: str) -> None:
    assert is_sound(png("any", mode))
    assert is_sound(built(zlib.compress(ROWS)))
    assert is_sound(built(zlib.compress(ROWS), between=chunk(b"pHYs", bytes(9)) + chunk(b"sRGB", b"\0")))


@pytest.mark.parametrize("mode", ["P", "1", "I;16"])
def test_what_only_a_decoder_knows_is_left_to_it(mode: str) -> None:
    buffer = io.BytesIO()
    (Image.new(mode, (5, 5)) if mode == "I;16" else Image.new("RGB", (5, 5)).convert(mode)).save(buffer, "PNG")
    assert not is_sound(buffer.getvalue())
    decode(buffer.getvalue())


@pytest.mark.parametrize(
    "data",
    [
        built(zlib.compress(ROWS[:-1])),  # checksums all fit, a byte of the picture is missing
        built(zlib.compress(ROWS + b"\0")),
        built(zlib.compress(b"\5" + ROWS[1:])),  # there is no filter 5
        built(zlib.compress(ROWS)[:-1] + b"\0"),
        built(b""),
        built(zlib.compress(b""), 0, 0),
        built(zlib.compress(ROWS), 1 << 30, 1 << 30),
        built(zlib.compress(ROWS), between=chunk(b"IHDR", bytes(13))),
        built(zlib.compress(ROWS), between=chunk(b"acTL", bytes(8))),
        built(zlib.compress(ROWS))[:-12],
        built(zlib.compress(ROWS)) + b"more",
        b"",
        b"<html>",
    ],
)
def test_what_is_not_whole_is_not_sound(data: bytes) -> None:
    assert not is_sound(data)


def test_a_picture_that_is_cut_anywhere_is_not_sound() -> None:
    assert not any(is_sound(WHOLE[:end]) for end in range(len(WHOLE)))


def test_no_flipped_bit_goes_unseen() -> None:
    for at in range(len(WHOLE)):
        assert not is_sound(WHOLE[:at] + bytes([WHOLE[at] ^ 1]) + WHOLE[at + 1 :])


@given(
    st.binary(max_size=40),
    st.integers(0, 3),
    st.integers(0, 3),
    st.binary(max_size=12),
    st.sampled_from([b"gAMA", b"tEXt", b"tIME"]),
)
def test_what_is_sound_decodes(rows: bytes, width: int, height: int, extra: bytes, kind: bytes) -> None:
    for stream in (zlib.compress(rows), zlib.compress(ROWS), rows):
        data = built(stream, width, height, chunk(kind, extra) if extra else b"")
        if is_sound(data):
            assert decode(data).size == (width, height)
