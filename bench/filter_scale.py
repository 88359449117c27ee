"""The filter at two sizes.

1. 18,000 samples x 22 models, a cache as `predict` leaves it: the `filter` of all scenarios and an audit of 100
   thresholds, each beside `import polars` and reading the same files. Target: within 3 times that.
2. SCALE million samples x 22 (18: 396 million predictions), generated: the same query streaming, peak memory under
   4 GiB; beside pandas on the largest size that pandas can hold here, with the cost per row at three sizes.

    python bench/filter_scale.py [--scale MILLIONS] [--pandas MILLIONS] [--rounds N] [--json FILE]

Each way in a process of its own, rounds interleaved; what is compared is the ratio within a round.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parts.results import Result, options, within, write

MODELS = 22
SCENARIOS = ("rod", "vsod", "mvp_n", "imagenet_c", "quickdraw", "changeit", "coco")
VERDICTS = ("correct", "wrong", "wrong", "abstain", "proactive", "unparsed")
PART = 500_000
"""Samples of a generated scenario in the large sizes: the filter goes scenario by scenario, here too."""


def cache(root: Path, count: int) -> None:
    """A work folder of `count` samples in seven scenarios with the digests and predictions of a finished run."""
    import numpy as np
    import polars as pl

    from build_bench import store
    from build_bench.filters import predictions
    from build_bench.filters.inputs import Inputs
    from build_bench.store import Work

    work, draw = Work(root, root / "raw"), np.random.default_rng(0)
    for scenario in SCENARIOS:
        size = count // len(SCENARIOS)
        table = samples(scenario, size)
        shown = Inputs(table, "key", "rules")
        store.write_table(root / "inputs" / f"{scenario}.parquet", table.to_arrow(), {}, 1 << 17)
        for model in range(MODELS):
            name = f"hf:org/model-{model}"
            verdicts = pl.Series(VERDICTS).gather(draw.integers(0, len(VERDICTS), size))
            frame = table.select("id", "input_digest").with_columns(
                model=pl.lit(name), answer=pl.lit("B. A traffic light."), verdict=verdicts,
                created=pl.lit("2026-01-01T00:00:00+00:00"), runtime=pl.lit('{"device": "cpu", "dtype": "float32"}'),
                choice=pl.Series(draw.integers(0, 6, size), dtype=pl.Int32),
            )  # fmt: skip
            predictions._write(predictions.path_of(work, name, scenario), frame, shown)


def samples(scenario: str, count: int):  # type: ignore[no-untyped-def]
    """The table of `inputs.Inputs` for made-up samples, in id order."""
    import polars as pl

    number = pl.int_range(count, dtype=pl.UInt64)
    return pl.select(
        id=pl.concat_str(pl.lit(f"{scenario}-sample-"), number.cast(pl.String).str.zfill(9)),
        input_digest=number.hash(0).cast(pl.String).str.zfill(20).str.tail(12),
        first_turn_answerable=pl.lit(scenario != "rod"),
        right=pl.lit(3, pl.Int32),
        outcomes=pl.lit(["abstain", "proactive", "wrong", "correct", "wrong", "wrong"]),
    )


def large(root: Path, parts: int) -> None:
    """`parts` scenarios of `PART` samples x 22, the columns that the rule reads."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(0)
    verdicts = pl.Series(VERDICTS)
    for part in range(parts):
        folder = root / f"part-{part:03d}"
        folder.mkdir(parents=True)
        table = samples("quickdraw", PART).select(
            pl.col("id").str.replace("sample", f"part{part:03d}", literal=True), "input_digest", "first_turn_answerable"
        )
        table.write_parquet(folder / "samples.parquet")
        for model in range(MODELS):
            said = verdicts.gather(draw.integers(0, len(verdicts), PART)).alias("verdict")
            frame = table.select("id", "input_digest", said)
            frame.write_parquet(folder / f"model-{model:02d}.parquet", compression_level=1, row_group_size=1 << 17)


def ours(root: Path, parts: int) -> tuple[int, int]:
    """Samples kept and right answers, by the program's own query."""
    import polars as pl

    from build_bench.filters import first_turn

    rule, kept, right = first_turn.rule(), 0, 0
    for part in range(parts):
        folder = root / f"part-{part:03d}"
        shown = pl.scan_parquet(folder / "samples.parquet")
        files = [pl.scan_parquet(folder / f"model-{model:02d}.parquet") for model in range(MODELS)]
        marks = [first_turn.marks(shown, file, exact=True) for file in files]
        counts = first_turn.tally(first_turn.side_by_side(shown, marks), MODELS).collect(engine="streaming")
        kept, right = kept + int(first_turn.kept(counts, rule).sum()), right + int(counts["correct"].sum())
    return kept, right


def pandas(root: Path, parts: int) -> tuple[int, int]:
    """The same as one writes it in pandas: everything read, joined by id and digest, grouped."""
    import pandas as pd

    paths = [root / f"part-{part:03d}" for part in range(parts)]
    shown = pd.concat(pd.read_parquet(path / "samples.parquet") for path in paths)
    files = [path / f"model-{model:02d}.parquet" for path in paths for model in range(MODELS)]
    said = pd.concat(pd.read_parquet(file) for file in files)
    fresh = said.merge(shown, on=["id", "input_digest"])
    by_id = fresh.assign(right=fresh["verdict"] == "correct").groupby("id")["right"].agg(["sum", "count"])
    return int((by_id["sum"] * 4 < by_id["count"]).sum()), int(by_id["sum"].sum())


