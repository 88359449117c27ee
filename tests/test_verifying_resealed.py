"""`verify` on trees whose checksums and digests all fit: somebody changed them and sealed them again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from build_bench import cli, releases, row_digests, schema, store, tree
from build_bench.verifying import verify
from tests.trees import lay_out, some_plans

Row = dict[str, Any]
Rows = list[Row]
Facts = dict[str, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plans = [plan for plan in some_plans() if plan.scenario in ("coco", "rod")]
    keep = {plan.id: number % 3 > 0 for number, plan in enumerate(plans)}
    folder = lay_out(tmp_path_factory.mktemp("verify") / "dataset", plans, keep)
    releases.seal(folder, manifest_of(folder), "v1.0.0", repository="lab/bench")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "dataset"))


def manifest_of(folder: Path) -> Facts:
    found: Facts = json.loads((folder / "manifest.json").read_bytes())
    return found


def table_of(folder: Path, side: str = "kept", scenario: str = "coco") -> Path:
    (path,) = (folder / "data" / scenario).glob(f"*/{side}-00000.parquet")
    return path


def change(folder: Path, tamper: Callable[[Rows], Any], side: str = "kept", scenario: str = "coco") -> None:
    path = table_of(folder, side, scenario)
    rows = pq.read_table(path).to_pylist()
    tamper(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema.PUBLISHED), path)


def reseal(folder: Path, manifest: Facts) -> None:
    """Checksums, digests of rows and folders, sizes: as they are now, in the manifest and the card."""
    for scenario, facts in manifest["scenarios"].items():
        (own,) = (folder / "data" / scenario).iterdir()
        sizes = {path.name: [path.stat().st_size, store.sha256(path)] for path in sorted(own.iterdir())}
        card = folder / "README.md"
        if card.exists():
            card.write_text(card.read_text().replace(own.name, tree.content_digest(sizes)))
        facts["digest"] = tree.content_digest(sizes)
        facts["bytes"] = sum(size for size, _ in sizes.values())
        facts["split_bytes"] = {"filtered": sizes["kept-00000.parquet"][0], "unfiltered": facts["bytes"]}
        for side in ("kept", "dropped"):
            try:
                digests = row_digests.of(pq.read_table(own / f"{side}-00000.parquet"))
                facts["rows"][side] = {name or "": digest for name, digest in digests}
            except (pa.ArrowException, KeyError):  # the file is no table, or has no ids
                continue
        own.rename(own.with_name(facts["digest"]))
    seal_files(folder, manifest)


def seal_files(folder: Path, manifest: Facts) -> None:
    manifest["files"] = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": store.sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    (folder / "manifest.json").write_bytes(store.to_json(manifest))


def found(folder: Path) -> list[str]:
    return [f"{problem.path}: {problem.problem}" for problem in verify(folder)[1]]


def test_a_release_that_is_sealed_again_has_no_problems(folder: Path) -> None:
    change(folder, lambda rows: rows[0].update(question="What is this?"))
    reseal(folder, manifest_of(folder))
    assert found(folder) == []


NULLS: list[tuple[str, Callable[[Row], Any]]] = [
    *((name, lambda row, name=name: row.update({name: None})) for name in schema.PUBLISHED.names[:-2]),
    ("num_models", lambda row: row.update(num_models=None)),
    ("frames[0]", lambda row: row["frames"].__setitem__(0, None)),
    ("frames[0].bytes", lambda row: row["frames"][0].update(bytes=None)),
    ("frames[0].path", lambda row: row["frames"][0].update(path=None)),
    ("states[0].moves", lambda row: row["states"][0].update(moves=None)),
    ("states[0].moves[0]", lambda row: row["states"][0]["moves"].__setitem__(0, None)),
    ("options[1].text", lambda row: row["options"][1].update(text=None)),
    ("categories[3]", lambda row: row["categories"].__setitem__(3, None)),
    ("source.url", lambda row: row["source"].update(url=None)),
]


@pytest.mark.parametrize(("where", "tamper"), NULLS, ids=[where for where, _ in NULLS])
def test_a_null_is_named_by_file_row_and_place(where: str, tamper: Callable[[Row], Any], folder: Path) -> None:
    name = pq.read_table(table_of(folder), columns=["id"])["id"][1].as_py() if where != "id" else "row 1"
    change(folder, lambda rows: tamper(rows[1]))
    reseal(folder, manifest_of(folder))
    path = table_of(folder).relative_to(folder).as_posix()
    assert f"{path}: {name}: {where} is null" in found(folder)


def test_text_that_is_not_utf_8_is_named(folder: Path) -> None:
    table = pq.read_table(table_of(folder))
    texts = pa.array([b"\xff"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(table.column_names.index("hint"), "hint", texts), table_of(folder))
    seal_files(folder, manifest_of(folder))
    assert any("kept-00000.parquet: can't be read" in problem for problem in found(folder))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.write_bytes(b"garbage" * 100), "kept-00000.parquet: can't be read"),
        (lambda path: path.write_bytes(b""), "kept-00000.parquet: can't be read"),
        (lambda path: rewrite(path, lambda table: table.drop_columns(["id"])), "its columns are not those"),
        (lambda path: rewrite(path, lambda table: table.select(table.column_names[::-1])), "its columns are not those"),
        (lambda path: rewrite(path, lambda table: table.slice(0, 0)), "rows, 6 expected"),
    ],
)
def test_a_file_that_is_no_table_of_ours_is_named(damage: Callable[[Path], Any], problem: str, folder: Path) -> None:
    damage(table_of(folder))
    reseal(folder, manifest_of(folder))
    problems = found(folder)
    assert any(problem in each for each in problems)
    answer = CliRunner().invoke(cli.group, ["verify", str(folder), "--json"])
    assert answer.exit_code == 1
    assert [f"{each['path']}: {each['problem']}" for each in json.loads(answer.stdout)["problems"]] == problems


def rewrite(path: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(path)), path)


def test_a_row_that_was_moved_to_the_dropped_is_found_by_the_card(folder: Path) -> None:
    kept, dropped = (pq.read_table(table_of(folder, side)) for side in ("kept", "dropped"))
    pq.write_table(kept.slice(1), table_of(folder))
    pq.write_table(pa.concat_tables([dropped, kept.slice(0, 1)]).sort_by("id"), table_of(folder, "dropped"))
    manifest = manifest_of(folder)
    manifest["scenarios"]["coco"]["splits"]["filtered"] -= 1
    reseal(folder, manifest)
    assert any("README.md: config coco: its num_examples are" in problem for problem in found(folder))


def update_all(rows: Rows, **new: Any) -> None:
    for row in rows:
        row.update(new, first_turn_answerable=True)


def scored(folder: Path, tamper: Callable[[Row], Any], side: str = "kept") -> None:
    """Ten models were asked: two of them were right on each kept row, three on each dropped one, but for `tamper`."""
    for scenario in ("coco", "rod"):
        for where, share in (("kept", 0.2), ("dropped", 0.3)):
            change(folder, partial(update_all, first_turn_accuracy=share, num_models=10), where, scenario)
    change(folder, lambda rows: tamper(rows[0]), side)
    asked = {f"model{number}": {"baseline": False} for number in range(10)}
    reseal(folder, manifest_of(folder) | {"models": asked, "rule": "first_turn_25_v1", "threshold": 0.25})


@pytest.mark.parametrize(
    ("side", "score", "problem"),
    [
        ("kept", {}, ""),
        ("kept", {"first_turn_accuracy": 0.9, "first_turn_answerable": False}, ""),
        ("kept", {"first_turn_accuracy": None, "num_models": 0}, ""),
        (
            "kept",
            {"first_turn_accuracy": 1 / 3, "num_models": 3},
            "1 of 3 models were right: first_turn_25_v1 drops it",
        ),
        ("kept", {"first_turn_accuracy": 0.25, "num_models": 4}, "1 of 4 models were right: first_turn_25_v1 drops it"),
        ("kept", {"first_turn_accuracy": 1 / 7, "num_models": 7}, ""),
        ("kept", {"first_turn_accuracy": 0.9}, "9 of 10 models were right: first_turn_25_v1 drops it, it is kept"),
        (
            "dropped",
            {"first_turn_accuracy": 0.2},
            "2 of 10 models were right: first_turn_25_v1 keeps it, it is dropped",
        ),
        ("dropped", {"first_turn_answerable": False}, "first_turn_25_v1 keeps it, it is dropped"),
        ("kept", {"first_turn_accuracy": 7.5}, "first_turn_accuracy is 7.5, of 10 models"),
        ("kept", {"first_turn_accuracy": float("nan")}, "first_turn_accuracy is nan, of 10 models"),
        ("kept", {"first_turn_accuracy": None}, "first_turn_accuracy is None, of 10 models"),
        ("kept", {"num_models": 0}, "of 0 models"),
        ("kept", {"num_models": -3}, "num_models is -3, 10 were asked"),
        ("kept", {"num_models": 11}, "num_models is 11, 10 were asked"),
        ("kept", {"first_turn_accuracy": 0.125}, "first_turn_accuracy 0.125 is no share of 10 models"),
    ],
)
def test_a_row_that_the_rule_puts_elsewhere_is_named(side: str, score: Row, problem: str, folder: Path) -> None:
    scored(folder, lambda row: row.update(score), side)
    problems = found(folder)
    assert problems == [] if not problem else problem in problems[0]
    assert len(problems) == bool(problem)


def listed_accuracies(folder: Path, **changed: float) -> None:
    manifest = manifest_of(folder)
    for facts in manifest["scenarios"].values():
        kept, dropped = facts["splits"]["filtered"], facts["built"] - facts["splits"]["filtered"]
        every = (kept * 2 + dropped * 3) / (facts["built"] * 10)
        facts["first_turn"] = {"kept": kept, "first_turn_accuracy": every, "kept_first_turn_accuracy": 0.2} | changed
    (folder / "manifest.json").write_bytes(store.to_json(manifest))


def test_the_accuracies_listed_are_those_of_the_rows(folder: Path) -> None:
    scored(folder, lambda row: None)
    listed_accuracies(folder)
    assert found(folder) == []
    listed_accuracies(folder, kept_first_turn_accuracy=0.3)
    assert all("right at the first turn were [" in problem for problem in found(folder))
    listed_accuracies(folder, kept=1)
    assert all("the rule kept 1 rows" in problem for problem in found(folder))
    assert len(found(folder)) == 2


def replaced(old: str, new: str) -> Callable[[Path], Any]:
    def edit(card: Path) -> None:
        assert old in card.read_text()
        card.write_text(card.read_text().replace(old, new, 1))

    return edit


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (Path.unlink, "README.md: is not in the manifest"),
        (lambda card: card.write_text(""), "its YAML can't be read: it doesn't stand between two lines of dashes"),
        (lambda card: card.write_bytes(b"\xff\xfe"), "its YAML can't be read"),
        (lambda card: card.write_text("---\n" + "[" * 5_000 + "\n---\n"), "its YAML can't be read"),
        (replaced("configs:", "configs: ["), "its YAML can't be read"),
        (replaced("configs:", "konfigs:"), "its YAML can't be read: Object missing required field `configs`"),
        (replaced("dtype: string", "dtype: int32"), "config all: feature id is int32, the column string"),
        (replaced("list: image", "list: string"), "feature frames is list of string, the column list of image"),
        (replaced("name: max_turns", "name: turns"), "feature max_turns is absent, the column int32"),
        (
            replaced("- name: moves\n      list: int32", "- name: moves\n      list: int64"),
            "feature states is list of {",
        ),
        (replaced("config_name: coco", "config_name: cocoa"), "its configs are all, rod, cocoa; expected all, "),
        (replaced("default: true", "default: false"), "its default config is not all"),
        (replaced("split: filtered", "split: test"), "its splits are test, unfiltered"),
        (replaced("data/coco/", "data/coc/"), "config all: no file is called data/coc/"),
        (replaced("/kept-*", "/*"), "which belongs elsewhere"),
        (replaced("/kept-*", "/dropped-*"), "split filtered lacks data/rod/"),
        (replaced("num_examples: ", "num_examples: 9"), "config all: its num_examples are {"),
        (replaced("assets/coco.jpg", "assets/cocoa.jpg"), "it shows assets/cocoa.jpg, which is not in the manifest"),
    ],
)
def test_a_card_that_says_otherwise_is_named(edit: Callable[[Path], Any], problem: str, folder: Path) -> None:
    edit(folder / "README.md")
    seal_files(folder, manifest_of(folder))
    problems = found(folder)
    assert all(each.startswith("README.md: ") for each in problems)
    assert any(problem in each for each in problems), problems


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda folder: (folder / "CHANGELOG.md").unlink(), "CHANGELOG.md: is not in the manifest"),
        (lambda folder: (folder / "CHANGELOG.md").write_text(""), "CHANGELOG.md: has no section v1.0.0"),
        (lambda folder: (folder / "assets" / "coco.jpg").write_bytes(b"x"), "assets/coco.jpg: not_a_picture"),
        (lambda folder: (folder / "assets" / "coco.jpg").unlink(), "manifest.json: coco: there is no assets/coco.jpg"),
        (
            lambda folder: shutil.copytree(table_of(folder).parent, folder / "data" / "coco" / ("b" * 12)),
            "kept-00000.parquet: lies in the folder of no scenario",
        ),
    ],
)
def test_a_file_too_few_or_too_many_is_named(edit: Callable[[Path], Any], problem: str, folder: Path) -> None:
    edit(folder)
    seal_files(folder, manifest_of(folder))
    assert any(problem in each for each in found(folder)), found(folder)


def test_a_tree_of_nothing_is_no_dataset(folder: Path) -> None:
    manifest = manifest_of(folder) | {"files": {}, "scenarios": {}, "release": None}
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "manifest.json").write_bytes(store.to_json(manifest))
    assert found(folder) == ["manifest.json: it lists no scenario", "README.md: is not in the manifest"]
