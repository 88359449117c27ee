"""`build-bench --help` against `import datasets`, which its users type anyway. Prints medians and ratios."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from parts.results import Result, options, within, write

ROUNDS = 7
HELP = "build-bench --help"
WAYS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    HELP: [sys.executable, "-m", "build_bench", "--help"],
    "import datasets": [sys.executable, "-c", "import datasets"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    asked = options(__doc__).parse_args()
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, command in WAYS.items():
            times[name].append(seconds(command))
    peer = times["import datasets"]
    print(f"\n## Start-up, {ROUNDS} rounds, target: under 0.5 of `import datasets`\n")
    print("| way | median s | of `import datasets` |\n| --- | --- | --- |")
    for name, found in times.items():
        print(f"| {name} | {statistics.median(found):.3f} | {within(found, peer):.2f} |")
    middle = {name: statistics.median(found) for name, found in times.items()}
    found = [
        Result(
            f"{HELP}; {kind}: {other}",
            middle[HELP],
            middle[other],
            "s",
            wanted,
            ratio=within(times[HELP], times[other]),
        )
        for kind, other, wanted in (("peer", "import datasets", "<= 0.5"), ("limit", "python -c pass", ""))
    ]
    write(asked.json, found)


if __name__ == "__main__":
    main()
