"""Finding single-object images in an instances file of val2014's size: ours beside pycocotools.

Each way in a process of its own, rounds interleaved; what is compared is the ratio within a round. The file is
generated (40,504 images, about 290,000 annotations with polygons, 160 MB), seeded. Imports are not measured.

    python bench/coco_select.py [--rounds N] [--json FILE]
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS
from hashlib import sha256
from pathlib import Path

from parts.results import Result, options, within, write

IMAGES = 40_504


def generate(path: Path) -> None:
    """An instances file: one image in fifteen has exactly one annotation, the others up to fifteen."""
    draw = random.Random(0)
    categories = [{"supercategory": f"group {i % 12}", "id": i, "name": f"thing {i}"} for i in range(1, 91) if i % 9]
    ids = [row["id"] for row in categories]
    images, annotations = [], []
    for number in range(1, IMAGES + 1):
        name = f"COCO_val2014_{number:012d}.jpg"
        images.append(
            {
                "license": draw.randint(1, 8), "file_name": name, "height": 480, "width": 640, "id": number,
                "coco_url": f"http://images.cocodataset.org/val2014/{name}", "date_captured": "2013-11-14 11:18:45",
                "flickr_url": "http://farm9.staticflickr.com/8186/8119368305_4e622c8349_z.jpg",
            }
        )  # fmt: skip
        for _ in range(1 if number % 15 == 0 else draw.randint(0, 15)):
            x, y, w, h = (round(draw.uniform(*span), 2) for span in ((0, 300), (0, 240), (20, 320), (20, 230)))
            points = [round(draw.uniform(0, 480), 2) for _ in range(2 * draw.randint(8, 40))]
            crowd = draw.random() < 0.01
            shape = {"counts": [int(p) for p in points], "size": [480, 640]} if crowd else [points]
            annotations.append(
                {
                    "segmentation": shape, "area": w * h / 2, "iscrowd": int(crowd), "image_id": number,
                    "bbox": [x, y, w, h], "category_id": draw.choice(ids), "id": len(annotations) + 1,
                }
            )  # fmt: skip
    draw.shuffle(annotations)  # COCO's are in no order either
    tables = {"info": {}, "images": images, "licenses": [], "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(tables))


def ours(root: Path) -> list[tuple[int, str, tuple[float, ...]]]:
    from build_bench.raw_sources.coco import Coco

    raw = Coco(root)
    return [
        (entry.image.id, raw.categories[row.category_id].name, row.box())
        for entry in raw.images()
        if entry.image and not entry.problem and len(entry.annotations) == 1
        for row in entry.annotations
        if not row.iscrowd
    ]


def pycocotools(root: Path) -> list[tuple[int, str, tuple[float, ...]]]:
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(str(root / "annotations" / "instances_val2014.json"))
    found = []
    for image_id in sorted(coco.imgs):
        rows = coco.imgToAnns[image_id]
        if len(rows) == 1 and not rows[0]["iscrowd"]:
            found.append((image_id, coco.cats[rows[0]["category_id"]]["name"], tuple(rows[0]["bbox"])))
    return found


WAYS = {"build_bench": ours, "pycocotools": pycocotools}


def measure(way: str, root: Path) -> None:
    """One way, in this process: prints seconds (imports excluded), peak memory in MiB, a digest of what it found."""
    __import__("build_bench.raw_sources.coco" if way == "build_bench" else "pycocotools.mask")
    start, used = time.perf_counter(), time.process_time()
    found = WAYS[way](root)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, cpu, peak, len(found), sha256(repr(found).encode()).hexdigest())


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--generate", type=Path, help=SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=SUPPRESS)
    asked = parser.parse_args()
    if asked.generate:
        generate(asked.generate)
    elif asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]))
    else:
        write(asked.json, compare(asked.rounds))


def compare(rounds: int) -> list[Result]:
    """Measure and print; returns what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "annotations").mkdir()
        (root / "val2014").mkdir()
        path = root / "annotations" / "instances_val2014.json"
        # in a process of its own: a child starts with its parent's peak on its account
        subprocess.run([sys.executable, __file__, "--generate", str(path)], check=True)
        results: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        answers = set()
        for _ in range(rounds):
            for way in WAYS:
                command = [sys.executable, __file__, "--measure", way, folder]
                seconds, cpu, peak, count, digest = subprocess.check_output(command, text=True).split()
                results[way].append((float(seconds), float(cpu), float(peak)))
                answers.add((count, digest))
        assert len(answers) == 1, f"the ways differ: {answers}"
        size = path.stat().st_size / 1e6
    (count, _), peer = next(iter(answers)), results["pycocotools"]
    print(f"{size:.0f} MB, {count} single-object images, {rounds} rounds interleaved, medians\n")
    print("| way | seconds | times as fast | CPU seconds | times as fast | peak MiB | share of the peer's memory |")
    print("|---|---|---|---|---|---|---|")
    for way, runs in results.items():
        mine, theirs = ([*zip(*each, strict=True)] for each in (runs, peer))
        faster, leaner, memory = within(theirs[0], mine[0]), within(theirs[1], mine[1]), within(mine[2], theirs[2])
        seconds, cpu, peak = (statistics.median(values) for values in mine)
        print(f"| {way} | {seconds:.2f} | {faster:.1f} | {cpu:.2f} | {leaner:.1f} | {peak:.0f} | {memory:.2f} |")
    mine, theirs = ([*zip(*results[way], strict=True)] for way in WAYS)
    what = "COCO: images of one object in val2014; peer: pycocotools"
    (seconds, _, peak), (their_seconds, _, their_peak) = (
        [statistics.median(v) for v in each] for each in (mine, theirs)
    )
    return [
        Result(what, seconds, their_seconds, "s", "<= 0.067", peak, within(mine[0], theirs[0])),
        Result(f"{what}, memory", peak, their_peak, "MiB", "<= 1", peak, within(mine[2], theirs[2])),
    ]


if __name__ == "__main__":
    main()
