"""Raw files that the program draws itself, in each source's real layout: for `all --demo`, and for the tests."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from build_bench.errors import UsageError

SETTINGS = ("coco.negatives=supercategory",)
"""What a demo must do without: weights can't be drawn."""

_MARK = "DRAWN_BY_THE_DEMO"


def is_drawn(raw: Path) -> bool:
    """Whether `draw` made what lies under `raw`."""
    return (raw / _MARK).exists()


def draw(raw: Path, scenarios: Sequence[str], split: str = "test") -> None:
    """Draw the raw files of `scenarios` under `raw`, unless they are there, and those of `split` that come beside them.

    Raises `UsageError` among real sources.
    """
    mark = raw / _MARK
    if raw.exists() and any(raw.iterdir()) and not mark.exists():
        raise UsageError(f"--demo would draw its files among those in {raw}", "name another folder with --work")
    raw.mkdir(parents=True, exist_ok=True)
    mark.write_text("Everything in this folder was drawn by build-bench all --demo.\n")
    for scenario in scenarios:
        drawing = importlib.import_module(f"build_bench.demo.{scenario}")
        if not (raw / scenario).exists():
            partial = raw / f"{scenario}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            drawing.write(partial)
            partial.rename(raw / scenario)
        if split == "train" and hasattr(drawing, "write_train"):
            drawing.write_train(raw / scenario)