def small(root: Path, way: str) -> None:
    """One command's work on the small cache, in this process."""
    if way == "import polars, read":
        import polars as pl

        for path in sorted(root.glob("predictions/*/*.parquet")):
            pl.read_parquet(path)
        return
    import polars as pl

    from build_bench.filters import audit, filtering, first_turn, predictions, sweep
    from build_bench.filters.inputs import Inputs
    from build_bench.store import Work

    work = Work(root, root / "raw")
    shown = {s: Inputs(pl.read_parquet(root / "inputs" / f"{s}.parquet"), "key", "rules") for s in SCENARIOS}
    if way == "filter":
        shutil.rmtree(root / "keep", ignore_errors=True)
        filtering.read_inputs = lambda work, scenarios, save=True: shown  # the digests of pictures that aren't there
        filtering.filter_(work, SCENARIOS, filtering.Choice(first_turn.rule()))
    else:
        at = sweep.thresholds("0.01:1:0.01")
        audit.audit(work, predictions.models(work), shown, first_turn.rule(), at)


def child(*arguments: object) -> list[str]:
    """Run a way in a process of its own; returns what it printed: seconds with imports, peak MiB, its answer."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.check_output(command, text=True).strip().split("|")


def measure(way: str, root: Path, parts: int) -> None:
    start = time.perf_counter()
    answer = WAYS[way](root, parts) if way in WAYS else small(root, way)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.perf_counter() - start, peak, answer, sep="|")


WAYS = {"ours": ours, "pandas": pandas}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--scale", type=float, default=18, help="million samples")
    parser.add_argument("--pandas", type=float, default=1, help="million samples for pandas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=3)
    parser.add_argument("--generate", nargs=3)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure[0], Path(chosen.measure[1]), int(chosen.measure[2]))
    elif chosen.generate:
        {"cache": cache, "large": large}[chosen.generate[0]](Path(chosen.generate[1]), int(chosen.generate[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            few = compare_small(Path(folder) / "small", chosen.rounds)
            write(chosen.json, [*few, *compare_large(Path(folder) / "large", chosen.scale, chosen.pandas)])


def compare_small(root: Path, rounds: int) -> list[Result]:
    child("--generate", "cache", root, 18_000)
    ways = ["import polars, read", "filter", "audit, 100 thresholds"]
    times: dict[str, list[float]] = {way: [] for way in ways}
    peaks: dict[str, float] = {}
    for _ in range(rounds):
        for way in ways:
            seconds, peak, _ = child("--measure", way, root, 0)
            times[way].append(float(seconds))
            peaks[way] = max(float(peak), peaks.get(way, 0))
    print(f"## 18,000 samples x {MODELS} models, {rounds} rounds, target: within 3 times the first\n")
    print("| way | median s | of the first |\n| --- | --- | --- |")
    results, limit = [], statistics.median(times[ways[0]])
    for way, found in times.items():
        share, middle = within(found, times[ways[0]]), statistics.median(found)
        print(f"| {way} | {middle:.2f} | {share:.2f} |")
        if way != ways[0]:
            what = f"{way} of 18,000 x {MODELS}; limit: reading them"
            results.append(Result(what, middle, limit, "s", "<= 3", peaks[way], share))
    return results


def compare_large(root: Path, scale: float, held: float) -> list[Result]:
    parts, most = max(1, round(scale * 1e6 / PART)), max(1, round(held * 1e6 / PART))
    start = time.perf_counter()
    child("--generate", "large", root, max(parts, most))
    size = sum(path.stat().st_size for path in root.rglob("*.parquet")) / 1e9
    print(f"\n## Generated: {parts * PART * MODELS / 1e6:,.0f} M predictions, {size:.1f} GB, ", end="")
    print(f"made in {time.perf_counter() - start:.0f} s\n\n| way | M predictions | s | M a second | peak MiB |")
    print("| --- | --- | --- | --- | --- |")
    runs = [("ours", n) for n in sorted({max(1, parts // 4), max(1, parts // 2), parts})]
    runs += [("ours", most), ("pandas", most)]
    found = {}
    for way, n in runs:
        seconds, peak, answer = child("--measure", way, root, n)
        found[way, n] = float(seconds), answer, float(peak)
        rows = n * PART * MODELS / 1e6
        print(f"| {way} | {rows:,.0f} | {float(seconds):.1f} | {rows / float(seconds):.1f} | {float(peak):,.0f} |")
    (mine, said, peak), (theirs, other, _) = found["ours", most], found["pandas", most]
    assert said == other, f"the ways differ: {said}, {other}"
    print(f"\npandas takes {theirs / mine:.1f} times as long; target: at least 5, and under 4096 MiB")
    half, large = (found["ours", n][2] for n in sorted({n for _, n in found})[-2:])
    few, all_of_them = (f"{n * PART * MODELS / 1e6:,.0f} M predictions" for n in (most, parts))
    return [
        Result(f"filter of {few}; peer: pandas", mine, theirs, "s", "<= 0.2", peak),
        Result(f"filter of {all_of_them}, memory; limit: that of half as many", large, half, "MiB", "<= 1.3", large),
    ]


if __name__ == "__main__":
    main()
