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
from datasets import load_dataset, load_dataset_builder
from huggingface_hub import DatasetCard, DatasetCardData
from huggingface_hub.repocard import metadata_load
from PIL import Image

from build_bench import builders, card, card_samples, config, demo, manifests, schema, stages, store
from build_bench.episode import Episode
from build_bench.executors.local import Local
from build_bench.store import Work
from build_bench.verifying import verify
from tests.trees import lay_out, rows_of, some_plans

Manifest = dict[str, Any]
SCENARIOS = [*dict.fromkeys(plan.scenario for plan in some_plans())]
"""Those of the tree: a source that is added has no plans there."""


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
    assert [c["config_name"] for c in data["configs"]] == ["all", *SCENARIOS]
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
    assert "[CHANGELOG.md]" in released


def test_every_source_is_there_with_its_licence_its_conditions_and_what_is_not_allowed(manifest: Manifest) -> None:
    licences = card.render(manifest).split("## Licences")[1].split("\n## ")[0]
    for name in SCENARIOS:
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


def released(manifest: Manifest, **changes: Any) -> Manifest:
    return {**manifest, "release": "v1.2.3", "repository": "my-lab/bench", **changes}


def section(text: str, heading: str) -> str:
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_a_demo_says_so_first_and_claims_no_source(manifest: Manifest) -> None:
    text = card.render({**manifest, "drawn": True})
    data = yaml.safe_load(text.split("---\n")[1])
    assert text.split("\n# ")[1].splitlines()[2].startswith("> **A demonstration: every picture was drawn")
    assert data["pretty_name"] == card.NAMES[card.DRAWN] != card.NAMES[card.BUILT]
    assert "demo" in data["tags"]
    assert data["source_datasets"] == ["original"]
    for claim in (
        "Rebuilt from",
        "ProactiveBench, rebuilt",
        "paper: its counts",
        "Models may have seen",
        "keep the lic",
    ):
        assert claim not in text
        assert claim in card.render(manifest)
    assert "--demo --from-release" in card.render(released(manifest, drawn=True))
    assert "demo" not in yaml.safe_load(card.render(manifest).split("---\n")[1])["tags"]


def test_only_what_the_program_drew_is_marked_in_the_manifest(tmp_path: Path) -> None:
    work, settings = Work(tmp_path / "work", tmp_path / "raw"), config.read(["mvp_n"])
    demo.draw(work.raw, ["mvp_n"])
    stages.build(work, settings, ["mvp_n"], Local(1))
    assert stages.assemble(work, settings, ["mvp_n"], unfiltered=True)["drawn"] is True
    assert "A demonstration" in (work.dataset / "README.md").read_text(encoding="utf-8")
    assert verify(work.dataset)[1] == []
    (work.raw / "DRAWN_BY_THE_DEMO").unlink()
    assert "drawn" not in stages.assemble(work, settings, ["mvp_n"], unfiltered=True)
    assert "A demonstration" not in (work.dataset / "README.md").read_text(encoding="utf-8")


def test_the_card_tells_how_to_get_the_release_and_build_it_again(manifest: Manifest) -> None:
    again = section(card.render(released(manifest)), "How to build it again")
    assert "build-bench pull --repo my-lab/bench --release v1.2.3\n" in again
    assert "build-bench all --from-release pulled/dataset/manifest.json\n" in again
    assert "How to build it again" not in card.render(manifest)


def test_what_was_adopted_names_its_records_and_no_way_to_build_it(manifest: Manifest) -> None:
    scenarios = {
        name: {**facts, "facts": {"records": f"{name}.jsonl"}} for name, facts in manifest["scenarios"].items()
    }
    text = card.render(released(manifest, adopted="proactivebench", seed=None, scenarios=scenarios))
    assert "The records of `rod.jsonl`." in section(text, "How it was made")
    assert "How to build it again" not in text


def asked(manifest: Manifest, *models: str, kept_accuracy: float = 0.0) -> Manifest:
    """As filtered by `models` at a quarter."""
    shares = {"first_turn_accuracy": 0.5, "kept_first_turn_accuracy": kept_accuracy}
    return {
        **released(manifest),
        "rule": "first_turn_25_v1",
        "threshold": 0.25,
        "models": {name: {"baseline": name.startswith("baseline:"), "predictions": {}} for name in models},
        "allowed_missing": {},
        "scenarios": {name: {**facts, "first_turn": shares} for name, facts in manifest["scenarios"].items()},
    }


def test_the_rule_is_in_percent_and_explained_and_the_models_it_needs_again_are_named(manifest: Manifest) -> None:
    text = card.render(asked(manifest, "lab/model", "baseline:first"))
    assert "fewer than 25 % of the models" in section(text, "How many")
    assert text.count("first_turn_25_v1") == 1
    again = section(text, "How to build it again")
    assert "The answers of `lab/model` decided" in again
    assert "`predictions/`" in again
    assert "`predictions/`" not in card.render(asked(manifest, "baseline:first"))


def test_a_share_that_is_nothing_everywhere_is_no_column(manifest: Manifest) -> None:
    heads = [
        section(card.render(asked(manifest, "m", kept_accuracy=share)), "How many").splitlines()[1]
        for share in (0, 0.1)
    ]
    assert "right at first sight" in heads[0]
    assert heads[1].count("|") == heads[0].count("|") + 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_how_it_was_made_is_said_in_words_with_what_was_set_otherwise(manifest: Manifest, scenario: str) -> None:
    def line(**settings: Any) -> str:
        facts = {**manifest["scenarios"][scenario], "settings": {**builders.defaults(scenario), **settings}}
        made = section(card.render({**manifest, "scenarios": {scenario: facts}}), "How it was made")
        (found,) = [line for line in made.splitlines() if line.startswith(f"- `{scenario}`")]
        return found

    assert "otherwise than by default" not in line()
    assert not re.search(r"[{}]|: \.", line())
    for key, value in builders.defaults(scenario).items():
        if isinstance(value, int) and not isinstance(value, bool):
            assert f"`{key} = {value + 1}`" in line(**{key: value + 1})


