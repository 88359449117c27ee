"""What MVP-N's classes are called comes from the user, is checked on reading, and decides the wrong answers."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import manifests
from build_bench.builders.mvp_n import MvpNBuilder, MvpNSettings
from build_bench.builders.mvp_n_names import GROUPS, SHIPPED, Names, by_letters, read_classes
from build_bench.draws import Draw
from build_bench.errors import InputError
from build_bench.raw_sources.mvp_n import CLASSES, MvpN
from build_bench.records import Draft, Rejection
from tests.fakes import mvp_n as fake
from tests.fakes.mvp_n import paths

KNOWN = dict.fromkeys(CLASSES, "1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fake.draw(tmp_path / "mvp_n", {"0000": [paths("0000", "01")], "0004": [paths("0004", "01")]})
    return tmp_path / "mvp_n"


def names(root: Path, table: str = "") -> Names:
    return Names(root / "classes.csv", root / table if table else None)


def drawn(label: str, at: Names) -> list[tuple[str, str, str]]:
    return [at.three(label, Draw(0, "mvp_n", f"test/{label}/{number}")) for number in range(40)]


def test_nineteen_groups_share_out_the_44_classes() -> None:
    groups = {row["class"]: row["group"] for row in csv.DictReader(io.StringIO(manifests.text(GROUPS)))}
    assert tuple(groups) == CLASSES
    assert sorted(Counter(groups.values()).values()) == [2] * 16 + [3, 4, 5]


def test_the_package_names_no_class_as_nobody_here_has_seen_the_names() -> None:
    assert read_classes(manifests.text(SHIPPED), SHIPPED, KNOWN) == {}


def test_the_group_comes_first_and_then_the_most_similar_name(root: Path) -> None:
    assert {three[0] for three in drawn("0000", names(root))} == {"blue soap"}
    assert {three[1] for three in drawn("0000", names(root))} == {"soap dish"}
    assert len(set(drawn("0000", names(root)))) == 1


def test_of_a_large_group_three_are_drawn_for_each_sample(root: Path) -> None:
    found = drawn("0010", names(root))
    others = {"milk fat", "milk oat", "milk soy", "milk rice"}
    assert {name for three in found for name in three} == others
    assert all(len(set(three)) == 3 for three in found)
    assert len({frozenset(three) for three in found}) == 4


def test_a_table_ranks_what_the_group_leaves_open(root: Path) -> None:
    rows = [[name, "rice cake", "milk rice", "milk soy", "red soap", "soap dish"] for name in fake.NAMES.values()]
    (root / "near.csv").write_text("category,neighbour_1\n" + "".join(",".join(row) + "\n" for row in rows))
    assert set(drawn("0000", names(root, "near.csv"))) == {("blue soap", "rice cake", "milk rice")}
    builder = MvpNBuilder(MvpNSettings(similarity="near.csv"), 0)
    raw = builder.open(root, root)
    assert any(isinstance(outcome, Draft) for outcome in builder.plan(raw))
    assert root / "near.csv" in raw.files
    assert builder.facts()["similarity"] == "near.csv"
    assert len(builder.facts()["table_sha256"]) == 64


def test_a_table_that_lacks_a_name_or_is_not_there_is_named(root: Path) -> None:
    (root / "near.csv").write_text("category,neighbour_1\nred soap,blue soap\n")
    with pytest.raises(InputError, match=r"near\.csv: has no row for 'blue soap'"):
        names(root, "near.csv")
    with pytest.raises(InputError, match=r"far\.csv: there is no such file"):
        MvpN(root, "test", "far.csv")


def test_similar_names_share_words_or_parts_of_them() -> None:
    others = ["whey drink chocolate", "sports whey powder peach", "hand soap", "peach tea", "whey drink peach"]
    assert by_letters("whey drink peach", others)[:2] == ["whey drink chocolate", "sports whey powder peach"]
    assert by_letters("Whey drink peaches", others)[0] == "whey drink peach"


@given(
    st.lists(st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1).filter(str.strip), unique=True, max_size=8)
)
def test_a_ranking_holds_each_other_name_once_and_does_not_depend_on_case(found: list[str]) -> None:
    for name in found:
        assert sorted(by_letters(name, found)) == sorted(other for other in found if other != name)


def test_missing_names_are_listed_and_their_samples_rejected(root: Path) -> None:
    fake.draw(root, {"0015": [paths("0015", "01")], "0016": [paths("0016", "001")]})
    raw = MvpN(root)
    outcomes = list(MvpNBuilder(MvpNSettings(), 0).plan(raw))
    rejections = [outcome for outcome in outcomes if isinstance(outcome, Rejection)]
    assert [one.reason for one in rejections] == ["no_name", "no_name"]
    assert "no name for 2 classes, missing in classes.csv: 0015, 0016" in raw.gaps


@pytest.mark.parametrize("table", [None, "class,name\n", "class,name\n0000,a b\n0001,c d\n0002,e f\n0003,\n"])
def test_without_four_names_there_is_nothing_to_ask(root: Path, table: str | None) -> None:
    (root / "classes.csv").unlink()
    if table:
        (root / "classes.csv").write_text(table)
    with pytest.raises(InputError, match="of 44 classes have a name, a sample needs four") as missing:
        list(MvpNBuilder(MvpNSettings(), 0).plan(MvpN(root)))
    assert "classes.csv" in missing.value.hint


def test_a_table_may_be_saved_by_a_spreadsheet() -> None:
    text = '\ufeffClass, Name\r\n0,"Milk, low fat"\r\n43, Tea \r\n7,\r\n\r\n,\r\n'
    assert read_classes(text, "classes.csv", KNOWN) == {"0000": "Milk, low fat", "0043": "Tea"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "classes.csv:1: the header is ''"),
        ("name,class\n", "expected class,name"),
        ("class;name\n0000;Milk\n", "expected class,name"),
        ("class,name\n0000,Milk\n0044,Tea\n", "classes.csv:3: there is no class '0044'"),
        ("class,name\nmilk,0000\n", "classes.csv:2: there is no class 'milk'"),
        ("class,name\n0000,Milk\n0,Tea\n", "classes.csv:3: class 0000 stands on line 2 already"),
        ("class,name\n0000,Milk, low fat\n", "classes.csv:2: 3 cells"),
        ("class,name\n0000,x\n", "no capital before a full stop"),
        ("class,name\n0000,Milk {fat}\n", "braces"),
        ("class,name\n0000,...\n", "no letters"),
    ],
)
def test_a_line_that_can_not_be_used_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_classes(text, "classes.csv", KNOWN)
    assert said in refused.value.message


@pytest.mark.parametrize("twin", ["red soap", "Red  Soap.", "RedSoap"])
def test_two_classes_of_one_name_are_refused(root: Path, twin: str) -> None:
    fake.draw(root, {}, fake.NAMES | {"0001": twin})
    with pytest.raises(InputError, match="classes 0000 and 0001 are both called"):
        names(root)


def test_a_table_in_another_encoding_is_named(root: Path) -> None:
    (root / "classes.csv").write_bytes("class,name\n0000,Crème\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"classes\.csv: can't be read"):
        names(root)
