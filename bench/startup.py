"""`build-bench --help` against `import datasets`, which its users type anyway. Prints medians and ratios."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 7
WAYS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "build-bench --help": [sys.executable, "-m", "build_bench", "--help"],
    "import datasets": [sys.executable, "-c", "import datasets"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, command in WAYS.items():
            times[name].append(seconds(command))
    peer = times["import datasets"]
    print(f"\n## Start-up, {ROUNDS} rounds, target: under 0.5 of `import datasets`\n")
    print("| way | median s | of `import datasets` |\n| --- | --- | --- |")
    for name, found in times.items():
        share = statistics.median(a / b for a, b in zip(found, peer, strict=True))
        print(f"| {name} | {statistics.median(found):.3f} | {share:.2f} |")


if __name__ == "__main__":
    main()
