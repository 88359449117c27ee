"""One report of all benchmarks: tables and a plot, with the machine named, in docs/benchmarks.md.

    python bench/report.py [--json FILE] [--only NAME ... | --no-run]

Each script of this folder is run by itself and appends its results to FILE; what it prints is quoted too. Those of a
script that isn't run again stay: `make bench` runs all but linear, `make bench-scale` that one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
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
KEPT = HERE.parent / "build" / "benchmarks.jsonl"
NOT_RUN = {"report", "linear"}
"""This one, and what `make bench-scale` is for."""
LIBRARIES = ("numpy", "pillow", "pyarrow", "polars", "datasets", "av")

Row = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", default=KEPT, help="where results are kept")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these scripts")
    parser.add_argument("--no-run", action="store_true", help="report what is kept")
    asked = parser.parse_args()
    kept = read(asked.json)
    names = [] if asked.no_run else asked.only or sorted({path.stem for path in HERE.glob("*.py")} - NOT_RUN)
    failed = []
    for name in names:
        if rows := run(name):
            kept = [row for row in kept if row["bench"] != name] + rows
            asked.json.parent.mkdir(parents=True, exist_ok=True)
            asked.json.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        else:
            failed.append(name)
    kept.sort(key=lambda row: str(row["bench"]))
    (DOCS / "benchmarks.md").write_text(page(kept), encoding="utf-8")
    (DOCS / "benchmarks.svg").write_text(plot([row for row in kept if row.get("ratio")]), encoding="utf-8")
    print(f"\n{len(kept)} results in {DOCS / 'benchmarks.md'}")
    if failed:
        sys.exit(f"these failed: {', '.join(failed)}")


def read(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def run(name: str) -> list[Row]:
    """Run a benchmark; its results, the last of which is what it printed. Nothing if it failed."""
    print(f"# {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.jsonl"
        command = [sys.executable, "-u", HERE / f"{name}.py", "--json", file]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        if done.returncode:
            return []
        day = datetime.now(UTC).date().isoformat()
        return [*read(file), {"bench": name, "printed": done.stdout.strip(), "day": day, "machine": machine()}]


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


def met(row: Row) -> bool | None:
    """Whether a ratio is as wanted; None if nothing is. As it is shown, with three digits."""
    if not row["wanted"] or row["ratio"] is None:
        return None
    sign, limit = re.fullmatch(r"([<>]=) ([\d.]+)", row["wanted"]).groups()  # type: ignore[union-attr]
    ratio = float(f"{row['ratio']:.3g}")
    return ratio <= float(limit) if sign == "<=" else ratio >= float(limit)


def page(rows: Sequence[Row]) -> str:
    """The report as Markdown."""
    printed = [row for row in rows if "printed" in row]
    days = sorted({row["day"] for row in printed})
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench` and `make bench-scale`, {' and '.join(days)}, on",
        *sorted({f"{row['machine']}." for row in printed}),
        "",
        "Each line is one comparison within one run: ours beside the nearest peer, or a limit, what the machine can do",
        "or a person may wait. The ratio is ours by theirs. Trust it, not the numbers: the machine had other work too.",
        "Of what is counted per second more is better, of all else less. Peaks are of our largest process. What each",
        "script printed is below.",
        "",
        "![Ratios of ours to the peer](benchmarks.svg)",
        "",
        "| | ours | theirs | | ratio | wanted | | peak MiB |",
        "| --- | --: | --: | --- | --: | --- | --- | --: |",
    ]
    for row in rows:
        if "printed" not in row:
            cells = [_number(row[name]) for name in ("ours", "peer", "ratio", "peak_mib")]
            verdict = {True: "met", False: "**missed**", None: ""}[met(row)]
            lines.append(
                f"| {row['what']} | {cells[0]} | {cells[1]} | {row['unit']} | {cells[2]} | {row['wanted']} | {verdict} "
                f"| {cells[3]} |"
            )
    for row in printed:
        quoted = (f"#{line}" if line.startswith("#") else line for line in row["printed"].splitlines())
        lines += ["", f"## {row['bench']}", "", *quoted]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def plot(rows: Sequence[Row]) -> str:
    """A dot per ratio on a logarithmic scale; 1 is as much as the peer. A bar is what is wanted; who misses it is a
    ring."""
    left, width, line = 560, 430, 20
    low = math.floor(min((math.log10(row["ratio"]) for row in rows), default=0))
    high = math.ceil(max((math.log10(row["ratio"]) for row in rows), default=0) + 1e-9)
    scale = width / max(high - low, 1)
    height = line * (len(rows) + 4)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12"><title>Ours / theirs, on a logarithmic scale</title>'
        '<rect width="100%" height="100%" fill="#fff"/>'
    ]

    def place(ratio: float) -> float:
        return left + (math.log10(ratio) - low) * scale

    for power in range(low, high + 1):
        x, colour = place(10.0**power), "#888" if power == 0 else "#ddd"
        parts.append(f'<path d="M{x:.0f} {line}V{height - 3 * line}" stroke="{colour}"/>')
        parts.append(
            f'<text x="{x:.0f}" y="{height - 2 * line}" text-anchor="middle" fill="#444">{10.0**power:g}</text>'
        )
    for at, row in enumerate(rows, 1):
        x, y = place(row["ratio"]), line * at + line / 2
        what = row["what"] if len(row["what"]) <= 84 else f"{row['what'][:82]}..."
        fill = "#fff" if met(row) is False else "#1558b0"
        parts.append(f'<text x="{left - 10}" y="{y + 4:.0f}" text-anchor="end" fill="#222">{escape(what)}</text>')
        if row["wanted"]:
            limit = place(float(row["wanted"].split()[1]))
            parts.append(f'<path d="M{limit:.1f} {y - 7:.0f}v14" stroke="#c05000" stroke-width="2"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.0f}" r="4" fill="{fill}" stroke="#1558b0" stroke-width="2"/>')
        parts.append(f'<text x="{x + 9:.1f}" y="{y + 4:.0f}" fill="#222">{_number(row["ratio"])}</text>')
    legend = "ours / theirs; the bar is what is wanted, a ring misses it"
    parts.append(f'<text x="{left}" y="{height - line / 2:.0f}" fill="#444">{legend}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
