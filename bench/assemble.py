"""Lists of images into parquet: the writer of `assemble` beside `Dataset.from_generator(...).to_parquet()` and a copy.

    python bench/assemble.py [--pictures N] [--rounds N] [--json FILE]

The pictures are as large as ImageNet-C's (13 kB on average; seeded), 1 to 8 a sample, rendered frames of a QuickDraw
work folder by name. Every way writes the same rows. Writing alone begins with rows in memory, ours as Arrow tables, for
`datasets` as dicts; the other ways read the same shards. Each way in a process of its own, rounds interleaved; imports
are not counted. A ratio is of the clock, within a round: a copy is one thread's work, and ours reads while it writes.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from parts.results import Result, options, spent, write

SCENARIO = "quickdraw"
Way = Callable[[Path], None]
"""What is measured: it writes into the folder given."""


def prepare(root: Path, pictures: int) -> None:
    """Plans of drawings, and shards whose pictures are JPEGs with random bytes behind their end."""
    import io
    from dataclasses import asdict

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from parts import drawings
    from PIL import Image

    from build_bench import planning, schema, shards, store

    work, settings = opened(root, max(1, pictures // 5 // 345))
    drawings.write(work.raw / SCENARIO, settings.settings[SCENARIO].per_class)
    planning.plan(work, settings, SCENARIO)
    draw = np.random.default_rng(0)
    start = io.BytesIO()
    Image.fromarray(draw.integers(0, 255, (64, 64, 3), np.uint8)).save(start, "JPEG")
    for number, shard in enumerate(shards.cut(work, settings, SCENARIO)):
        rows = []
        for plan in shards.plans_of(work, SCENARIO, shard.first, shard.count):
            sizes = draw.lognormal(9.0, 0.6, len(plan.frames)).astype(int)
            data = [start.getvalue() + draw.bytes(size) for size in sizes]
            rows.append(
                {"id": plan.id, "frames": [{"bytes": d, "path": n} for d, n in zip(data, plan.frames, strict=True)]}
            )
        stamp = shards.ShardStamp(shard.key, len(rows), sum(len(row["frames"]) for row in rows), ())
        table = pa.Table.from_pylist(rows, schema.RENDERED).replace_schema_metadata(store.metadata(asdict(stamp)))
        path = work.shard(SCENARIO, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)


def opened(root: Path, per_word: int = 10) -> tuple[Any, Any]:
    from build_bench import config, store

    return store.Work(root / "work", root / "raw"), config.read([SCENARIO], None, [f"quickdraw.per_class={per_word}"])


def writer(root: Path, *, chunking: bool) -> Way:
    """Tables in memory into files, as `assemble` writes them; `chunking`: where pages end depends on the content."""
    from build_bench import release, tree

    tables = list(release._batches(opened(root)[0], SCENARIO))
    made = tree.pq.ParquetWriter

    def run(out: Path) -> None:
        # Without it a page takes the next 1,024 pictures, 13 MB in ever larger buffers, unless told to take fewer.
        other = {} if chunking else {"use_content_defined_chunking": False, "write_batch_size": 64}
        tree.pq.ParquetWriter = lambda *a, **k: made(*a, **k | other)
        with tree._Files(out, tree.KEPT) as files:
            for table in tables:
                files.write(table)

    return run


def joined(root: Path) -> Way:
    """Shards read and proved whole, joined with plans, and written."""
    from build_bench import release, tree

    def run(out: Path) -> None:
        with tree._Files(out, tree.KEPT) as files:
            for table in release._batches(opened(root)[0], SCENARIO):
                files.write(table)

    return run


def hashed(root: Path) -> Way:
    """The least that `assemble` can take: that, and sha256 of each picture and each file."""
    from build_bench import release, row_digests, store, tree

    def run(out: Path) -> None:
        with tree._Files(out, tree.KEPT) as files:
            for table in release._batches(opened(root)[0], SCENARIO):
                for batch in table.to_batches():
                    list(row_digests._pictures(batch["frames"].flatten()))
                files.write(table)
        for path in out.iterdir():
            store.sha256(path)

    return run


def whole(root: Path) -> Way:
    """All of `assemble`: each row checked, with digests of rows, contact sheet, card and manifest too."""
    from build_bench import release, store

    work, settings = opened(root)

    def run(out: Path) -> None:
        shutil.rmtree(work.dataset, ignore_errors=True)
        store.write_bytes(work.own / "assembled.json", b"{}")
        release.assemble(work, settings, [SCENARIO])

    return run


def generated(root: Path, *, in_memory: bool) -> Way:
    """What one writes with `datasets`; it chunks by content by default."""
    import pyarrow.parquet as pq
    from datasets import Dataset

    from build_bench import schema

    def rows() -> Iterator[dict[str, Any]]:
        plans = iter(pq.read_table(root / "work" / "plans" / f"{SCENARIO}.parquet").to_pylist())
        for path in sorted((root / "work" / "frames" / SCENARIO).glob("*.parquet")):
            for rendered in pq.read_table(path).to_pylist():
                row = next(plans) | rendered | {"first_turn_accuracy": None, "num_models": 0}
                yield {name: row[name] for name in schema.PUBLISHED.names}

    held, features = list(rows()) if in_memory else [], schema.features()

    def run(out: Path) -> None:
        def given() -> Iterator[dict[str, Any]]:
            yield from held or rows()

        made = Dataset.from_generator(given, features=features, cache_dir=str(out / "cache"), fingerprint=out.name)
        made.to_parquet(out / "rows.parquet")

    return run


def copied(root: Path) -> Way:
    """The same bytes."""

    def run(out: Path) -> None:
        for path in sorted((root / "work" / "frames" / SCENARIO).glob("*.parquet")):
            shutil.copyfile(path, out / path.name)

    return run


WAYS: dict[str, Callable[[Path], Way]] = {
    "writer, content-defined chunking": partial(writer, chunking=True),
    "writer, without": partial(writer, chunking=False),
    "datasets, rows in memory": partial(generated, in_memory=True),
    "shutil.copyfile": copied,
    "shards read, joined, written": joined,
    "that, and sha256 of pictures and files": hashed,
    "all of assemble": whole,
    "datasets, shards read": partial(generated, in_memory=False),
}
CHUNKED, PLAIN, MEMORY, COPY, JOINED, HASHED, WHOLE, SHARDS = WAYS


def measure(way: str, root: Path) -> None:
    """Run one way; prints its CPU seconds, seconds, and peak MiB."""
    run = WAYS[way](root)
    import datasets  # noqa: F401 - what every way but a copy needs is not what is measured

    from build_bench import release  # noqa: F401

    with tempfile.TemporaryDirectory(dir=root) as out:
        cpu, wall = time.process_time(), time.perf_counter()
        run(Path(out))
        spent = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps([*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pictures", type=int, default=24_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--prepare", nargs=2)
    chosen = parser.parse_args()
    if chosen.one:
        return measure(chosen.one[0], Path(chosen.one[1]))
    if chosen.prepare:
        return prepare(Path(chosen.prepare[0]), int(chosen.prepare[1]))
    with tempfile.TemporaryDirectory() as root:
        spent([sys.executable, __file__, "--prepare", root, str(chosen.pictures)])
        size = sum(path.stat().st_size for path in Path(root).glob("work/frames/*/*")) / 1e6
        found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        for _ in range(chosen.rounds):
            for way in WAYS:
                found[way].append(json.loads(spent([sys.executable, __file__, "--one", way, root]).output))
    write(chosen.json, report(found, size, chosen.pictures))
    return None


def report(found: dict[str, list[list[float]]], size: float, pictures: int) -> list[Result]:
    """Print the table; returns what came of it."""
    print(f"\n## About {pictures:,} pictures in lists, {size:,.0f} MB, medians of {len(found[PLAIN])} rounds\n")
    print("| way | MB/s | MB a CPU second | times datasets | of a copy | peak MiB |\n" + "| --- " * 6 + "|")
    results = []
    for way, rounds in found.items():
        cpu, wall = (size / median(each[at] for each in rounds) for at in (0, 1))
        peak, peer = max(each[2] for each in rounds), MEMORY if way in (CHUNKED, PLAIN, MEMORY) else SHARDS
        times, of = (median(b[1] / a[1] for a, b in zip(rounds, found[p], strict=True)) for p in (peer, COPY))
        print(f"| {way} | {wall:,.0f} | {cpu:,.0f} | {times:.1f} | {of:.2f} | {peak:,.0f} |")
        for other, ratio, want in ((peer, times, ">= 4" * (way == CHUNKED)), (COPY, of, ">= 0.3" * (way == PLAIN))):
            if way in (CHUNKED, PLAIN, JOINED, HASHED, WHOLE):
                theirs = size / median(each[1] for each in found[other])
                results.append(Result(f"{way}; peer: {other}", wall, theirs, "MB/s", want, peak, ratio))
    print(f"\nWanted: {CHUNKED} 4 times datasets, {PLAIN} 0.3 of a copy; the peaks of ways in memory hold all rows")
    return results


if __name__ == "__main__":
    main()
