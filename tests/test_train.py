"""The training split: other items than the test's, one turn each, read by `datasets` as the test is."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from datasets import load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from build_bench import builders, cli, config, disjoint, imaging, planning, schema, stages, standing, verifying
from build_bench.builders import TRAIN, TRAINING
from build_bench.builders.coco_train import shared_out
from build_bench.builders.single_turn import sides
from build_bench.demo import SETTINGS
from build_bench.errors import InputError, UsageError
from build_bench.executors.local import Local
from build_bench.raw_sources.quickdraw import Drawing, QuickDraw
from build_bench.records import END, DraftState, View
from build_bench.store import Work
from tests.fakes import fake

Row = dict[str, Any]


def run(work: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli.group, [*arguments, "--work", str(work)])


def answer(work: Path, *arguments: str) -> dict[str, Any]:
    done = run(work, *arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows(dataset: Path) -> list[Row]:
    return [row for path in sorted(dataset.glob("data/*/*/*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's two scenarios, both splits."""
    root = tmp_path_factory.mktemp("both") / "work"
    answer(root, "all", "--demo", "--scenario", "quickdraw", "--scenario", "coco")
    answer(root, "all", "--demo", "--split", "train")
    return root


@pytest.fixture(scope="module")
def examples(work: Path) -> list[Row]:
    return rows(work / "train" / "dataset")


def item(row: Row) -> str:
    return str(row["source"]["key"]).split("-")[0] if row["scenario"] == "coco" else str(row["source"]["key"])


def test_no_source_item_is_in_both(work: Path, examples: list[Row]) -> None:
    test = {item(row) for row in rows(work / "dataset")}
    assert len(test) == 134
    assert test.isdisjoint(item(row) for row in examples)
    assert {row["scenario"] for row in examples} == {"quickdraw", "coco"}


def test_an_example_is_one_state_whose_kind_its_options_tell(examples: list[Row]) -> None:
    kinds = []
    for row in examples:
        (state,), (frame,) = row["states"], row["frames"]
        assert row["max_turns"] == 1
        assert row["start"] == state["frame"] == 0
        assert state["options"] == list(range(len(row["options"])))
        assert set(state["moves"]) == {-1}
        assert (row["first_turn_accuracy"], row["num_models"]) == (None, 0)
        imaging.decode(frame["bytes"], tuple(state["crop"]))
        requests = [option for option in row["options"] if option["action"]]
        assert {option["kind"] for option in requests} in ({"proactive"}, {"invalid"})
        kinds.append(requests[0]["kind"])
        texts = {option["text"].rstrip(".") for option in requests}
        assert bool(row["open_answers"]["proactive"]) == (requests[0]["kind"] == "proactive"), texts
    assert 0.25 < kinds.count("proactive") / len(kinds) < 0.75


def test_the_clear_ones_show_all_there_is_and_the_others_less(work: Path) -> None:
    for row in rows(work / "train" / "dataset"):
        clear = all(option["kind"] != "proactive" for option in row["options"])
        plan = json.loads(recipes(work)[row["id"]])
        if row["scenario"] == "quickdraw":
            step, last = int(row["frames"][0]["path"].removesuffix(".png")), len(plan["strokes"]) - 1
            assert (step == last) if clear else (3 * step <= last)
        else:
            left, top, right, bottom = row["states"][0]["crop"]
            assert ([left, top, right, bottom] == plan["target"]) == clear


def test_of_two_crops_of_a_picture_one_is_ambiguous(examples: list[Row]) -> None:
    sides: dict[str, list[bool]] = {}
    for row in examples:
        if row["scenario"] == "coco":
            sides.setdefault(item(row), []).append(any(option["kind"] == "proactive" for option in row["options"]))
    assert len(sides) == 7
    assert all(sorted(both) == [False, True] for both in sides.values())
    assert len({both[0] for both in sides.values()}) == 2


def recipes(work: Path) -> dict[str, str]:
    paths = (work / "train" / "plans").glob("*.parquet")
    return {row["id"]: row["recipe"] for path in paths for row in pq.read_table(path).to_pylist()}


