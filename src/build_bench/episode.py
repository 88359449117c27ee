"""The whole evaluation protocol: walks the `states` of any sample (paper section 3.1, contract section 5). Standard
library only: the tests load it beside the published evaluator, which needs another Python.

episode = Episode(row)                      # a row of the dataset
while not episode.done:
    frame, crop = episode.view              # what the model sees
    text = model(row["frames"][frame], crop, episode.prompt(hint=False))
    episode.answer(text)                    # the verdict; or episode.choose(an index into episode.choices)
episode.correct, episode.turns
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from build_bench import answers
from build_bench.answers import CORRECT, UNPARSED, WRONG
from build_bench.records import END, View


class Episode:
    """One walk through a sample. With `reference`, the view with full information is shown, and categories alone."""

    def __init__(self, row: Mapping[str, Any], *, reference: bool = False) -> None:
        self.row = row
        self.reference = reference
        self.state: int = row["start"]
        self.turns = 0
        self.done = False
        self.correct = False
        self.path = [self.state]

    @property
    def view(self) -> View:
        """The frame's index and its crop, (left, top, right, bottom) in pixels or empty."""
        at = self.row["reference"] if self.reference else self.row["states"][self.state]
        return View(at["frame"], tuple(at["crop"]))

    def question(self, *, hint: bool = False) -> str:
        """What is asked, with its context, and with the hint if wanted."""
        asked = self.row["reference_question"] if self.reference else self.row["question"]
        return " ".join(part for part in (self.row["context"], asked, self.row["hint"] if hint else "") if part)

    @property
    def choices(self) -> list[str]:
        """The open options, then the categories: lettered A, B, C... when shown."""
        return [self.row["options"][index]["text"] for index in self._options] + list(self.row["categories"])

    @property
    def _options(self) -> list[int]:
        return [] if self.reference else list(self.row["states"][self.state]["options"])

    def prompt(self, *, hint: bool = False) -> str:
        """The question and its lettered choices, as the published evaluator words them."""
        return answers.prompt(self.question(hint=hint), self.choices)

    def answer(self, text: str) -> str:
        """Answer with what a model wrote; the verdict is correct, wrong, abstain, proactive, invalid or unparsed.

        Read as the published evaluator does. Raises `ValueError` after the end.
        """
        reading = self.read(text)
        options = self._options
        self.choose(reading.choice)
        if reading.choice is None:
            return UNPARSED
        if reading.choice < len(options):
            return str(self.row["options"][options[reading.choice]]["kind"])
        return CORRECT if self.correct else WRONG

    def read(self, text: str) -> answers.Reading:
        """What a model's text would be taken for now."""
        right = list(self.row["categories"]).index(self.row["answer"]) if self._answerable(self.turns + 1) else None
        moves = [] if self.reference else self.row["states"][self.state]["moves"]
        options = [self.row["options"][index]["text"] for index in self._options]
        leading = [place for place, move in enumerate(moves) if move != END]
        return answers.read(text, options, self.row["categories"], right, leading)

    def _answerable(self, turn: int) -> bool:
        return self.reference or turn > 1 or bool(self.row["first_turn_answerable"])

    def choose(self, choice: int | None) -> None:
        """Answer with `choices[choice]`; None is an answer that is none of them. Raises `ValueError` after the end."""
        if self.done:
            raise ValueError("the episode has ended")
        options = self._options
        self.turns += 1
        move = END
        if choice is not None and 0 <= choice < len(options):
            move = self.row["states"][self.state]["moves"][choice]
        elif choice is not None and 0 <= choice - len(options) < len(self.row["categories"]):
            right = self.row["categories"][choice - len(options)] == self.row["answer"]
            self.correct = right and self._answerable(self.turns)
        if move == END or self.turns >= self.row["max_turns"]:
            self.done = True
        else:
            self.state = move
            self.path.append(move)
