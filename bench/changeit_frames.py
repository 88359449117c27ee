"""One picture per second of a 720p file: ours beside `ffmpeg -vf fps=1` and beside the same filter through PyAV.

One decoder thread each, rounds interleaved; what is compared is the ratio within a round. On a busy machine trust the
processor's time: ffmpeg has threads for demuxing and writing as well, and so a larger share of what there is.

The file is generated and seeded: H.264 at 30 pictures a second, three B pictures in a row, a key picture at least every
five seconds, moving texture with grain. ffmpeg is the one on the path, else the one that imageio-ffmpeg brings, else
that row is left out.

    python bench/changeit_frames.py [--rounds N] [--seconds N] [--json FILE]
"""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from parts.results import Result, options, within, write

from build_bench.builders.changeit_steps import grid
from build_bench.raw_sources.changeit_video import THREADS, Video, filtered

WIDTH, HEIGHT, RATE = 1280, 720, 30


def generate(path: Path, seconds: int) -> None:
    """About 2.5 Mbit/s, as downloads of that size have."""
    draw = np.random.RandomState(0)
    texture = draw.randint(0, 255, (HEIGHT // 8 + 60, WIDTH // 8 + 120), np.uint8)
    still = np.kron(texture, np.ones((8, 8), np.uint8))
    grain = draw.randint(0, 12, (8, HEIGHT, WIDTH), np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.bit_rate = 2_500_000
        stream.options = {"preset": "veryfast", "bf": "3", "g": str(5 * RATE)}
        for number in range(seconds * RATE):
            y, x = number // 3 % 400, number % 800
            luma = still[y : y + HEIGHT, x : x + WIDTH] // 2 + 40 + grain[number % 8]
            chroma = np.full((HEIGHT // 2, WIDTH), 128 + number % 40, np.uint8)
            frame = VideoFrame.from_ndarray(np.concatenate([luma, chroma]), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def ffmpeg() -> str | None:
    """The program, or None."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found]
    except ImportError:
        return None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def run(program: str, path: Path, *output: str) -> str:
    threads = ["-threads", str(THREADS), "-filter_threads", str(THREADS)]
    command = [program, "-v", "error", *threads, "-i", str(path), "-vf", "fps=1", *output, "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def processor() -> float:
    """Seconds that this process and those it started have had of a processor."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def digest(frame: VideoFrame) -> str:
    return hashlib.md5(frame.to_ndarray().tobytes()).hexdigest()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    rounds, seconds = asked.rounds, asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"
        generate(path, seconds)
        size = path.stat().st_size
        program = ffmpeg()
        video = Video(path)
        expected = [digest(frame) for frame in filtered(path)]
        assert [digest(frame) for _, frame in video.pictures(range(seconds))] == expected, "pictures differ from PyAV's"
        if program:
            lines = run(program, path, "-f", "framemd5").splitlines()
            theirs = [line.split(",")[-1].strip() for line in lines if not line.startswith("#")]
            assert theirs == expected, "pictures differ from ffmpeg's"
        chosen = grid([2] * seconds, {2}, 16)
        assert chosen is not None
        ways: dict[str, Callable[[], object]] = {
            "build_bench, every second": lambda: sum(1 for _ in Video(path).pictures(range(seconds))),
            f"build_bench, the {len(chosen.seconds)} seconds of a sample": lambda: sum(
                1 for _ in Video(path).pictures(chosen.seconds)
            ),
            "PyAV, the whole filter graph": lambda: sum(1 for _ in filtered(path)),
        }
        if program:
            ways["ffmpeg -vf fps=1"] = lambda: run(program, path, "-f", "null")
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, call in ways.items():
                start, used = time.perf_counter(), processor()
                call()
                times[way].append((time.perf_counter() - start, processor() - used))
    peer = list(times)[-1]
    rate = size * 8 / seconds / 1e6
    print(f"{seconds} s of {WIDTH} x {HEIGHT} at {RATE}/s, {rate:.1f} Mbit/s; {rounds} rounds, medians")
    print(f"all {len(expected)} pictures equal to the pixel{'' if program else '; there is no ffmpeg here'}\n")
    print(f"| way | seconds | of the processor | share of {peer}'s time (per round) | of its processor time |")
    print("|---|---|---|---|---|")
    results = []
    for way, runs in times.items():
        walls, useds = zip(*runs, strict=True)
        peer_walls, peer_useds = zip(*times[peer], strict=True)
        shares = within(walls, peer_walls), within(useds, peer_useds)
        wall, used = statistics.median(walls), statistics.median(useds)
        print(f"| {way} | {wall:.2f} | {used:.2f} | {shares[0]:.2f} | {shares[1]:.2f} |")
        if way.startswith("build_bench"):
            what = f"ChangeIt, {way.removeprefix('build_bench, ')}; peer: {peer}"
            results.append(Result(what, used, statistics.median(peer_useds), "CPU s", "<= 1", ratio=shares[1]))
    write(asked.json, results)


if __name__ == "__main__":
    main()
