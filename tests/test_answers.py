"""A model's text is read as the published evaluator reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import build_bench
from build_bench import answers, schema
from build_bench.episode import Episode
from tests.samples import plan

OPTIONS = ["I cannot say.", "More details."]
CATEGORIES = ["Cat.", "The eiffel tower.", "Dog.", "Cow."]


def read(text: str, right: int | None = 0, leading: tuple[int, ...] = (1,)) -> int | None:
    return answers.read(text, OPTIONS, CATEGORIES, right, leading).choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Cat.", 2), ("cat.", 2), (" CAT ", None),
        (" CAT. ", None), ("C. Cat.", 2), ("C.Cat.", 2), ("the Eiffel   tower.", 3),
        ("C", 2), ("c", 2), ("C.", 2), (" c. ", 2), ("F", 5), ("A", 0), ("B. x", 1),
        ("(C)", None), ("C)", None), ("cat", None), ("G", None), ("", None), ("#", None), ("CC", None),
        ("I like cats", None),
        ("More details.", 1), ("B. More details.\nBecause.", 1), ("Dr. B. Jones: C. Cat.", 2), ("\nCat.", 2),
        ("\nB. Cat.", 1), ("B.\nC. Cat.", 1),
    ],
)  # fmt: skip
def test_full_text_first_then_the_letter(text: str, choice: int | None) -> None:
    assert read(text) == choice


def test_categories_are_lettered_after_the_options_that_stand_there_now() -> None:
    assert answers.read("A", [], CATEGORIES, 0, ()) == (None, 0, 0)
    assert answers.read("A", OPTIONS[1:], CATEGORIES, 0, (0,)) == (0, None, 0)
    assert answers.read("B", OPTIONS[1:], CATEGORIES, 0, (0,)) == (None, 0, 1)


def test_of_a_letter_and_another_text_the_right_category_wins_then_a_request_that_leads_on() -> None:
    assert read("B. Cat.") == 2
    assert read("C. More details.") == 2
    assert read("B. Dog.") == 1
    assert read("A. Dog.") == 4
    assert read("B. Dog.", leading=()) == 4
    assert read("D. I cannot say.") == 0
    assert read("B. Cat.", right=None) == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("Cat.", "correct"), ("Dog.", "wrong"), ("abstain", "abstain"), ("proactive", "proactive"), ("Hm?", "unparsed")],
)
def test_an_answer_has_a_verdict(text: str, verdict: str) -> None:
    episode = Episode(schema.plan_row(plan()))
    said = next((option["text"] for option in episode.row["options"] if option["kind"] == text), text)
    assert episode.answer(said) == verdict
    assert episode.done == (verdict != "proactive")
    if episode.done:
        with pytest.raises(ValueError, match="ended"):
            episode.answer(said)


def test_where_nothing_can_be_seen_at_first_a_right_guess_is_wrong() -> None:
    episode = Episode(schema.plan_row(plan(first_turn_answerable=False)))
    assert episode.answer("Cat.") == "wrong"
    assert Episode(schema.plan_row(plan(first_turn_answerable=False)), reference=True).answer("Cat.") == "correct"


def test_the_prompt_letters_what_can_be_chosen() -> None:
    episode = Episode(schema.plan_row(plan()) | {"question": "What?", "hint": "Hint: ask."})
    assert episode.prompt(hint=True).startswith("What? Hint: ask. Choose from the following options. Options:\nA. ")
    assert episode.prompt().endswith(
        f"F. {episode.choices[5]}\nPlease only return one of the options without any other words."
    )
    assert answers.prompt("What?", ["A."], short=False) == "What? Choose from the following options. Options:\nA. A.\n"


def test_playing_needs_the_standard_library_alone() -> None:
    source = Path(build_bench.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(source)!r}); import build_bench.episode, build_bench.scores"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
