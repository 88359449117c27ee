"""One picture per second: the fast way gives what ffmpeg's filter gives, whatever the file is like."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.filter import Graph
from av.video.frame import VideoFrame
from hypothesis import given
from hypothesis import strategies as st

from build_bench.errors import Rejected
from build_bench.raw_sources import changeit_video
from build_bench.raw_sources.changeit_video import ROUNDINGS, Timeline, Video, filtered
from tests.fakes.changeit import film, set_edit_list

CONSTANT = range(95)
VARIABLE = np.cumsum(np.random.RandomState(0).randint(20, 300, 95)).tolist()
MS = Fraction(1, 1000)
PICTURE = 1024
"""A tenth of a second in the units in which MP4 files keep it."""
OPEN_GOP = {"x264-params": "open-gop=1:keyint=12:scenecut=0:bframes=3"}


def _film(name: str, folder: Path) -> Path:
    """One video of each kind."""
    path = folder / name
    match name.split(".")[0]:
        case "constant":
            return film(path, CONSTANT)
        case "variable":
            return film(path, VARIABLE, MS)
        case "late_start":
            return film(path, [at + 13 for at in CONSTANT])
        case "sparse":
            return film(path, [0, 5, 35, 36, 37, 80])
        case "no_b_pictures":
            return film(path, CONSTANT, options={"bf": "0"})
        case "open_gop":
            return film(path, CONSTANT, options=OPEN_GOP)
        case "all_key_pictures":
            return film(path, CONSTANT, options={"g": "1"})
        case "edit_list":
            set_edit_list(film(path, CONSTANT), 23 * PICTURE)
            return path
        case "mpeg4":
            return film(path, CONSTANT, codec="mpeg4")
        case "vp9":
            return film(path, VARIABLE, MS, "libvpx-vp9", {"cpu-used": "8", "deadline": "realtime"})
        case _:
            raise ValueError(name)


NAMES = (
    "constant.mp4", "variable.mp4", "late_start.mp4", "sparse.mp4", "no_b_pictures.mp4", "open_gop.mp4",
    "all_key_pictures.mp4", "edit_list.mp4", "mpeg4.mp4", "vp9.webm", "constant.mkv",
)  # fmt: skip


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("films")
    return {name: _film(name, folder) for name in NAMES}


def _digests(path: Path, wanted: list[int] | None = None, rounding: str = "near") -> dict[int, str]:
    video = Video(path, rounding)
    seconds = range(video.seconds) if wanted is None else wanted
    return {at: hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest() for at, frame in video.pictures(seconds)}


def _oracle(path: Path, rounding: str = "near") -> dict[int, str]:
    frames = filtered(path, rounding)
    return {at: hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest() for at, frame in enumerate(frames)}


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way must manage without the other."""

    def fail(*_: object) -> None:
        raise AssertionError("the whole video was decoded")

    monkeypatch.setattr(changeit_video, "filtered", fail)


