"""A decoded picture as a JPEG: upright, with square pixels, at most so tall, the same bytes on every processor."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
from av.filter import Graph
from av.sidedata.sidedata import SideData
from av.video.frame import VideoFrame
from PIL import Image

from build_bench.errors import Rejected

QUALITY = 90
"""Of a picture that a video codec has already been at: no artefact is added that one would see."""

SUBSAMPLING = "4:2:0"
"""As in nearly every video: full chroma would store what interpolation made up, in a third more bytes."""

SCALING = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp+bitexact"
"""libswscale without the shortcuts that differ from one processor to another."""

TURNS = {
    (1, 0, 0, 1): None,
    (0, 1, -1, 0): Image.Transpose.ROTATE_270,
    (-1, 0, 0, -1): Image.Transpose.ROTATE_180,
    (0, -1, 1, 0): Image.Transpose.ROTATE_90,
    (-1, 0, 0, 1): Image.Transpose.FLIP_LEFT_RIGHT,
    (1, 0, 0, -1): Image.Transpose.FLIP_TOP_BOTTOM,
    (0, 1, 1, 0): Image.Transpose.TRANSPOSE,
    (0, -1, -1, 0): Image.Transpose.TRANSVERSE,
}
"""Signs of a display matrix's a, b, c, d (a stored pixel x, y is shown at ax + cy, bx + dy) to what Pillow calls it."""

ANY_BASE = Fraction(1, 1000)
"""A filter graph asks for a time base; pictures here have no time."""

ONE = 1 << 16
"""1.0 in a display matrix."""


def turn(frame: VideoFrame) -> Image.Transpose | None:
    """How to bring the picture upright. Raises `Rejected` (`display_matrix`) if its turn isn't by right angles."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if not isinstance(matrix, SideData):
        return None
    a, b, _, c, d = np.frombuffer(bytes(matrix), "=i4")[:5].tolist()
    signs = _sign(a), _sign(b), _sign(c), _sign(d)
    if signs not in TURNS or not {abs(a), abs(b), abs(c), abs(d)} <= {0, ONE}:
        raise Rejected("display_matrix", f"{a}, {b}, {c}, {d} (65536 = 1): turned by other than right angles")
    return TURNS[signs]


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def shown_size(frame: VideoFrame, aspect: float, tallest: int) -> tuple[int, int]:
    """(width, height) in square pixels before turning, the shorter side at most `tallest` (0: as it is). `aspect` is a
    pixel's width over its height."""
    width, height = frame.width * max(aspect, 1.0), frame.height / min(aspect, 1.0)
    scale = min(1.0, tallest / min(width, height)) if tallest else 1.0
    return max(1, round(width * scale)), max(1, round(height * scale))


class Encoder:
    """Makes JPEGs of one video's pictures."""

    def __init__(self, tallest: int) -> None:
        self._tallest = tallest
        self._made_for: tuple[object, ...] = ()
        self._graph = Graph()

    def jpeg(self, frame: VideoFrame, aspect: float, comment: str) -> bytes:
        """The picture's bytes, with `comment` in them."""
        width, height = shown_size(frame, aspect, self._tallest)
        graph = self._scaler(frame, width, height)
        graph.vpush(frame)
        pixels = graph.vpull().to_ndarray()
        picture = Image.fromarray(np.ascontiguousarray(pixels))
        if (way := turn(frame)) is not None:
            picture = picture.transpose(way)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=QUALITY, subsampling=SUBSAMPLING, comment=comment.encode("ascii"))
        return buffer.getvalue()

    def _scaler(self, frame: VideoFrame, width: int, height: int) -> Graph:
        """To RGB by the matrix that the video names; by BT.601, as ffmpeg does, if it names none."""
        key = (frame.width, frame.height, frame.format.name, frame.colorspace, frame.color_range, width, height)
        if key != self._made_for:
            graph = Graph()
            graph.threads = 1
            source = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=ANY_BASE)
            args = f"{width}:{height}:flags={SCALING}"
            graph.link_nodes(
                source, graph.add("scale", args), graph.add("format", "pix_fmts=rgb24"), graph.add("buffersink")
            ).configure()
            self._made_for, self._graph = key, graph
        return self._graph
