"""How the published evaluator reads what a model wrote (proactivebench 0.1.1, `BaseEnvironment._evaluate`).

Standard library only, as `episode.py`.

An answer is looked for twice: among the open options, and among the categories, each time by its full text and, where
that fails, by its letter. So "A. Cat." may be both: the text of a category and the letter of an option.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

CORRECT, WRONG, UNPARSED = "correct", "wrong", "unparsed"
"""The verdicts beside the kinds of options (contract section 6): `abstain`, `proactive`, `invalid`."""

_CAPITAL_STOP = re.compile(r"[A-Z]\.")


class Reading(NamedTuple):
    """What an answer was taken for."""

    option: int | None
    """Index into the open options."""
    category: int | None
    """Index into the categories."""
    choice: int | None
    """What it comes to: an index into options + categories; None: neither."""


def read(
    text: str, options: Sequence[str], categories: Sequence[str], right: int | None, leading: Collection[int]
) -> Reading:
    """Read `text`. `right`: the category that is right now, None where none counts; `leading`: options that lead on.

    The right category wins, by whatever it was found; then an option that leads on. The rest ends the episode all
    the same, so there what was written in full says more than a letter.
    """
    option, option_in_full = _find(text, options, 0)
    category, category_in_full = _find(text, categories, len(options))
    as_category = None if category is None else len(options) + category
    if category is not None and category == right:
        choice = as_category
    elif option in leading or option_in_full:
        choice = option
    elif category_in_full or option is None:
        choice = as_category
    else:
        choice = option
    return Reading(option, category, choice)


def _find(text: str, texts: Sequence[str], shift: int) -> tuple[int | None, bool]:
    """Which of `texts` is meant, and whether it was written in full. Their letters begin `shift` after A."""
    wanted = plain(text)
    for place, candidate in enumerate(texts):
        if plain(candidate) == wanted:
            return place, True
    letter = text.split(".")[0].lower().strip()
    place = ord(letter) - ord("a") - shift if len(letter) == 1 else -1
    return (place, False) if 0 <= place < len(texts) else (None, False)


@lru_cache(maxsize=1024)  # the same options and categories are compared turn after turn
def plain(text: str) -> str:
    """How full texts are compared: all up to the first line's last capital with a full stop goes ("A. Cat." ->
    "Cat."), then case and spaces."""
    line, newline, further = text.partition("\n")
    stops = list(_CAPITAL_STOP.finditer(line))
    if stops:
        text = (line[stops[-1].end() :] + newline + further).lstrip()
    return text.lower().strip().replace(" ", "")


def prompt(question: str, choices: Sequence[str], *, short: bool = True) -> str:
    """The question and its lettered choices as the evaluator words them (proactivebench 0.1.1, data_utils.py,
    `apply_multi_choice_template`); its script tests/mcqa.py asks for a `short` answer."""
    lines = "".join(f"{chr(ord('A') + place)}. {text}\n" for place, text in enumerate(choices))
    asked = f"{question} Choose from the following options. Options:\n{lines}"
    return asked + "Please only return one of the options without any other words." * short