@pytest.mark.usefixtures("only_fast")
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_those_of_the_filter_to_the_pixel(name: str, rounding: str, films: dict[str, Path]) -> None:
    expected = _oracle(films[name], rounding)
    assert len(expected) >= 6
    assert _digests(films[name], rounding=rounding) == expected
    some = [0, len(expected) // 2, len(expected) - 1]
    assert _digests(films[name], some, rounding) == {at: expected[at] for at in some}


def test_each_second_of_a_film_shows_another_picture(films: dict[str, Path]) -> None:
    """Otherwise the test above could not tell one second from the next."""
    assert len(set(_oracle(films["constant.mp4"]).values())) == 10


def test_near_is_half_a_second_from_a_seek_to_whole_seconds(films: dict[str, Path]) -> None:
    """At ten pictures a second `near` takes the picture that is on at 1.4 s for second 1, `up` that at 1.0 s."""
    near, up = (Video(films["constant.mp4"], rounding) for rounding in ("near", "up"))
    assert [frame.pts for _, frame in near.pictures([1])] == [14 * PICTURE]
    assert [frame.pts for _, frame in up.pictures([1])] == [10 * PICTURE]


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_those_of_the_program_ffmpeg(name: str, films: dict[str, Path]) -> None:
    command = ["ffmpeg", "-v", "error", "-noautorotate", "-i", str(films[name]), "-vf", "fps=1", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    expected = [line.split(",")[-1].strip() for line in lines if not line.startswith("#")]
    video = Video(films[name])
    found = [hashlib.md5(frame.to_ndarray().tobytes()).hexdigest() for _, frame in video.pictures(range(video.seconds))]
    assert found == expected


@pytest.mark.parametrize(("name", "share"), [("constant.mp4", 0.45), ("open_gop.mp4", 0.6), ("vp9.webm", 1.0)])
def test_what_no_state_shows_is_not_decoded(
    name: str, share: float, films: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    whole = changeit_video._shown
    monkeypatch.setattr(
        changeit_video, "_shown", lambda *args: (shown.append(frame) or frame for frame in whole(*args))
    )
    _digests(films[name], [0, 4])
    assert 2 <= len(shown) <= share * 95


def test_a_picture_before_its_key_picture_needs_the_key_picture_before() -> None:
    pts = np.array([0, 3, 1, 2, 6, 4, 5, 9, 7, 8])
    key = np.isin(pts, [0, 6])
    timeline = Timeline(pts, key, np.arange(10), True, 1.0)
    assert timeline.parts([5]) == [(0, 6)]
    assert timeline.parts([9]) == [(4, 7)]
    assert timeline.parts([0, 9]) == [(0, 0), (4, 7)]
    assert timeline.parts([1, 9]) == [(0, 2), (4, 7)]
    assert timeline.parts([2, 9]) == [(0, 7)]


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20), st.integers(1, 90_000))
def test_rounding_is_exact(numerators: list[int], denominator: int) -> None:
    exact = [Fraction(numerator, denominator) for numerator in numerators]
    values = np.array(numerators, np.int64)
    half = Fraction(1, 2)
    near = [int(value + half) if value >= 0 else -int(-value + half) for value in exact]
    assert changeit_video._rounded(values, denominator, "near").tolist() == near
    assert changeit_video._rounded(values, denominator, "down").tolist() == [value.__floor__() for value in exact]
    assert changeit_video._rounded(values, denominator, "up").tolist() == [value.__ceil__() for value in exact]


@given(st.lists(st.integers(1, 4000), min_size=1, max_size=12), st.sampled_from(ROUNDINGS))
def test_any_rate_gives_what_the_filter_gives(gaps: list[int], rounding: str) -> None:
    """Against libavfilter itself, on pictures that were never in a file."""
    pts = np.cumsum([0, *gaps]).tolist()
    graph = Graph()
    source = graph.add_buffer(width=16, height=16, format="gray", time_base=MS)
    graph.link_nodes(source, graph.add("fps", f"fps=1:round={rounding}"), graph.add("buffersink")).configure()
    expected = []
    for number, at in enumerate(pts):
        frame = VideoFrame.from_ndarray(np.full((16, 16), number, np.uint8), "gray")
        frame.pts, frame.time_base, frame.duration = at, MS, 40
        graph.vpush(frame)
        expected += [int(shown.to_ndarray()[0, 0]) for shown in changeit_video._pulled(graph)]
    graph.vpush(None)
    expected += [int(shown.to_ndarray()[0, 0]) for shown in changeit_video._pulled(graph)]
    picks = changeit_video._picked(np.array(pts), 40, MS, rounding)
    assert [pts.index(at) for at in picks.tolist()] == expected


@pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html><title>Video unavailable</title>", bytes(4096)])
def test_a_file_that_is_no_video_is_said_to_be_none(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "2gQYivaDXW0.mp4"
    path.write_bytes(data)
    with pytest.raises(Rejected) as why:
        Video(path)
    assert why.value.reason == "not_a_video"
    assert str(tmp_path) not in why.value.detail


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 48000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(Rejected, match="not_a_video"):
        Video(path)


def _index_first(path: Path) -> bytes:
    """The MP4 with its index in front, as downloads have it: cut anywhere, its header still promises everything."""
    out = path.with_name(f"front-{path.name}")
    with av.open(str(path)) as source, av.open(str(out), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    return out.read_bytes()


def test_a_cut_file_has_as_many_pictures_as_are_in_it_not_as_its_header_says(tmp_path: Path) -> None:
    data = _index_first(film(tmp_path / "whole.mp4", range(200)))
    path = tmp_path / "cut.mp4"
    path.write_bytes(data[: len(data) * 6 // 10])
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 200
        assert container.duration == pytest.approx(20e6)
    assert 8 <= Video(path).seconds <= 15


def test_a_file_whose_end_is_still_zeros_is_damaged(tmp_path: Path) -> None:
    """A download that reserved its space and stopped: every packet is there, and half of them are nothing."""
    data = _index_first(film(tmp_path / "whole.mp4", range(200)))
    path = tmp_path / "half.mp4"
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    video = Video(path)
    assert video.seconds == 20
    with pytest.raises(Rejected, match="damaged_video"):
        list(video.pictures([0, 19]))
    assert [second for second, _ in video.pictures([0, 3])] == [0, 3]


def test_a_broken_picture_is_not_shown(tmp_path: Path) -> None:
    path = film(tmp_path / "broken.mp4", range(100))
    expected = _oracle(path)
    data = bytearray(path.read_bytes())
    start = data.index(b"mdat") + 4
    for at in range(start + (len(data) - start) // 3, start + (len(data) - start) // 2, 7):
        data[at] ^= 0x5A
    path.write_bytes(data)
    with pytest.raises(Rejected, match="damaged_video"):
        list(Video(path).pictures(range(10)))
    assert expected


def test_pictures_without_timestamps_have_no_second(tmp_path: Path) -> None:
    """A bare stream called .mp4: when its pictures are shown is not guessed."""
    path = film(tmp_path / "bare.h264", range(60)).rename(tmp_path / "bare.mp4")
    video = Video(path)
    assert not video._timeline.runs
    assert video.seconds == 0


def test_where_the_fast_way_stops_the_filter_goes_on(films: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path, whole = films["constant.mp4"], changeit_video._decoded
    expected = _oracle(path)

    def stops(*args: object) -> Iterator[tuple[int, VideoFrame]]:
        for number, shown in enumerate(whole(*args)):  # type: ignore[arg-type]
            if number == 3:
                raise changeit_video._Unlike
            yield shown

    monkeypatch.setattr(changeit_video, "_decoded", stops)
    assert _digests(path) == expected


def test_a_title_that_is_not_utf8_is_no_reason_to_refuse_a_video(tmp_path: Path) -> None:
    path = tmp_path / "titled.mp4"
    with av.open(str(path), "w") as container:
        container.metadata["title"] = "a title"
        stream = container.add_stream("mpeg4", rate=1)
        stream.width = stream.height = 16
        black = VideoFrame.from_ndarray(np.zeros((16, 16), np.uint8), "gray")
        container.mux(stream.encode(black.reformat(format="yuv420p")))
        container.mux(stream.encode(None))
    path.write_bytes(path.read_bytes().replace(b"a title", b"\xff\xfe\x80tle"))
    assert Video(path).seconds == 1
