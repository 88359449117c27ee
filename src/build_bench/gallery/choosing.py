"""Which samples get pictures that can be played: the contact sheet's, and as many more as are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from build_bench import tree
from build_bench.draws import Draw

Row = Mapping[str, Any]


def examples(index: Sequence[Row], seed: int) -> set[str]:
    """The ids on the contact sheets, of all scenarios: those on the card's."""
    return {one for name, rows in by_scenario(index).items() for one in tree.shown(rows, seed, name)}


def playable(index: Sequence[Row], seed: int, each: int) -> set[str]:
    """The ids of `each` samples per scenario; 0: of all. A larger number's hold a smaller one's."""
    return {row["id"] for rows in by_scenario(index).values() for row in drawn(rows, seed, "gallery")[: each or None]}


def studied(index: Sequence[Row], seed: int, count: int) -> list[Row]:
    """`count` samples for people to answer, as many of one scenario as of another, in random order."""
    of_each = [drawn(rows, seed, "study") for rows in by_scenario(index).values()]
    in_turns = chain.from_iterable(zip_longest(*of_each))
    return drawn([row for row in in_turns if row is not None][:count], seed, "order of the study")


def by_scenario(index: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each scenario, in their order."""
    found: dict[str, list[Row]] = {}
    for row in index:
        found.setdefault(row["scenario"], []).append(row)
    return found


def drawn(rows: Sequence[Row], seed: int, purpose: str) -> list[Row]:
    """Rows in random order; one row more or less doesn't change that of the others."""
    return sorted(rows, key=lambda row: Draw(seed, row["scenario"], row["id"]).integer(purpose, 2**62))
