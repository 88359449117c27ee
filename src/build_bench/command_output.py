"""What the commands print when they have built something."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from build_bench.command_options import Common
from build_bench.errors import BuildBenchError

if TYPE_CHECKING:
    from build_bench.store import Work


def report_lines(report: dict[str, Any]) -> Iterable[str]:
    """`status` for a person: a line per scenario, and a line for everything that isn't as it should be."""
    for name, facts in report["scenarios"].items():
        yield f"{name}: {', '.join(_summary(facts))}"
        yield from (f"    not in the source: {textwrap.shorten(gap, 160, placeholder=' ...')}" for gap in facts["gaps"])
        yield from (
            f"    {model} answered {count:,} of {facts['built']:,}"
            for model, count in facts.get("predicted_by", {}).items()
            if count != facts["built"]
        )
        yield from (f"    {why}" for why in facts.get("stale", ()))


def _summary(facts: dict[str, Any]) -> Iterable[str]:
    if "fetched" in facts:
        yield f"source {facts['fetched']}"
    if facts["candidates"]:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in facts["rejected_by_reason"].items())
        yield f"{facts['candidates']:,} candidates"
        yield f"{facts['built']:,} built ({facts['frames']:,} frames)"
        yield f"{facts['rejected']:,} rejected" + (f" ({reasons})" if reasons else "")
    if asked := facts.get("predicted_by"):
        yield f"asked: {_who(asked)}"
    if facts.get("kept") is not None:
        yield f"{facts['kept']:,} kept by the filter"


def after_build(work: Work, report: Mapping[str, Any]) -> str:
    """What to type next: `assemble` refuses keep lists that are stale."""
    changed = [
        name
        for name, facts in report["scenarios"].items()
        if any(why.startswith("keep list:") for why in facts["stale"])
    ]
    if changed:
        return f"build-bench predict, then filter, then assemble: what was filtered of {', '.join(changed)} changed"
    return f"build-bench assemble{work.chosen} lays out the dataset of all that is built"


def dataset_lines(work: Work, report: Mapping[str, Any]) -> Iterable[str]:
    """What lies in dataset/, and what `assemble` would lay out anew."""
    found = report["dataset"]
    if found is None:
        if any(facts["built"] for facts in report["scenarios"].values()):
            yield f"dataset: not laid out yet; build-bench assemble{work.chosen} does it"
        return
    splits = ", ".join(f"{count:,} in {split}" for split, count in found["splits"].items())
    yield f"dataset: {splits}, {found['release'] or 'not released'}"
    for why in dict.fromkeys(found["stale"].values()):
        yield f"    {why}: {', '.join(name for name in found['stale'] if found['stale'][name] == why)}"
    if found["stale"]:
        yield f"    build-bench assemble{work.chosen} lays it out again"


def _who(asked: Iterable[str]) -> str:
    """How many models, baselines and people; a baseline is no model."""
    from build_bench.filters.keep_list import BASELINE, PERSON

    kinds = {BASELINE: ("baseline", "baselines"), PERSON: ("person", "people"), "": ("model", "models")}
    counts = Counter(next(start for start in kinds if name.startswith(start)) for name in asked)
    return ", ".join(
        f"{counts[start]} {kinds[start][counts[start] > 1]}" for start in ("", BASELINE, PERSON) if counts[start]
    )


def no_folder(work: Work) -> Iterable[str]:
    """That there is nothing in the work folder, and where it may be meant, if so."""
    if not work.root.exists() or [*work.root.iterdir()] == [work.own]:
        demo = "; that of the demo: --work demo" if Path("demo", "dataset").exists() else ""
        yield f"nothing is in {work.root} yet: build-bench all{work.chosen} makes it, or name another with --work{demo}"


def whole_split(manifest: Mapping[str, Any]) -> str:
    """The published split that has every row."""
    return "train" if manifest.get("split") == "train" else "unfiltered"


def how_to_look(work: Work, names: Sequence[str], manifest: Mapping[str, Any]) -> Iterable[str]:
    """Where the dataset is, and what to do with it."""
    split = whole_split(manifest)
    yield f"The dataset is in {work.dataset}: look at README.md and the pictures in assets/ there, or load it:"
    yield f'    datasets.load_dataset("{work.dataset.resolve()}", "{names[0]}", split="{split}")'
    yield f"Why a candidate is not in it: {work.root / 'rejected'}"


def broken_items(defects: dict[str, int]) -> BuildBenchError | None:
    """Broken items of a source fail a run under `--strict`."""
    found = ", ".join(f"{count} {reason}" for reason, count in defects.items())
    hint = "rejected/ names each; without --strict this is exit 0"
    return BuildBenchError(f"broken items were left out: {found}", hint) if found else None


def finish(options: Common, result: dict[str, Any], lines: Iterable[str], error: BuildBenchError | None = None) -> None:
    """Print a result; a check that failed is part of it, and the exit code."""
    if error is None:
        options.print(result, lines)
        return
    options.print({**result, "error": error.as_json()}, lines)
    click.echo(f"build-bench: {error.message}\n{error.hint}", err=True)
    sys.exit(error.exit_code)
