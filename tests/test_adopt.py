"""`adopt` turns a release in the evaluator's layout into a dataset of ours, and says why a record isn't in it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from build_bench import cli
from build_bench.errors import InputError, UsageError
from build_bench.layouts.adopting import adopt
from build_bench.layouts.proactivebench import export
from build_bench.layouts.record import DATASETS
from build_bench.records import Plan
from build_bench.store import Work, read_rejections
from build_bench.verifying import verify
from tests.trees import lay_out, rows_of, some_plans

Record = dict[str, Any]


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return some_plans()


@pytest.fixture(scope="module")
def dataset(plans: list[Plan], tmp_path_factory: pytest.TempPathFactory) -> Path:
    keep = {plan.id: number % 2 == 0 for number, plan in enumerate(plans)}
    return lay_out(tmp_path_factory.mktemp("tree") / "dataset", plans, keep)


@pytest.fixture
def release(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")  # a test's own may be called ...s6, which ROD's hole doesn't allow
    export(dataset, folder)
    return folder


def work_in(folder: Path) -> Work:
    return Work(folder, folder / "raw")


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def change(release: Path, name: str, edit: Callable[[list[Record]], Any]) -> None:
    path = release / f"{name}_preprocessed.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    edit(records)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_round_trip_gives_the_same_rows(dataset: Path, release: Path, tmp_path: Path) -> None:
    manifest = adopt(release, work_in(tmp_path / "work"), release / "filter_ids.json")
    assert rows_of(tmp_path / "work" / "dataset") == rows_of(dataset)
    assert verify(tmp_path / "work" / "dataset")[1] == []
    assert all(facts["rejected"] == 0 for facts in manifest["scenarios"].values())


def test_both_splits_load_and_have_the_same_ids_as_before(
    dataset: Path, release: Path, tmp_path: Path, plans: list[Plan]
) -> None:
    from datasets import load_dataset

    adopt(release, work_in(tmp_path / "work"), release / "filter_ids.json")
    for scenario in ("all", *DATASETS):
        for split in ("filtered", "unfiltered"):
            ids = [
                load_dataset(str(folder), scenario, split=split)["id"]
                for folder in (dataset, tmp_path / "work" / "dataset")
            ]
            assert list(ids[0]) == list(ids[1])
            assert len(ids[0]) == sum(
                scenario in ("all", plan.scenario) and (split == "unfiltered" or number % 2 == 0)
                for number, plan in enumerate(plans)
            )


def test_adopting_again_gives_the_same_bytes(release: Path, tmp_path: Path) -> None:
    for _ in range(2):
        adopt(release, work_in(tmp_path / "one"), release / "filter_ids.json")
    adopt(release, work_in(tmp_path / "two"), release / "filter_ids.json")
    assert digests(tmp_path / "one" / "dataset") == digests(tmp_path / "two" / "dataset")


def test_without_a_list_there_is_one_split(release: Path, tmp_path: Path) -> None:
    manifest = adopt(release, work_in(tmp_path / "work"))
    assert all([*facts["splits"]] == ["unfiltered"] for facts in manifest["scenarios"].values())
    assert "No list of ids was given" in (tmp_path / "work" / "dataset" / "README.md").read_text()
    assert not list((tmp_path / "work" / "dataset").rglob("dropped-*"))


def test_an_empty_split_is_not_named(release: Path, tmp_path: Path) -> None:
    lists = json.loads((release / "filter_ids.json").read_text())
    path = tmp_path / "ids.json"
    path.write_text(json.dumps(lists | {"QuickDraw": [], "MVP-N": list(range(9))}))
    adopt(release, work_in(tmp_path / "work"), path)
    card = (tmp_path / "work" / "dataset" / "README.md").read_text()
    assert verify(tmp_path / "work" / "dataset")[1] == []
    named = card.split("- config_name: quickdraw\n")[1].split("- config_name")[0]
    assert "split: filtered" not in named
    assert "kept-" not in named
    named = card.split("- config_name: mvp_n\n")[1].split("- config_name")[0]
    assert "split: filtered" in named
    assert "dropped-" not in named


@pytest.mark.parametrize("inside", ["{name}/{rest}", "data/{name}/{rest}", "{rest}"])
def test_zips_are_read_in_place(inside: str, dataset: Path, release: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed" / "test"
    packed.mkdir(parents=True)
    for name in DATASETS.values():
        (packed / f"{name}_preprocessed.jsonl").write_bytes((release / f"{name}_preprocessed.jsonl").read_bytes())
        with zipfile.ZipFile(packed / f"{name}.zip", "w") as archive:
            for path in sorted((release / name).rglob("*.*")):
                rest = path.relative_to(release / name).as_posix()
                archive.write(path, inside.format(name=name, rest=rest))
    before = digests(tmp_path / "packed")
    adopt(tmp_path / "packed", work_in(tmp_path / "work"))
    assert rows_of(tmp_path / "work" / "dataset") == rows_of(dataset)
    assert digests(tmp_path / "packed") == before


def _official(records: list[Record]) -> None:
    for record in records:
        for name in [name for name in record if name.startswith("bench_")]:
            del record[name]


def test_official_records_get_ids_of_their_own_and_sensible_sources(release: Path, tmp_path: Path) -> None:
    for name in DATASETS.values():
        change(release, name, _official)
    adopt(release, work_in(tmp_path / "work"))
    rows = rows_of(tmp_path / "work" / "dataset")
    assert {*rows} == {f"{scenario}-{number}" for scenario in DATASETS for number in range(6)}
    for row in rows.values():
        assert row["source"]["license"]
        assert row["source"]["key"].startswith(DATASETS[row["scenario"]])
        assert len({frame["path"] for frame in row["frames"]}) == len(row["frames"])
        assert row["open_answers"]["proactive"]
        assert row["question_kind"] in {"object", "action", "speaker", "count", "event"}


def _first(**changes: Any) -> Callable[[list[Record]], Any]:
    return lambda records: records[0].update(changes)


@pytest.mark.parametrize(
    ("name", "edit", "reason"),
    [
        ("QuickDraw", _first(answer="Nothing."), "answer_not_in_categories"),
        ("QuickDraw", _first(categories=["A.", "B."], answer="A."), "category_count"),
        ("QuickDraw", _first(num_images=99), "missing_picture|bad_bench_field"),
        ("QuickDraw", _first(image_template="QuickDraw/nowhere/{image}.png"), "missing_picture"),
        ("QuickDraw", _first(image_template="/etc/{image}"), "unsafe_path"),
        ("QuickDraw", _first(image_template="QuickDraw/../../{image}.png"), "unsafe_path"),
        ("QuickDraw", _first(image_template="QuickDraw/{picture}.png"), "bad_template"),
        ("QuickDraw", _first(image_template="QuickDraw/{image:>3000000000}.png"), "bad_template"),
        ("QuickDraw", _first(image_template="QuickDraw/{image.__class__}.png"), "bad_template"),
        ("QuickDraw", _first(image_template=f"QuickDraw/{'a' * 300}{{image}}.png"), "missing_picture|bad_bench_field"),
        ("QuickDraw", _first(options=["I cannot tell.", "More."]), "unknown_request"),
        ("QuickDraw", _first(options=["More details."]), "abstain_count"),
        ("QuickDraw", _first(id="0"), "bad_record"),
        ("QuickDraw", _first(num_images=10**9), "too_many_states"),
        ("coco2014", _first(granularity=10**9), "too_many_states"),
        ("QuickDraw", _first(first_image=1), "image_out_of_range"),
        ("QuickDraw", _first(prompt=" "), "no_question"),
        ("QuickDraw", _first(bench_id="../x"), "bad_bench_field"),
        ("QuickDraw", _first(bench_frames=["x"]), "bad_bench_field"),
        ("QuickDraw", lambda records: records[0].pop("num_images"), "bad_record"),
        ("QuickDraw", lambda records: records[1].update(id=0), "repeated_id"),
        ("OcclusionDataSet-MM20", _first(strong_occlusions=False), "not_strongly_occluded"),
        ("OcclusionDataSet-MM20", _first(first_image=99), "image_out_of_range"),
        ("MVP-N", lambda records: records[0].pop("valid_images"), "bad_record"),
        ("MVP-N", _first(valid_images=[0]), "image_out_of_range"),
        ("ImageNet-C", _first(quality_answer="Nothing."), "quality_answer_not_in_options"),
        ("ChangeIt", _first(step_size=0), "bad_record"),
        ("ChangeIt", _first(max_steps=0), "no_turns"),
        ("ChangeIt", _first(step_size=10_000), "image_out_of_range"),
        ("coco2014", _first(direction="sideways"), "unknown_direction"),
        ("coco2014", _first(crop={"top": 0, "left": 0, "width": 9000, "height": 9000}), "unsound"),
        ("coco2014", _first(horizontal_step=None), "bad_record"),
    ],
)
def test_a_record_that_contradicts_itself_or_its_files_is_rejected_and_the_rest_is_built(
    name: str, edit: Callable[[list[Record]], Any], reason: str, release: Path, tmp_path: Path
) -> None:
    change(release, name, edit)
    manifest = adopt(release, work_in(tmp_path / "work"))
    scenario = next(scenario for scenario, known in DATASETS.items() if known == name)
    (rejection,) = read_rejections(work_in(tmp_path / "work").rejected(scenario))
    assert rejection.reason in reason.split("|")
    assert rejection.source_key.startswith(f"{name}_preprocessed.jsonl:")
    facts = manifest["scenarios"][scenario]
    assert (facts["candidates"], facts["built"], facts["rejected"]) == (6, 5, 1)
    assert verify(tmp_path / "work" / "dataset")[1] == []


@pytest.mark.parametrize("line", ['{"id": 7, "image_te', "[" * 100_000])
def test_a_line_that_is_no_json_is_named(line: str, release: Path, tmp_path: Path) -> None:
    with (release / "QuickDraw_preprocessed.jsonl").open("a") as file:
        file.write(f"{line}\n")
    adopt(release, work_in(tmp_path / "work"))
    (rejection,) = read_rejections(work_in(tmp_path / "work").rejected("quickdraw"))
    assert (rejection.reason, rejection.source_key) == ("bad_json", "QuickDraw_preprocessed.jsonl:7")


@pytest.mark.parametrize(
    ("data", "reason"), [(b"<html>", "not_a_picture"), (b"", "not_a_picture"), (None, "truncated_picture")]
)
def test_a_broken_picture_rejects_its_record(data: bytes | None, reason: str, release: Path, tmp_path: Path) -> None:
    path = next((release / "MVP-N").rglob("*_0.png"))
    path.write_bytes(path.read_bytes()[:50] if data is None else data)
    adopt(release, work_in(tmp_path / "work"))
    (rejection,) = read_rejections(work_in(tmp_path / "work").rejected("mvp_n"))
    assert rejection.reason == reason
    assert path.name in rejection.detail


def _with_exif(path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x8825] = {1: "N", 2: (48.0, 0.0, 0.0)}
    data = io.BytesIO()
    Image.open(path).save(data, "JPEG", exif=exif)
    path.write_bytes(data.getvalue())


def test_where_a_picture_of_rod_was_taken_is_left_out(release: Path, tmp_path: Path) -> None:
    path = next((release / DATASETS["rod"]).rglob("*s7.jpg"))
    _with_exif(path, 1)
    assert b"Exif" in path.read_bytes()
    adopt(release, work_in(tmp_path / "work"))
    rows = [row for row in rows_of(tmp_path / "work" / "dataset").values() if row["scenario"] == "rod"]
    assert len(rows) == 6
    assert not any(b"Exif" in frame["bytes"] for row in rows for frame in row["frames"])


def test_a_turned_picture_that_viewers_and_the_evaluator_show_differently_is_rejected(
    release: Path, tmp_path: Path
) -> None:
    _with_exif(next((release / "coco2014").rglob("*.jpg")), 6)
    adopt(release, work_in(tmp_path / "work"))
    (rejection,) = read_rejections(work_in(tmp_path / "work").rejected("coco"))
    assert rejection.reason == "exif_orientation"


def test_an_unknown_dataset_is_rejected_record_by_record(release: Path, tmp_path: Path) -> None:
    (release / "Odd-One_preprocessed.jsonl").write_text('{"id": 0}\n{"id": 1}\n')
    manifest = adopt(release, work_in(tmp_path / "work"))
    rejections = read_rejections(work_in(tmp_path / "work").rejected("Odd-One"))
    assert [rejection.reason for rejection in rejections] == ["unknown_dataset"] * 2
    assert {*manifest["scenarios"]} == {*DATASETS}


def test_a_release_without_a_usable_record_is_an_error_and_its_reasons_are_kept(release: Path, tmp_path: Path) -> None:
    for name in DATASETS.values():
        change(release, name, lambda records: [record.update(answer="?") for record in records])
    with pytest.raises(InputError, match="no record of"):
        adopt(release, work_in(tmp_path / "work"))
    assert len(read_rejections(work_in(tmp_path / "work").rejected("rod"))) == 6
    assert not (tmp_path / "work" / "dataset" / "manifest.json").exists()


def test_the_commands_of_the_readme_go_there_and_back(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("round")
    shutil.copytree(dataset, folder / "work" / "dataset")
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^build-bench ((?:export|adopt|verify adopted).*?)(?: +#.*)?$", text, re.MULTILINE)
    assert len(commands) == 3
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in commands:
            done = CliRunner().invoke(cli.group, command.split(), catch_exceptions=False)
            assert done.exit_code == 0, done.output
            said.append(done.output)
    assert "only the ids on a list built into it" in said[0]
    assert "as the manifest says" in said[2]
    assert rows_of(folder / "adopted" / "dataset") == rows_of(dataset)


def test_errors_say_what_to_do(release: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no <DatasetName>_preprocessed"):
        adopt(tmp_path, work_in(tmp_path / "work"))
    ids = tmp_path / "ids.json"
    ids.write_text("[]")
    with pytest.raises(InputError, match=r"ids\.json"):
        adopt(release, work_in(tmp_path / "work"), ids)
    ids.write_text('{"QuickDraw": [0]}')
    with pytest.raises(InputError, match="no list for"):
        adopt(release, work_in(tmp_path / "work"), ids)
    (tmp_path / "built" / "plans").mkdir(parents=True)
    with pytest.raises(UsageError, match="built from its sources"):
        adopt(release, work_in(tmp_path / "built"))
