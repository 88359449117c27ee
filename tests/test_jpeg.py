"""What `jpeg.stripped` takes out of a picture, and that it takes out nothing of the picture."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

from build_bench import jpeg

MODES = ["RGB", "L", "CMYK"]
SECRET = b"46.0692 N, 11.1203 E"


def picture(mode: str = "RGB", size: tuple[int, int] = (40, 24), **options: object) -> bytes:
    """A JPEG of smooth colours."""
    x, y = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
    layers = [(x * 5) % 256, (y * 9) % 256, ((x + y) * 4) % 256, (x * y) % 256][
        : len(Image.new(mode, (1, 1)).getbands())
    ]
    pixels = np.stack(layers, -1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels.squeeze() if mode == "L" else pixels, mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def samples(data: bytes) -> tuple[str, bytes]:
    image = Image.open(io.BytesIO(data))
    return image.mode, image.tobytes()


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


def tiff(orientation: int, order: str = ">", kind: int = 3, *, before: int = 0, offset: int = 8) -> bytes:
    """An EXIF block whose first directory, at `offset`, has `before` other entries ahead of the orientation."""
    entries = [struct.pack(f"{order}HHII", 0x0100 + i, 4, 1, i) for i in range(before)]
    value = struct.pack(
        f"{order}HH" if kind == 3 else f"{order}I", *((orientation, 0) if kind == 3 else (orientation,))
    )
    entries.append(struct.pack(f"{order}HHI", 0x0112, kind, 1) + value)
    head = struct.pack(f"{order}2sHI", b"MM" if order == ">" else b"II", 42, offset).ljust(offset, b"\0")
    return head + struct.pack(f"{order}H", len(entries)) + b"".join(entries) + bytes(4) + SECRET


def exif(block: bytes) -> bytes:
    return segment(0xE1, b"Exif\0\0" + block)


def with_segments(data: bytes, *parts: bytes, at: int = 0) -> bytes:
    """`parts` put in before the segment number `at`."""
    start = [found.start for found in jpeg.segments(data)][at]
    return data[:start] + b"".join(parts) + data[start:]


def markers(data: bytes) -> list[int]:
    return [found.marker for found in jpeg.segments(data)]


def orientation_of(data: bytes) -> int:
    return int(Image.open(io.BytesIO(data)).getexif().get(0x0112, 1))


PRIVATE = [
    segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>" + SECRET),
    segment(0xE2, b"MPF\0" + SECRET),
    segment(0xE2, b"FPXR\0" + SECRET),
    segment(0xED, b"Photoshop 3.0\0" + SECRET),
    segment(0xEB, b"JP" + SECRET),
    segment(0xEF, SECRET),
    segment(0xE0, b"JFXX\0\x10" + SECRET),
    segment(0xE0, b"AVI1" + SECRET),
    segment(0xFE, SECRET),
    segment(0xF0, SECRET),
    exif(tiff(1)),
]


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"subsampling": 0}, {"optimize": True}, {"restart_marker_blocks": 1}]
)
@pytest.mark.parametrize("mode", MODES)
def test_every_sample_of_every_kind_of_jpeg_stays(mode: str, options: dict[str, object]) -> None:
    plain = picture(mode, **options)
    data = with_segments(plain, *PRIVATE)
    assert SECRET in data
    assert SECRET not in jpeg.stripped(data)
    assert samples(jpeg.stripped(data)) == samples(plain)


@pytest.mark.parametrize("private", PRIVATE, ids=lambda body: body[4:12].hex())
def test_each_private_segment_goes_wherever_it_stands(private: bytes) -> None:
    plain = picture(progressive=True)
    for at in range(len(markers(plain))):
        assert jpeg.stripped(with_segments(plain, private, at=at)) == jpeg.stripped(plain)


def test_a_colour_profile_stays() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    stripped = jpeg.stripped(with_segments(picture(icc_profile=profile), *PRIVATE))
    assert Image.open(io.BytesIO(stripped)).info["icc_profile"] == profile


def test_without_its_profile_it_decodes_the_same() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    bare = jpeg.stripped(picture(icc_profile=profile), jpeg.SHOWING - {jpeg.PROFILE})
    assert bare == jpeg.stripped(picture())


def test_the_adobe_segment_stays_as_it_says_what_the_samples_are() -> None:
    data = picture("CMYK")
    assert 0xEE in markers(data)
    assert 0xEE in markers(jpeg.stripped(data))
    assert samples(jpeg.stripped(data)) == samples(data)


def test_the_resolution_stays_and_the_thumbnail_beside_it_goes() -> None:
    data = picture(dpi=(300, 300))
    jfif = next(found for found in jpeg.segments(data) if found.marker == 0xE0)
    body = data[jfif.start + 4 : jfif.end - 2] + bytes((2, 1)) + b"abcdef"
    stripped = jpeg.stripped(data[: jfif.start] + segment(0xE0, body) + data[jfif.end :])
    assert stripped == jpeg.stripped(data)
    assert Image.open(io.BytesIO(stripped)).info["dpi"] == (300, 300)


@given(st.integers(1, 8), st.sampled_from("<>"), st.sampled_from([3, 4]), st.integers(0, 5), st.integers(8, 40))
def test_the_orientation_stays_and_nothing_else_of_the_exif(
    turned: int, order: str, kind: int, before: int, offset: int
) -> None:
    data = with_segments(picture(), exif(tiff(turned, order, kind, before=before, offset=offset)))
    stripped = jpeg.stripped(data)
    image = Image.open(io.BytesIO(stripped))
    assert SECRET not in stripped
    assert dict(image.getexif()) == ({} if turned == 1 else {0x0112: turned})
    assert image.tobytes() == samples(picture())[1]
    assert jpeg.stripped(stripped) == stripped


def test_the_first_orientation_counts() -> None:
    data = with_segments(picture(), exif(tiff(1)), exif(tiff(6)), exif(tiff(3)))
    assert orientation_of(jpeg.stripped(data)) == 6


@given(st.binary(max_size=60))
def test_a_damaged_exif_says_no_orientation_and_breaks_nothing(block: bytes) -> None:
    assert 1 <= jpeg.orientation(block) <= 8
    for order in (b"II*\0", b"MM\0*"):
        assert 1 <= jpeg.orientation(order + block) <= 8
    stripped = jpeg.stripped(with_segments(picture(), exif(block)))
    assert samples(stripped) == samples(picture())


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_an_orientation_that_there_is_not_is_none(value: int) -> None:
    assert jpeg.orientation(tiff(value)) == 1


def test_what_a_camera_appends_goes() -> None:
    plain = picture()
    second = with_segments(picture("L"), exif(tiff(6)))
    for tail in (second, b"MotionPhoto_Data" + SECRET, bytes(512)):
        assert jpeg.stripped(plain + tail) == jpeg.stripped(plain)


@st.composite
def odd(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A JPEG, and the same with private segments, fill bytes and markers that stand alone between its segments."""
    plain = picture(draw(st.sampled_from(MODES)), progressive=draw(st.booleans()), quality=draw(st.integers(5, 95)))
    starts = [found.start for found in jpeg.segments(plain)]
    scan = [found.marker for found in jpeg.segments(plain)].index(jpeg.SOS)
    out, last = b"", 0
    for number, start in enumerate(starts):
        out += plain[last:start]
        last = start
        for _ in range(draw(st.integers(0, 2))):
            out += draw(st.sampled_from([*PRIVATE, segment(0xFE, draw(st.binary(max_size=30)))]))
        if number <= scan:
            out += draw(st.sampled_from([b"", b"\xff\xff", b"\xff\x01"]))
    return plain, out + plain[last:] + draw(st.binary(max_size=20))


