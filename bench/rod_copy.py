"""ROD's pictures into the frames, beside `cp` of the same members.

Two sequences of 3024 x 3024 pictures as a phone writes them (a position in the EXIF, megabytes), unpacked and packed.
Rounds interleaved in one process, nothing flushed to disk by either side; what counts is the ratio within a round.

    python bench/rod_copy.py [--rounds N] [--json FILE]
"""

from __future__ import annotations

import gzip
import io
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from argparse import SUPPRESS
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from parts.results import Result, options, within, write
from PIL import Image

from build_bench import config, jpeg, schema, stages
from build_bench.builders.rod import published
from build_bench.executors.local import Local
from build_bench.raw_sources.rod import Rod
from build_bench.rendering import BATCH_BYTES
from build_bench.store import Work

SIDE = 3024
STEMS = ("natural_bluebl_brownc-banana", "natural_redbl_brownc-banana")


def photo() -> bytes:
    """Smooth colours with a sensor's noise, seeded: about as many bytes as a phone's picture has."""
    draw = np.random.default_rng(0)
    small = Image.fromarray(draw.integers(0, 255, (SIDE // 16, SIDE // 16, 3), dtype=np.uint8))
    pixels = np.asarray(small.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.int16)
    pixels = pixels + draw.integers(-10, 10, (SIDE, SIDE, 1), dtype=np.int16)
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "N", 2: (46.0, 4.0, 9.0), 3: "E", 4: (11.0, 7.0, 12.0)})
    buffer = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85, exif=exif)
    return buffer.getvalue()


def lay_out(folder: Path, archive: Path) -> int:
    """The pictures as files and in an archive; returns their bytes."""
    data = photo()
    with gzip.GzipFile(archive, "wb", 6) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for stem in STEMS:
            for step in range(14):
                path = folder / "rod_1" / "banana" / f"{stem}-s{step}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                tar.add(path, path.relative_to(folder).as_posix())
    return len(data) * 14 * len(STEMS)


def into_frames(pictures: Iterable[bytes], path: Path) -> None:
    """Write a shard as rendering does."""
    with pq.ParquetWriter(path, schema.RENDERED, compression="none", write_statistics=False) as writer:
        batch, size = [], 0
        for number, data in enumerate(pictures):
            batch.append({"id": "x", "frames": [{"bytes": data, "path": f"{number}.jpg"}]})
            size += len(data)
            if size >= BATCH_BYTES:
                writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))
                batch, size = [], 0
        writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))


def timed(way: Callable[[], object]) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def peak(root: Path) -> float:
    """MiB at most in memory while a process plans and renders the archive."""
    command = [sys.executable, __file__, "--build", str(root)]
    return float(subprocess.check_output(command, text=True))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--build", type=Path, help=SUPPRESS)
    asked = parser.parse_args()
    if asked.build:
        build(asked.build)
    else:
        write(asked.json, compare(asked.rounds))


def compare(rounds: int) -> list[Result]:
    """Measure and print; returns what came of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpacked, packed, out = folder / "unpacked" / "rod", folder / "packed" / "rod", folder / "out"
        packed.mkdir(parents=True)
        archive = packed / "rod_1.tar.gz"
        size = lay_out(unpacked, archive)
        raw = Rod(unpacked, folder)
        pictures = [picture for entry in raw.entries() for picture in entry.steps.values()]
        ways: dict[str, tuple[str, Callable[[], object]]] = {
            "cp": ("cp", lambda: subprocess.run(["cp", "-r", unpacked, out / "rod"], check=True)),
            "stripped into the frames": (
                "cp",
                lambda: into_frames((jpeg.stripped(raw.picture(p)) for p in pictures), out / "shard"),
            ),
            "tar -xzf": ("tar -xzf", lambda: subprocess.run(["tar", "-xzf", archive, "-C", out], check=True)),
            "archive laid out": ("tar -xzf", lambda: Rod(packed, out).fill({archive.name})),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, (_, run) in ways.items():
                out.mkdir()
                seconds[way].append(timed(run))
                shutil.rmtree(out)
        data = raw.picture(pictures[0])
        checked = statistics.median(timed(lambda: published(data, "")) for _ in range(rounds))
        memory = peak(packed.parent)
    print(f"{len(pictures)} pictures of {SIDE} x {SIDE}, {size / 1e6:.0f} MB, {rounds} rounds interleaved, medians\n")
    print("| way | MB/s | of its peer (per round) |")
    print("|---|---|---|")
    found = []
    for way, (peer, _) in ways.items():
        speed, limit = (size / 1e6 / statistics.median(seconds[each]) for each in (way, peer))
        share = within(seconds[peer], seconds[way])
        print(f"| {way} | {speed:.0f} | {share:.2f} of {peer} |")
        if way != peer:
            found.append(Result(f"ROD: {way}; peer: {peer}", speed, limit, "MB/s", peak_mib=memory, ratio=share))
    speed = len(data) / 1e6 / checked
    print(f"\nThe check before it decodes each picture once: {checked * 1000:.0f} ms, {speed:.0f} MB/s.")
    print(f"Planning and rendering the archive: {memory:.0f} MiB at most.")
    return found


def build(raw: Path) -> None:
    """Plan and render what is under `raw`; print the peak memory in MiB."""
    stages.build(Work(raw.parent / "work", raw), config.read(["rod"]), ["rod"], Local(1))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
