"""Quick, Draw!: which files are found, which drawings are chosen, what is said of the others, and the samples."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import draws, imaging, prompting
from build_bench.builders.quickdraw import QuickDrawBuilder, QuickDrawSettings, wrong_words
from build_bench.demo import quickdraw as demo
from build_bench.errors import InputError
from build_bench.raw_sources import ndjson_ids
from build_bench.raw_sources.json_id import BOM, find_id
from build_bench.raw_sources.quickdraw import Drawing, QuickDraw, known_words
from build_bench.records import END, Draft, Rejection

Lines = Sequence[str | bytes]
TWO = [[[0, 9], [0, 9]], [[5, 5], [0, 200]]]
"""Two strokes."""


def row(key_id: object = "5201136883597312", drawing: object = TWO, **changes: object) -> str:
    """A line as Google writes it."""
    fields = {
        "word": "cat", "countrycode": "VE", "timestamp": "2017-03-02 23:25:10.07453 UTC",
        "recognized": True, "key_id": key_id, "drawing": drawing,
    }  # fmt: skip
    return json.dumps(fields | changes, separators=(",", ":"))


def put(root: Path, lines: Lines, name: str = "full/simplified/cat.ndjson", end: bytes = b"\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + end for line in lines))
    return path


def choose(
    root: Path, k: int = 10, seed: int = 0, word: str = "cat", source: str = "auto"
) -> list[Drawing | Rejection]:
    return list(QuickDraw(root, source).choose(word, k, seed))


def ids(outcomes: Sequence[Drawing | Rejection]) -> list[str]:
    return [outcome.key_id for outcome in outcomes if isinstance(outcome, Drawing)]


def by_size(numbers: ndjson_ids.U64) -> ndjson_ids.U64:
    """Ranks that show what was read."""
    return numbers


def rejected(outcomes: Sequence[Drawing | Rejection]) -> dict[str, str]:
    return {outcome.reason: outcome.detail for outcome in outcomes if isinstance(outcome, Rejection)}


def many(count: int, start: int = 4_503_599_627_370_496) -> list[str]:
    """`count` drawings, every fourth not recognised, every seventh of one stroke."""
    return [row(str(start + 1_000_003 * i), TWO[: 1 if i % 7 == 0 else 2], recognized=i % 4 != 0) for i in range(count)]


def build(root: Path, seed: int = 0, **settings: Any) -> list[Draft | Rejection]:
    builder = QuickDrawBuilder(QuickDrawSettings(**settings), seed)
    return list(builder.plan(builder.open(root, root)))


def keys(outcomes: Sequence[Draft | Rejection]) -> set[str]:
    return {outcome.source.key for outcome in outcomes if isinstance(outcome, Draft)}


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The demo's drawings in both forms."""
    found = {}
    for kind in ("simplified", "raw"):
        found[kind] = tmp_path_factory.mktemp(kind) / "quickdraw"
        demo.write(found[kind], kind)
    return found


@pytest.fixture(scope="session")
def built(trees: dict[str, Path]) -> dict[str, list[Draft]]:
    """The samples of `trees`."""
    return {kind: [o for o in build(root) if isinstance(o, Draft)] for kind, root in trees.items()}


