"""What the card of a training split says otherwise than the test's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from build_bench.card_made import Facts
from build_bench.records import PROACTIVE

APART = {
    "quickdraw": "drawings are put in an order that depends on the seed and their ids alone. The test takes the first "
    "{per_class} of a word that can be used, these are the last {train_per_class}: no test has one of them as long as "
    "a word has that many more.",
    "coco": "the pictures are those of `{train_annotations}`. What `{annotations}` lists, which the test is made of, "
    "is left out, whatever name it has here.",
}
"""Why an item can't be in both, by scenario; filled with the settings."""


def is_ambiguous(row: Mapping[str, Any]) -> bool:
    """Whether some request would reveal more."""
    return any(option["kind"] == PROACTIVE for option in row["options"])


def counts(scenarios: Mapping[str, Facts]) -> str:
    """The table of examples by scenario."""
    head = ["| scenario | `train` | ambiguous | unambiguous |", "| --- | ---: | ---: | ---: |"]
    rows = [(name, facts["built"], facts["ambiguous"]) for name, facts in scenarios.items()]
    return "\n".join([*head, *(f"| `{n}` | {all_:,} | {half:,} | {all_ - half:,} |" for n, all_, half in rows)])


def captions(lines: str, samples: Iterable[Mapping[str, Any]]) -> str:
    """Captions, a line for each sample, with what each one is."""
    kinds = ("ambiguous" if is_ambiguous(sample) else "unambiguous" for sample in samples)
    return "\n".join(f"{line} ({kind})" for line, kind in zip(lines.splitlines(), kinds, strict=True))


def apart(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    """How the items are kept apart from those of the test, which was built with the same seed and settings."""
    for name, facts in scenarios.items():
        yield f"- `{name}`: {APART[name].format(**facts['settings'])}"
    yield ""
    yield f"That holds for a test that was built with seed {manifest['seed']} and these settings, as `manifest.json` of"
    yield "both say. A build compares the source items with those of the test in its work folder too, and so does"
    yield "`build-bench verify --split train`."
