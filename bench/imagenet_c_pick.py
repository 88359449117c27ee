"""Picking five of fifty pictures per class, at five severities, out of a tar: ours beside `tarfile` by member.

Each way in a process of its own, rounds interleaved; what is compared is the ratio within a round, the page cache warm.
The tar is generated: names as in noise.tar, 7 to 19 kB each, 50,000 of them (0.7 GB), or 250,000 (3.4 GB) with --full.

    python bench/imagenet_c_pick.py [--full] [--rounds N] [--json FILE]

Ours is measured twice: `index` makes the index and uses it, `again` finds the one kept from before.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from argparse import SUPPRESS
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from parts.results import Result, options, within, write

IMAGES, PER_CLASS, CORRUPTION, SEVERITIES = 50, 5, "gaussian_noise", (5, 4, 3, 2, 1)


def generate(root: Path, classes: int) -> None:
    """noise.tar with 50 pictures per class and severity, as in the real one."""
    root.mkdir(parents=True)
    noise = np.random.default_rng(0)
    stock = noise.bytes(1 << 22)
    sizes = noise.integers(7_000, 19_000, classes * IMAGES * 5)
    with (root / "noise.tar").open("wb") as file:
        at = 0
        for severity in sorted(SEVERITIES):
            for number in range(classes * IMAGES):
                wnid = f"n{1_440_764 + 137 * (number // IMAGES):08d}"
                info = tarfile.TarInfo(f"{CORRUPTION}/{severity}/{wnid}/ILSVRC2012_val_{number + 1:08d}.JPEG")
                info.size = size = int(sizes[at])
                start = at * 7919 % ((1 << 22) - size)
                file.write(info.tobuf(tarfile.GNU_FORMAT) + stock[start : start + size] + b"\0" * (-size % 512))
                at += 1
        file.write(b"\0" * 10240)


def drawn(wnid: str, numbers: np.ndarray) -> list[int]:
    from build_bench.draws import ranks

    order = np.argsort(ranks(numbers.astype(np.uint64), 0, "imagenet_c", wnid, "image"))
    return sorted(numbers[order[:PER_CLASS]].tolist())


def ours(root: Path, scratch: Path) -> Iterator[bytes]:
    from build_bench.raw_sources.imagenet_c import ImageNetC, Picture

    raw = ImageNetC(root, scratch, (CORRUPTION,))
    for wnid, numbers in raw.images():
        for number in drawn(wnid, numbers):
            yield from raw.frames(Picture(CORRUPTION, wnid, number))


def by_member(root: Path, scratch: Path) -> Iterator[bytes]:
    with tarfile.open(root / "noise.tar") as tar:
        members = {member.name: member for member in tar.getmembers()}
        classes: defaultdict[str, set[int]] = defaultdict(set)
        for name in members:
            _, _, wnid, file = name.split("/")
            classes[wnid].add(int(file[15:23]))
        for wnid in sorted(classes):
            for number in drawn(wnid, np.array(sorted(classes[wnid]))):
                for severity in SEVERITIES:
                    name = f"{CORRUPTION}/{severity}/{wnid}/ILSVRC2012_val_{number:08d}.JPEG"
                    content = tar.extractfile(members[name])
                    assert content
                    yield content.read()


WAYS = {"tarfile": by_member, "index": ours, "again": ours}


def measure(way: str, root: Path, scratch: Path) -> None:
    """One way, in this process: prints seconds (imports excluded), peak memory in MiB, and what was picked."""
    __import__("build_bench.raw_sources.imagenet_c" if way != "tarfile" else "build_bench.draws")
    if way == "index":
        shutil.rmtree(scratch, ignore_errors=True)
    start = time.perf_counter()
    count = size = crc = 0
    for data in WAYS[way](root, scratch):
        count, size, crc = count + 1, size + len(data), zlib.crc32(data, crc)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, peak, count, size, crc)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--full", action="store_true", help="all 1,000 classes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--generate", nargs=2, help=SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=SUPPRESS)
    asked = parser.parse_args()
    if asked.generate:
        generate(Path(asked.generate[0]), int(asked.generate[1]))
    elif asked.measure:
        way, *folders = asked.measure
        measure(way, *map(Path, folders))
    else:
        write(asked.json, compare(1000 if asked.full else 200, asked.rounds))


def compare(classes: int, rounds: int) -> list[Result]:
    """Measure and print; returns what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        root, scratch = Path(folder) / "imagenet_c", Path(folder) / "scratch"
        # in a process of its own: a child starts with its parent's peak on its account
        subprocess.run([sys.executable, __file__, "--generate", str(root), str(classes)], check=True)
        results: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        answers = set()
        for _ in range(rounds):
            for way in WAYS:
                command = [sys.executable, __file__, "--measure", way, str(root), str(scratch)]
                seconds, peak, *answer = subprocess.check_output(command, text=True).split()
                results[way].append((float(seconds), float(peak)))
                answers.add(tuple(answer))
        assert len(answers) == 1, f"the ways differ: {answers}"
        size = (root / "noise.tar").stat().st_size / 1e9
    count, peer = next(iter(answers))[0], results["tarfile"]
    print(f"{count} of {classes * IMAGES * 5} members, {size:.1f} GB, {rounds} rounds interleaved, medians\n")
    print("| way | seconds | times as fast as tarfile | peak MiB |")
    print("|---|---|---|---|")
    found = []
    for way, runs in results.items():
        (mine, peaks), (theirs, _) = (zip(*each, strict=True) for each in (runs, peer))
        seconds, peak = statistics.median(mine), statistics.median(peaks)
        print(f"| {way} | {seconds:.2f} | {within(theirs, mine):.1f} | {peak:.0f} |")
        if way != "tarfile":
            what = f"ImageNet-C: {count} of {classes * IMAGES * 5} members, {NAMES[way]}; peer: tarfile"
            found.append(Result(what, seconds, statistics.median(theirs), "s", "<= 1", peak, within(mine, theirs)))
    return found


NAMES = {"index": "index made", "again": "index kept"}


if __name__ == "__main__":
    main()