class TestFiles:
    @pytest.mark.parametrize(
        "name",
        [
            "full/simplified/{}.ndjson",
            "full_simplified_{}.ndjson",
            "downloads/of today/full_simplified_{}.ndjson",
            "simplified/{}.ndjson",
            "mirror/full/simplified/{}.ndjson",
            "FULL/SIMPLIFIED/{}.NDJSON",
        ],
    )
    @pytest.mark.parametrize(
        "spelling", ["hot air balloon", "hot%20air%20balloon", "hot+air+balloon", "hot_air_balloon", "Hot Air Balloon"]
    )
    def test_every_naming_is_found(self, tmp_path: Path, name: str, spelling: str) -> None:
        put(tmp_path, [row(word="hot air balloon")], name.format(spelling))
        (drawing,) = choose(tmp_path, word="hot air balloon")
        assert isinstance(drawing, Drawing)
        assert drawing.kind == "simplified"
        assert (
            drawing.url == "https://storage.googleapis.com/quickdraw_dataset/full/simplified/hot%20air%20balloon.ndjson"
        )

    def test_a_path_in_a_name_is_found_as_browsers_write_it(self, tmp_path: Path) -> None:
        put(tmp_path, [row()], quote("full/raw/cat.ndjson", safe=""))
        assert QuickDraw(tmp_path).words == ("cat",)

    def test_a_word_is_spelt_as_in_the_list(self, tmp_path: Path) -> None:
        put(tmp_path, [row(word="The Eiffel Tower")], "full/raw/the eiffel tower.ndjson")
        put(tmp_path, [row(word="T-Rex")], "full/raw/T-Rex.ndjson")
        reader = QuickDraw(tmp_path)
        assert reader.words == ("T-Rex", "The Eiffel Tower")  # a word that Google doesn't have is built too
        assert len(ids(choose(tmp_path, word="T-Rex"))) == 1

    def test_a_folder_above_the_source_says_nothing_of_its_files(self, tmp_path: Path) -> None:
        put(tmp_path, [row()], "raw/quickdraw/full/simplified/cat.ndjson")
        (drawing,) = choose(tmp_path / "raw" / "quickdraw")
        assert isinstance(drawing, Drawing)
        assert drawing.kind == "simplified"

    def test_simplified_files_are_preferred_unless_raw_ones_are_asked_for(self, tmp_path: Path) -> None:
        put(tmp_path, [row()], "full/raw/cat.ndjson")
        put(tmp_path, [row()], "full_simplified_cat.ndjson")
        put(tmp_path, [row(word="dog")], "full_raw_dog.ndjson")
        kinds = {source: QuickDraw(tmp_path, source) for source in ("auto", "simplified", "raw")}
        names = {source: [path.name for path in reader.files] for source, reader in kinds.items()}
        assert names["auto"] == ["full_raw_dog.ndjson", "full_simplified_cat.ndjson"]
        assert names["simplified"] == ["full_simplified_cat.ndjson"]
        assert names["raw"] == ["cat.ndjson", "full_raw_dog.ndjson"]

    def test_two_files_of_a_word_that_differ_are_both_named(self, tmp_path: Path) -> None:
        put(tmp_path, [row()])
        put(tmp_path, [row()], "Downloads/full_simplified_cat.ndjson")
        assert QuickDraw(tmp_path).words == ("cat",)  # the same bytes twice do no harm
        put(tmp_path, [row()[:50]], "Downloads/full_simplified_cat.ndjson")
        with pytest.raises(InputError) as error:
            QuickDraw(tmp_path)
        assert "full/simplified/cat.ndjson" in error.value.message
        assert "Downloads/full_simplified_cat.ndjson" in error.value.message

    def test_absent_words_and_files_that_were_not_read_are_gaps(self, tmp_path: Path) -> None:
        put(tmp_path, [row()])
        put(tmp_path, [row()], "full_simplified_cat (1).ndjson")
        put(tmp_path, [row()], "cat.ndjson")
        put(tmp_path, [row()], "full/simplified/._cat.ndjson")
        absent, *others = QuickDraw(tmp_path).gaps
        assert absent.startswith("344 of 345 words are absent: The Eiffel Tower, ")
        assert ", cat," not in absent
        assert [other.split(" is ")[0] for other in others] == ["cat.ndjson", "full_simplified_cat (1).ndjson"]

    def test_a_name_that_is_not_utf8_is_shown_escaped(self, tmp_path: Path) -> None:
        odd = os.fsdecode(b"\xff")
        put(tmp_path, [row()], f"simplified/c{odd}t.ndjson")
        put(tmp_path, [row(), "{"], f"{odd}/simplified/cat.ndjson")
        reader = QuickDraw(tmp_path)
        found = list(reader.choose("cat", 10, 0))
        assert len(ids(found)) == 1
        assert "\\xff/simplified/cat.ndjson, line 2" in rejected(found)["broken_line"]
        assert any(r"simplified/c\xfft.ndjson is not named as a word" in gap for gap in reader.gaps)
        "\n".join(reader.gaps).encode()

    def test_a_link_that_leads_nowhere_is_a_gap_and_other_words_are_built(self, tmp_path: Path) -> None:
        put(tmp_path, [row()])
        (tmp_path / "full/simplified/dog.ndjson").symlink_to("nowhere")
        reader = QuickDraw(tmp_path)
        assert reader.words == ("cat",)
        assert "full/simplified/dog.ndjson leads to no file: it was not read" in reader.gaps

    def test_nothing_at_all_is_an_error_that_names_the_folder(self, tmp_path: Path) -> None:
        root = tmp_path / "quickdraw"
        for _ in range(2):
            with pytest.raises(InputError, match=str(root)):
                QuickDraw(root)
            root.mkdir(exist_ok=True)

    def test_links_to_folders_are_followed_and_circles_left(self, tmp_path: Path) -> None:
        put(tmp_path / "elsewhere", [row()], "cat.ndjson")
        root = tmp_path / "quickdraw"
        (root / "full").mkdir(parents=True)
        (root / "full" / "simplified").symlink_to(tmp_path / "elsewhere")
        (root / "full" / "again").symlink_to(root)
        assert QuickDraw(root).words == ("cat",)


