"""Random models: what they write, given what they are shown. Standard library only."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

STYLES: tuple[Callable[[str, str], str], ...] = (
    lambda letter, text: text,
    lambda letter, text: text.lower(),
    lambda letter, text: text.upper(),
    lambda letter, text: text.rstrip("."),
    lambda letter, text: " ".join(text),
    lambda letter, text: f"  {text}\n",
    lambda letter, text: letter,
    lambda letter, text: letter.lower(),
    lambda letter, text: f"{letter}.",
    lambda letter, text: f" {letter.lower()}. ",
    lambda letter, text: f"{letter}. {text}",
    lambda letter, text: f"{letter}.{text}",
    lambda letter, text: f"{letter.lower()}. {text}",
    lambda letter, text: f"{letter}. {text}\nBecause of B. and C.",
    lambda letter, text: f"\n{letter}. {text}",
    lambda letter, text: f"Dr. A. Smith says: {letter}. {text}",
    lambda letter, text: f"({letter})",
    lambda letter, text: f"{letter})",
    lambda letter, text: f"{letter}: {text}",
    lambda letter, text: f"The answer is {letter}.",
)
"""How one choice is written."""

GARBAGE = (
    "", " ", ".", "..", "#", "A.", "A.B.", "AA", "Z", "z.", "\u00c9.", "\u212a", "\u00df", "\u0130", "1", "-1", "None.",
    "I think so.", "\n", "A.\nB.", "I cannot", "cannot", "Move.", "\u2028A.\u2028", "a" * 300, "TV.", "[A]", "{image}",
)  # fmt: skip

ASKING = (0.0, 0.5, 0.9, 1.0)
"""How likely a model is to make a valid request where there is one."""


def answer(
    choose: random.Random,
    asking: float,
    shown: Sequence[str],
    wanted: Sequence[str],
    right: str,
    absent: Sequence[str],
) -> str:
    """A text. `shown`: options and categories as lettered; `wanted`: those that lead on; `absent`: options that don't
    stand there now."""
    if wanted and choose.random() < asking:
        return _written(choose, shown, choose.choice(wanted))
    draw = choose.random()
    if draw < 0.35:
        return _written(choose, shown, choose.choice(shown))
    if draw < 0.55:
        return _written(choose, shown, right)
    if draw < 0.65 and absent:
        return choose.choice(STYLES[:6])("", choose.choice(absent))
    if draw < 0.8:  # the letter of one, the text of another
        return f"{chr(65 + choose.randrange(len(shown) + 2))}. {choose.choice(shown)}"
    if draw < 0.85:
        return choose.choice("ABCDEFGHIJ")
    return choose.choice(GARBAGE)


def _written(choose: random.Random, shown: Sequence[str], text: str) -> str:
    return choose.choice(STYLES)(chr(65 + list(shown).index(text)), text)
