"""Is a PNG whole? Answered without making pixels of it: docs/decisions/mvp_n-copying.md."""

from __future__ import annotations

from struct import unpack_from

import deflate

SIGNATURE = b"\x89PNG\r\n\x1a\n"

_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""Per PNG colour type at 8 bits; palettes (3) are left to a decoder."""

_LENGTHS = {b"IHDR": 13, b"IEND": 0, b"sRGB": 1, b"gAMA": 4, b"pHYs": 9, b"tIME": 7, b"cHRM": 32}
"""Chunks that can't stop a decoder when they have their length; IDAT may have any."""

_LARGEST = 4096
"""Pixels of a side."""


def is_sound(data: bytes) -> bool:
    """Whether `data` is a PNG that decoders can only accept: every chunk's checksum fits, and its stream is as long as
    its size says, with a checksum that fits and no unknown filter. False says nothing: ask a decoder.
    """
    if data[:8] != SIGNATURE:
        return False
    at, shape = 8, b""
    parts: list[bytes] = []
    while at + 12 <= len(data):
        length, kind = unpack_from(">I4s", data, at)
        end = at + 8 + length
        if (kind != b"IDAT" and length != _LENGTHS.get(kind)) or end + 4 > len(data):
            return False
        if deflate.crc32(data[at + 4 : end]) != unpack_from(">I", data, end)[0]:
            return False
        if (kind == b"IHDR") != (at == 8) or (parts and kind not in (b"IDAT", b"IEND")):
            return False
        if kind == b"IHDR":
            shape = data[at + 8 : end]
        elif kind == b"IDAT":
            parts.append(data[at + 8 : end])
        elif kind == b"IEND":
            return end + 4 == len(data) and _stream_fits(b"".join(parts), shape)
        at = end + 4
    return False


def _stream_fits(packed: bytes, shape: bytes) -> bool:
    width, height, depth, colour, *methods = unpack_from(">IIBBBBB", shape)
    if depth != 8 or colour not in _CHANNELS or any(methods) or not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        return False
    row = 1 + width * _CHANNELS[colour]
    try:
        pixels = deflate.zlib_decompress(packed, row * height)
    except deflate.DeflateError:
        return False
    return len(pixels) == row * height and not bytes(pixels[::row]).translate(None, b"\0\1\2\3\4")