class TestChoice:
    def test_it_is_the_usable_drawings_with_the_smallest_ranks(self, tmp_path: Path) -> None:
        lines = many(400)
        put(tmp_path, lines)
        rows = [json.loads(line) for line in lines]
        ranks = draws.ranks(np.array([int(r["key_id"]) for r in rows], np.uint64), 0, "quickdraw", "cat", "drawings")
        usable = [i for i in np.argsort(ranks) if rows[i]["recognized"] and len(rows[i]["drawing"]) > 1]
        assert ids(choose(tmp_path)) == [rows[i]["key_id"] for i in usable[:10]]

    @given(st.randoms(use_true_random=False))
    def test_the_order_of_lines_changes_nothing(self, shuffler: Any) -> None:
        with _folder() as root:
            lines = many(60)
            put(root, lines)
            before = choose(root)
            shuffler.shuffle(lines)
            put(root, lines)
            after = choose(root)
        assert [_but_place(outcome) for outcome in after] == [_but_place(outcome) for outcome in before]

    def test_raw_and_simplified_files_choose_the_same_drawings(self, trees: dict[str, Path]) -> None:
        chosen = {kind: build(root) for kind, root in trees.items()}
        assert keys(chosen["raw"]) == keys(chosen["simplified"])
        assert len(keys(chosen["raw"])) == 120
        reasons = [
            Counter((r.reason, r.source_key) for r in out if isinstance(r, Rejection)) for out in chosen.values()
        ]
        assert reasons[0] == reasons[1]

    def test_more_drawings_are_the_same_and_others(self, tmp_path: Path) -> None:
        put(tmp_path, many(200))
        chosen = [ids(choose(tmp_path, k)) for k in (1, 5, 10, 40)]
        for fewer, more in pairwise(chosen):
            assert more[: len(fewer)] == fewer

    def test_another_seed_chooses_others(self, tmp_path: Path) -> None:
        put(tmp_path, many(200))
        assert ids(choose(tmp_path, seed=1)) != ids(choose(tmp_path))

    @given(st.integers(0, 119), st.integers(0, 3))
    def test_one_drawing_fewer_changes_one_choice_at_most(self, gone: int, seed: int) -> None:
        with _folder() as root:
            lines = many(120)
            put(root, lines)
            before = set(ids(choose(root, seed=seed)))
            put(root, lines[:gone] + lines[gone + 1 :])
            assert len(before - set(ids(choose(root, seed=seed)))) <= 1

    def test_another_words_file_changes_nothing(self, trees: dict[str, Path], tmp_path: Path) -> None:
        root = tmp_path / "quickdraw"
        shutil.copytree(trees["simplified"], root)
        (root / "full" / "simplified" / "cat.ndjson").unlink()
        before = {o.source.key: o for o in build(trees["simplified"]) if isinstance(o, Draft)}
        after = {o.source.key: o for o in build(root) if isinstance(o, Draft)}
        assert after == {key: draft for key, draft in before.items() if draft.answer != "cat"}

    def test_a_word_with_few_usable_drawings_is_searched_to_its_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("build_bench.raw_sources.quickdraw.KEEP", 2)
        lines = [row(str(10**15 + i), TWO[: 1 + (i % 50 == 0)]) for i in range(1500)]
        put(tmp_path, lines)
        assert len(ids(choose(tmp_path, 29))) == 29
        reader = QuickDraw(tmp_path)
        assert len(ids(list(reader.choose("cat", 31, 0)))) == 30
        assert reader.gaps[1] == "1 word has fewer drawings that can be used than 31: cat 30"

    def test_what_was_looked_at_is_a_candidate_and_the_rest_is_counted(self, tmp_path: Path) -> None:
        put(tmp_path, [*many(300), "broken", "", "  "])
        reader = QuickDraw(tmp_path)
        for _ in range(2):
            outcomes = list(reader.choose("cat", 10, 0))
            assert reader.census.candidates == len(outcomes)
            assert reader.census.candidates + reader.census.passed_over == 301
            assert len(ids(outcomes)) == 10
            assert {"not_recognized", "single_stroke", "broken_line"} >= set(rejected(outcomes)) >= {"broken_line"}