def test_the_first_third_is_ambiguous_and_the_end_is_not() -> None:
    def line(count: int) -> list[DraftState]:
        return [DraftState(View(n), ((0, n + 1 if n + 1 < count else END),)) for n in range(count)]

    assert sides(line(2), 0) == ([0], [1])
    assert sides(line(4), 0) == ([0, 1], [3])
    assert sides(line(11), 0) == ([0, 1, 2, 3], [10])


def test_datasets_reads_it_as_one_split_with_the_tests_columns(work: Path, examples: list[Row]) -> None:
    counts = {"all": len(examples), "quickdraw": 24, "coco": 14}
    for name, count in counts.items():
        loaded = load_dataset(str(work / "train" / "dataset"), name)
        assert list(loaded) == ["train"]
        assert loaded["train"].num_rows == count
        assert loaded["train"].features == schema.features()


def test_the_code_on_the_card_makes_prompts_and_pays_what_it_says(work: Path) -> None:
    card = (work / "train" / "dataset" / "README.md").read_text(encoding="utf-8")
    assert "Kept apart from the test" in card
    code = "\n".join(re.findall(r"```python\n(.*?)```", card, re.DOTALL))
    known: dict[str, Any] = {}
    exec(code.replace('"path/or/repository", "all"', repr(str(work / "train" / "dataset"))), known)
    made = known["examples"]
    assert set(made.column_names) == {"image", "prompt", "kinds"}
    for row, example in zip(known["samples"], made, strict=True):
        kinds = example["kinds"]
        assert len(kinds) == len(row["options"]) + 4
        answers = [[{"role": "assistant", "content": f"{letter}."}] for letter in "ABCDEFGHI"[: len(kinds)]]
        paid = known["reward"](answers, [kinds] * len(kinds), r_p=0.75)
        assert paid.count(1.0) == 1
        assert row["categories"][paid.index(1.0) - len(row["options"])] == row["answer"]
        assert (0.75 in paid) == known["is_ambiguous"](row)
        assert known["reward"]([[{"role": "assistant", "content": " "}]], [kinds]) == [0.0]


def test_card_and_manifest_count_it_and_verify_holds_them_to_it(work: Path, examples: list[Row]) -> None:
    manifest = json.loads((work / "train" / "dataset" / "manifest.json").read_bytes())
    assert manifest["split"] == "train"
    ambiguous = sum(any(option["kind"] == "proactive" for option in row["options"]) for row in examples)
    assert sum(facts["ambiguous"] for facts in manifest["scenarios"].values()) == ambiguous
    for facts in manifest["scenarios"].values():
        assert facts["splits"] == {"train": facts["built"]}
        assert facts["candidates"] == facts["built"] + facts["rejected"]
    assert answer(work, "verify", "--split", "train")["ok"]
    assert answer(work, "verify")["ok"]
    assert "split" not in json.loads((work / "dataset" / "manifest.json").read_bytes())


def test_the_gallery_knows_that_one_trains_on_it(work: Path) -> None:
    assert '"training":true' in (work / "train" / "reports" / "gallery" / "data" / "overview.js").read_text()
    assert '"training":false' in (work / "reports" / "gallery" / "data" / "overview.js").read_text()


def test_verify_says_with_what_it_compared_it(work: Path, tmp_path: Path) -> None:
    assert f"no item of it is in {work / 'dataset'}" in run(work, "verify", "--split", "train").output
    shutil.copytree(work / "train" / "dataset", tmp_path / "train" / "dataset")
    alone = run(tmp_path, "verify", "--split", "train").output
    assert f"not compared with the test: there is no {tmp_path / 'dataset'}" in alone


def test_verify_names_what_is_in_both_and_what_has_more_than_a_turn(work: Path, tmp_path: Path) -> None:
    trees = tmp_path / "train", tmp_path / "test"
    shutil.copytree(work / "train" / "dataset", trees[0])
    shutil.copytree(work / "dataset", trees[1])
    manifest = json.loads((trees[1] / "manifest.json").read_bytes())
    manifest["split"] = "train"
    (trees[1] / "manifest.json").write_text(json.dumps(manifest))
    problems = " ".join(found.problem for found in verifying.verify(trees[1])[1])
    assert "a training example has one of each" in problems
    assert "its splits are" in problems
    problems = " ".join(found.problem for found in verifying.verify(trees[0], trees[0])[1])
    assert "quickdraw: 24 items are in" in problems


