"""Cost against size: planning, rendering, filtering and assembling at three sizes, each ten times the one before.

    python bench/linear.py [--samples N] [--rounds N] [--work DIR] [--json FILE]

N samples (34,500) at the largest, of drawings as in quickdraw_scale.py. Each stage is the command that a user types, in
a process of its own, with one worker; the filter's model is the baseline that answers at random. What a sample more
costs is told from neighbouring sizes, so that starting a program, the same at all sizes, drops out. Linear: it costs
no more between the two large sizes than between the two small ones. Flat: memory is that of the middle size.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from parts import drawings
from parts.results import Result, Spent, options, spent, write

STAGES = {
    "plan": ["build", "quickdraw", "--only", "plan"],
    "render": ["build", "quickdraw", "--only", "render", "--workers", "1"],
    "predict": ["predict", "--model", "baseline:random", "quickdraw"],
    "filter": ["filter", "quickdraw"],
    "assemble": ["assemble", "--scenario", "quickdraw"],
}
SHOWN = ("plan", "render", "filter", "assemble")
WANTED_COST, WANTED_MEMORY = 1.2, 1.3
VARIES = 0.05
"""Seconds by which the same program's start varies: what the small sizes cost more than that can be told."""


def run(folder: Path | None, per_word: int, words: int) -> dict[str, Spent]:
    """What each stage took for `per_word` drawings of `words` words."""
    root = Path(tempfile.mkdtemp(dir=folder))
    try:
        drawings.write(root / "raw" / "quickdraw", per_word, words)
        program = [sys.executable, "-m", "build_bench"]
        found = {}
        for name, command in STAGES.items():
            settings = ["--set", f"quickdraw.per_class={per_word}"] if name in ("plan", "render", "assemble") else []
            found[name] = spent([*program, *command, "--work", str(root), *settings])
        return found
    finally:
        shutil.rmtree(root)


def report(sizes: list[int], found: dict[str, list[list[Spent]]]) -> list[Result]:
    """Print the table; returns what came of it. `found`: stage -> size -> rounds."""
    print(f"\n## Cost against size, {len(found['plan'][0])} rounds, medians\n")
    heads = [f"{size:,}: CPU s, MiB" for size in sizes]
    print(f"| stage | {' | '.join(heads)} | us a sample more, small | large | ratio | memory |")
    print("| --- " * (len(sizes) + 5) + "|")
    results = []
    for name in SHOWN:
        seconds = [median(one.cpu for one in rounds) for rounds in found[name]]
        memory = [max(one.peak_mib for one in rounds) for rounds in found[name]]
        small, large = (
            (seconds[at + 1] - seconds[at]) / (sizes[at + 1] - sizes[at]) * 1e6 for at in range(len(sizes) - 1)
        )
        cells = [f"{second:.2f}, {mib:,.0f}" for second, mib in zip(seconds, memory, strict=True)]
        print(f"| {name} | {' | '.join(cells)} | {small:.0f} | {large:.0f} ", end="")
        ratio = large / max(small, VARIES / (sizes[1] - sizes[0]) * 1e6)
        print(f"| {ratio:.2f} | {memory[2] / memory[1]:.2f} |")
        what = f"{name}: a sample more"
        results += [
            Result(f"{what}, {sizes[1]:,} to {sizes[2]:,} beside {sizes[0]:,} to {sizes[1]:,}", large, small, "us CPU",
                   f"<= {WANTED_COST}", memory[2], ratio),
            Result(f"{name}: memory of {sizes[2]:,} beside {sizes[1]:,}", memory[2], memory[1], "MiB",
                   f"<= {WANTED_MEMORY}", memory[2]),
        ]  # fmt: skip
    print(f"\nWanted: a ratio of at most {WANTED_COST}, memory of at most {WANTED_MEMORY}")
    return results


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--samples", type=int, default=34_500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a folder on a disk with room: 36 kB a sample")
    chosen = parser.parse_args()
    most = max(1, chosen.samples // 345)
    cuts = [(most, 345), (max(1, most // 10), 345), (max(1, most // 100), 345 if most >= 100 else 35)]
    found: dict[str, list[list[Spent]]] = {name: [[], [], []] for name in STAGES}
    for _ in range(chosen.rounds):
        for at, (per_word, words) in enumerate(reversed(cuts)):
            for name, one in run(chosen.work, per_word, words).items():
                found[name][at].append(one)
    write(chosen.json, report([per_word * words for per_word, words in reversed(cuts)], found))


if __name__ == "__main__":
    main()