class TestDefects:
    @pytest.mark.parametrize(
        ("reason", "line"),
        [
            ("broken_line", row()[:-30]),
            ("broken_line", row()[:60]),
            ("broken_line", row() + row("7")),
            ("broken_line", row().replace("[0,200]", "[0,NaN]")),
            ("broken_line", row().encode().replace(b"VE", b"\xc3E")),
            ("broken_line", row().encode("utf-16")),
            ("broken_line", "<html>not found</html>"),
            ("broken_line", '{"word":"cat"}'),
            ("broken_line", row(key_id="not a number")),
            ("broken_line", row(key_id=str(2**64))),
            ("broken_line", row(key_id=-5)),
            ("broken_line", row(key_id=None)),
            ("broken_line", row("77")[:-1] + ',"note":' + "[" * 100_000),
            ("broken_line", '{"deep":' + "[" * 100_000 + "]" * 100_000 + "," + row("77")[1:]),
            ("broken_line", '{"key_id":"1",' + row("2")[1:]),
            ("wrong_type", row(recognized="true")),
            ("wrong_type", row(drawing="strokes")),
            ("wrong_type", row(drawing=[[[0, "1"], [0, 1]], [[1], [1]]])),
            ("wrong_type", row().replace('"recognized":true,', "")),
            ("bad_strokes", row(drawing=[])),
            ("bad_strokes", row(drawing=[[[0, 1], [0]], [[1], [1]]])),
            ("bad_strokes", row(drawing=[[[], []], [[1], [1]]])),
            ("bad_strokes", row(drawing=[[[0, 1]], [[1], [1]]])),
            ("bad_strokes", row(drawing=[[[0, 1e12], [0, 1]], [[1], [1]]])),
            ("wrong_word", row(word="dog")),
            ("not_recognized", row(recognized=False)),
            ("single_stroke", row(drawing=TWO[:1])),
        ],
    )
    def test_it_is_named_with_file_and_line_and_the_rest_is_built(
        self, tmp_path: Path, reason: str, line: str | bytes
    ) -> None:
        put(tmp_path, [row("1001"), line, row("1002")])
        outcomes = choose(tmp_path)
        assert set(ids(outcomes)) == {"1001", "1002"}
        assert set(rejected(outcomes)) == {reason}
        assert "full/simplified/cat.ndjson, line 2: " in rejected(outcomes)[reason]

    def test_glued_records_are_said_to_be(self, tmp_path: Path) -> None:
        put(tmp_path, [row("1001"), row("1002") + row("1003")])
        assert "two records" in rejected(choose(tmp_path))["broken_line"]

    def test_a_last_line_that_broke_off_costs_only_itself(self, tmp_path: Path) -> None:
        path = put(tmp_path, [row("1001"), row("1002"), row("1003")])
        path.write_bytes(path.read_bytes()[:-20])
        outcomes = choose(tmp_path)
        assert set(ids(outcomes)) == {"1001", "1002"}
        assert "line 3" in rejected(outcomes)["broken_line"]

    def test_a_broken_line_that_is_not_chosen_is_passed_over(self, tmp_path: Path) -> None:
        lines = many(200)
        last = ids(choose(put(tmp_path, lines).parents[2], 200))[-1]
        at = next(i for i, line in enumerate(lines) if last in line)
        put(tmp_path, [*lines[:at], lines[at][:-9], *lines[at + 1 :]])
        reader = QuickDraw(tmp_path)
        assert "broken_line" not in rejected(list(reader.choose("cat", 10, 0)))
        assert reader.census.candidates + reader.census.passed_over == 200

    def test_the_same_line_twice_is_one_drawing(self, tmp_path: Path) -> None:
        put(tmp_path, [row("1001"), row("1002"), row("1001")])
        outcomes = choose(tmp_path)
        assert sorted(ids(outcomes)) == ["1001", "1002"]
        assert not rejected(outcomes)

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    def test_an_id_of_two_drawings_is_none(self, tmp_path: Path, order: tuple[int, ...]) -> None:
        lines = [row("1001"), row("1002"), row("1001", [*TWO, *TWO])]
        put(tmp_path, [lines[i] for i in order])
        outcomes = choose(tmp_path)
        assert ids(outcomes) == ["1002"]
        first, second = sorted(order.index(i) + 1 for i in (0, 2))
        assert f"cat.ndjson, lines {first}, {second}:" in rejected(outcomes)["duplicate_key_id"]

    def test_a_good_line_survives_its_broken_copy(self, tmp_path: Path) -> None:
        put(tmp_path, [row("1001"), row("1001")[:-9]])
        outcomes = choose(tmp_path)
        assert ids(outcomes) == ["1001"]
        assert "line 2" in rejected(outcomes)["broken_line"]

    def test_a_line_beyond_all_bounds_is_not_held_in_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ndjson_ids, "MAX_LINE", 100_000)
        put(tmp_path, [row("1001"), row("7", [[[1] * 99_999] * 2] * 2), row("1002"), row("8", [[[1] * 9_999] * 2] * 2)])
        for block in (1 << 12, 1 << 22):
            scan = ndjson_ids.scan(tmp_path / "full" / "simplified" / "cat.ndjson", by_size, 9, block)
            assert [(line.id, line.number) for line in scan.smallest] == [(8, 4), (1001, 1), (1002, 3)]
            assert [(broken.number, scan.lines) for broken in scan.broken] == [(2, 4)]

    def test_an_empty_file_is_a_gap(self, tmp_path: Path) -> None:
        put(tmp_path, [])
        reader = QuickDraw(tmp_path)
        assert list(reader.choose("cat", 10, 0)) == []
        assert reader.gaps[1] == "1 word has fewer drawings that can be used than 10: cat 0"


