"""What `export` writes the published evaluator can play; what it couldn't play is refused by name."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build_bench import schema
from build_bench.errors import InputError
from build_bench.layouts import proactivebench
from build_bench.layouts.proactivebench import export, translated
from build_bench.layouts.record import DATASETS
from build_bench.records import Plan
from tests.evaluator import stress
from tests.trees import lay_out, rows_of, some_plans

Row = dict[str, Any]
README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return some_plans()


@pytest.fixture(scope="module")
def dataset(plans: list[Plan], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("tree") / "dataset", plans)


def row_of(scenario: str) -> Row:
    for plan in stress.plans():
        if plan.scenario == scenario and len(plan.states) > 3:
            row = schema.plan_row(plan)
            return row | {
                "frames": [{"path": name, "bytes": b""} for name in row["frames"]],
                "options": [dict(option) for option in row["options"]],
                "states": [dict(state) for state in row["states"]],
            }
    raise AssertionError(scenario)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_records_are_numbered_and_carry_our_ids(dataset: Path, plans: list[Plan], tmp_path: Path) -> None:
    result = export(dataset, tmp_path)
    for scenario, name in DATASETS.items():
        records = [json.loads(line) for line in (tmp_path / f"{name}_preprocessed.jsonl").read_text().splitlines()]
        ids = sorted(plan.id for plan in plans if plan.scenario == scenario)
        assert [(record["id"], record["bench_id"]) for record in records] == list(enumerate(ids))
        assert result["datasets"][name]["records"] == len(ids)
    assert "only the ids on a list built into it" in result["note"]


def test_pictures_are_copied_byte_for_byte(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path)
    ours = {frame["bytes"] for row in rows_of(dataset).values() for frame in row["frames"]}
    assert {data for name, data in files(tmp_path).items() if not name.endswith(".jsonl")} == ours


def test_exporting_again_writes_no_picture_again(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path)
    before = files(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*g")}
    export(dataset, tmp_path)
    assert files(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*g")} == times


def test_a_killed_export_has_no_records_and_is_finished_by_another(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    export(dataset, whole)
    broken = tmp_path / "broken"
    written = 0

    def fail(path: Path, data: bytes, records: Path) -> int:
        nonlocal written
        written += 1
        if written == 9:
            raise KeyboardInterrupt
        return real(path, data, records)

    real = proactivebench._write
    monkeypatch.setattr(proactivebench, "_write", fail)
    with pytest.raises(KeyboardInterrupt):
        export(dataset, broken)
    assert not list(broken.glob("*.jsonl*"))
    monkeypatch.undo()
    export(dataset, broken)
    assert files(broken) == files(whole)


def test_a_changed_picture_takes_the_older_records_with_it(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path)
    records = tmp_path / "QuickDraw_preprocessed.jsonl"
    path = next((tmp_path / "QuickDraw").rglob("*.png"))
    proactivebench._write(path, b"another", records)
    assert not records.exists()
    assert path.read_bytes() == b"another"


def test_another_release_is_not_overwritten(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "QuickDraw_preprocessed.jsonl"
    path.write_text('{"id": 0}\n')
    with pytest.raises(InputError, match="didn't write"):
        export(dataset, tmp_path)
    assert files(tmp_path) == {path.name: b'{"id": 0}\n'}


def test_the_hole_of_rod_is_named_so_that_the_evaluator_knows_it(tmp_path: Path) -> None:
    plan = next(plan for plan in stress.plans() if plan.scenario == "rod" and len(plan.frames) == 13)
    record, placed = translated(rows_of(lay_out(tmp_path, [plan]))[plan.id], 0)
    assert record.image_template.endswith("/natural_bluebl_greenr-banana-s{image}.jpg")
    assert not any(path.endswith("s6.jpg") for path in placed)
    folder = tmp_path / "names6"
    with pytest.raises(InputError, match="an s6 in it"):
        export(tmp_path, folder)


def test_the_filtered_split_comes_as_a_list_of_numbers(plans: list[Plan], tmp_path: Path) -> None:
    keep = {plan.id: number % 3 == 0 for number, plan in enumerate(plans)}
    dataset = lay_out(tmp_path / "dataset", plans, keep)
    export(dataset, tmp_path / "out")
    lists = json.loads((tmp_path / "out" / "filter_ids.json").read_text())
    for scenario, name in DATASETS.items():
        ids = sorted(plan.id for plan in plans if plan.scenario == scenario)
        assert [ids[number] for number in lists[name]] == [i for i in ids if keep[i]]


def spoilt(scenario: str, spoil: Callable[[Row], Any]) -> Row:
    row = row_of(scenario)
    spoil(row)
    return row


def _set(**changes: Any) -> Callable[[Row], Any]:
    return lambda row: row.update(changes)


def _option(kind: str, text: str) -> Callable[[Row], Any]:
    return lambda row: next(o for o in row["options"] if o["kind"] == kind).update(text=text)


@pytest.mark.parametrize(
    ("scenario", "spoil", "reason"),
    [
        ("coco", lambda row: row["states"][1].update(crop=[0, 0, 5, 5]), "crop is"),
        ("coco", lambda row: [s.update(crop=[]) for s in row["states"]], "no_crop"),
        ("coco", _set(max_turns=99), "max_turns is 99"),
        ("coco", _option("proactive", "Please go up or down."), "unknown_request"),
        ("coco", lambda row: row["reference"].update(crop=[0, 0, 5, 5]), "the reference is a part"),
        ("quickdraw", lambda row: row["states"][0].update(moves=[-1, -1]), "can't be reached"),
        ("quickdraw", _option("proactive", "More drawing details."), "unknown_request"),
        ("quickdraw", _option("abstain", "I can't say."), "unknown_request"),
        ("quickdraw", _set(hint="Hint: try."), "hint is"),
        ("quickdraw", _set(context="Look."), "context is"),
        ("quickdraw", _set(first_turn_answerable=False), "first_turn_answerable"),
        ("mvp_n", _set(answer="Nothing."), "answer is not one of"),
        ("mvp_n", _set(categories=["TV.", "A b.", "B c.", "C d."], answer="TV."), "ambiguous_texts"),
        ("mvp_n", _set(categories=["A, b.", "Bc.", "Cd.", "De."], answer="Bc."), "no commas"),
        ("mvp_n", _set(categories=["Crane.", "crane.", "Cd.", "De."], answer="Cd."), "must differ"),
        ("changeit", _option("proactive", "Please wait for the end."), "unknown_request"),
        ("changeit", _set(start=1), "start_not_first"),
        ("imagenet_c", lambda row: row["options"].pop(), "unsound"),
        ("vsod", lambda row: row["states"][2].update(moves=list(row["states"][0]["moves"])), "max_turns is 4"),
        ("rod", _set(reference_question="What?"), "reference_question"),
        ("rod", _set(id="rod-{x}"), "unsafe_id"),
        ("rod", _set(scenario="xyz"), "unknown_scenario"),
        ("mvp_n", lambda row: row["frames"][0].update(path="x.jpg"), "mixed_formats"),
    ],
)  # fmt: skip
def test_what_the_layout_cannot_say_is_an_error_that_names_the_row(
    scenario: str, spoil: Callable[[Row], Any], reason: str
) -> None:
    row = spoilt(scenario, spoil)
    with pytest.raises(InputError, match=reason) as refused:
        translated(row, 0)
    assert row["id"] in refused.value.message


def test_a_folder_that_is_no_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no dataset"):
        export(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_readme_loader_drops_no_row(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is run; the evaluator itself, which needs another Python, plays what it loads in tests/evaluator."""
    export(dataset, tmp_path / "exported")
    found = re.search(r"```python\n(import json.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    played: list[int] = []
    module = types.ModuleType("proactivebench.environment")
    module.get_environment = lambda name: lambda entry, data_dir: played.append(entry["id"])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "proactivebench", types.ModuleType("proactivebench"))
    monkeypatch.setitem(sys.modules, "proactivebench.environment", module)
    monkeypatch.chdir(tmp_path)
    exec(found[1], {})
    assert played == list(range(len(played)))
    assert len(played) == len((tmp_path / "exported" / "QuickDraw_preprocessed.jsonl").read_bytes().splitlines())