def test_building_again_and_with_more_workers_changes_no_byte(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work / "raw", tmp_path / "raw")
    for name in TRAINING:
        fake(name).shuffle(tmp_path / "raw" / name)
    answer(tmp_path, "all", "--demo", "--split", "train", "--workers", "2")
    again = {row["id"]: row for row in rows(tmp_path / "train" / "dataset")}
    assert again == {row["id"]: row for row in rows(work / "train" / "dataset")}


def plan(root: Path, raw: Path, changes: tuple[str, ...], split: str, seed: int = 0) -> dict[str, set[str]]:
    """Scenario -> source keys; the test's lies in `root`, the training split's in `root/train`."""
    work = Work(root / "train", raw, root) if split == TRAIN else Work(root, raw)
    chosen = config.read([*TRAINING], None, [*SETTINGS, *changes], seed, split=split)
    for name in TRAINING:
        planning.plan(work, chosen, name)
    tables = {name: pq.read_table(work.plans(name), columns=["source"]) for name in TRAINING}
    return {name: {row["source"]["key"] for row in table.to_pylist()} for name, table in tables.items()}


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("per_class", [1, 5, 9])
def test_the_two_never_meet_whatever_is_chosen_first(work: Path, tmp_path: Path, seed: int, per_class: int) -> None:
    changes = f"quickdraw.per_class={per_class}", "quickdraw.train_per_class=3"
    train = plan(tmp_path, work / "raw", changes, TRAIN, seed)
    test = plan(tmp_path, work / "raw", changes[:1], "test", seed)
    for name in TRAINING:
        assert train[name].isdisjoint(test[name])
    assert len(train["quickdraw"]) == 12 * min(3, 12 - per_class)


def test_a_test_of_more_items_is_still_kept_off_while_there_are_enough(work: Path, tmp_path: Path) -> None:
    train = plan(tmp_path / "a", work / "raw", ("quickdraw.per_class=2", "quickdraw.train_per_class=3"), TRAIN)
    for per_class in range(2, 10):
        test = plan(tmp_path / "b", work / "raw", (f"quickdraw.per_class={per_class}",), "test")
        assert train["quickdraw"].isdisjoint(test["quickdraw"])


def test_more_of_a_word_only_adds_examples(work: Path, tmp_path: Path) -> None:
    found = [
        plan(tmp_path / str(n), work / "raw", (f"quickdraw.train_per_class={n}", "quickdraw.per_class=4"), TRAIN)
        for n in (1, 3, 8, 20)
    ]
    sizes = [len(keys["quickdraw"]) for keys in found]
    assert sizes == [12, 36, 96, 96]
    assert found[0]["quickdraw"] < found[1]["quickdraw"] < found[2]["quickdraw"]


