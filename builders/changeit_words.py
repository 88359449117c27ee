"""What the object and the action of a category are called, and which of them could both be right.

The table is made by hand: no rule splits "Gift/Box Wrapping" or "Rubik's Cube Solving" into an object and an action.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from pathlib import Path

from build_bench import manifests
from build_bench.draws import Draw
from build_bench.errors import InputError, Rejected
from build_bench.prompting import category as shown
from build_bench.prompting import name_problem, normalised
from build_bench.raw_sources import tables

WORDS = "annotations/changeit_words.csv"
CONFUSABLE = "annotations/changeit_confusable.csv"
HEADER = ["category", "object", "action"]
WRONG = 3
"""Wrong answers per question."""


class Words:
    """The package's table; a row of `own` takes the place of the row of the same category."""

    def __init__(self, own: Path | None = None) -> None:
        self._words = dict(_rows(manifests.text(WORDS), WORDS))
        if own is not None:
            self._words |= dict(_rows(tables.read_text(own), str(own)))
        self._together = _confusable()

    def word(self, category: str, kind: str) -> str:
        """The answer to a question of `kind` (`object`, `action`) about `category`; empty if the table has none."""
        return self._words.get(category, {}).get(kind, "")

    def wrong(self, kind: str, categories: Collection[str], answer: str, draw: Draw) -> tuple[str, str, str]:
        """Three words that are right for none of `categories` and differ from `answer` and one another.

        `categories` are the sample's own and all others in which its video is listed. Raises `Rejected` if too few
        words are left.
        """
        barred = set(categories).union(*(self._together.get((kind, name), set()) for name in categories))
        taken = {normalised(shown(answer)), *(normalised(shown(self.word(name, kind))) for name in barred)}
        left: dict[str, str] = {}
        for name in sorted(self._words):
            word = self.word(name, kind)
            if word and normalised(shown(word)) not in taken:
                left.setdefault(normalised(shown(word)), word)
        if len(left) < WRONG:
            raise Rejected("too_few_words", f"{len(left)} {kind}s are wrong for all of {', '.join(sorted(categories))}")
        first, second, third = draw.sample("distractors", [left[key] for key in sorted(left)], WRONG)
        return first, second, third


def _rows(text: str, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(category, {kind: word}) of each row. Raises `InputError` naming the line."""
    lines = tables.rows(text, name)
    _, header = next(lines, (1, []))
    if header != HEADER:
        raise InputError(f"{name}:1: header {','.join(header)!r}, expected {','.join(HEADER)!r}")
    met = set()
    for line, cells in lines:
        place = f"{name}:{line}"
        if len(cells) != len(HEADER) or not cells[0]:
            raise InputError(f"{place}: {','.join(cells)!r}, expected category, object and action")
        if cells[0] in met:
            raise InputError(f"{place}: category {cells[0]!r} stands there twice")
        met.add(cells[0])
        for word in filter(None, cells[1:]):
            if problem := name_problem(word):
                raise InputError(f"{place}: {word!r} can't be an answer: {problem}")
        yield cells[0], dict(zip(HEADER[1:], cells[1:], strict=True))


def _confusable() -> dict[tuple[str, str], set[str]]:
    """Per kind and category, those whose words could be right for its videos too: never offered as wrong."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in csv.DictReader(manifests.text(CONFUSABLE).splitlines()):
        names = row["categories"].split()
        for name in names:
            found.setdefault((row["kind"], name), set()).update(names)
    return found
