"""Finding single-object images in an instances file of val2014's size: ours beside pycocotools.

Each way in a process of its own, rounds interleaved; what is compared is the ratio within a round. The file is
generated (40,504 images, about 290,000 annotations with polygons, 160 MB), seeded. Imports are not measured.

    python bench/coco_select.py [ROUNDS]
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
from hashlib import sha256
from pathlib import Path

IMAGES, ROUNDS = 40_504, 5


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


def main(rounds: int) -> None:
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
        faster = statistics.median(p[0] / r[0] for p, r in zip(peer, runs, strict=True))
        leaner = statistics.median(p[1] / r[1] for p, r in zip(peer, runs, strict=True))
        memory = statistics.median(r[2] / p[2] for p, r in zip(peer, runs, strict=True))
        seconds, cpu, peak = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"| {way} | {seconds:.2f} | {faster:.1f} | {cpu:.2f} | {leaner:.1f} | {peak:.0f} | {memory:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--generate"]:
        generate(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
