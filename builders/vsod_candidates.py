"""Wrong answers of the same kind as the right one: docs/decisions/vsod-wrong-answers.md."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import blake2b

import numpy as np

from build_bench import manifests
from build_bench.draws import ranks
from build_bench.errors import Rejected
from build_bench.prompting import category, normalised
from build_bench.raw_sources.vsod import TABLE
from build_bench.raw_sources.vsod_answers import COUNT, EVENT, SPEAKER, Answer

COUNTS = tuple(str(number) for number in range(1, 21))
"""Wrong head counts come from here: the released ones seen are 1, 3, 14 and 20."""


class Candidates:
    """What wrong answers of one kind are drawn from; of several spellings of one name the first in the alphabet."""

    def __init__(self, names: Iterable[str]) -> None:
        found: dict[str, str] = {}
        for name in sorted(names):
            found.setdefault(alike(name), name)
        self._names = tuple(found.items())
        hashes = [blake2b(key.encode(), digest_size=8).digest() for key in found]
        self._ids = np.frombuffer(b"".join(hashes), dtype="<u8")

    def three(self, answer: str, seed: int, source_key: str) -> tuple[str, str, str]:
        """The three with the smallest ranks that differ from the answer.

        A rank depends on the sample and on the candidate alone: a candidate less changes the samples that showed it,
        and no others. Raises `Rejected` if there aren't three.
        """
        ranked = ranks(self._ids, seed, "vsod", source_key, "wrong answers")
        smallest = np.argpartition(ranked, 3)[:4] if len(ranked) > 4 else np.arange(len(ranked))
        ordered = (self._names[at] for at in smallest[np.argsort(ranked[smallest])])
        others = [name for key, name in ordered if key != alike(answer)]
        if len(others) < 3:
            raise Rejected("too_few_names", f"{TABLE} has {len(others)} other names, 3 are needed to choose from")
        return others[0], others[1], others[2]


def candidates(answers: Mapping[str, Answer]) -> dict[str, Candidates]:
    """By question kind. Names of people come from the user's table and nowhere else."""
    names = {answer.answer for answer in answers.values() if answer.kind == SPEAKER and answer.answer}
    return {SPEAKER: Candidates(names), COUNT: Candidates(COUNTS), EVENT: Candidates(events())}


def events() -> list[str]:
    """The event types that ship with the package."""
    return [row["event"] for row in csv.DictReader(io.StringIO(manifests.text("annotations/vsod_events.csv")))]


def alike(name: str) -> str:
    """What two spellings of one name share: no case, spaces, full stops, hyphens or accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", category(name)) if not unicodedata.combining(c))
    return normalised(plain).replace(".", "").replace("-", "")