@given(odd())
def test_odd_segments_vanish_and_the_rest_is_copied(pair: tuple[bytes, bytes]) -> None:
    plain, data = pair
    assert jpeg.stripped(data) == jpeg.stripped(plain)
    assert samples(jpeg.stripped(data)) == samples(plain)


@given(st.integers(0, 4000))
def test_a_cut_picture_is_refused_or_whole(kept: int) -> None:
    data = picture()
    if kept >= len(data):
        assert samples(jpeg.stripped(data[:kept])) == samples(data)
    else:
        with pytest.raises(ValueError, match=r"no JPEG|end before|says that it has"):
            jpeg.stripped(data[:kept])


@given(st.binary(max_size=80))
def test_any_bytes_give_segments_or_a_value_error(tail: bytes) -> None:
    for data in (tail, jpeg.START + tail, jpeg.START + tail + b"\xff\xd9"):
        try:
            once = jpeg.stripped(data)
        except ValueError:
            continue
        assert jpeg.stripped(once) == once


def test_a_picture_within_a_picture_is_named() -> None:
    with pytest.raises(ValueError, match="a second JPEG begins within the first, at byte"):
        jpeg.stripped(with_segments(picture(), jpeg.START, at=2))


def test_a_damaged_byte_in_a_scan_is_not_taken_for_a_segment() -> None:
    data = bytearray(picture(quality=95))
    at = data.index(b"\xff\x00", [found.start for found in jpeg.segments(bytes(data))][-2])
    data[at + 1] = 0x3F
    with pytest.raises(ValueError, match=r"0xFF3F at byte \d+ is no marker"):
        jpeg.stripped(bytes(data))


def test_another_format_is_named() -> None:
    with pytest.raises(ValueError, match="no JPEG: it begins with"):
        jpeg.stripped(b"\x89PNG\r\n\x1a\n")
