"""What the published evaluator does with a record (proactivebench 0.1.1, environment.py): a graph of states.

A model of its own, written after its behaviour and compared with it turn by turn in tests/evaluator. Export proves by
it that a record says what a row says; adopt takes states from it. What the evaluator would crash on is `Rejected`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from build_bench.answers import plain
from build_bench.errors import Rejected
from build_bench.layouts.record import Record
from build_bench.prompting import ABSTAIN_MARKS
from build_bench.records import ABSTAIN, END, INVALID, PROACTIVE, Crop, Option

MOST_STATES = 50_000
"""More than any sound record has: one that says otherwise mustn't fill the memory."""

Key = Any
"""Where an episode is, in a rule's own terms; sorted, keys give the numbers of states."""


@dataclass(frozen=True, slots=True)
class Look:
    """A picture below the data folder, or a part of it."""

    path: str
    crop: Crop = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A state: what is shown, the options open there, and the state each leads to."""

    look: Look
    options: tuple[int, ...]
    moves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Game:
    """All that the evaluator makes of a record."""

    context: str
    hint: str
    reference_question: str
    options: tuple[Option, ...]
    steps: tuple[Step, ...]
    start: int
    reference: Look
    max_turns: int
    first_turn_answerable: bool

    def paths(self) -> tuple[str, ...]:
        """Every picture that can be shown, in the order of states; one that is only the reference comes last."""
        return tuple(dict.fromkeys([*(step.look.path for step in self.steps), self.reference.path]))


_TEMPLATE = re.compile(r"(?:[^{}]|\{[a-z_]+\}){1,1000}")
"""Plain blanks only: a width or an attribute in a stranger's template would be carried out."""


class Rules(ABC):
    """One dataset's rules for one record."""

    context: ClassVar[str] = ""
    hint: str = ""
    reference_question: ClassVar[str] = ""
    first_turn_answerable: ClassVar[bool] = True
    keys: Mapping[str, str]
    """The words by which a request is known -> our name of the action."""
    many_keys: ClassVar[bool] = False
    """One request may hold several of them."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.max_turns = record.num_images

    @property
    @abstractmethod
    def start(self) -> Key:
        """Where an episode begins."""

    @abstractmethod
    def look(self, key: Key) -> Look:
        """What is shown there."""

    @abstractmethod
    def move(self, key: Key, action: str) -> Key | None:
        """Where a valid request leads; None where it ends the episode. Raises `Rejected` where the evaluator stops."""

    def open(self, key: Key, options: tuple[Option, ...]) -> Iterable[int]:
        """The options that stand there."""
        return range(len(options))

    def reference(self) -> Look:
        """The view with full information."""
        return Look(self.path(image=self.record.reference_image))

    def path(self, **blanks: object) -> str:
        """The template, filled in. Raises `Rejected`: `bad_template`, `unsafe_path`."""
        template = self.record.image_template
        if not _TEMPLATE.fullmatch(template):
            raise Rejected(
                "bad_template", f"{template[:200]!r}: blanks are {{image}} and {{informative}} and no others"
            )
        try:
            return safe(template.format(**blanks))
        except KeyError as error:
            raise Rejected("bad_template", f"{template!r}: {error!r}") from error

    def options(self) -> tuple[Option, ...]:
        """The options with their kinds and actions."""
        return tuple(self._option(text) for text in self.record.options)

    def is_valid(self, text: str) -> bool:
        """Whether asking for this can help."""
        return not any(mark in text.lower() for mark in ABSTAIN_MARKS)

    def _option(self, text: str) -> Option:
        valid = self.is_valid(text)
        if not valid and any(mark in text.lower() for mark in ABSTAIN_MARKS):
            return Option(text, ABSTAIN)
        found = [key for key in self.keys if key in text.lower()]
        if not found or (valid and len(found) > 1 and not self.many_keys):
            raise Rejected("unknown_request", f"{text!r} has {found or 'none'} of the words {list(self.keys)}")
        return Option(text, PROACTIVE if valid else INVALID, self.keys[found[0]])


def safe(path: str) -> str:
    """A path that stays below the data folder. Raises `Rejected`."""
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path or ":" in path or "\0" in path or {"", ".", ".."} & {*parts}:
        raise Rejected("unsafe_path", f"{path!r} is not the plain name of a file below the folder")
    return path


def check_texts(record: Record) -> None:
    """Raise `Rejected` for texts that the evaluator stops on or takes for one another."""
    if record.answer not in record.categories:
        raise Rejected("answer_not_in_categories", f"{record.answer!r} is none of {list(record.categories)}")
    if len(record.categories) != 4:
        raise Rejected("category_count", f"{len(record.categories)} categories, expected 4")
    if not record.prompt.strip():
        raise Rejected("no_question")
    texts = [plain(text) for text in (*record.options, *record.categories)]
    if "" in texts or len({*texts}) != len(texts):
        raise Rejected("ambiguous_texts", f"compared as {texts}")


def play(rules: Rules) -> Game:
    """Every state that can be shown within the turns allowed. Raises `Rejected`."""
    check_texts(rules.record)
    options = rules.options()
    if sum(option.kind == ABSTAIN for option in options) != 1:
        raise Rejected("abstain_count", f"one option that abstains expected among {list(rules.record.options)}")
    if rules.max_turns < 1:
        raise Rejected("no_turns", f"{rules.max_turns} turns")
    turns: dict[Hashable, int] = {rules.start: 1}
    opened: dict[Hashable, list[tuple[int, Key | None]]] = {}
    queue = [rules.start]
    for key in queue:
        opened[key] = []
        for index in rules.open(key, options):
            target = None
            if options[index].kind == PROACTIVE:
                try:
                    target = rules.move(key, options[index].action)
                except Rejected:
                    if turns[key] < rules.max_turns:  # on the last turn the evaluator doesn't move any more
                        raise
            opened[key].append((index, target))
            if target is not None and target not in turns and turns[key] < rules.max_turns:
                if len(turns) == MOST_STATES:
                    raise Rejected("too_many_states", f"more than {MOST_STATES:,}")
                turns[target] = turns[key] + 1
                queue.append(target)
    number = {key: place for place, key in enumerate(sorted(turns))}  # type: ignore[type-var]
    steps = tuple(
        Step(
            rules.look(key),
            tuple(index for index, _ in opened[key]),
            tuple(number.get(target, END) for _, target in opened[key]),
        )
        for key in number
    )
    return Game(
        context=rules.context,
        hint=rules.hint,
        reference_question=rules.reference_question or rules.record.prompt,
        options=options,
        steps=steps,
        start=number[rules.start],
        reference=rules.reference(),
        max_turns=rules.max_turns,
        first_turn_answerable=rules.first_turn_answerable,
    )
