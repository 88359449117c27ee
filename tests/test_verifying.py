"""`verify` finds what is not as it should be, and says where."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from build_bench import config, schema, stages, store, tree
from build_bench.demo import SETTINGS
from build_bench.errors import InputError
from build_bench.executors.local import Local
from build_bench.store import Work
from build_bench.verifying import verify
from tests.fakes import fake

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("verify")
    fake("coco").write(root / "raw" / "coco")
    work = Work(root / "work", root / "raw")
    settings = config.read(["coco"], None, SETTINGS)
    stages.build(work, settings, ["coco"], Local(1))
    stages.assemble(work, settings, ["coco"])
    return work.dataset


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "dataset"))


def found(folder: Path) -> str:
    return "\n".join(f"{problem.path}: {problem.problem}" for problem in verify(folder)[1])


def table_of(folder: Path) -> Path:
    (path,) = folder.glob("data/coco/*/kept-*.parquet")
    return path


def test_a_whole_tree_has_no_problems(folder: Path) -> None:
    assert verify(folder) == (3, [])


def test_a_flipped_byte_is_found(folder: Path) -> None:
    path = table_of(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "sha256" in found(folder)


def test_a_missing_and_a_further_file_are_found(folder: Path) -> None:
    (folder / "README.md").rename(folder / "notes.md")
    assert "README.md: is missing" in found(folder)
    assert "notes.md: is not in the manifest" in found(folder)


def test_links_are_found_and_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "data" / "more").symlink_to(tmp_path / "elsewhere")
    (folder / "README.md").rename(tmp_path / "README.md")
    (folder / "README.md").symlink_to(tmp_path / "README.md")
    assert "data/more: is a link" in found(folder)
    assert "README.md: is a link" in found(folder)


def change(row: dict[str, Any], **new: Any) -> None:
    row.update(new)


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (lambda rows: rows.reverse(), "ids are not unique and sorted"),
        (lambda rows: rows.insert(0, rows[0]), "ids are not unique and sorted"),
        (lambda rows: rows.pop(), "rows, 14 expected"),
        (lambda rows: change(rows[3], scenario="rod"), "is a row of rod, in a file of coco"),
        (lambda rows: change(rows[13], id="x"), "x: its id is not coco-..."),
        (lambda rows: change(rows[13], id="coco-x/y"), "coco-x/y: its id is not coco-..."),
        (lambda rows: change(rows[3], answer="Nothing."), "the answer is not one"),
        (lambda rows: rows[3]["states"][0].update(moves=[-1] * len(rows[3]["states"][0]["moves"])), "can't be reached"),
        (lambda rows: rows[3]["states"][0].update(crop=[0, 0, 9000, 10]), "is not inside the frame"),
        (lambda rows: rows[3]["frames"][0].update(bytes=rows[3]["frames"][0]["bytes"][:4000]), "truncated_picture"),
        (lambda rows: rows[3]["frames"][0].update(bytes=b""), "not_a_picture"),
    ],
)
def test_a_wrong_row_is_found_though_every_checksum_fits(
    tamper: Callable[[Rows], Any], problem: str, folder: Path
) -> None:
    path = table_of(folder)
    rows = pq.read_table(path).to_pylist()
    tamper(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema.PUBLISHED), path)
    manifest = json.loads((folder / "manifest.json").read_text())
    facts = {"bytes": path.stat().st_size, "sha256": store.sha256(path)}
    digest = tree.content_digest({path.name: [facts["bytes"], facts["sha256"]]})
    new = path.parent.rename(path.parent.with_name(digest)) / path.name
    del manifest["files"][str(path.relative_to(folder))]
    manifest["files"][str(new.relative_to(folder))] = facts
    manifest["scenarios"]["coco"]["digest"] = digest
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert problem in found(folder)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("rejected", 99, "candidates, but"),
        ("built", 13, "13 expected"),
        ("splits", {"unfiltered": 3}, "its splits are {'unfiltered': 3}, 14 were built"),
        ("digest", "0" * 12, "rows, 14 expected"),
    ],
)
def test_a_count_that_does_not_add_up_is_found(key: str, value: Any, problem: str, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["scenarios"]["coco"][key] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert problem in found(folder)


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda manifest: manifest.update(columns={}), "its columns are not those of contract section 5"),
        (lambda manifest: manifest.update(threshold=9), "its threshold is 9.0, its rule None"),
        (lambda manifest: manifest.update(rule="coin_v1"), "there is no rule 'coin_v1'"),
        (lambda manifest: manifest.update(rule="first_turn_25_v1", threshold=0.5), "its threshold is 0.5, its rule"),
        (lambda manifest: manifest["scenarios"]["coco"].update(bytes=1), "coco: its files have"),
        (lambda manifest: manifest["scenarios"]["coco"]["split_bytes"].update(unfiltered=1), "coco: its files have"),
        (lambda manifest: manifest["scenarios"]["coco"].update(frames=10**6), "frames, 1000000 expected"),
        (lambda manifest: manifest["scenarios"]["coco"]["splits"].update(dev=3), "coco: its splits are"),
        (lambda manifest: manifest["scenarios"].pop("coco"), "lies in the folder of no scenario"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_named(
    edit: Callable[[dict[str, Any]], Any], problem: str, folder: Path
) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert problem in found(folder)


@pytest.mark.parametrize("half", ["kept", "dropped"])
def test_a_row_that_is_not_the_one_listed_is_found(half: str, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = manifest["scenarios"]["coco"]["rows"]
    first, second, *_ = rows["kept"]
    if half == "kept":
        rows["kept"][first] = rows["kept"][second]
    else:
        rows["dropped"][first] = rows["kept"].pop(first)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert f"{first}: is not the row of which the manifest has the digest" in found(folder)
    assert ("the rows listed are not those of its files" in found(folder)) == (half == "dropped")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": [], "scenarios": {}}', '{"files": {"x": 1}}'])
def test_a_broken_manifest_is_named(text: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json is broken"):
        verify(folder)


def test_a_work_folder_leads_to_its_dataset(folder: Path) -> None:
    with pytest.raises(InputError) as refused:
        verify(folder.parent)
    assert str(folder) in refused.value.hint
