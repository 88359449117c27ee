"""A video's pictures at one per second, as ffmpeg's `fps=1` filter picks them: ChangeIt's annotations count so.

Which pictures the filter picks is a function of timestamps alone, so those are read first (`Timeline`), without
decoding. Then only the runs of packets that lead to a wanted picture are decoded, and in them no picture that nothing
refers to. What doesn't behave as timestamps promise is decoded whole, through the filter itself (`filtered`), which is
also what tests compare with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.filter import Graph
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from build_bench.errors import Rejected

ROUNDINGS = ("near", "up", "down")
"""How the filter brings a timestamp to whole seconds. `near` is its default and the authors'; with `up`, picture i is
the one on show at exactly i seconds."""

SKIPS_NONREF = frozenset({"h264", "hevc", "mpeg4"})
"""Decoders that can be told before each packet to leave out a picture to which none refers. libdav1d reads it once."""

THREADS = 1
"""Per decoder: with a process per shard, threads only add waiting."""

LENIENT: dict[str, Any] = {"metadata_errors": "ignore"} if int(av.__version__.partition(".")[0]) < 19 else {}
"""A title that isn't UTF-8 is no reason to refuse a video. From 19 on PyAV escapes it and takes no such argument."""

Int64s = npt.NDArray[np.int64]


class _Unlike(Exception):  # noqa: N818 - not an error: the slow way is taken
    """The video isn't as its packets' timestamps promise."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a video's packets say. Arrays are int64 or bool of shape (packets,), in the order of the file."""

    pts: Int64s
    keyframe: npt.NDArray[np.bool_]
    picks: Int64s
    """The pts of picture i of the filter's output, shape (seconds,)."""
    runs: bool
    """Whether the pictures can be told by pts, so that only some need decoding."""
    aspect: float
    """A pixel's width over its height."""

    def parts(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        """Runs [first, last] of packets that show the `wanted` seconds, joined where they touch.

        Each starts at the nearest key picture that is shown no later than the wanted one: a picture that a key picture
        follows in the file but precedes on the screen needs the one before.
        """
        place = {pts: at for at, pts in enumerate(self.pts.tolist())}
        keys = np.flatnonzero(self.keyframe)
        runs: list[tuple[int, int]] = []
        for last in sorted({place[self.picks[second]] for second in wanted}):
            before = keys[(keys <= last) & (self.pts[keys] <= self.pts[last])]
            first = int(before[-1]) if len(before) else 0
            if runs and first <= runs[-1][1] + 1:
                runs[-1] = min(first, runs[-1][0]), last
            else:
                runs.append((first, last))
        return runs


class Video:
    """One file. Raises `Rejected`: `not_a_video` if nothing in it can be shown, `damaged_video` if it won't decode."""

    def __init__(self, path: Path, rounding: str = "near") -> None:
        self.path = path
        self._rounding = rounding
        self._timeline = _timeline(path, rounding)
        self._counted: int | None = None

    @property
    def seconds(self) -> int:
        """How many pictures there are: of the packets that the file really holds, whatever its header says."""
        if not self._timeline.runs and self._counted is None:
            self._counted = sum(1 for _ in filtered(self.path, self._rounding))
        return len(self._timeline.picks) if self._counted is None else self._counted

    @property
    def aspect(self) -> float:
        """A pixel's width over its height: not 1 where the picture is meant to be shown stretched."""
        return self._timeline.aspect

    def pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, VideoFrame]]:
        """(second, picture) of each of `wanted`, ascending. Nothing is kept: use a picture before the next."""
        seconds = sorted(set(wanted))
        done = -1
        if self._timeline.runs:
            try:
                for second, frame in _decoded(self.path, self._timeline, seconds):
                    yield second, frame
                    done = second
                return
            except (_Unlike, av.FFmpegError):
                pass
        left = {second for second in seconds if second > done}
        for second, frame in enumerate(filtered(self.path, self._rounding)):
            if second in left:
                left.remove(second)
                yield second, frame
        if left:
            raise Rejected("damaged_video", f"{self.path.name}: nothing to show at second {min(left)}")


def _open(path: Path) -> tuple[InputContainer, VideoStream]:
    try:
        container = av.open(str(path), **LENIENT)
    except (av.FFmpegError, OSError) as error:
        raise Rejected("not_a_video", f"{path.name}: {path.stat().st_size} bytes: {error.strerror}") from error
    stream = container.streams.best("video")
    if not isinstance(stream, VideoStream) or stream.codec_context is None:
        container.close()
        raise Rejected("not_a_video", f"{path.name}: there are no pictures in it that can be decoded")
    stream.codec_context.thread_count = THREADS
    return container, stream


def _offset(container: InputContainer, stream: VideoStream) -> int:
    """The file's first timestamp, in the stream's time base: as ffmpeg does, seconds are counted from it."""
    if container.start_time is None or stream.time_base is None:
        return 0
    return round(container.start_time / (stream.time_base * av.time_base))