def test_coco_names_clip_only_where_clip_chose(manifest: Manifest) -> None:
    facts = manifest["scenarios"]["coco"]
    for negatives, words in {"clip": "CLIP", "supercategory": "same supercategory", "near.csv": "`near.csv`"}.items():
        settings = {**builders.defaults("coco"), "negatives": negatives}
        text = card.render({**manifest, "scenarios": {"coco": {**facts, "settings": settings}}})
        made = section(text, "How it was made")
        assert words in made
        assert ("CLIP" in made) == (negatives == "clip")


def test_the_box_near_the_top_counts_each_split_and_names_the_licences(manifest: Manifest) -> None:
    box = card.render(manifest).split("\n## ")[0]
    splits = [facts["splits"] for facts in manifest["scenarios"].values()]
    for split in ("unfiltered", "filtered"):
        assert f"{sum(rows[split] for rows in splits)} in `{split}`" in box
    assert "For academic research only" in box
    assert "the pictures of `rod`, `imagenet_c`, `changeit` may not be passed on" in box
    only_coco = card.render({**manifest, "scenarios": {"coco": manifest["scenarios"]["coco"]}})
    assert "may not be passed on" not in only_coco.split("\n## ")[0]
    assert "(#licences)" in box


def test_each_line_of_a_picture_has_its_question_and_its_answer_as_text(tree: Path, manifest: Manifest) -> None:
    text = section(card.render(manifest), "What the scenarios look like")
    rows = rows_of(tree)
    for facts in manifest["scenarios"].values():
        (sample,) = facts["shown"]
        assert sample["answer"] == rows[sample["id"]]["answer"]
        question, answer = map(card_samples.plain, (sample["question"], card_samples.spelled(sample)))
        assert f"1. {question} **{answer}**" in text


@pytest.mark.parametrize(
    ("kind", "answer", "spelled"),
    [
        ("object", "The eiffel tower.", "The Eiffel Tower"),
        ("object", "Potato.", "Potato"),
        ("object", "Great_pyrenees.", "Great_pyrenees"),
        ("speaker", "Queen of hearts.", "Queen of Hearts"),
        ("speaker", "José mourinho.", "José Mourinho"),
        ("count", "9.", "9"),
    ],
)
def test_captions_spell_answers_as_their_source_does(kind: str, answer: str, spelled: str) -> None:
    assert card_samples.spelled({"question_kind": kind, "answer": answer}) == spelled


def test_a_text_of_the_data_shows_as_it_is_and_ends_no_line() -> None:
    hostile = "a *b* _c_ [x](assets/y.jpg)\n\n# <img src=x> `d` | e"
    written = card_samples.plain(hostile)
    assert written == r"a \*b\* \_c\_ \[x\](assets/y.jpg) \# \<img src=x\> \`d\` \| e"


def test_the_worked_sample_is_one_of_the_data_and_every_outcome_is_the_evaluations(
    tree: Path, manifest: Manifest
) -> None:
    rows = rows_of(tree)
    for scenario, facts in manifest["scenarios"].items():
        text = card_samples.worked({scenario: facts["shown"]})
        row = rows[facts["shown"][0]["id"]]
        assert f"`{row['id']}`" in text
        lines = re.findall(r"^- ([A-Z])\. (.*) \*+(?:([^*]+))\*+$", text, re.MULTILINE)
        for place, (letter, choice, outcome) in enumerate(lines):
            episode = Episode(row)
            assert (letter, choice) == ("ABCDEFGHIJ"[place], card_samples.plain(episode.choices[place]))
            episode.choose(place)
            assert (outcome == "right") == episode.correct
            assert outcome.startswith("turn 2 shows") != episode.done
            if not episode.done:
                assert f"frame {episode.view.frame}" in outcome
        assert len(lines) == len(Episode(row).choices)


def test_each_source_has_its_paper_and_the_dataset_an_entry_of_its_own(manifest: Manifest) -> None:
    citation = section(card.render(released(manifest)), "Citation")
    own, paper = re.findall(r"@misc\{.*?\n\}", citation, re.DOTALL)
    assert "version = {v1.2.3}" in own
    assert "url = {https://huggingface.co/datasets/my-lab/bench}" in own
    assert "version" not in paper
    assert "eprint = {2603.19466}" in paper
    for name in SCENARIOS:
        assert manifests.source(name)["paper"] in citation
        assert manifests.source(name).get("paper_url", "") in citation
    assert "version" not in section(card.render(manifest), "Citation")


def test_datasets_loads_features_and_splits_from_the_card_alone(tree: Path, manifest: Manifest, tmp_path: Path) -> None:
    builder = load_dataset_builder(str(tree), "coco", cache_dir=str(tmp_path))
    assert builder.info.features == schema.features()
    assert {n: s.num_examples for n, s in builder.info.splits.items()} == manifest["scenarios"]["coco"]["splits"]
    rows = load_dataset(str(tree), "coco", split="unfiltered", cache_dir=str(tmp_path))
    assert len(rows) == manifest["scenarios"]["coco"]["splits"]["unfiltered"]
    assert isinstance(rows[0]["frames"][0], Image.Image)
    assert "pip install datasets pillow" in section(card.render(manifest), "How to load it")
