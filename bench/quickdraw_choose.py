"""Choosing ten drawings of a word's file: build_bench against parsing it line by line.

    python bench/quickdraw_choose.py [--data FILE] [--lines N] [--rounds N] [--json FILE]

Writes a seeded file of 140,000 simplified drawings (about 63 MB) to a temporary folder, or takes FILE. All ways choose
the same ten drawings, which is checked, and take turns within each round of one process; times are medians over the
rounds. Peak memory: each way once more, in a process of its own. ndjson, orjson: left out where they are not installed.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
from parts import results

from build_bench import draws
from build_bench.raw_sources.ndjson_ids import scan
from build_bench.raw_sources.quickdraw import QuickDraw

K = 10
KEY_ID = re.compile(rb'"recognized":true,"key_id":"(\d+)"')


class Row(msgspec.Struct):
    """What choosing needs of a line."""

    key_id: str
    recognized: bool
    drawing: list[msgspec.Raw]


def generate(path, lines):
    """Lines like the real ones: their lengths, their times' fractions, 92 % recognised, one in seven of one stroke."""
    rng = np.random.default_rng(20170302)
    ids = rng.choice(2**51, lines, replace=False) + 2**52
    with path.open("w", encoding="utf-8") as file:
        for i in range(lines):
            drawing = []
            for _ in range(1 if rng.random() < 0.14 else 2 + rng.poisson(3)):
                drawing.append(rng.integers(0, 256, (2, 2 + rng.poisson(7))).tolist())
            clock = f"{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}.{rng.integers(1, 100_000):05d}".rstrip("0")
            row = {
                "word": "cat", "countrycode": ("US", "DE", "ZZ")[i % 3], "timestamp": f"2017-03-01 {clock} UTC",
                "recognized": bool(rng.random() < 0.92), "key_id": str(ids[i]), "drawing": drawing,
            }  # fmt: skip
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def ranks(ids):
    return draws.ranks(np.array(ids, np.uint64), 0, "quickdraw", "cat", "drawings")


def first(ids):
    """The ten of `ids` with the smallest ranks."""
    order = np.argsort(ranks(ids))[:K]
    return [int(ids[i]) for i in order]


def ours(path):
    return [int(drawing.key_id) for drawing in _reader(path).choose("cat", K, 0) if hasattr(drawing, "key_id")]


def _reader(path):
    return QuickDraw(path.parents[2])


def lines_of(loads):
    """Parse each line, keep the ids of what can be used."""

    def choose(path):
        ids = []
        with path.open("rb") as file:
            for line in file:
                row = loads(line)
                if row["recognized"] and len(row["drawing"]) > 1:
                    ids.append(int(row["key_id"]))
        return first(ids)

    return choose


def json_kept(path):
    """What users write: parse every line, then choose."""
    with path.open("rb") as file:
        rows = [json.loads(line) for line in file]
    return first([int(row["key_id"]) for row in rows if row["recognized"] and len(row["drawing"]) > 1])


def typed(path):
    decode, ids = msgspec.json.Decoder(Row).decode, []
    with path.open("rb") as file:
        for line in file:
            row = decode(line)
            if row.recognized and len(row.drawing) > 1:
                ids.append(int(row.key_id))
    return first(ids)


def regex(path):
    """The ids by regular expression, then the lines of the smallest parsed until ten can be used."""
    data = path.read_bytes()
    found = list(KEY_ID.finditer(data))
    order = np.argsort(ranks([int(match[1]) for match in found]))
    chosen = []
    for i in order:
        at = found[i].start()
        line = data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)]
        if len(json.loads(line)["drawing"]) > 1:
            chosen.append(int(found[i][1]))
        if len(chosen) == K:
            break
    return chosen


def ndjson_load(path):
    import ndjson

    with path.open() as file:
        rows = ndjson.load(file)
    return first([int(row["key_id"]) for row in rows if row["recognized"] and len(row["drawing"]) > 1])


def orjson_lines(path):
    import orjson

    return lines_of(orjson.loads)(path)


def only_read(path):
    """The limit: the bytes come into memory, and nothing is done with them."""
    buffer = np.zeros(1 << 20, np.uint8)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer.data):
            pass