def _timeline(path: Path, rounding: str) -> Timeline:
    container, stream = _open(path)
    rows: list[tuple[int, bool, bool, int]] = []
    whole = True
    with container:
        try:
            for packet in container.demux(stream):
                if packet.size == 0:
                    continue
                if packet.pts is None:
                    whole = False
                    break
                rows.append((packet.pts, packet.is_keyframe, packet.is_discard, packet.duration or 0))
        except av.FFmpegError:
            pass  # the file ends within a packet: those before it count
        offset, base = _offset(container, stream), stream.time_base
        aspect = float(stream.sample_aspect_ratio or 1)
    if not rows and whole:
        raise Rejected("not_a_video", f"{path.name}: there are no pictures in it")
    table = np.array(rows, np.int64).reshape(-1, 4)
    shown = table[table[:, 2] == 0]
    shown = shown[np.argsort(shown[:, 0], kind="stable")]
    distinct = len(np.unique(table[:, 0])) == len(table)
    if not (whole and distinct and base and len(shown)):
        return Timeline(table[:, 0], table[:, 1] > 0, np.zeros(0, np.int64), False, aspect)
    pts, last = shown[:, 0], int(shown[-1, 3])
    if not last and len(pts) > 1:
        last = int(pts[-1] - pts[-2])
    picks = offset + _picked(pts - offset, last, base, rounding)
    return Timeline(table[:, 0], table[:, 1] > 0, picks, True, aspect)


def _picked(pts: Int64s, last: int, base: Fraction, rounding: str) -> Int64s:
    """The pts, of those given in ascending order in units of `base` seconds, that the filter shows second by second.

    Its rule: of the pictures whose rounded time has come, the latest; from the first one's on, and before the rounded
    end, which is `last` units after the last one's pts.
    """
    times = _rounded(np.append(pts, pts[-1] + last) * base.numerator, base.denominator, rounding)
    return pts[np.searchsorted(times[:-1], np.arange(times[0], times[-1]), "right") - 1]


def _rounded(numerators: Int64s, denominator: int, rounding: str) -> Int64s:
    """Whole seconds; halves go away from zero, as ffmpeg's `near` has it."""
    if rounding == "down":
        whole: Int64s = numerators // denominator
    elif rounding == "up":
        whole = -(-numerators // denominator)
    else:
        whole = np.sign(numerators) * ((2 * np.abs(numerators) + denominator) // (2 * denominator))
    return whole


def _decoded(path: Path, timeline: Timeline, wanted: Sequence[int]) -> Iterator[tuple[int, VideoFrame]]:
    """The fast way. Raises `_Unlike` as soon as a wanted picture doesn't come, comes late, or comes damaged."""
    runs = timeline.parts(wanted)
    targets = frozenset(timeline.picks[list(wanted)].tolist())
    due = iter([(second, int(timeline.picks[second])) for second in wanted])
    expected = next(due, None)
    container, stream = _open(path)
    with container:
        decoder = stream.codec_context
        frames = _shown(container, stream, decoder, runs, targets)
        for frame in frames:
            if frame.pts not in targets:
                continue
            if frame.is_corrupt or expected is None or frame.pts != expected[1]:
                raise _Unlike
            while expected is not None and expected[1] == frame.pts:
                yield expected[0], frame
                expected = next(due, None)
    if expected is not None:
        raise _Unlike


def _shown(
    container: InputContainer,
    stream: VideoStream,
    decoder: VideoCodecContext,
    runs: Sequence[tuple[int, int]],
    targets: frozenset[int],
) -> Iterator[VideoFrame]:
    """What the decoder shows of the packets in `runs`."""
    skips = decoder.name in SKIPS_NONREF
    todo = iter(runs)
    first, last = next(todo, (0, -1))
    packets = (packet for packet in container.demux(stream) if packet.size)
    for at, packet in enumerate(packets):
        if at < first:
            continue
        if skips:
            decoder.skip_frame = "DEFAULT" if packet.pts in targets else "NONREF"
        yield from decoder.decode(packet)
        if at == last:
            yield from decoder.decode(None)
            decoder.flush_buffers()
            first, last = next(todo, (0, -1))
            if last < 0:
                return


def filtered(path: Path, rounding: str = "near") -> Iterator[VideoFrame]:
    """The plain way: every picture decoded and pushed through libavfilter's `fps=1`.

    Raises `Rejected` (`damaged_video`) if a packet can't be decoded, or a picture comes out damaged.
    """
    container, stream = _open(path)
    with container:
        graph = Graph()
        graph.threads = THREADS
        source = graph.add_buffer(template=stream)
        graph.link_nodes(source, graph.add("fps", f"fps=1:round={rounding}"), graph.add("buffersink")).configure()
        offset = _offset(container, stream)
        try:
            for packet in container.demux(stream):
                for frame in stream.decode(packet):
                    if frame.is_corrupt:
                        raise Rejected("damaged_video", f"{path.name}: the picture at {frame.time} s is damaged")
                    frame.pts = None if frame.pts is None else frame.pts - offset
                    graph.vpush(frame)
                    yield from _pulled(graph)
            graph.vpush(None)
            yield from _pulled(graph)
        except av.FFmpegError as error:
            raise Rejected("damaged_video", f"{path.name}: {error.strerror}") from error


def _pulled(graph: Graph) -> Iterator[VideoFrame]:
    while True:
        try:
            yield graph.vpull()
        except (av.BlockingIOError, av.EOFError):
            return