class TestOddLines:
    """Lines that no fast path knows are read all the same."""

    @pytest.mark.parametrize(
        "line",
        [
            "  " + row("77"),
            row("77").replace('":', '": ').replace(',"', ', "'),
            json.dumps(dict(reversed(json.loads(row("77")).items()))),
            json.dumps(json.loads(row("77")), sort_keys=True),
            '{"key_id":"77",' + row("1")[1:].replace('"key_id":"1",', ""),
            row(77),
            row("0077"),
            row("77", note='{"key_id":"1"} \\ "key_id":"2"'),
            '{"note":"[ {,\\"key_id\\":\\"1\\"",' + row("77")[1:],
            '{"meta":{"key_id":"1","list":[{"key_id":"2"}]},' + row("77")[1:],
            '{"key_id_of":"1","text":"\\u0063\\\\",' + row("77")[1:],
            row("77", countrycode="\u00fc\u2028"),
            json.dumps(json.loads(row("77")) | {"countrycode": "\u2028\x85"}, ensure_ascii=False),
            row("77") + " \t\r",
            BOM + row("77").encode(),
        ],
    )
    def test_the_id_is_found(self, tmp_path: Path, line: str | bytes) -> None:
        put(tmp_path, [row("1001"), line, row("1002")])
        outcomes = choose(tmp_path)
        assert set(ids(outcomes)) == {"1001", "1002", "77"}
        put(tmp_path, [line])
        assert ids(choose(tmp_path)) == ["77"]

    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    @pytest.mark.parametrize("last", [True, False])
    def test_line_ends_change_nothing(self, tmp_path: Path, end: bytes, last: bool) -> None:
        path = put(tmp_path, [*many(50), "", " "], end=end)
        if not last:
            path.write_bytes(path.read_bytes().rstrip())
        assert ids(choose(tmp_path)) == ids(choose(put(tmp_path / "plain", many(50)).parents[2]))

    @pytest.mark.parametrize("short", ["", "x", "xx"])
    def test_a_short_line_takes_no_id_from_the_next(self, tmp_path: Path, short: str) -> None:
        heads = [
            row(str(number), timestamp="2017-03-02 23:25:10.1234"[: 20 + number] + " UTC") for number in range(1, 5)
        ]
        put(tmp_path, [*heads, *[short + "\n" + line for line in heads[::-1]]])
        scan = ndjson_ids.scan(tmp_path / "full" / "simplified" / "cat.ndjson", by_size, 99)
        assert [(line.id, line.number) for line in scan.smallest] == [
            (1, 1), (1, 12), (2, 2), (2, 10), (3, 3), (3, 8), (4, 4), (4, 6)
        ]  # fmt: skip

    def test_the_largest_ids_fit(self, tmp_path: Path) -> None:
        numbers = [1, 12_345_678, 123_456_789, 10**16, 10**18 + 7, 10**19 + 7, 2**64 - 1]
        put(tmp_path, [row(str(number)) for number in numbers for _ in range(2)])
        assert sorted(map(int, ids(choose(tmp_path)))) == numbers

    @given(st.data())
    def test_lines_of_any_form_rank_as_if_each_were_parsed(self, data: st.DataObject) -> None:
        lines, expected = [], []
        for number in range(1, data.draw(st.integers(1, 25)) + 1):
            line, key_id = data.draw(_lines())
            lines.append(line)
            if key_id is not None:
                expected.append((key_id, number))
        content = data.draw(st.sampled_from([b"", BOM])) + data.draw(st.sampled_from([b"\n", b"\r\n"])).join(lines)
        content += data.draw(st.sampled_from([b"", b"\n"]))
        with _folder() as root:
            (root / "file").write_bytes(content)
            scan = ndjson_ids.scan(root / "file", by_size, 99, data.draw(st.sampled_from([64, 192, 4096])))
        assert [(line.id, line.number) for line in scan.smallest] == sorted(expected)
        for line in scan.smallest:
            cut = content[line.start : line.start + line.size]
            assert json.loads(cut.removeprefix(BOM)) == json.loads(lines[line.number - 1])

    @given(st.binary(max_size=60), st.integers(0, 200))
    def test_no_bytes_crash_it(self, noise: bytes, at: int) -> None:
        line = row().encode()
        find_id(noise)
        find_id(line[:at] + noise + line[at:])

    @given(st.integers(0, 200), st.binary(min_size=1, max_size=3))
    def test_whether_a_damaged_line_has_an_id_does_not_depend_on_the_lines_before(self, at: int, noise: bytes) -> None:
        damaged = (row("77").encode()[:at] + noise + row("77").encode()[at + len(noise) :]).replace(b"\n", b" ")
        with _folder() as root:
            found = []
            for before in ([], [row("1001"), row("11")]):
                path = put(root, [*before, damaged])
                scan = ndjson_ids.scan(path, by_size, 99)
                found.append([line.id for line in scan.smallest if line.number == len(before) + 1])
        assert found[0] == found[1]


