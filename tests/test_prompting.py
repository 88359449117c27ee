"""Texts obey the published evaluator's rules, and order is frozen per sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import manifests
from build_bench.builders import SCENARIOS
from build_bench.errors import InputError
from build_bench.prompting import category, load_pool, read_pool, slug, word
from build_bench.records import Draft
from tests.samples import POOL, drafts, plan


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_pool_of_the_package_obeys_the_rules(scenario: str) -> None:
    pool = load_pool(scenario)
    assert len(pool.abstain) == 3
    assert pool.questions


def test_quickdraw_has_thirteen_ways_to_ask() -> None:
    assert len(load_pool("quickdraw").asks["add_details"]) == 13


SOUND = manifests.text("prompts/quickdraw.toml")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("I cannot answer that.", "I can't answer that.", 'contains "cannot" or "do not"'),
        ("Please add more details.", "I cannot see: add details.", "neither"),
        ("Please add more details.", "Add more details to the drawing.", "exactly one action key"),
        ("Please add more details.", "Go on.", "exactly one action key"),
        ("Please add more details.", "More details, please.", "no commas"),
        ("I cannot answer that.", "I cannot watch TV.", "no capital before a full stop"),
        ("What has been drawn here?", "Which object does this sketch show?", "stands there twice"),
        ('    "What has been drawn here?",\n', "", "15 texts expected, found 14"),
        ('    "Please add more details.",\n', "", "13 texts expected, found 12"),
        ('    "I cannot answer that.",\n', "", "3 texts expected"),
        ("What has been drawn here?", " What has been drawn here?", "outer spaces"),
        ("[asks.add_details]", "[asks.add_detail]", "not one of the 19 actions"),
        ("reference_question", "reference_questoin", "reference_question"),
        ("abstain = [", "abstain = [[", "quickdraw.toml"),
    ],
)
def test_a_broken_rule_is_refused_with_the_line(old: str, new: str, rule: str) -> None:
    assert old in SOUND
    with pytest.raises(InputError) as refused:
        read_pool(SOUND.replace(old, new, 1), "quickdraw.toml")
    assert rule in refused.value.message
    assert "quickdraw.toml" in refused.value.message


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("The Eiffel Tower", "The eiffel tower."),
        ("t-shirt", "T-shirt."),
        ("TV", "Tv."),
        ("hot  dog", "Hot dog."),
        ("cat.", "Cat."),
        ("crane, bird", "Crane bird."),
    ],
)
def test_categories_read_as_released(name: str, shown: str) -> None:
    assert category(name) == shown


def test_an_id_is_safe_in_a_url() -> None:
    assert plan("The Mona Lisa/51").id == "made_up-the-mona-lisa-51"
    assert slug("a b/C%d.x") == "a-b-c-d-x"


def test_categories_that_the_evaluator_can_not_tell_apart_are_refused() -> None:
    with pytest.raises(InputError, match="can't be told apart"):
        plan(answer="Cardigan", distractors=("cardi gan", "dog", "cow"))


def test_a_sample_is_worded_alike_whatever_else_there_is() -> None:
    assert plan("cat/1") == plan("cat/1")
    assert plan("cat/1") != plan("cat/1", seed=1)


def test_order_is_shuffled() -> None:
    firsts = {plan(f"cat/{number}").options[0].kind for number in range(40)}
    answers = {plan(f"cat/{number}").categories.index("Cat.") for number in range(40)}
    assert firsts == {"abstain", "proactive"}
    assert answers == {0, 1, 2, 3}


@given(drafts(), st.integers(0, 9))
def test_wording_keeps_every_move(drafted: Draft, seed: int) -> None:
    worded = word(drafted, POOL, "made_up", seed)
    assert len(worded.options) == len(drafted.asks) + 1
    for before, after in zip(drafted.states, worded.states, strict=True):
        moves = {worded.options[o].action: move for o, move in zip(after.options, after.moves, strict=True)}
        assert moves.pop("") == -1
        assert moves == {drafted.asks[ask].action: move for ask, move in before.moves}
        assert list(after.options) == sorted(after.options)
