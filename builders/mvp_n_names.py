"""What MVP-N's classes are called, and which names a sample offers beside the right one:
docs/decisions/mvp_n-wrong-names.md."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from build_bench import distractors, manifests
from build_bench.distractors import HOW_MANY
from build_bench.draws import Draw
from build_bench.errors import InputError, Rejected
from build_bench.prompting import category, name_problem, normalised
from build_bench.raw_sources import tables

BY_NAME = "name"
GROUPS, SHIPPED = "annotations/mvp_n_groups.csv", "annotations/mvp_n_classes.csv"
FIX = "add it to classes.csv, a line `class,name` for each of 0000 to 0043"


class Names:
    """`user` is the user's `classes.csv`; `table` ranks names by similarity, None: by their letters.

    Raises `InputError` naming the file and line of a name that can't be used, or if fewer than four classes have one.
    """

    def __init__(self, user: Path | None, table: Path | None) -> None:
        self.groups = {row["class"]: row["group"] for row in csv.DictReader(io.StringIO(manifests.text(GROUPS)))}
        self._names = read_classes(manifests.text(SHIPPED), SHIPPED, self.groups)
        if user:
            self._names |= read_classes(tables.read_text(user), str(user), self.groups)
        self._check(str(user or SHIPPED))
        self._table = table
        ordered = [self._names[label] for label in sorted(self._names)]
        if table:
            self._ranking: distractors.Ranking = distractors.read_table(table)
            distractors.check_table(self._ranking, ordered, table)
        else:
            self._ranking = {name: by_letters(name, ordered) for name in ordered}

    def _check(self, where: str) -> None:
        if len(self._names) <= HOW_MANY:
            raise InputError(
                f"{where}: {len(self._names)} of {len(self.groups)} classes have a name, a sample needs four names",
                "MVP-N's files don't hold them (its documentation does): write classes.csv beside data.zip, "
                "a line `class,name` for each of 0000 to 0043",
            )
        owners: dict[str, str] = {}
        for label, name in sorted(self._names.items()):
            if owners.setdefault(normalised(category(name)), label) != label:
                first = owners[normalised(category(name))]
                raise InputError(f"{where}: classes {first} and {label} are both called {name!r}", "name what differs")

    def lacking(self, labels: Iterable[str]) -> list[str]:
        """Those of `labels` that have no name."""
        return sorted({label for label in labels if label in self.groups and label not in self._names})

    def name(self, label: str) -> str:
        """What a class is called. Raises `Rejected`: `unknown_class`, `no_name`."""
        if label not in self.groups:
            raise Rejected("unknown_class", f"class {label}: MVP-N has 0000 to 0043")
        if label not in self._names:
            raise Rejected("no_name", f"class {label}: {FIX}")
        return self._names[label]

    def three(self, label: str, draw: Draw) -> tuple[str, str, str]:
        """The wrong names of one sample: those of its class's group in drawn order, then the most similar others."""
        answer = self._names[label]
        same = [name for other, name in sorted(self._names.items()) if self.groups[other] == self.groups[label]]
        same = draw.shuffle("distractors", [name for name in same if name != answer])
        return distractors.nearest(answer, [*same, *self._ranking[answer]], normalised)

    def facts(self) -> dict[str, Any]:
        """For the manifest: how names were ranked, and of a table its sha256."""
        facts: dict[str, Any] = {"similarity": self._table.name if self._table else BY_NAME}
        if self._table:
            facts["table_sha256"] = sha256(self._table.read_bytes()).hexdigest()
        return facts


def by_letters(name: str, others: Iterable[str]) -> list[str]:
    """The others, most similar first, ties in the order given: by the share of common three-letter runs, a word's edges
    included (Dice). Exact fractions, so no machine rounds otherwise."""
    own = _runs(name)

    def unlike(other: str) -> Fraction:
        theirs = _runs(other)
        return -Fraction(2 * len(own & theirs), len(own) + len(theirs))

    return sorted((other for other in others if other != name), key=unlike)


def _runs(name: str) -> frozenset[str]:
    words = [f"  {word} " for word in category(name).rstrip(".").casefold().split()]
    return frozenset(word[at : at + 3] for word in words for at in range(len(word) - 2))


def read_classes(text: str, where: str, known: Mapping[str, str]) -> dict[str, str]:
    """A table `class,name` as class -> name; a line without a name is one that is still to be filled in.

    A class is four digits; zeros that a spreadsheet took off are put back. Raises `InputError` naming the line.
    """
    rows = tables.rows(text, where)
    _, header = next(rows, (1, []))
    if [cell.lower() for cell in header] != ["class", "name"]:
        raise InputError(f"{where}:1: the header is {','.join(header)!r}, expected class,name")
    lines: dict[str, list[int]] = defaultdict(list)
    names: dict[str, str] = {}
    for line, cells in rows:
        place = f"{where}:{line}"
        if len(cells) != 2:
            raise InputError(f"{place}: {len(cells)} cells, expected class,name", 'put a name with a comma in "quotes"')
        label, name = cells[0].zfill(4), cells[1]
        if label not in known:
            raise InputError(f"{place}: there is no class {cells[0]!r}", "classes are 0000 to 0043")
        lines[label].append(line)
        if len(lines[label]) > 1:
            raise InputError(
                f"{place}: class {label} stands on line {lines[label][0]} already", "remove one of the two"
            )
        if name:
            names[label] = _checked(name, place)
    return names


def _checked(name: str, place: str) -> str:
    if problem := name_problem(name):
        raise InputError(f"{place}: the name {name!r} can't be shown: {problem}")
    return name
