"""What the stages hand to one another. Frozen, without I/O.

A builder yields `Draft`s; `prompting` puts them into words and order, which makes `Plan`s; rendering adds the frames.
The published row is a `Plan` with its frames (contract section 5, columns in `schema.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

ABSTAIN, PROACTIVE, INVALID = "abstain", "proactive", "invalid"
END = -1
"""The move that ends an episode."""

ACTIONS = (
    "move_occluder_left", "move_occluder_right", "rewind", "wait", "change_view",
    "adjust_brightness", "adjust_contrast", "adjust_saturation", "deblur", "denoise",
    "reduce_compression", "increase_resolution", "remove_artifacts", "add_details",
    "move_camera_left", "move_camera_right", "move_camera_up", "move_camera_down", "move_farther",
)  # fmt: skip
"""The 19 proactive behaviours: the evaluator's 17 actions, with left and right told apart by what moves."""

Crop = tuple[int, int, int, int] | tuple[()]
"""(left, top, right, bottom) in pixels of the frame; empty: the whole frame."""


class View(NamedTuple):
    """A frame, or a part of it."""

    frame: int
    crop: Crop = ()


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that is not a category."""

    text: str
    kind: str
    """`abstain`, `proactive` (a valid request for help) or `invalid` (a request that can't help)."""
    action: str = ""
    """One of `ACTIONS`; empty for abstain."""


@dataclass(frozen=True, slots=True)
class State:
    """What a model sees at one turn, and where each open option leads."""

    view: View
    options: tuple[int, ...]
    """Indexes into the sample's options: those open here, in the order shown."""
    moves: tuple[int, ...]
    """`moves[j]` is the state that `options[j]` leads to, or `END`."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sample comes from."""

    dataset: str
    key: str
    url: str
    license: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for help before it is worded: the action, and what fills the blanks of its text."""

    action: str
    kind: str = PROACTIVE
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DraftState:
    """A state before options are ordered."""

    view: View
    moves: tuple[tuple[int, int], ...]
    """(index into the draft's asks, state it leads to or `END`) of those open here. Abstaining always is."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a builder decides about one sample: everything but words, order and pixels."""

    source: Source
    group: str
    """Samples of one group come from one source file and are rendered together (two questions on one video)."""
    question_kind: str
    asks: tuple[Ask, ...]
    answer: str
    """The category as the source spells it."""
    distractors: tuple[str, str, str]
    frames: tuple[str, ...]
    """File names of the frames, in order."""
    states: tuple[DraftState, ...]
    reference: View
    max_turns: int
    recipe: str
    """What rendering needs to know, in the builder's own JSON: the frames are a function of it and of the source."""
    start: int = 0
    first_turn_answerable: bool = True
    hint: str = "default"
    """Which of the pool's hints."""
    fields: tuple[tuple[str, str], ...] = ()
    """What fills the blanks of the question."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about one sample that needs no pixel. Field for field the published row of contract section 5."""

    id: str
    scenario: str
    question: str
    question_kind: str
    context: str
    hint: str
    reference_question: str
    options: tuple[Option, ...]
    categories: tuple[str, ...]
    answer: str
    frames: tuple[str, ...]
    states: tuple[State, ...]
    start: int
    reference: View
    max_turns: int
    first_turn_answerable: bool
    open_proactive: tuple[str, ...]
    open_categories: tuple[str, ...]
    source: Source
    group: str
    recipe: str


class Framed(NamedTuple):
    """The part of a `Plan` that its frames are a function of, and those that are rendered together."""

    id: str
    group: str
    frames: Sequence[str]
    recipe: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that is not used, and why."""

    source_key: str
    stage: str
    """`plan` or `render`."""
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Census:
    """How many items a reader met. `candidates = built + rejected`; `passed_over` were never looked at."""

    candidates: int
    passed_over: int = 0
