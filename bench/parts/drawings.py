"""Raw Quick, Draw! files of any size: real drawings, each repetition with strokes that tremble a little."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from build_bench.demo import quickdraw as drawn
from build_bench.demo.quickdraw_sketches import SKETCHES
from build_bench.raw_sources.quickdraw import known_words

REAL = Path(__file__).parents[3] / "shared/samples/quickdraw/full/simplified"
TREMBLE = 1.5
"""Standard deviation of a point's move, in the 256 pixels of a simplified drawing."""
STEP = 617
"""From one row to the next that is taken: prime to the number of rows, and far enough to reach other words."""
FIRST_KEY = 4_503_599_627_370_496
SPARE = 1.25
"""Usable drawings written for each that is wanted: which are chosen is drawn, so some must be passed over."""


def write(folder: Path, per_word: int, words: int = 345, real: Path = REAL) -> str:
    """Write `full/simplified/<word>.ndjson` below `folder`, each with more than `per_word` usable drawings.

    They are made of the rows in `real`, or of the demo's where that folder isn't there; says which.
    """
    bases = {path.stem: [msgspec.json.decode(line) for line in path.open("rb")] for path in sorted(real.glob("*"))}
    of = "real" if bases else "the demo's"
    bases = bases or {word: list(drawn.rows(word, "simplified")) for word in SKETCHES}
    everything = [row for rows in bases.values() for row in rows]
    (folder / "full" / "simplified").mkdir(parents=True)
    for word in known_words()[:: -(-345 // words)]:
        base = bases.get(word) or everything
        usable = sum(row["recognized"] and len(row["drawing"]) > 1 for row in base) / len(base)
        with (folder / "full" / "simplified" / f"{word}.ndjson").open("wb") as file:
            file.write(msgspec.json.Encoder().encode_lines(_rows(word, base, int(per_word * SPARE / usable) + 8)))
    return of


def _rows(word: str, base: list[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    draw = np.random.default_rng(zlib.crc32(word.encode()))
    keys = np.cumsum(draw.integers(1, 1_000_000, count)) + FIRST_KEY
    for number, key in enumerate(keys.tolist()):
        row = base[number * STEP % len(base)]
        drawing = row["drawing"]
        points = np.array([value for stroke in drawing for axis in stroke for value in axis], np.float64)
        moved = iter((points + draw.normal(0, TREMBLE, len(points))).round().clip(0, 255).astype(int).tolist())
        drawing = [[[next(moved) for _ in axis] for axis in stroke] for stroke in drawing]
        yield row | {"word": word, "key_id": str(key), "drawing": drawing}
