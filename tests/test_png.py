"""What a reader of `build_bench.png` may rely on."""

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from build_bench.png import encode_grey
from build_bench.strokes import frames_many

SCENE = [([0, 60, 200, 255], [90, 10, 30, 180]), ([30, 200], [200, 220]), ([120], [120]), ([0, 90, 0], [0, 128, 255])]

sides = st.one_of(st.integers(1, 24), st.sampled_from([255, 256, 257, 258, 513]))
shapes = st.tuples(st.integers(1, 24), sides)
dense = arrays(np.uint8, shapes)
sparse = arrays(np.uint8, shapes, fill=st.just(255), elements=st.integers(0, 255))


def assert_decodes(picture):
    data = encode_grey(picture)
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == "L"
        assert np.array_equal(np.asarray(image), picture)
    assert np.array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED), picture)


@given(st.one_of(dense, sparse))
def test_png_decodes_to_the_same_pixels(picture):
    assert_decodes(picture)


@pytest.mark.parametrize("shape", [(1, 1), (256, 256), (3, 700), (700, 3)])
@pytest.mark.parametrize("value", [0, 1, 255])
def test_a_plain_picture_decodes(shape, value):
    assert_decodes(np.full(shape, value, np.uint8))


def test_every_byte_before_every_run_decodes():
    """All the entries of the encoder's table, one row each: a byte, a white run to some column, black from there on."""
    columns = np.arange(257)
    for value in (0, 1, 4, 251, 254):
        rows = np.where(columns[None] <= columns[:, None], 255, 0).astype(np.uint8)
        rows[:, 0] = value
        assert_decodes(rows)
    assert_decodes(np.repeat(np.arange(256, dtype=np.uint8), 7).reshape(16, -1))


def test_a_strided_view_encodes_like_its_copy():
    picture = np.random.default_rng(1).integers(0, 256, (40, 60), np.uint8)
    for view in (picture[::2, ::-3], picture.T):
        assert encode_grey(view) == encode_grey(view.copy())


def test_the_file_is_the_simplest_there_is():
    picture = next(frames_many([SCENE]))[-1]
    data = encode_grey(picture)
    chunks, rest = {}, data[8:]
    while rest:
        (size,) = struct.unpack(">I", rest[:4])
        chunks[rest[4:8]] = rest[8 : 8 + size]
        assert rest[8 + size : 12 + size] == struct.pack(">I", zlib.crc32(rest[4 : 8 + size]))
        rest = rest[12 + size :]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert chunks[b"IHDR"] == struct.pack(">IIBBBBB", 256, 256, 8, 0, 0, 0, 0)
    stream = zlib.decompressobj()
    assert stream.decompress(chunks[b"IDAT"]) == np.pad(picture, ((0, 0), (1, 0))).tobytes()
    assert stream.eof
    assert not stream.unused_data


def test_wavering_strokes_are_no_bigger_than_pillows():
    rng = np.random.default_rng(3)
    walks = [np.cumsum(rng.normal(0, 25, (5, 2, 9)), axis=2).tolist() for _ in range(8)]
    ours = pillows = 0
    for frame in (f for shown in frames_many(walks) for f in shown):
        out = io.BytesIO()
        Image.fromarray(frame).save(out, "png")
        ours, pillows = ours + len(encode_grey(frame)), pillows + len(out.getvalue())
    assert ours <= pillows


@pytest.mark.parametrize(
    "picture",
    [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4), bool), np.zeros(4, np.uint8), np.zeros((0, 4), np.uint8)],
)
def test_other_arrays_are_refused(picture):
    with pytest.raises(ValueError, match="uint8"):
        encode_grey(picture)