def only_scan(path):
    scan(path, ranks, 1024)


WAYS = {
    "json.loads per line, rows kept": json_kept,
    "json.loads per line, ids kept": lines_of(json.loads),
    "ndjson.load": ndjson_load,
    "orjson, a line at a time": orjson_lines,
    "msgspec, typed, a line at a time": typed,
    "regular expression over the bytes": regex,
    "build_bench": ours,
    "build_bench, the scan alone": only_scan,
    "read() and nothing else": only_read,
}
BASE, LEAN = "json.loads per line, rows kept", "json.loads per line, ids kept"


def cold(path, way):
    """Seconds of `way` after the file has been dropped from the page cache; None where that can't be asked for."""
    if not hasattr(os, "posix_fadvise"):
        return None
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    way(path)
    return time.perf_counter() - start


def peak_kib():
    """Of this process; `ru_maxrss` is the parent's too on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak(path, name):
    """Peak resident MiB of a process that does nothing else."""
    run = [sys.executable, __file__, "--data", str(path), "--one", name]
    return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout) / 1024


def measure(path, rounds):
    times = {}
    expected = ours(path)
    for _ in range(rounds):
        for name, way in WAYS.items():
            start = time.perf_counter()
            try:
                chosen = way(path)
            except ImportError:
                continue
            times.setdefault(name, []).append(time.perf_counter() - start)
            if chosen is not None and chosen != expected:
                raise SystemExit(f"{name} chose {chosen}, build_bench {expected}")
    return [
        {
            "way": name,
            "seconds": median(spent),
            "times_kept": median(b / t for b, t in zip(times[BASE], spent, strict=True)),
            "times_lean": median(b / t for b, t in zip(times[LEAN], spent, strict=True)),
            "peak_mib": peak(path, name),
        }
        for name, spent in times.items()
    ]


def main():
    parser = results.options(__doc__)
    parser.add_argument("--data", type=Path, help="an ndjson file of the word cat")
    parser.add_argument("--lines", type=int, default=140_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        WAYS[options.one](options.data)
        print(peak_kib())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "full", "simplified", "cat.ndjson")
        path.parent.mkdir(parents=True)
        if options.data:
            path.symlink_to(options.data.resolve())
        else:
            generate(path, options.lines)
        table = measure(path, options.rounds)
        pairs = [(cold(path, only_read), cold(path, only_scan)) for _ in range(3)]
        megabytes = path.stat().st_size / 1e6
        print(f"\n## Choosing ten drawings of a file of {megabytes:.1f} MB, target: 60 times json.loads\n")
        print("| way | seconds | json.loads, rows kept: its time / this | ids kept | peak MiB |\n|---|---|---|---|---|")
        for row in table:
            print("| {way} | {seconds:.4f} | {times_kept:.1f} | {times_lean:.1f} | {peak_mib:.0f} |".format(**row))
        if pairs[0][0] is not None:
            print("\ncold, read() / the scan: " + ", ".join(f"{read:.3f} / {scan:.3f} s" for read, scan in pairs))
        results.write(options.json, compared(table, pairs))


def compared(table, pairs):
    """What came of it: ours beside the peer, and the scan beside reading."""
    ways = {row["way"]: row for row in table}
    mine, peer, ids = (ways[name] for name in ("build_bench", BASE, "json.loads per line, ids kept"))
    what, memory, times = "QuickDraw: ten drawings of a word chosen", mine["peak_mib"], 1 / mine["times_kept"]
    yield results.Result(
        f"{what}; peer: json.loads, rows kept", mine["seconds"], peer["seconds"], "s", "<= 0.0167", memory, times
    )
    yield results.Result(
        f"{what}; peer: json.loads, ids kept", mine["seconds"], ids["seconds"], "s", "", memory, 1 / mine["times_lean"]
    )
    if pairs[0][0] is not None:
        reads, scans = zip(*pairs, strict=True)
        limit = "QuickDraw: a word's file scanned, cold; limit: reading it"
        yield results.Result(limit, median(scans), median(reads), "s", ratio=results.within(scans, reads))


if __name__ == "__main__":
    main()
