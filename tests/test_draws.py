"""Every draw depends on who a sample is, never on its place in a queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench.draws import Draw, ranks

SEEDS = st.integers(0, 2**32)
KEYS = st.text(min_size=1, max_size=20)


@given(SEEDS, KEYS, st.lists(st.integers(), unique=True, max_size=20))
def test_a_shuffle_is_a_permutation_and_repeats(seed: int, key: str, items: list[int]) -> None:
    draw = Draw(seed, "coco", key)
    assert sorted(draw.shuffle("options", items)) == sorted(items)
    assert draw.shuffle("options", items) == draw.shuffle("options", items)


@given(SEEDS, KEYS, st.integers(1, 1000))
def test_an_integer_is_below_its_bound(seed: int, key: str, bound: int) -> None:
    assert 0 <= Draw(seed, "coco", key).integer("step", bound) < bound


@given(SEEDS, st.sets(KEYS, min_size=2, max_size=20), st.data())
def test_other_keys_change_nothing(seed: int, keys: set[str], data: st.DataObject) -> None:
    """Remove, add or reorder source items: every other item's draws stay."""

    def draws(keys: list[str]) -> dict[str, list[int]]:
        return {key: Draw(seed, "coco", key).shuffle("options", range(6)) for key in keys}

    everything = draws(sorted(keys))
    fewer = data.draw(st.permutations(sorted(keys)))[1:]
    assert draws(fewer) == {key: everything[key] for key in fewer}


def test_who_asks_is_not_a_matter_of_where_the_words_are_cut() -> None:
    assert Draw(0, "ab", "c").shuffle("x", range(50)) != Draw(0, "a", "bc").shuffle("x", range(50))


@pytest.mark.parametrize("other", [Draw(1, "coco", "7"), Draw(0, "rod", "7"), Draw(0, "coco", "8")])
def test_seed_scenario_and_key_all_matter(other: Draw) -> None:
    assert other.shuffle("options", range(50)) != Draw(0, "coco", "7").shuffle("options", range(50))


def test_each_purpose_has_a_generator_of_its_own() -> None:
    draw = Draw(0, "coco", "7")
    assert draw.shuffle("options", range(50)) != draw.shuffle("categories", range(50))


def test_every_order_comes_equally_often() -> None:
    """24 orders of four items, 24,000 draws: chi-square with 23 degrees of freedom stays under its 99.99 % bound."""
    counts: dict[tuple[int, ...], int] = {}
    for key in range(24_000):
        order = tuple(Draw(0, "coco", str(key)).shuffle("options", range(4)))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 58


def test_more_than_there_are_can_not_be_drawn() -> None:
    with pytest.raises(ValueError, match="4 of 3 items"):
        Draw(0, "coco", "7").sample("wrong", "abc", 4)


def test_draws_never_change() -> None:
    """Golden: a published dataset depends on these."""
    draw = Draw(0, "quickdraw", "cat/5201136883597312")
    assert draw.shuffle("options", "abcdef") == list("edcfab")
    assert draw.integer("question", 15) == 2
    ids = np.array([5201136883597312, 1], dtype=np.uint64)
    assert ranks(ids, 0, "quickdraw", "cat", "drawings").tolist() == [15725091738196839878, 7282959371703922379]


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, min_size=1, max_size=100), SEEDS)
def test_ranks_never_tie_and_depend_on_each_id_alone(ids: list[int], seed: int) -> None:
    array = np.array(ids, dtype=np.uint64)
    got = ranks(array, seed, "quickdraw", "cat", "drawings")
    assert len(set(got.tolist())) == len(ids)
    assert ranks(array[::-1], seed, "quickdraw", "cat", "drawings").tolist() == got.tolist()[::-1]
    assert array.tolist() == ids


def test_the_smallest_ranks_are_a_uniform_draw() -> None:
    """Which tenth of 1,000 neighbouring ids is chosen, over 400 groups: each id's count is binomial."""
    ids = np.arange(5_000_000_000_000_000, 5_000_000_000_001_000, dtype=np.uint64)
    chosen = np.zeros(1000, dtype=int)
    for group in range(400):
        chosen[np.argsort(ranks(ids, 0, "quickdraw", str(group), "drawings"))[:100]] += 1
    variance = 400 * 0.1 * 0.9
    assert abs(((chosen - 40) ** 2).sum() / variance - 1000) < 250
