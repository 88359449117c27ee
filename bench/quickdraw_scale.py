"""Many Quick, Draw! drawings, planned, rendered and assembled, beside encoding their PNGs and nothing else.

    python bench/quickdraw_scale.py [--samples N] [--workers N] [--work DIR] [--json FILE]

The drawings are real ones with strokes that tremble (the demo's where there are none), N / 345 of each word. Each stage
is the command that a user types, in a process of its own. The peer is the fastest encoder that keeps the PNGs within
10 % of the smallest that any encoder makes of them: all are tried on the same frames, in turn, three rounds. What is
compared is CPU time, of all processes.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from parts import drawings
from parts.results import Result, Spent, options, spent, write

WANTED, WITHIN, MIB = 2.0, 1.1, 2048
FRAMES = 400
"""Frames that encoders are tried on: some of them take 4 ms for one."""
ROUNDS = 3


def frames(work: Path, count: int) -> list:  # type: ignore[type-arg]
    """`count` frames, evenly spread over what was rendered, decoded."""
    import numpy as np
    import pyarrow.parquet as pq
    from PIL import Image

    paths = sorted((work / "frames" / "quickdraw").glob("*.parquet"))
    chosen = paths[:: -(-len(paths) // 20)]
    found = []
    for path in chosen:
        pictures = [frame["bytes"] for row in pq.read_table(path)["frames"].to_pylist() for frame in row]
        found += pictures[:: -(-len(pictures) * len(chosen) // count)]
    return [np.asarray(Image.open(io.BytesIO(data))) for data in found]


def encoders() -> dict[str, Callable[..., int]]:
    """The size of a frame's PNG by each encoder; libraries' streams are of rows with filter None, as ours is."""
    import deflate
    import numpy as np
    from isal import isal_zlib
    from PIL import Image
    from zlib_ng import zlib_ng

    from build_bench.png import encode_grey

    def stream(compress: Callable[..., bytes], level: int, frame) -> int:  # type: ignore[no-untyped-def]
        rows = np.zeros((frame.shape[0], frame.shape[1] + 1), np.uint8)
        rows[:, 1:] = frame
        return len(compress(rows.tobytes(), level)) + 57  # the chunks around it

    def pillow(frame, **how: object) -> int:  # type: ignore[no-untyped-def]
        out = io.BytesIO()
        Image.fromarray(frame).save(out, "png", **how)
        return out.tell()

    libraries = {
        "zlib": (zlib.compress, (1, 6, 9)), "libdeflate": (deflate.zlib_compress, (1, 6, 8, 9)),
        "ISA-L": (isal_zlib.compress, (0, 1, 3)), "zlib-ng": (zlib_ng.compress, (1, 3, 6, 7, 9)),
    }  # fmt: skip
    ways = {
        f"{name} {level}": partial(stream, way, level) for name, (way, levels) in libraries.items() for level in levels
    }
    return {
        "ours": lambda frame: len(encode_grey(frame)),
        "Pillow": pillow,
        "Pillow, optimize": partial(pillow, optimize=True),
    } | ways


def encode(work: Path) -> None:
    """Print name -> (CPU seconds, bytes) a frame, for every encoder."""
    shown, ways = frames(work, FRAMES), encoders()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    sizes = {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            sizes[name] = sum(map(way, shown)) / len(shown)
            taken[name].append((time.process_time() - start) / len(shown))
    print(json.dumps({name: [median(taken[name]), sizes[name]] for name in ways}))


def build(root: Path, per_word: int, workers: int) -> dict[str, Spent]:
    """The three stages of all words."""
    program = [sys.executable, "-m", "build_bench"]
    shared = ["--work", str(root), "--set", f"quickdraw.per_class={per_word}"]
    return {
        "plan": spent([*program, "build", "quickdraw", "--only", "plan", *shared]),
        "render": spent([*program, "build", "quickdraw", "--only", "render", *shared, "--workers", str(workers)]),
        "assemble": spent([*program, "assemble", "--scenario", "quickdraw", *shared]),
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--samples", type=int, default=34_500)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--work", type=Path, help="a folder on a disk with room: 36 kB a sample")
    parser.add_argument("--encode", type=Path)
    chosen = parser.parse_args()
    if chosen.encode:
        return encode(chosen.encode)
    per_word = max(1, chosen.samples // 345)
    root = Path(tempfile.mkdtemp(dir=chosen.work))
    try:
        of = drawings.write(root / "raw" / "quickdraw", per_word)
        stages = build(root, per_word, chosen.workers)
        found = json.loads(spent([sys.executable, __file__, "--encode", str(root)]).output)
        manifest = json.loads((root / "dataset" / "manifest.json").read_bytes())["scenarios"]["quickdraw"]
        write(chosen.json, report(stages, found, manifest, of))
    finally:
        shutil.rmtree(root)
    return None


def report(stages: dict[str, Spent], found: dict[str, list[float]], manifest: dict[str, int], of: str) -> list[Result]:
    """Print the tables; returns what came of it."""
    samples, count = manifest["built"], manifest["frames"]
    print(f"\n## {samples:,} drawings made of {of} ones, {count:,} frames, {manifest['bytes'] / 2**20:,.0f} MiB\n")
    print("| stage | CPU s | s | samples a CPU second | peak MiB |\n| --- | --- | --- | --- | --- |")
    for name, one in stages.items():
        print(f"| {name} | {one.cpu:.1f} | {one.wall:.1f} | {samples / one.cpu:,.0f} | {one.peak_mib:,.0f} |")
    best = min(size for _, size in found.values())
    fastest = min((name for name, (_, size) in found.items() if size <= WITHIN * best), key=lambda name: found[name][0])
    print("\n| encoder | us a frame | bytes a frame | of the best |\n| --- | --- | --- | --- |")
    for name, (seconds, size) in sorted(found.items(), key=lambda each: each[1][0]):
        mark = "**" if name == fastest else ""
        print(f"| {mark}{name}{mark} | {seconds * 1e6:.0f} | {size:,.0f} | {size / best:.2f} |")
    total, peak = sum(one.cpu for one in stages.values()), max(one.peak_mib for one in stages.values())
    print(f"\nAll stages {total:.0f} CPU s. Encoding alone:")
    for name in (fastest, "ours"):
        alone = found[name][0] * count
        print(f"- {name}: {alone:.0f} s, the stages take {total / alone:.2f} times that")
    print(f"\nWanted: at most {WANTED} times {fastest}, and less than {MIB} MiB; peak {peak:,.0f} MiB")
    what = f"{samples:,} QuickDraw drawings, planned, rendered, assembled; peer: encoding by "
    unit, alone = "CPU s", found[fastest][0] * count
    return [
        Result(f"{what}{fastest}, the fastest within 10 % of the best size", total, alone, unit, "<= 2", peak),
        Result(f"{what}our own encoder", total, found["ours"][0] * count, unit, "", peak),
    ]


if __name__ == "__main__":
    main()
