"""Small made-up drafts and plans, and a strategy for them: an anonymous scenario with the shapes of all seven."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from build_bench.prompting import Pool, word
from build_bench.records import END, Ask, Draft, DraftState, Plan, Source, View

POOL = Pool(
    context="",
    reference_question="",
    hints={"default": "Hint: ask."},
    abstain=("I cannot say.", "I do not know.", "I cannot tell."),
    questions={"object": tuple(f"Question {number}?" for number in range(15))},
    asks={"add_details": ("More details.", "A fuller sketch."), "move_farther": ("Move farther from the object.",)},
    keys={"add_details": ("details", "sketch"), "move_farther": ("farther",)},
    open_proactive={"add_details": ("Add more details",), "move_farther": ("Move farther",)},
)


def draft(key: str = "cat/1", steps: int = 3, **changes: Any) -> Draft:
    """A sequence of `steps` frames, each revealed by asking."""
    states = tuple(DraftState(View(step), ((0, step + 1 if step + 1 < steps else END),)) for step in range(steps))
    fields: dict[str, Any] = {
        "source": Source("Made up", key, "https://example.org", "CC0"),
        "group": key,
        "question_kind": "object",
        "asks": (Ask("add_details"),),
        "answer": "cat",
        "distractors": ("dog", "cow", "The Eiffel Tower"),
        "frames": tuple(f"{step:04d}.png" for step in range(steps)),
        "states": states,
        "reference": View(steps - 1),
        "max_turns": steps,
        "recipe": "{}",
    }
    return Draft(**{**fields, **changes})


def plan(key: str = "cat/1", steps: int = 3, seed: int = 0, **changes: Any) -> Plan:
    """The same, worded."""
    return word(draft(key, steps, **changes), POOL, "made_up", seed)


@st.composite
def drafts(compose: st.DrawFn) -> Draft:
    """Any graph of states: options open here and closed there, circular, cropped, with several asks."""
    count = compose(st.integers(1, 8))
    asks = compose(st.sampled_from([(Ask("add_details"),), (Ask("add_details"), Ask("move_farther", "invalid"))]))
    target = st.integers(-1, count - 1)
    views = st.builds(View, st.integers(0, 2), st.sampled_from([(), (0, 0, 4, 5), (2, 1, 3, 9)]))

    def state() -> DraftState:
        opened = compose(st.sets(st.sampled_from(range(len(asks)))))
        return DraftState(compose(views), tuple((ask, compose(target)) for ask in sorted(opened)))

    return draft(
        compose(st.text(min_size=1, max_size=12)),
        frames=("0.png", "1.png", "2.png"),
        asks=asks,
        states=tuple(state() for _ in range(count)),
        start=compose(st.integers(0, count - 1)),
        reference=View(0),
        max_turns=compose(st.integers(1, 10)),
        first_turn_answerable=compose(st.booleans()),
    )