class TestSamples:
    def test_asking_leads_stroke_by_stroke_to_the_whole_drawing(self, built: dict[str, list[Draft]]) -> None:
        for draft in built["simplified"]:
            count = len(json.loads(draft.recipe)["strokes"])
            assert count >= 2
            assert draft.frames == tuple(f"{i:04d}.png" for i in range(count))
            assert [state.view.frame for state in draft.states] == list(range(count))
            assert [state.moves for state in draft.states] == [((0, i + 1),) for i in range(count - 1)] + [((0, END),)]
            assert draft.max_turns == count
            assert draft.reference.frame == count - 1
            assert draft.source.license == "CC-BY-4.0"

    def test_wrong_answers_are_three_others_of_all_the_words(self, built: dict[str, list[Draft]]) -> None:
        seen = set()
        for draft in built["simplified"]:
            texts = {prompting.normalised(word) for word in (draft.answer, *draft.distractors)}
            assert len(texts) == 4
            assert set(draft.distractors) <= set(known_words())
            seen |= set(draft.distractors)
        assert len(seen) > 150
        assert len(wrong_words("cat")) == 344
        assert len(wrong_words("no such word")) == 345

    def test_every_word_can_be_a_category(self) -> None:
        shown = [prompting.category(word) for word in known_words()]
        assert len({prompting.normalised(text) for text in shown}) == 345
        assert not any(prompting.text_problem(text) for text in shown)

    def test_raw_drawings_ask_the_same_and_look_the_same(self, built: dict[str, list[Draft]]) -> None:
        builder = QuickDrawBuilder(QuickDrawSettings(), 0)
        pool = prompting.load_pool("quickdraw")
        worded = {
            kind: {draft.source.key: prompting.word(draft, pool, "quickdraw", 0) for draft in drafts}
            for kind, drafts in built.items()
        }
        for key in list(worded["raw"])[::10]:
            plans = [worded[kind][key] for kind in ("raw", "simplified")]
            assert plans[0].question == plans[1].question
            assert plans[0].categories == plans[1].categories
            last = [list(builder.render(plan, None))[-1] for plan in plans]  # type: ignore[arg-type]
            ink = [255 - np.asarray(imaging.decode(frame).convert("L")).astype(float) for frame in last]
            assert abs(ink[0].sum() - ink[1].sum()) < 0.1 * ink[0].sum()

    def test_a_dot_is_drawn(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            [row("1", [[[0, 200], [0, 200]], [[200, 200], [30, 30]]]), row("2", [[[0, 200], [0, 200]], [[200], [30]]])],
        )
        builder = QuickDrawBuilder(QuickDrawSettings(size=64), 0)
        for draft in builder.plan(builder.open(tmp_path, tmp_path)):
            assert isinstance(draft, Draft)
            plan = prompting.word(draft, prompting.load_pool("quickdraw"), "quickdraw", 0)
            before, after = (np.asarray(imaging.decode(frame)) for frame in builder.render(plan, None))  # type: ignore[arg-type]
            assert before.shape[:2] == (64, 64)
            assert (before != after).any()

    @pytest.mark.parametrize(
        "settings", [{"per_class": 0}, {"min_strokes": 1}, {"size": 8}, {"line_width": 0}, {"source": "binary"}]
    )
    def test_settings_that_make_no_sense_are_refused_by_name(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(settings))):
            QuickDrawSettings(**settings)


