"""The samples that the card shows: what the manifest keeps of them, their captions, and one worked through in text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from string import ascii_uppercase
from typing import Any

from build_bench import manifests

Row = Mapping[str, Any]

_KEPT = ("id", "context", "question", "question_kind", "categories", "answer", "first_turn_answerable", "max_turns")
_PARTICLES = frozenset(
    ["a", "al", "and", "bin", "da", "de", "del", "der", "di", "du", "la", "le", "of", "the", "van", "von"]
)


def facts(row: Row) -> dict[str, Any]:
    """What the manifest keeps of a sample on the contact sheet: its texts, and what its first turn leads to."""
    start = row["states"][row["start"]]
    options = [
        {
            "text": row["options"][option]["text"],
            "kind": row["options"][option]["kind"],
            "shows": _view(row["states"][move]) if move >= 0 else None,
        }
        for option, move in zip(start["options"], start["moves"], strict=True)
    ]
    return {**{key: row[key] for key in _KEPT}, "frames": len(row["frames"]), "shows": _view(start), "options": options}


def _view(state: Row) -> dict[str, Any]:
    return {"frame": state["frame"], "crop": list(state["crop"])}


def captions(samples: Sequence[Row]) -> str:
    """A line for each row of a contact sheet."""
    return "\n".join(
        f"{number}. {plain(sample['question'])} **{plain(spelled(sample))}**"
        for number, sample in enumerate(samples, 1)
    )


def plain(text: str) -> str:
    """A text of the data in Markdown: one line that shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|~$&#])", r"\\\1", " ".join(text.split()))


def spelled(sample: Row) -> str:
    """A sample's answer as its source spells it, where that is known: published answers are in lower case.

    Names of speakers are in no table of ours: they get the capitals that names have.
    """
    words = str(sample["answer"]).removesuffix(".")
    if sample["question_kind"] == "speaker":
        first, *others = words.split(" ")
        return " ".join([first, *(word if word in _PARTICLES else word[:1].upper() + word[1:] for word in others)])
    known = _spellings().get(words.lower(), words)
    return known[:1].upper() + known[1:]


@cache
def _spellings() -> dict[str, str]:
    """Words of Quick, Draw! as their authors write them, by lower case."""
    return {word.lower(): word for word in manifests.text("annotations/quickdraw_words.txt").splitlines()}


def worked(scenarios: Mapping[str, Sequence[Row]]) -> str:
    """A sample's first turn in text: the one, of the first of each scenario, at which most can be asked for."""
    firsts = {name: samples[0] for name, samples in scenarios.items() if samples}
    if not firsts:
        return ""
    scenario = max(firsts, key=lambda name: len(firsts[name]["options"]))
    return "\n".join([*_worked(scenario, firsts[scenario]), ""])


def _worked(scenario: str, sample: Row) -> Iterator[str]:
    yield "### A sample, worked through"
    yield ""
    yield (
        f"`{sample['id']}` of `{scenario}` has {_count(sample['frames'], 'frame')}. "
        f"Turn 1 shows {_seen(sample['shows'])}, and asks:"
    )
    yield ""
    yield "> " + plain(f"{sample['context']} {sample['question']}")
    yield ""
    options, categories = sample["options"], sample["categories"]
    letters = dict(zip(range(len(options) + len(categories)), ascii_uppercase, strict=False))
    for place, option in enumerate(options):
        yield f"- {letters[place]}. {plain(option['text'])} *{_outcome(option)}*"
    for place, category in enumerate(categories, len(options)):
        verdict = "wrong" if category != sample["answer"] else _right(sample)
        yield f"- {letters[place]}. {plain(category)} *{verdict}*"
    yield ""
    yield (
        "Turn 2 asks the same of what was revealed. The episode ends with a category, a request that reveals nothing, "
        f"or turn {sample['max_turns']}."
    )


def _outcome(option: Row) -> str:
    if option["shows"]:
        return f"turn 2 shows {_seen(option['shows'])}"
    return "abstains: wrong" if option["kind"] == "abstain" else "reveals nothing: wrong"


def _right(sample: Row) -> str:
    return "**right**" if sample["first_turn_answerable"] else "the right answer, but at turn 1 a guess: wrong"


def _seen(view: Row) -> str:
    crop = f", cropped to {view['crop']}" if view["crop"] else ""
    return f"frame {view['frame']}{crop}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
