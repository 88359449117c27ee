"""JPEG files without what they carry beside their pixels: where and when, by whom, smaller copies of themselves.

    SOI  segment...  SOS + entropy-coded data  [segment...  SOS + data]...  EOI  [whatever a camera appended]

Nothing is decoded: what stays is copied byte for byte (ITU-T T.81, annex B). What stays is listed, so a segment that
nobody has thought of goes: docs/decisions/rod-jpeg-segments.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

import numpy as np

SOI, EOI, SOS = 0xD8, 0xD9, 0xDA
APP0, APP1, APP2, APP14 = 0xE0, 0xE1, 0xE2, 0xEE
START = bytes((0xFF, SOI))

DECODING = {*range(0xC0, 0xD0), *range(0xDB, 0xE0), SOS}
"""Frame headers and tables: SOFn, DHT, DAC, DQT, DNL, DRI, DHP, EXP, and the scans."""

PROFILE = (APP2, b"ICC_PROFILE\0")
SHOWING = {PROFILE, (APP14, b"Adobe")}
"""Without these the same samples are shown in other colours. JFIF's segment stays as well, less its thumbnail."""

_ALONE = {0x01, *range(0xD0, 0xD8)}
"""Markers without a length: TEM and RST0 to RST7."""

_MARKER = re.compile(rb"\xff[^\x00\xff]")
_BLOCK = 1 << 18
"""Bytes of a scan that are searched at a time: a processor's cache holds them."""

_WITHIN = np.isin(np.arange(256), [0x00, *range(0xD0, 0xD8), 0xFF])
"""In a scan 0xFF is followed by 0x00, by RSTn between two of its intervals, or by 0xFF that fills."""

_JFIF, _EXIF = b"JFIF\0", b"Exif\0"
_ORIENTATION, _SHORT, _LONG = 0x0112, 3, 4


class Segment(NamedTuple):
    """A marker with all that belongs to it: bytes [start, end) of the file, for SOS with the scan's data."""

    marker: int
    start: int
    end: int


def segments(data: bytes) -> Iterator[Segment]:
    """The segments after SOI up to EOI, the last. Fill bytes and junk before a marker are skipped, as decoders do.

    Raises `ValueError` where there is no such sequence.
    """
    if not data.startswith(START):
        raise ValueError(f"no JPEG: it begins with {data[:4]!r}")
    at = len(START)
    while found := _MARKER.search(data, at):
        marker, start, at = data[found.end() - 1], found.start(), found.end()
        if marker == SOI:
            raise ValueError(f"a second JPEG begins within the first, at byte {start}")
        if 0x01 < marker < 0xC0:  # reserved: in a scan it is a damaged byte, and what follows it are samples
            raise ValueError(f"0xFF{marker:02X} at byte {start} is no marker that there is")
        if marker != EOI and marker not in _ALONE:
            size = int.from_bytes(data[at : at + 2], "big")
            at += size
            if size < 2 or at > len(data):
                raise ValueError(f"the segment 0xFF{marker:02X} at byte {start} says that it has {size} bytes")
        if marker == SOS:
            at = _scan_end(data, at)
        yield Segment(marker, start, at)
        if marker == EOI:
            return
    raise ValueError(f"its {len(data)} bytes end before the end marker")


def _scan_end(data: bytes, at: int) -> int:
    """Where the marker after the scan at `at` begins; the file's end if there is none.

    Three passes of numpy: a regular expression stops at every 0xFF 0x00, and takes twice as long.
    """
    codes = np.frombuffer(data, np.uint8)
    while at < len(data) - 1:
        block = codes[at : at + _BLOCK + 1]
        hits = np.flatnonzero((block[:-1] == 0xFF) & (block[1:] != 0x00))
        hits = hits[~_WITHIN[block[hits + 1]]]
        if len(hits):
            return at + int(hits[0])
        at += _BLOCK
    return len(data)


def stripped(data: bytes, showing: Set[tuple[int, bytes]] = SHOWING) -> bytes:
    """The same picture with nothing but what decodes and shows it, and of the EXIF the orientation where it isn't 1.

    Without `PROFILE` among `showing` it is shown in the colours that decoding gives.

    The samples decode to the same values; applied again it changes nothing. Raises `ValueError` as `segments` does.
    """
    view = memoryview(data)
    parts: list[bytes | memoryview] = [START]
    oriented = False
    for marker, start, end in segments(data):
        body = data[start + 4 : end] if APP0 <= marker <= 0xEF else b""
        if marker in DECODING or marker == EOI or any(marker == m and body.startswith(b) for m, b in showing):
            parts.append(view[start:end])
        elif marker == APP0 and body.startswith(_JFIF) and len(body) >= 12:
            parts.append(_segment(APP0, body[:12] + b"\0\0"))
        elif marker == APP1 and body.startswith(_EXIF) and not oriented:
            turned = orientation(body[6:])
            oriented = turned != 1
            parts.append(_segment(APP1, _exif(turned)) if oriented else b"")
    return b"".join(parts)


def orientation(tiff: bytes) -> int:
    """1 to 8 as the first directory of an EXIF block says (`tiff` begins with its byte order); 1 where it doesn't."""
    order = {b"II": "little", b"MM": "big"}.get(tiff[:2])
    if order is None:
        return 1

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], order)  # type: ignore[arg-type]

    first = number(4, 4) + 2
    for at in range(first, min(first + 12 * number(first - 2, 2), len(tiff) - 11), 12):
        if number(at, 2) == _ORIENTATION and number(at + 2, 2) in (_SHORT, _LONG):
            value = number(at + 8, 2 if number(at + 2, 2) == _SHORT else 4)
            return value if 1 <= value <= 8 else 1
    return 1


def _exif(turned: int) -> bytes:
    """An EXIF block of one directory with one entry."""
    entry = (_ORIENTATION.to_bytes(2, "big"), _SHORT.to_bytes(2, "big"), (1).to_bytes(4, "big"))
    return b"".join(
        (
            _EXIF,
            b"\0",
            b"MM\0*",
            (8).to_bytes(4, "big"),
            (1).to_bytes(2, "big"),
            *entry,
            bytes((0, turned, 0, 0)),
            bytes(4),
        )
    )


def _segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2, "big") + body
