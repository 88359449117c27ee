"""What is no sound picture is rejected, whichever error Pillow has for it."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib

import pytest
from PIL import Image

from build_bench.errors import Rejected
from build_bench.imaging import decode


def png(mode: str, *chunks: tuple[bytes, bytes]) -> bytes:
    """A picture with further chunks (name, content) before its pixels, their checksums right."""
    buffer = io.BytesIO()
    Image.new(mode, (4, 4)).save(buffer, "PNG")
    data = buffer.getvalue()
    head = 8 + 25
    added = b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    )
    return data[:head] + added + data[head:]


@pytest.mark.parametrize(
    "data",
    [
        png("RGB", (b"pHYs", b"\0")),
        png("RGB", (b"tRNS", b"\0")),
        png("L", (b"tRNS", b"\0")),
        png("RGB", (b"gAMA", b"\0")),
        png("RGB", (b"cHRM", b"\0" * 3)),
        png("RGB", (b"acTL", b"\0")),
        png("RGB", (b"acTL", struct.pack(">II", 2, 0)), (b"fcTL", b"\0")),
        png("RGB", (b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 22)))),
    ],
)
def test_a_damaged_chunk_is_a_truncated_picture(data: bytes) -> None:
    with pytest.raises(Rejected) as why:
        decode(data)
    assert why.value.reason == "truncated_picture"


def test_whatever_bytes_are_damaged_nothing_but_a_rejection_comes_out() -> None:
    for whole in (png("RGB", (b"tRNS", b"\0" * 6), (b"pHYs", b"\0" * 9)), png("P", (b"gAMA", b"\0" * 4))):
        for at in range(8, len(whole)):
            for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]):
                with contextlib.suppress(Rejected):
                    decode(data)