class _folder:  # noqa: N801 - used as a statement
    """A folder for one example: hypothesis doesn't take pytest's."""

    def __enter__(self) -> Path:
        self._made = tempfile.TemporaryDirectory()
        return Path(self._made.name)

    def __exit__(self, *_: object) -> None:
        self._made.cleanup()


def _but_place(outcome: Drawing | Rejection) -> object:
    """An outcome without its line's number."""
    if isinstance(outcome, Drawing):
        return outcome.key_id, outcome.strokes
    return outcome.source_key, outcome.reason


@st.composite
def _lines(compose: st.DrawFn) -> tuple[bytes, int | None]:
    """One line in any form, and the id it has: None for a blank or broken one."""
    kind = compose(st.sampled_from(["usual"] * 4 + ["odd"] * 4 + ["blank", "broken"]))
    if kind == "blank":
        return compose(st.sampled_from([b"", b"  ", b"\t"])), None
    if kind == "broken":
        return compose(st.sampled_from([b"{", b"x", b'{"word":"cat","key_id":"x"}', b'{"key_id":true}', b"[1]"])), None
    number = compose(st.one_of(st.integers(10**15, 10**16 - 1), st.integers(0, 2**64 - 1)))
    fields: dict[str, object] = {
        "word": "cat",
        "countrycode": compose(st.sampled_from(["US", "DE"])),
        "timestamp": f"2017-03-02 23:25:10.{compose(st.sampled_from(['1', '123', '12345']))} UTC",
        "recognized": compose(st.booleans()),
        "key_id": str(number),
        "drawing": TWO,
    }
    if kind == "usual":
        return json.dumps(fields, separators=(",", ":")).encode(), number
    if compose(st.booleans()):
        fields["key_id"] = number
    if compose(st.booleans()):
        fields["note"] = compose(st.text(max_size=9)) + compose(
            st.sampled_from(["", '"key_id":"1"', ',"key_id":2,', "{["])
        )
    if compose(st.booleans()):
        fields["meta"] = {"key_id": "3", "deep": [{"key_id": 4}]}
    names = compose(st.permutations(list(fields)))
    separators = compose(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    text = json.dumps(
        {name: fields[name] for name in names}, separators=separators, ensure_ascii=compose(st.booleans())
    )
    return compose(st.sampled_from([b"", b" "])) + text.encode("utf-8", "replace"), number
