"""Planning, rendering and assembling at the paper's size: samples per second and the peak memory of each stage.

Each stage runs in a process of its own over generated sources of 3,450 QuickDraw samples (345 words) and about 5,000
COCO samples (40,504 images). No stage holds all frames: compare the peaks with the size of the frames.

    python bench/pipeline.py [--lines N] [--json FILE]     N drawings per word, default 2,000
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from parts.results import Result, options, write

from build_bench import manifests
from build_bench.demo import SETTINGS
from build_bench.raw_sources.quickdraw import known_words

STAGE = """
import sys, time
from pathlib import Path
from build_bench import config, planning, release, rendering, store
from build_bench.executors.local import Local
root, scenario, stage, *settings = sys.argv[1:]
work = store.Work(Path(root) / "work", Path(root) / "raw")
read = config.read([scenario], None, settings)
builder = read.builder(scenario); builder.check(work.root)
def peak():  # of this program alone: getrusage would count the parent's before exec
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))
baseline = peak()
start = time.perf_counter()
if stage == "plan":
    count = planning.plan(work, read, scenario).planned
elif stage == "render":
    count = sum(stamp.samples for stamp in rendering.render(work, read, scenario, Local(1)))
else:
    count = release.assemble(work, read, [scenario])["scenarios"][scenario]["built"]
seconds = time.perf_counter() - start
print(count, count / seconds, peak() / 1024, baseline / 1024)
"""


def quickdraw(root: Path, lines: int) -> None:
    """345 files of `lines` drawings each, in the simplified layout."""
    draw = random.Random(0)
    folder = root / "full" / "simplified"
    folder.mkdir(parents=True)
    key_id = 4_503_599_627_370_496
    for word in known_words():
        with (folder / f"{word}.ndjson").open("w") as file:
            for _ in range(lines):
                key_id += draw.randrange(1, 1_000_000)
                count = draw.randrange(1, 9)
                strokes = [[[draw.randrange(256) for _ in range(9)] for _ in range(2)] for _ in range(count)]
                row = {
                    "word": word, "countrycode": "US", "timestamp": "2017-03-09 00:28:55.63750 UTC",
                    "recognized": draw.random() < 0.92, "key_id": str(key_id), "drawing": strokes,
                }  # fmt: skip
                file.write(json.dumps(row, separators=(",", ":")) + "\n")


def coco(root: Path) -> None:
    """40,504 images, one in eight with a single annotation; all pictures are links to one JPEG of 640 x 480."""
    import numpy as np
    from PIL import Image

    draw = random.Random(0)
    pictures = root / "val2014"
    pictures.mkdir(parents=True)
    (root / "annotations").mkdir()
    one = root / "one.jpg"
    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    Image.fromarray(noise).resize((640, 480), Image.Resampling.BICUBIC).save(one, quality=90)
    images, annotations = [], []
    table = csv.DictReader(io.StringIO(manifests.text("annotations/coco_categories.csv")))
    categories = [{**row, "id": int(row["id"])} for row in table]
    ids = [row["id"] for row in categories]
    for number in range(1, 40_505):
        name = f"COCO_val2014_{number:012d}.jpg"
        os.link(one, pictures / name)
        images.append({"license": 1, "file_name": name, "height": 480, "width": 640, "id": number, "coco_url": ""})
        for _ in range(1 if number % 8 == 0 else draw.choice((0, 2, 3, 5, 9, 14))):
            x, y, w, h = draw.uniform(0, 250), draw.uniform(0, 200), draw.uniform(60, 380), draw.uniform(60, 270)
            annotations.append(
                {
                    "segmentation": [[round(draw.uniform(0, 480), 2) for _ in range(40)]], "area": w * h, "iscrowd": 0,
                    "image_id": number, "bbox": [round(v, 2) for v in (x, y, w, h)],
                    "category_id": draw.choice(ids), "id": len(annotations) + 1,
                }
            )  # fmt: skip
    one.unlink()
    data = {"images": images, "annotations": annotations, "categories": categories, "licenses": []}
    (root / "annotations" / "instances_val2014.json").write_text(json.dumps(data))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--lines", type=int, default=2_000)
    asked = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        quickdraw(root / "raw" / "quickdraw", asked.lines)
        coco(root / "raw" / "coco")
        print("\n## The stages at the paper's size, one process each\n")
        print("| scenario | stage | samples | samples/s | peak MiB | of it before the stage |")
        print("| --- " * 6 + "|")
        for scenario in ("quickdraw", "coco"):
            settings = [setting for setting in SETTINGS if setting.startswith(scenario)]
            for stage in ("plan", "render", "assemble"):
                command = [sys.executable, "-c", STAGE, folder, scenario, stage, *settings]
                printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                count, speed, peak, before = map(float, printed.split())
                results.append(Result(f"{scenario}: {stage}", speed, None, "samples/s", peak_mib=peak))
                print(f"| {scenario} | {stage} | {count:,.0f} | {speed:,.0f} | {peak:,.0f} | {before:,.0f} |")
        for scenario in ("quickdraw", "coco"):
            frames = sum(path.stat().st_size for path in (root / "work" / "frames" / scenario).iterdir())
            print(f"\nframes of {scenario}: {frames / 2**20:,.0f} MiB")
    write(asked.json, results)


if __name__ == "__main__":
    main()
