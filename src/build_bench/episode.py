"""The whole evaluation protocol: walks the `states` of any sample (paper section 3.1, contract section 5).

episode = Episode(row)                      # a row of the dataset
while not episode.done:
    frame, crop = episode.view              # what the model sees
    answer = model(row["frames"][frame], crop, episode.question(hint=False), episode.choices)
    episode.choose(answer)                  # an index into `choices`, or None for anything else
episode.correct, episode.turns
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
            answerable = self.reference or self.turns > 1 or self.row["first_turn_answerable"]
            self.correct = right and answerable
        if move == END or self.turns >= self.row["max_turns"]:
            self.done = True
        else:
            self.state = move
            self.path.append(move)
