"""The card: its YAML is valid and finds the files, its code runs, and it says what a stranger must know."""

from __future__ import annotations

import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import DatasetCard, DatasetCardData
from huggingface_hub.repocard import metadata_load
from PIL import Image

from build_bench import builders, card, manifests, schema, store
from build_bench.episode import Episode
from tests.trees import lay_out, rows_of, some_plans

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All seven scenarios, filtered."""
    plans = some_plans()
    keep = {plan.id: number % 3 > 0 for number, plan in enumerate(plans)}
    return lay_out(tmp_path_factory.mktemp("card") / "dataset", plans, keep)


@pytest.fixture(scope="module")
def manifest(tree: Path) -> Manifest:
    found: Manifest = json.loads((tree / "manifest.json").read_bytes())
    return found


def test_the_yaml_passes_the_hubs_own_validation(tree: Path, manifest: Manifest) -> None:
    for found in (manifest, {**manifest, "release": "v1.0.0", "repository": "my-lab/bench"}):
        text = card.render(found)
        (tree.parent / "README.md").write_text(text, encoding="utf-8")
        loaded = metadata_load(tree.parent / "README.md")
        data = DatasetCard(text).data
        assert isinstance(data, DatasetCardData)
        assert loaded is not None
        assert data.to_dict() == loaded == yaml.safe_load(text.split("---\n")[1])
        assert (data.license, data.size_categories) == ("other", ["n<1K"])
        assert loaded["license_name"] == "per-source"
    assert loaded["license_link"] == "https://huggingface.co/datasets/my-lab/bench#licences"
    assert data.annotations_creators == ["found", "expert-generated"]
    assert len(data.source_datasets or []) == 7


def test_each_configuration_names_files_that_are_there_and_counts_their_rows(tree: Path, manifest: Manifest) -> None:
    data = yaml.safe_load((tree / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert [c["config_name"] for c in data["configs"]] == ["all", *builders.SCENARIOS]
    assert [c["config_name"] for c in data["configs"] if c.get("default")] == ["all"]
    for entry in data["configs"]:
        for part in entry["data_files"]:
            assert all([*tree.glob(pattern)] for pattern in part["path"])
    (info,) = [i for i in data["dataset_info"] if i["config_name"] == "coco"]
    assert {s["name"]: s["num_examples"] for s in info["splits"]} == manifest["scenarios"]["coco"]["splits"]
    assert [feature["name"] for feature in info["features"]] == schema.PUBLISHED.names


def code_of(text: str, start: str) -> str:
    (found,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if block.startswith(start)]
    return str(found)


def test_the_cards_own_code_plays_as_the_evaluation_does(tree: Path) -> None:
    names: dict[str, Any] = {}
    exec(code_of((tree / "README.md").read_text(encoding="utf-8"), "def play"), names)
    for row in rows_of(tree).values():
        sample = {**row, "frames": [Image.open(io.BytesIO(frame["bytes"])) for frame in row["frames"]]}
        for seed in range(4):
            draws, seen = random.Random(seed), []
            episode = Episode(row)

            def choose(picture: Image.Image, question: str, shown: list[str]) -> int | None:
                assert (question, shown) == (episode.question(), episode.choices)  # noqa: B023 - called in this turn
                crop = episode.view.crop  # noqa: B023
                assert not crop or picture.size == (crop[2] - crop[0], crop[3] - crop[1])
                answer = draws.choice([None, *range(len(shown)), *range(len(shown) - 4)])  # noqa: B023
                seen.append(answer)  # noqa: B023
                episode.choose(answer)  # noqa: B023
                return answer

            right, turn = names["play"](sample, choose)
            assert episode.done
            assert (right, turn) == (episode.correct, episode.turns)


def test_the_release_is_in_the_code_that_loads_it(manifest: Manifest) -> None:
    assert "revision" not in code_of(card.render(manifest), "from datasets")
    released = card.render({**manifest, "release": "v1.2.3", "repository": "my-lab/bench"})
    assert 'load_dataset("my-lab/bench", "rod", split="filtered", revision="v1.2.3")' in released
    assert "`build-bench all --from-release v1.2.3`" in released
    assert "version = {v1.2.3}" in released
    assert "[CHANGELOG.md]" in released


def test_every_source_is_there_with_its_licence_its_conditions_and_what_is_not_allowed(manifest: Manifest) -> None:
    licences = card.render(manifest).split("## Licences")[1].split("\n## ")[0]
    for name in builders.SCENARIOS:
        about = manifests.source(name)
        for key in ("title", "homepage", "license", "license_url", "conditions", "not_allowed"):
            assert about[key] in licences, (name, key)


def test_what_is_left_out_is_told_with_the_command_that_builds_it(manifest: Manifest) -> None:
    scenarios = {name: facts for name, facts in manifest["scenarios"].items() if name not in ("rod", "coco")}
    settings = {"rod": builders.defaults("rod"), "coco": {**builders.defaults("coco"), "negatives": "supercategory"}}
    left_out = {name: {"settings": values} for name, values in settings.items()}
    text = card.render({**manifest, "scenarios": scenarios, "left_out": left_out, "seed": 7})
    section = text.split("## Not in this repository")[1].split("\n## ")[0]
    assert "`build-bench all --scenario rod --seed 7`" in section
    assert "`build-bench all --scenario coco --seed 7 --set coco.negatives=supercategory`" in section
    assert "licence" in section
    assert "assets/rod.jpg" not in text
    assert manifests.source("rod")["conditions"] in text
    assert "config_name: rod" not in text
    assert "Not in this repository" not in card.render(manifest)


def test_the_order_in_which_a_manifest_was_read_changes_nothing(manifest: Manifest) -> None:
    shuffled = {key: dict(reversed(v.items())) if isinstance(v, dict) else v for key, v in reversed(manifest.items())}
    assert card.render(shuffled) == card.render(manifest)
    assert card.render(json.loads(store.to_json(manifest))) == card.render(manifest)
