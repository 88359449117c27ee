"""MVP-N's pictures out of data.zip into the frames, beside `cp` of the same members, unpacked.

Opening and listing the zip is counted. Rounds interleaved, nothing flushed to disk by either side; what counts is the
ratio within a round. The proof that a picture decodes comes before the copy, once per picture, and is measured by
itself beside Pillow's decoding; `whole stage` is both, with plans read, in one process. The pictures are generated,
seeded: 224 x 224 pixels, some 80 kB each, four to a set.

    python bench/mvp_n_copy.py [--rounds N] [--json FILE]
"""

from __future__ import annotations

import io
import json
import pickle
import shutil
import statistics
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from parts.results import Result, options, within, write
from PIL import Image

from build_bench import config, imaging, planning, rendering, schema, shards
from build_bench.builders.mvp_n_png import is_sound
from build_bench.executors.local import Local
from build_bench.raw_sources.mvp_n import CLASSES, MvpN
from build_bench.records import Plan
from build_bench.rendering import BATCH_BYTES
from build_bench.store import Work

CLASSES_USED, VIEWS, SIDE = 6, 80, 224


def picture(draw: np.random.Generator) -> bytes:
    """A PNG as large as a photo's: smooth shapes, and a camera's noise."""
    pixels = np.zeros((SIDE, SIDE, 3), np.float32)
    for cells, strength in ((4, 90), (14, 40), (56, 14)):
        noise = draw.integers(0, 255, (cells, cells, 3), np.uint8)
        smooth = Image.fromarray(noise).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        pixels += np.asarray(smooth, np.float32) / 255 * strength
    pixels += draw.normal(40, 2.5, pixels.shape)
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def generate(root: Path, method: int) -> int:
    """`mvp_n/data.zip` and its pictures unpacked beside it in `pictures/`; returns their bytes."""
    draw = np.random.default_rng(0)
    size = 0
    (root / "mvp_n").mkdir(parents=True)
    with zipfile.ZipFile(root / "mvp_n" / "data.zip", "w", method) as archive:
        for label in CLASSES[:CLASSES_USED]:
            views = []
            for number in range(VIEWS):
                views.append(f"{label}/0001/{number:04d}_{int(number % 4 == 3)}.png")
                data = picture(draw)
                size += len(data)
                file = root / "pictures" / views[-1]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                archive.writestr(f"data/test/{views[-1]}", data)
            sets = [views[first : first + 4] for first in range(0, VIEWS, 4)]
            archive.writestr(f"data/test_list/test_{label}_100.pkl", pickle.dumps(sets))
    rows = "".join(f"{label},product number {label}\n" for label in CLASSES)
    (root / "mvp_n" / "classes.csv").write_text("class,name\n" + rows)
    return size


def copy(source: Path, samples: list[Plan], path: Path) -> None:
    """Write a shard as rendering does."""
    raw = MvpN(source)
    with pq.ParquetWriter(path, schema.RENDERED, compression="none", write_statistics=False) as writer:
        batch, size = [], 0
        for plan in samples:
            views = json.loads(plan.recipe)["views"]
            frames = [{"bytes": raw.picture(view), "path": name} for view, name in zip(views, plan.frames, strict=True)]
            batch.append({"id": plan.id, "frames": frames})
            size += sum(len(frame["bytes"]) for frame in frames)
            if size >= BATCH_BYTES:
                writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))
                batch, size = [], 0
        writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))


def whole_stage(planned: Work, work: Work, settings: config.Config) -> None:
    shutil.copytree(planned.root / "plans", work.root / "plans")
    rendering.render(work, settings, "mvp_n", Local(1))


def timed(way: Callable[[], object]) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    rounds = asked.rounds
    with tempfile.TemporaryDirectory() as name:
        root, out = Path(name), Path(name) / "out"
        there, here = root / "stored" / "pictures", out / "copied"
        ways: dict[str, Callable[[], object]] = {"cp": lambda: subprocess.run(["cp", "-r", there, here], check=True)}
        for kind, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            source = root / kind / "mvp_n"
            size = generate(root / kind, method)
            work, settings = Work(root / kind / "work", root / kind), config.read(["mvp_n"])
            planning.plan(work, settings, "mvp_n")
            samples = list(shards.all_plans(work, "mvp_n"))
            views = sorted({view for plan in samples for view in json.loads(plan.recipe)["views"]})
            assert len(views) == CLASSES_USED * VIEWS, "some pictures are in no sample"
            ways[f"{kind} into the frames"] = partial(copy, source, samples, out / "shard")
            ways[f"{kind}, whole stage"] = partial(whole_stage, work, Work(out, root / kind), settings)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, run in ways.items():
                out.mkdir()
                seconds[way].append(timed(run))
                shutil.rmtree(out)
        raw = MvpN(source)
        pictures = [raw.picture(view) for view in views[:100]]
        assert all(map(is_sound, pictures))
        proofs, decodings = [], []
        for _ in range(rounds):
            proofs.append(timed(lambda: [is_sound(data) for data in pictures]))
            decodings.append(timed(lambda: [imaging.decode(data) for data in pictures]))
    print(f"{len(views)} pictures of {SIDE} x {SIDE}, {size / 1e6:.0f} MB, {rounds} rounds interleaved, medians\n")
    print("| way | MB/s | of cp (per round) |")
    print("|---|---|---|")
    found = []
    copied = size / 1e6 / statistics.median(seconds["cp"])
    for way, taken in seconds.items():
        speed, share = size / 1e6 / statistics.median(taken), within(seconds["cp"], taken)
        print(f"| {way} | {speed:.0f} | {share:.2f} |")
        if way != "cp":
            found.append(Result(f"MVP-N: pictures {way}; peer: cp", speed, copied, "MB/s", ratio=share))
    micros, decoded = (statistics.median(taken) / len(pictures) * 1e6 for taken in (proofs, decodings))
    faster = within(decodings, proofs)
    print(f"\nThe proof that a picture decodes: {micros:.0f} us each, {faster:.1f} times as fast as decoding it.")
    what = "MVP-N: proof that a picture decodes; peer: Pillow's decoding"
    write(asked.json, [*found, Result(what, micros, decoded, "us", "<= 1", ratio=within(proofs, decodings))])


if __name__ == "__main__":
    main()