@settings(max_examples=40)
@given(
    strokes=st.lists(st.integers(1, 3), min_size=1, max_size=40),
    test=st.integers(1, 30), asked=st.integers(1, 30), train=st.integers(1, 30), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_drawings_from_both_ends_of_any_file_never_meet(
    strokes: list[int], test: int, asked: int, train: int, seed: int
) -> None:
    """`test`: what training leaves out; `asked`: what a test then takes."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            {"word": "cat", "recognized": True, "key_id": str(2**52 + 7919 * n), "drawing": [[[0, 9], [n, 9]]] * count}
            for n, count in enumerate(strokes)
        ]
        (Path(folder) / "simplified").mkdir()
        (Path(folder) / "simplified" / "cat.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
        raw = QuickDraw(Path(folder))
        last = [one for one in raw.choose_last("cat", train, test, seed) if isinstance(one, Drawing)]
        assert raw.census.candidates + raw.census.passed_over == len(lines)
        first = [one for one in raw.choose("cat", asked, seed) if isinstance(one, Drawing)]
    usable = sum(count > 1 for count in strokes)
    assert len(last) == min(train, max(usable - test, 0))
    if asked <= max(test, usable - train):
        assert {one.key_id for one in last}.isdisjoint(one.key_id for one in first)


def test_where_the_test_takes_all_what_is_missing_is_said(work: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is nothing in .* to make a sample of") as refused:
        plan(tmp_path, work / "raw", ("quickdraw.per_class=12",), TRAIN)
    assert "12 words have fewer drawings that can be used than 50 beside the test's 12: The" in refused.value.hint


def test_an_overlap_with_the_test_beside_it_stops_the_build_and_is_stale(work: Path, tmp_path: Path) -> None:
    raw = work / "raw"
    plan(tmp_path, raw, ("quickdraw.per_class=12",), "test")
    with pytest.raises(InputError) as refused:
        plan(tmp_path, raw, ("quickdraw.per_class=5",), TRAIN)
    assert "training items are in the test too" in refused.value.message
    shutil.rmtree(tmp_path)
    plan(tmp_path, raw, ("quickdraw.per_class=5",), TRAIN)
    train = Work(tmp_path / "train", raw, tmp_path)
    rejected = train.rejected("quickdraw").read_bytes()
    plan(tmp_path, raw, ("quickdraw.per_class=12",), "test")
    with pytest.raises(InputError):
        plan(tmp_path, raw, ("quickdraw.per_class=5", "quickdraw.train_per_class=3"), TRAIN)
    assert train.rejected("quickdraw").read_bytes() == rejected
    chosen = config.read([*TRAINING], None, [*SETTINGS, "quickdraw.per_class=5"], split=TRAIN)
    report = standing.status(train, chosen, [*TRAINING])["scenarios"]
    assert any("are in the test too" in why for why in report["quickdraw"]["stale"])
    stages.build(train, chosen, [*TRAINING], Local(1), only=stages.RENDER)
    with pytest.raises(InputError, match="in the test too"):
        stages.assemble(train, chosen, [*TRAINING])
    assert disjoint.shared(train, "coco") == ""


def test_pictures_that_the_test_lists_are_left_out_under_whatever_name(work: Path, tmp_path: Path) -> None:
    """As with COCO 2017, whose train2017 has pictures of val2014 under the same ids."""
    raw = tmp_path / "raw"
    shutil.copytree(work / "raw", raw)
    folder = raw / "coco" / "annotations"
    both = [json.loads((folder / f"instances_{part}2014.json").read_bytes()) for part in ("train", "val")]
    merged = {**both[0], **{key: both[0][key] + both[1][key] for key in ("images", "annotations")}}
    for number, row in enumerate(merged["annotations"]):
        row["id"] = number + 1
    (folder / "instances_train2017.json").write_text(json.dumps(merged))
    shutil.copytree(raw / "coco" / "val2014", raw / "coco" / "train2017")
    shutil.copytree(raw / "coco" / "train2014", raw / "coco" / "train2017", dirs_exist_ok=True)
    changes = "coco.train_annotations=annotations/instances_train2017.json", "coco.train_pictures=train2017"
    found = plan(tmp_path / "a", raw, changes, TRAIN)
    assert found["coco"] == plan(tmp_path / "b", raw, (), TRAIN)["coco"]
    stamp = planning.read_stamp(Work(tmp_path / "a" / "train", raw), "coco")
    assert stamp
    assert (stamp.passed_over, stamp.gaps) == (len(both[1]["images"]), ())


def test_shares_of_categories_are_even_nested_and_move_by_one() -> None:
    keys = {"cat": [f"c{n}" for n in range(40)], "dog": [f"d{n}" for n in range(9)], "emu": ["e1"]}
    for most in range(1, 60):
        chosen = set(shared_out(keys, most, 0))
        assert len(chosen) == min(most, 50)
        assert chosen <= set(shared_out(keys, most + 1, 0))
        sizes = {name: len(chosen & set(members)) for name, members in keys.items()}
        assert all(sizes[name] >= min(len(keys[name]), max(sizes.values()) - 1) for name in keys)
        for name, more in (("cat", "c99"), ("emu", "e9"), ("fox", "f1")):
            other = set(shared_out({**keys, name: [*keys.get(name, ()), more]}, most, 0))
            assert len(chosen - other) <= 1
            assert other - chosen <= {more}


def test_a_limit_holds_in_training_too(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work / "raw", tmp_path / "raw")
    found = answer(tmp_path, "build", "quickdraw", "coco", "--split", "train", "--limit", "5")["scenarios"]
    assert [found[name]["built"] for name in ("quickdraw", "coco")] == [5, 5]
    found = answer(tmp_path, "build", "quickdraw", "--split", "train", "--per-class", "1")["scenarios"]
    assert found["quickdraw"]["built"] == 12


def test_scenarios_without_one_and_settings_of_the_other_split_are_refused(work: Path, tmp_path: Path) -> None:
    for command in ("build rod --split train", "all --split train --scenario rod --no-fetch"):
        refused = run(work, *command.split())
        assert isinstance(refused.exception, UsageError)
        assert refused.exception.message == "rod has no training split"
    with pytest.raises(UsageError, match="training split"):
        builders.load("rod", TRAIN)
    refused = run(work, "build", "coco", "--set", "coco.train_samples=5")
    assert "is a setting of the training split" in str(refused.exception)
    file = tmp_path / "bench.toml"
    file.write_text("[coco]\ntrain_samples = 5\n[quickdraw]\nper_class = 4\ntrain_per_class = 6\n")
    assert config.read(["coco", "quickdraw"], file).settings["quickdraw"].per_class == 4
    both = config.read(["coco", "quickdraw"], file, split=TRAIN).settings["quickdraw"]
    assert (both.per_class, both.train_per_class) == (4, 6)


@pytest.mark.parametrize(
    "change", ["coco.train_samples=0", "quickdraw.train_per_class=0", "coco.train_pictures=/tmp",
               "coco.train_annotations=annotations/instances_val2014.json", "coco.train_crops_per_image=10"],
)  # fmt: skip
def test_a_wrong_setting_is_refused(change: str) -> None:
    with pytest.raises(UsageError):
        config.read([*TRAINING], None, [change], split=TRAIN)


def test_one_split_is_not_laid_out_as_the_other(work: Path) -> None:
    refused = run(work / "train", "assemble", "--raw", str(work / "raw"))
    assert isinstance(refused.exception, InputError)
    assert "is of the split train, not test" in refused.exception.message


def test_it_is_not_exported_as_if_one_could_play_it(work: Path, tmp_path: Path) -> None:
    refused = run(work / "train", "export", "--layout", "proactivebench", str(tmp_path / "exported"))
    assert isinstance(refused.exception, InputError)
    assert "is a training split" in refused.exception.message
    assert not (tmp_path / "exported").exists()


def test_a_release_of_it_is_built_again_to_the_byte(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work / "raw", tmp_path / "raw")
    answer(tmp_path, "all", "--demo", "--split", "train", "--release", "v1.0.0", "--set", "coco.train_samples=7")
    lock = tmp_path / "train" / "releases" / "v1.0.0" / "manifest.json"
    again = tmp_path / "again"
    shutil.copytree(work / "raw", again / "raw")
    refused = run(again, "all", "--demo", "--from-release", str(lock))
    assert "v1.0.0 is of the split train" in str(refused.exception)
    done = answer(again, "all", "--demo", "--split", "train", "--from-release", str(lock))
    assert done["differs"] == []
    assert done["scenarios"]["coco"]["built"] == 7


def test_sampled_words_have_nothing_to_train_on_and_say_so(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "quickdraw" / "sample"
    folder.mkdir(parents=True)
    for path in (work / "raw" / "quickdraw").rglob("*.ndjson"):
        usable = [line for line in path.read_text().splitlines() if json.loads(line)["recognized"]]
        usable = [line for line in usable if len(json.loads(line)["drawing"]) > 1]
        (folder / path.name).write_text("".join(line + "\n" for line in usable[:10]))
    (folder / "sample.json").write_text("{}")
    refused = run(tmp_path, "build", "quickdraw", "--split", "train")
    assert isinstance(refused.exception, InputError)
    assert "whole files" in refused.exception.hint
    refused = run(tmp_path, "fetch", "quickdraw", "--sample", "--split", "train")
    assert isinstance(refused.exception, UsageError)
