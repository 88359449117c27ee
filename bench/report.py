"""One report of all benchmarks: tables and a plot, with the machine named, in docs/benchmarks.md.

    python bench/report.py [--json FILE] [--only NAME ...]

Each script of this folder is run by itself, and what it prints is quoted. Those that know --json append their results
to a file too, of which the plot is made. With --json that file is kept, and one that is there already is reported
without running anything again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
NOT_RUN = {"report", "linear"}
"""This one, and what `make bench-scale` is for."""
LIBRARIES = ("numpy", "pillow", "pyarrow", "polars", "datasets", "av")

Row = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the results are kept")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these scripts")
    asked = parser.parse_args()
    names = asked.only or sorted({path.stem for path in HERE.glob("*.py")} - NOT_RUN)
    with tempfile.TemporaryDirectory() as folder:
        file = asked.json or Path(folder) / "results.jsonl"
        failed = [] if file.exists() else [name for name in names if not run(name, file)]
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    (DOCS / "benchmarks.md").write_text(page(rows), encoding="utf-8")
    (DOCS / "benchmarks.svg").write_text(plot([row for row in rows if row.get("ratio")]), encoding="utf-8")
    print(f"\n{len(rows)} results in {DOCS / 'benchmarks.md'}")
    if failed:
        sys.exit(f"these failed: {', '.join(failed)}")


def run(name: str, file: Path) -> bool:
    """Run a benchmark; whether it came to its end."""
    print(f"# {name}", flush=True)
    script = HERE / f"{name}.py"
    knows = any(line.startswith("from parts") and "results" in line for line in script.read_text("utf-8").splitlines())
    command = [sys.executable, "-u", script, *(["--json", file] if knows else [])]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"bench": name, "printed": done.stdout.strip()}) + "\n")
    return done.returncode == 0


def machine() -> str:
    """What the numbers were measured on."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    model = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    cores = len(os.sched_getaffinity(0))
    return (
        f"{model or platform.machine()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def page(rows: Sequence[Row]) -> str:
    """The report as Markdown."""
    day = datetime.now(UTC).date().isoformat()
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {day}. {machine()}.",
        "",
        "Each line is one comparison of one run: ours beside the nearest peer, or beside what the machine can do.",
        "Trust the ratio, not the numbers: the machine had other work too. Peaks are of the largest process.",
        "",
        "![Ratios of ours to the peer](benchmarks.svg)",
    ]
    for bench in dict.fromkeys(row["bench"] for row in rows):
        lines += ["", f"## {bench}"]
        lines += [f"\n{_lower(row['printed'])}" for row in rows if row["bench"] == bench and "printed" in row]
    return "\n".join(lines) + "\n"


def _lower(printed: str) -> str:
    """What a script printed, its headings below that of the script."""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in printed.splitlines())


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def plot(rows: Sequence[Row]) -> str:
    """A dot per ratio on a logarithmic scale; 1 is as much as the peer."""
    left, width, line = 430, 470, 20
    low = math.floor(min((math.log10(row["ratio"]) for row in rows), default=0))
    high = math.ceil(max((math.log10(row["ratio"]) for row in rows), default=0) + 1e-9)
    scale = width / max(high - low, 1)
    height = line * (len(rows) + 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 80} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12"><title>Ours / peer, on a logarithmic scale</title>'
        '<rect width="100%" height="100%" fill="#fff"/>'
    ]
    for power in range(low, high + 1):
        x = left + (power - low) * scale
        colour = "#888" if power == 0 else "#ddd"
        parts.append(f'<path d="M{x:.0f} {line}V{height - 2 * line}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.0f}" y="{height - line}" text-anchor="middle" fill="#444">{10.0**power:g}</text>')
    for at, row in enumerate(rows, 1):
        x, y = left + (math.log10(row["ratio"]) - low) * scale, line * at + line / 2
        what = row["what"] if len(row["what"]) <= 60 else f"{row['what'][:58]}..."
        parts.append(f'<text x="{left - 10}" y="{y + 4:.0f}" text-anchor="end" fill="#222">{escape(what)}</text>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.0f}" r="4" fill="#1558b0"/>')
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.0f}" fill="#222">{_number(row["ratio"])}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
