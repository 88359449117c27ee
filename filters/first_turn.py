"""The rule `first_turn_25_v1` (paper section 3.3): a sample that at least a quarter of the models get right at first
sight needs no asking for help, so it is dropped.

Exact: shares are compared as fractions, so 5.5 of 22 is the line, 6 drops and 5 stays. A sample on which a right
category counts as wrong at the first turn (ROD's) is never dropped, and neither is one that no model answered.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from build_bench.answers import CORRECT
from build_bench.errors import UsageError
from build_bench.filters.predictions import FAILED

DEFAULT = "0.25"
_DIGITS = 20
_SHARE = re.compile(r"[0-9]+|[0-9]*\.[0-9]+|[0-9]+/[0-9]+")
"""Without exponents: `Fraction` writes out a power of ten, however high."""
_PERCENT = 2
"""From here on a number is a percentage typed for a share; just above 1 keeps all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Drop what at least this share of the models gets right."""

    threshold: Fraction

    @property
    def name(self) -> str:
        """The rule's name with its version: another rule, or another line, has another name."""
        percent = self.threshold * 100
        exact = f"{float(percent):g}"
        return f"first_turn_{exact if Fraction(exact) == percent else self.threshold}_v1"

    def needed(self, models: int) -> int:
        """How many of `models` must be right for a sample to be dropped."""
        return math.ceil(self.threshold * models)

    def drops(self, correct: int, models: int, answerable: bool = True) -> bool:
        """Whether a sample goes: `correct` of the `models` that answered were right."""
        return answerable and models > 0 and correct >= self.needed(models)


def rule(threshold: str | Fraction = DEFAULT) -> Rule:
    """The rule at a threshold: a decimal ("0.25") or a fraction ("1/4"). Raises `UsageError` if it is neither."""
    return Rule(share(threshold, "--threshold"))


def named(name: str) -> Rule:
    """The rule that has this name. Raises `UsageError` if none has."""
    found = re.fullmatch(r"first_turn_([0-9./e+-]{1,40})_v1", name)
    with contextlib.suppress(ValueError, ZeroDivisionError):
        if found and (line := Fraction(found[1]) / (1 if "/" in found[1] else 100)) >= 0:
            return Rule(line)
    raise UsageError(f"there is no rule {name!r}", "expected a name as in first_turn_25_v1")


def share(text: str | Fraction, option: str) -> Fraction:
    """A share of models, exactly. Raises `UsageError` if `text` is no number from 0 to less than `_PERCENT`."""
    with contextlib.suppress(ZeroDivisionError):
        if isinstance(text, Fraction) or (len(text) <= _DIGITS and _SHARE.fullmatch(text)):
            value = Fraction(text)
            if 0 <= value < _PERCENT:
                return value
            meant = f"did you mean {float(value / 100):g}?" if value <= 100 else ""
            raise UsageError(f"{option} {text}: expected a share of the models, as in 0.25", meant)
    raise UsageError(f"{option} {text}: expected a share of the models, as in 0.25 or 1/4")


RIGHT, ANSWERED = 2, 1
"""Marks of a model on a sample; 0 where it has no answer to the sample as it is now."""


def marks(samples: pl.LazyFrame, predictions: pl.LazyFrame, *, exact: bool = False) -> pl.LazyFrame:
    """One model's marks, a row per sample in the order of `samples`, as `mark` (uint8).

    samples: id, input_digest. predictions: id, input_digest, verdict, at most one for an input. `exact`: they are
    known to be those of `samples`, row for row, so nothing is compared and their verdicts alone are read.
    """
    columns = ["id", "input_digest"]
    said = predictions.select(*columns, "verdict") if not exact else predictions
    if not exact:
        said = samples.select(columns).join(said, on=columns, how="left", maintain_order="left")
    verdict = pl.col("verdict").fill_null(FAILED)
    return said.select(mark=(verdict == CORRECT).cast(pl.UInt8) + (verdict != FAILED).cast(pl.UInt8))


def side_by_side(samples: pl.LazyFrame, models: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """id and first_turn_answerable of `samples`, then each model's marks in a column of its own: mark0, mark1, ..."""
    columns = [frame.rename({"mark": f"mark{place}"}) for place, frame in enumerate(models)]
    return pl.concat([samples.select("id", "first_turn_answerable"), *columns], how="horizontal")


def tally(marked: pl.LazyFrame, models: int) -> pl.LazyFrame:
    """How many models were right on each sample, of those that answered it: correct, models, beside the id.

    Nothing is hashed or sorted: it streams at the speed of reading verdicts.
    """
    columns = [pl.col(f"mark{place}") for place in range(models)]
    none = pl.lit(0, pl.Int32)
    return marked.select(
        "id",
        "first_turn_answerable",
        correct=functools.reduce(operator.add, ((one == RIGHT).cast(pl.Int32) for one in columns), none),
        models=functools.reduce(operator.add, ((one >= ANSWERED).cast(pl.Int32) for one in columns), none),
    )


def kept(counts: pl.DataFrame, chosen: Rule) -> pl.Series:
    """Which rows of a tally stay. The rule is asked once for each number of models."""
    needed = {models: chosen.needed(models) for models in counts["models"].unique()}
    line = pl.col("models").replace_strict(needed, return_dtype=pl.Int64) if needed else pl.lit(0)
    dropped = pl.col("first_turn_answerable") & (pl.col("models") > 0) & (pl.col("correct") >= line)
    return counts.select(kept=~dropped)["kept"]


def histogram(counts: pl.DataFrame) -> dict[tuple[bool, int, int], int]:
    """(answerable, models, correct) -> samples: all that any threshold needs to know of a tally."""
    rows: Iterable[tuple[bool, int, int, int]] = (
        counts.group_by("first_turn_answerable", "models", "correct").len().sort(pl.all()).rows()
    )
    return {(answerable, models, correct): samples for answerable, models, correct, samples in rows}
